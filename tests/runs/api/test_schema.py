import io
import re

import pytest
from django.core.management import call_command
from drf_spectacular.validation import validate_schema

from runs.models import Role
from tests.runs.intake_factories import bearer

pytestmark = pytest.mark.django_db


def test_schema_is_valid_and_made_without_a_warning():
    out, complaints = io.StringIO(), io.StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=out, stderr=complaints)
    assert complaints.getvalue() == ""


def test_schema_is_served_as_json(client):
    answer = client.get("/schema/", headers={**bearer(Role.VIEWER), "Accept": "application/json"})
    schema = answer.json()
    validate_schema(schema)
    assert {"/webhook", "/pipelines/{name}/run", "/runs", "/runs/{run_id}", "/health"} <= set(schema["paths"])
    assert schema["paths"]["/health"]["get"].get("security", []) in ([], [{}])
    assert schema["paths"]["/webhook"]["post"]["security"] == [{"token": []}]


def test_schema_is_not_public(client):
    assert client.get("/schema/").status_code == 401


def test_every_json_endpoint_but_health_asks_for_a_token(client):
    schema = client.get("/schema/", headers={**bearer(Role.VIEWER), "Accept": "application/json"}).json()
    asked = 0
    for path, operations in schema["paths"].items():
        url = re.sub(r"\{\w+_id\}", "00000000-0000-0000-0000-000000000000", path).replace("{name}", "x")
        for method in operations:
            if path != "/health":
                assert getattr(client, method)(url).status_code == 401, f"{method} {path}"
                asked += 1
    assert asked >= 6
