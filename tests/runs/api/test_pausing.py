"""POST /pause, /resume, the same of one pipeline, and GET /pauses."""

import json
from typing import Any

import pytest
from django.test import Client

from runs.models import Pause, Role
from tests import factories
from tests.runs.intake_factories import bearer

pytestmark = pytest.mark.django_db


def post(client: Client, path: str, body: Any = None, role: Role = Role.OPERATOR) -> Any:
    data = b"" if body is None else json.dumps(body).encode()
    return client.generic("POST", path, data, content_type="application/json", headers=bearer(role))


@pytest.mark.parametrize(
    ("path", "name"), [("/pipelines/a/b/", "a/b"), ("/", None), ("/pipelines/x/pause~/", "x/pause")]
)
def test_a_pause_is_told_and_ends(client: Client, path: str, name: str | None) -> None:
    if name:
        factories.pipeline(name)
    answer = post(client, f"{path}pause", {"reason": "  the <b>model</b> is down "})
    body = answer.json()
    assert answer.status_code == 200
    assert (body["pipeline"], body["reason"]) == (name, "the <b>model</b> is down")
    assert client.get("/pauses", headers=bearer(Role.VIEWER)).json() == {"pauses": [body]}
    again = post(client, f"{path}pause")
    assert again.status_code == 409
    assert again.json()["error"].startswith(f"Paused already by {body['by']} since ")
    assert post(client, f"{path}resume").json() == {"status": "resumed", "pipeline": name}
    assert post(client, f"{path}resume").status_code == 409
    assert client.get("/pauses", headers=bearer(Role.VIEWER)).json() == {"pauses": []}


def test_refusals(client: Client) -> None:
    assert post(client, "/pipelines/nothing/pause").status_code == 404
    assert post(client, "/pause", {"why": "x"}).json()["error"].startswith("why")
    assert post(client, "/pause", {"reason": 3}).status_code == 400
    assert post(client, "/pause", {"reason": "x" * 1001}).status_code == 400
    assert post(client, "/pause", role=Role.MARKER).status_code == 403
    assert not Pause.objects.exists()
