"""GET /pipelines, GET /pipelines/{name}, POST /reload."""

import pytest

from runs.models import Role
from tests.runs.intake_factories import bearer

pytestmark = pytest.mark.django_db
STEP = "  - {{name: one, executor: command, executor_config: {{command: [ls]}}}}\n"
GOOD = "name: {0}\ntags: [x]\nstage: production\nsteps:\n" + STEP


@pytest.fixture
def folder(tmp_path, settings):
    settings.PIPELINES_DIR = tmp_path / "pipelines"
    settings.STEPS_DIR = tmp_path / "steps"
    settings.VAR_DIR = tmp_path / "var"
    settings.PIPELINES_DIR.mkdir()
    return settings.PIPELINES_DIR


def get(client, path, role=Role.VIEWER):
    return client.get(path, headers=bearer(role))


def reload(client, role=Role.OPERATOR):
    return client.post("/reload", headers=bearer(role))


def test_reload_loads_and_reports(client, folder):
    (folder / "a.yaml").write_text(GOOD.format("alpha"))
    (folder / "b.yaml").write_text("name: beta\nstage: live\nsteps: []\n")
    answer = reload(client)
    assert answer.status_code == 200
    body = answer.json()
    assert (body["loaded"], body["changed"], body["removed"]) == (["a.yaml"], ["a.yaml"], [])
    assert body["problems"][0] == {
        "file": "b.yaml",
        "line": 2,
        "field": "stage",
        "message": "must be one of testing, production, found text ('live')",
    }


def test_the_list_shows_good_and_broken_files(client, folder):
    (folder / "a.yaml").write_text(GOOD.format("alpha"))
    (folder / "b.yaml").write_text("name: beta\n")
    reload(client)
    first, second = get(client, "/pipelines").json()["pipelines"]
    assert (first["name"], first["stage"], first["steps"], first["problems"]) == ("alpha", "production", ["one"], [])
    assert len(first["version"]) == 64
    assert (second["name"], second["version"], second["stage"]) == ("beta", None, None)
    assert second["problems"][0]["field"] == "steps"


def test_the_list_takes_as_many_queries_for_ten_as_for_one(client, folder, django_assert_max_num_queries):
    for number in range(10):
        (folder / f"{number}.yaml").write_text(GOOD.format(f"p{number}"))
    reload(client)
    headers = bearer(Role.VIEWER)
    client.get("/pipelines", headers=headers)
    with django_assert_max_num_queries(2):
        assert len(client.get("/pipelines", headers=headers).json()["pipelines"]) == 10


def test_a_pipeline_is_shown_with_its_resolved_config(client, folder):
    (folder / "a.yaml").write_text(GOOD.format("alpha"))
    reload(client)
    body = get(client, "/pipelines/alpha").json()
    assert body["config"]["steps"][0]["confidence_threshold"] == 0.75
    assert body["tags"] == ["x"]


def test_an_unknown_pipeline_is_404_with_the_closest_name(client, folder):
    (folder / "a.yaml").write_text(GOOD.format("alpha"))
    reload(client)
    answer = get(client, "/pipelines/alpah")
    assert answer.status_code == 404
    assert answer.json()["close"] == ["alpha"]
    assert "Did you mean alpha?" in answer.json()["error"]
    assert get(client, "/pipelines/a%00b").status_code == 404


def test_of_two_files_with_one_name_the_one_that_runs_is_shown(client, folder):
    (folder / "b.yaml").write_text(GOOD.format("alpha"))
    reload(client)
    (folder / "a.yaml").write_text(GOOD.format("alpha").replace("ls", "id"))
    reload(client)
    assert get(client, "/pipelines/alpha").json()["file"] == "b.yaml"


@pytest.mark.parametrize(("role", "status"), [(Role.INTAKE, 403), (Role.VIEWER, 403), (Role.MARKER, 403)])
def test_reload_is_for_operators(client, folder, role, status):
    assert reload(client, role).status_code == status


def test_reading_needs_a_viewer_and_a_token(client, folder):
    assert get(client, "/pipelines", Role.INTAKE).status_code == 403
    assert get(client, "/pipelines/x", Role.INTAKE).status_code == 403
    for path in ("/pipelines", "/pipelines/x"):
        assert client.get(path).status_code == 401
    assert client.post("/reload").status_code == 401


def test_an_unknown_parameter_is_400(client, folder):
    assert get(client, "/pipelines?nmae=x").status_code == 400
