import json
from html import unescape
from typing import Any

import pytest
from django.test import Client

from calibration import buckets
from calibration.buckets import BucketKey
from runs.engine.work import Work
from runs.models import Run
from tests import factories

pytestmark = pytest.mark.django_db

BROKEN = [
    {"file": "refund.yaml", "line": 14, "field": "steps[1].verifier.mode", "message": "expected critic or independent"}
]


def html(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return unescape(response.content.decode())


def test_broken_files_come_first_with_the_place_of_each_error(viewer: Client) -> None:
    factories.pipeline("refund", errors=BROKEN)
    factories.pipeline(
        "never", version=None, errors=[{"file": "never.yaml", "line": 3, "field": "", "message": "not YAML"}]
    )
    text = html(viewer, "/ui/pipelines")
    assert "refund.yaml:14" in text
    assert "expected critic or independent" in text
    assert "the last good version still runs" in text
    assert "has never loaded" in text


def test_a_pipeline_whose_file_is_gone_stays_readable(viewer: Client, operator: Client) -> None:
    factories.pipeline("old", present=False)
    assert "No longer there" in html(viewer, "/ui/pipelines")
    page = html(operator, "/ui/pipelines/old")
    assert "is gone" in page
    assert "Run now" not in page


def test_an_empty_directory_says_what_to_do(viewer: Client) -> None:
    assert "No pipelines are loaded" in html(viewer, "/ui/pipelines")


def test_the_number_of_queries_does_not_grow_with_the_pipelines(viewer: Client, django_assert_num_queries: Any) -> None:
    for n in range(30):
        factories.pipeline(f"p{n}")
        factories.run(version=factories.version(f"p{n}"))
    # session, user, roles, pipelines, their last runs
    with django_assert_num_queries(6):
        viewer.get("/ui/pipelines")


def test_the_page_shows_steps_gates_trigger_and_source(viewer: Client) -> None:
    step = factories.step_config(
        verifier={"mode": "independent", "combination_strategy": "minimum"},
        grounding={"enforce": True},
        calibration={"enforce": True},
        deterministic_checks=[{"name": "a", "type": "shell"}, {"name": "b", "type": "shell"}],
    )
    trigger = {"match": {"labels.severity": {"in": ["page"]}, "labels.alertname": "Errors"}}
    version = factories.version("p", steps=[step, {"name": "open", "executor": "webhook"}], trigger=trigger)
    factories.pipeline("p", version=version)
    text = html(viewer, "/ui/pipelines/p")
    gates = ("independent verifier", "grounding enforced", "calibration enforced", "2 checks")
    for expected in (*gates, "labels.severity", "is Errors", "name: p"):
        assert expected in text
    assert text.count("wait for a person") == 1  # a webhook has no confidence to gate


def test_an_unknown_pipeline_is_not_found(viewer: Client) -> None:
    assert viewer.get("/ui/pipelines/nope").status_code == 404


def test_the_chart_holds_the_lowest_trust_of_each_run(viewer: Client) -> None:
    version = factories.version("p")
    factories.pipeline("p", version=version)
    run = factories.run(version=version)
    factories.gated(run, factories.worked_example(), name="a")
    factories.gated(run, factories.worked_example(verifier=None, calibration=None, grounding=None, checks=[]), name="b")
    factories.run(version=version)  # nothing gated: not drawn
    page = viewer.get("/ui/pipelines/p").content.decode()
    data = json.loads(page.split('<script id="trust-data" type="application/json">')[1].split("</script>")[0])
    assert [(point["trust"], point["url"]) for point in data] == [(0.5, f"/ui/runs/{run.id}")]


@pytest.fixture
def startable(db: None) -> str:
    """A pipeline the registry itself accepts."""
    from runs.pipelines.schema import Pipeline

    config = Pipeline.model_validate(
        {"name": "p", "steps": [{"name": "s", "executor": "command", "executor_config": {"command": ["true"]},
                                 "prompt_template": "x"}]}
    )  # fmt: skip
    version = factories.version("p", **json.loads(config.model_dump_json(exclude={"name"})))
    factories.pipeline("p", version=version)
    return "p"


@pytest.mark.django_db(transaction=True)
def test_run_now_starts_a_run_in_the_operators_name(operator: Client, startable: str, published: list[Work]) -> None:
    response = operator.post("/ui/pipelines/p/run", {"payload": '{"summary": "from the button"}'})
    run = Run.objects.get()
    assert response.url == f"/ui/runs/{run.id}"
    assert (run.source, run.started_by, run.summary) == ("button", "olga", "from the button")
    assert published == [Work("run", run.id)]


@pytest.mark.django_db(transaction=True)
def test_run_now_leads_to_the_run_it_would_repeat(operator: Client, startable: str, published: list[Work]) -> None:
    payload = {"payload": '{"idempotency_key": "k"}'}
    first = operator.post("/ui/pipelines/p/run", payload)
    second = operator.post("/ui/pipelines/p/run", payload, follow=True)
    assert Run.objects.count() == len(published) == 1
    assert second.redirect_chain[0][0] == first.url
    assert "No new run" in second.content.decode()


def proposed(client: Client) -> Any:
    return json.loads(html(client, "/ui/pipelines/p").split('aria-describedby="payload-problem">')[1].split("<")[0])


def test_a_first_run_is_offered_the_fields_its_prompts_name(operator: Client, startable: str) -> None:
    assert proposed(operator) == {"summary": ""}


def test_a_further_run_is_offered_what_the_latest_was_given(operator: Client, startable: str) -> None:
    context = {"summary": "Slow", "severity": "", "labels": {}, "data": {"n": 0}, "source": "grafana", "event": "alert"}
    factories.run(pipeline_name="p", context={"summary": "older"})
    factories.run(pipeline_name="p", context=context, payload={"idempotency_key": "k", **context})
    assert proposed(operator) == {"summary": "Slow", "data": {"n": 0}}


def test_a_payload_too_long_for_a_dialog_is_not_offered(operator: Client, startable: str) -> None:
    factories.run(pipeline_name="p", context={"summary": "x" * 20_000})
    assert proposed(operator) == {"summary": ""}


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ('{"summary": ', "line 1, column 13"),
        ("[1]", "must be a JSON object"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ("[" * 100_000, "nests more than 64 levels deep"),
        ('{"a": 1e999}', "1e999 is too large"),
        ('{"summary": 7}', "summary"),
    ],
)
def test_a_payload_that_cannot_be_used_keeps_what_was_typed(
    operator: Client, startable: str, payload: str, problem: str
) -> None:
    response = operator.post("/ui/pipelines/p/run", {"payload": payload})
    text = unescape(response.content.decode())
    assert response.status_code == 400
    assert problem in text
    assert payload in text
    assert "data-open-now" in text
    assert not Run.objects.exists()


