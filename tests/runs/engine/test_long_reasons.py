"""Five megabytes where a sentence was expected: lists and logs stay light, and the whole of it stands beside them."""

import pytest

from tests.fakes.gateway import FakeGateway, Script, running
from tests.pipelines import step, steps_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.allow_hosts(["127.0.0.1", "::1"])]

LONG = "x" * 5_000_000


def longest_message(run):
    return max(len(event.message) for event in run.events.all())


def test_why_an_agent_stopped(pipelines, tmp_path):
    program = tmp_path / "long.py"
    program.write_text(
        "import json, sys; sys.stdin.read(); print(json.dumps({'confidence': 0.9, 'summary': '', "
        "'next_step_context': '', 'proceed': False, 'proceed_reason': 'x' * 5_000_000}))"
    )
    pipelines.write("long", step(executor_config={"command": ["python3", str(program)]}))
    run = pipelines.run("long")
    assert run.status == "stopped"
    assert run.reason.startswith("look: xxx")
    assert len(run.reason) <= 2_001
    assert longest_message(run) <= 2_001
    assert steps_of(run)["look"].parsed_output["proceed_reason"] == LONG


def test_why_a_gateway_could_not_answer(pipelines, service, settings):
    with running(FakeGateway({"long": Script(error=LONG)})) as gateway:
        configured = settings.SERVICE.executors.gateway.model_copy(update={"url": gateway.url, "token": ""})
        service(executors={"gateway": configured})
        asked = {"executor": "gateway", "executor_config": {"agent": "long"}}
        pipelines.write("long", step(on_failure="continue", **asked), step("second", verifier=asked))
        run = pipelines.run("long")
    failed, judged = steps_of(run)["look"], steps_of(run)["second"]
    assert (failed.status, len(failed.error)) == ("failed", 2_001)
    assert len(judged.signals.get().error) == 2_001
    assert longest_message(run) <= 2_001