def test_a_payload_has_the_same_limit_as_everywhere(operator: Client, startable: str, service: Any) -> None:
    service(limits={"payload_bytes": 1_000})
    response = operator.post("/ui/pipelines/p/run", {"payload": '{"summary": "%s"}' % ("x" * 1_000)})
    assert response.status_code == 400
    assert "larger than 1,000 bytes" in response.content.decode()
    assert not Run.objects.exists()


def test_viewers_can_neither_start_nor_reload(viewer: Client, startable: str) -> None:
    assert viewer.post("/ui/pipelines/p/run", {"payload": "{}"}).status_code == 403
    assert viewer.post("/ui/pipelines/reload").status_code == 403
    assert "Run now" not in html(viewer, "/ui/pipelines")


@pytest.mark.django_db(transaction=True)
def test_reload_says_what_came_of_it(operator: Client, settings: Any, tmp_path: Any) -> None:
    settings.PIPELINES_DIR = settings.STEPS_DIR = tmp_path
    (tmp_path / "bad.yaml").write_text("name: bad\nsteps: 7\n")
    response = operator.post("/ui/pipelines/reload", follow=True)
    text = unescape(response.content.decode())
    assert "1 with errors" in text
    assert "bad.yaml:2" in text


def test_a_long_list_is_narrowed_by_name(viewer: Client) -> None:
    for n in range(20):
        factories.pipeline(f"refund-{n:02}")
    assert "Contains" in html(viewer, "/ui/pipelines")
    text = html(viewer, "/ui/pipelines?name=REFUND-07")
    assert "20 pipelines ready" in text
    assert "/ui/pipelines/refund-07" in text
    assert "/ui/pipelines/refund-08" not in text
    assert "No name contains" in html(viewer, "/ui/pipelines?name=nope")


def test_a_file_that_never_loaded_shows_what_is_wrong_and_nothing_else(operator: Client) -> None:
    factories.pipeline("never", version=None, errors=BROKEN)
    text = html(operator, "/ui/pipelines/never")
    assert "refund.yaml:14" in text
    assert "Reload files" in text
    for absent in ("It has not run yet", "Started by", "Run now", "testing"):
        assert absent not in text


def test_a_step_that_was_measured_leads_to_how_right_it_is(viewer: Client) -> None:
    buckets.bucket_id(BucketKey(step="a/b", agent="command:x"))
    version = factories.version("p", steps=[factories.step_config(name) for name in ("a/b", "new")])
    factories.pipeline("p", version=version)
    text = html(viewer, "/ui/pipelines/p")
    assert 'href="/ui/insights/steps/a/b"' in text
    assert 'href="/ui/insights/steps/new"' not in text
