import re
import uuid
from html import unescape
from typing import Any

import pytest
from django.test import Client

from runs.models import Run, SignalKind, Step
from runs.trust.vector import CalibrationInput, CheckInput, GroundingInput, VerifierInput
from tests import factories

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert('x')</script>"


def text_of(client: Client, address: str, **headers: str) -> str:
    response = client.get(address, headers=headers)
    assert response.status_code == 200, response.content[:500]
    return unescape(re.sub(r"\s+", " ", response.content.decode()))


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def escalated() -> tuple[Run, Step]:
    run = factories.run(status="escalated", reason="assess-and-remediate is trusted 50%.")
    step = factories.gated(
        run, factories.worked_example(), agent_trace=[{"type": "tool_call", "name": "q", "input": {}}]
    )
    factories.signal(
        step, SignalKind.VERIFIER, score=0.85, detail={"mode": "critic"}, prompt="Judge it.", raw_output="ok"
    )
    claims = [{"claim": f"claim {n}", "supported": n < 3, "evidence": f"tool says {n}"} for n in range(6)]
    factories.signal(
        step, SignalKind.GROUNDING, score=0.5, detail={"claims": claims, "trace_cut": True}, prompt="Check."
    )
    factories.signal(
        step, SignalKind.CHECK, name="still_breaching", detail={"type": "shell", "command": "true", "stdout": "7.9"}
    )
    return run, step


def test_the_panel_answers_why_a_step_escalated(viewer: Client) -> None:
    run, step = escalated()
    html = text_of(viewer, f"/ui/runs/{run.id}")
    told = words(html)
    assert '<span class="big">50%</span>' in html
    assert "falls short of this step's 75% : the weakest link is its evidence" in told
    assert 'aria-label="Trust from 95 percent self-report to 50 percent' in html
    assert "85 clears veto 60" in told
    assert "3 of 6 backed" in told
    assert told.index("claim 5") < told.index("claim 0")  # what nothing backs comes first
    assert "1 of 1 passed" in told
    assert "still_breaching" in told
    assert "7.9" in told
    assert "Wide gap: the agent said 95%, its evidence supports 50%." in told
    assert "raise grounding.max_trace_chars and the agent's own trace_max_chars together" in told
    assert "Judge it." in told
    assert f"/ui/steps/{step.id}/trace" in html
    assert f'<details class="more" id="how-{step.id}" open>' in html


def test_a_wanted_signal_that_is_missing_says_so_and_why(viewer: Client) -> None:
    run = factories.run()
    report = factories.worked_example(verifier=VerifierInput(score=None, state="failed", error="no reply in 120 s"))
    step = factories.gated(run, report)
    factories.signal(step, SignalKind.VERIFIER, state="failed", error="no reply in 120 s")
    told = words(text_of(viewer, f"/ui/runs/{run.id}"))
    assert "Verifier: wanted, missing. no reply in 120 s" in told


def test_a_calibration_reset_is_explained(viewer: Client) -> None:
    sentence = "Calibration was reset when this step's prompt changed on 3 Jul."
    calibration = CalibrationInput(enforce=True, n=4, n_min=20, accuracy=None, reset=sentence)
    run = factories.run()
    factories.gated(run, factories.worked_example(calibration=calibration))
    assert text_of(viewer, f"/ui/runs/{run.id}").count(sentence) >= 1


def test_a_failed_step_shows_its_error_and_what_the_agent_said(viewer: Client) -> None:
    run = factories.run(status="failed", reason="The answer breaks the contract.")
    factories.step(
        run, status="failed", error="confidence: expected a number", raw_output="I am 95% sure!", parsed_output=None
    )
    factories.event(run, "Try 1 of 3 failed.", kind="step.retry", step_name="assess-and-remediate")
    told = words(text_of(viewer, f"/ui/runs/{run.id}"))
    for expected in ("confidence: expected a number", "I am 95% sure!", "Try 1 of 3 failed."):
        assert expected in told


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("escalated", "nobody is asked about it here"),
        ("aborted", "That is a decision, not a failure."),
        ("stopped", "nothing more to do"),
        ("cancelled", "Someone cancelled it."),
        ("failed", "could not be carried out"),
    ],
)
def test_every_ending_is_explained_in_words(viewer: Client, status: str, told: str) -> None:
    run = factories.run(status=status, reason="Because.")
    html = text_of(viewer, f"/ui/runs/{run.id}")
    assert told in html
    assert "Because." in html


def test_steps_not_reached_are_listed_after_those_that_were(viewer: Client) -> None:
    version = factories.version(steps=[factories.step_config("first"), factories.step_config("second")])
    run = factories.run(status="running", version=version)
    factories.step(run, "first")
    told = words(text_of(viewer, f"/ui/runs/{run.id}"))
    assert re.search(r"first .* second .*not reached", told)


def test_a_step_that_is_judging_says_what_it_waits_for(viewer: Client) -> None:
    config = factories.step_config(
        verifier={"executor": "command"},
        grounding={"enforce": True},
        deterministic_checks=[{"type": "shell", "name": "recount"}],
    )
    run = factories.run(status="running", version=factories.version(steps=[config]))
    step = factories.step(run, status="judging")
    factories.signal(step, SignalKind.VERIFIER, score=0.9)
    html = text_of(viewer, f"/ui/runs/{run.id}")
    waiting = words(html.split('class="waiting"')[1].split("</ul>")[0])
    assert "Grounding" in waiting
    assert "Check recount" in waiting
    assert "Verifier" not in waiting


def test_nothing_an_agent_or_sender_wrote_is_markup(viewer: Client) -> None:
    run = factories.run(status="failed", summary=HOSTILE, reason=HOSTILE, payload={"x": HOSTILE}, source=HOSTILE)
    report = factories.worked_example(
        grounding=GroundingInput(enforce=True, score=None, state="failed", error=HOSTILE),
        checks=[CheckInput(name=HOSTILE, passed=False, detail=HOSTILE)],
    )
    step = factories.gated(
        run, report, name=HOSTILE, error=HOSTILE, model=HOSTILE, prompt=HOSTILE, raw_output=HOSTILE,
        parsed_output={"summary": HOSTILE, "uncertainties": [HOSTILE, {"a": HOSTILE}], HOSTILE: HOSTILE},
        agent_trace=[{"type": HOSTILE, "name": HOSTILE, "content": HOSTILE}, HOSTILE, 7],
    )  # fmt: skip
    factories.signal(
        step,
        SignalKind.CHECK,
        name=HOSTILE,
        passed=False,
        error=HOSTILE,
        detail={"stdout": HOSTILE, "command": HOSTILE},
    )
    factories.signal(step, SignalKind.GROUNDING, detail={"claims": [{"claim": HOSTILE, "evidence": {"x": HOSTILE}}, 3]})
    factories.event(run, HOSTILE, step_name=HOSTILE)
    for address in (f"/ui/runs/{run.id}", f"/ui/steps/{step.id}", f"/ui/steps/{step.id}/trace", "/ui/runs"):
        response = viewer.get(address)
        assert response.status_code == 200, address
        assert "<script>alert" not in response.content.decode(), address


def test_long_texts_come_clipped_with_their_true_size_and_open_by_parts(viewer: Client) -> None:
    run = factories.run()
    step = factories.step(
        run, prompt="p" * 120_001, raw_output="r" * 5_000_000, parsed_output={"summary": "s" * 200_000}
    )
    html = text_of(viewer, f"/ui/runs/{run.id}")
    assert len(html) < 80_000
    assert "120,001 characters" in html
    assert "5.0 million characters" in html
    seen, start = 0, 0
    while True:
        page = viewer.get(f"/ui/steps/{step.id}/text/prompt", {"from": start}).content.decode()
        seen += len(re.search(r"<pre[^>]*>(p*)</pre>", page)[1])  # type: ignore[index]
        following = re.search(r'href="\?from=(\d+)">The next', page)
        if not following:
            break
        start = int(following[1])
    assert seen == 120_001


@pytest.mark.parametrize("part", ["prompt?from=999999", "nothing", "lease"])
def test_parts_that_do_not_exist_are_not_found(viewer: Client, part: str) -> None:
    step = factories.step(factories.run())
    assert viewer.get(f"/ui/steps/{step.id}/text/{part}").status_code == 404


def test_the_trace_shows_every_call_with_its_result_by_pages(viewer: Client) -> None:
    events = [{"type": "tool_call", "name": f"tool{n}", "input": {"n": n}} for n in range(120)]
    events[3] = {"type": "tool_result", "name": "tool3", "content": "y" * 90_000, "is_error": True}
    step = factories.step(factories.run(), agent_trace=events)
    first = text_of(viewer, f"/ui/steps/{step.id}/trace", **{"HX-Request": "true"})
    assert "<html" not in first
    assert "tool49" in first
    assert "tool50" not in first
    assert "90,000 characters" in first
    assert "70 more events" in first
    assert "tool119" in text_of(viewer, f"/ui/steps/{step.id}/trace?from=100")
    assert "y" * 49_000 in text_of(viewer, f"/ui/steps/{step.id}/trace?event=3")
    assert viewer.get(f"/ui/steps/{step.id}/trace?event=120").status_code == 404


def test_a_step_opens_on_its_own_and_as_a_part(viewer: Client) -> None:
    run, step = escalated()
    assert "<html" in text_of(viewer, f"/ui/steps/{step.id}")
    part = text_of(viewer, f"/ui/runs/{run.id}/step?name=assess-and-remediate", **{"HX-Request": "true"})
    assert part.strip().startswith("<article")
    assert viewer.get(f"/ui/runs/{run.id}/step?name=nope").status_code == 404


def test_a_run_of_many_steps_counts_them_and_opens_the_one_that_matters(viewer: Client) -> None:
    run = factories.run(status="failed", reason="fan/7 failed.")
    Step.objects.bulk_create(
        Step(run=run, name=f"fan/{n}", index=n, status="failed" if n == 7 else "completed", executor="command",
             created_at=run.triggered_at)
        for n in range(1000)
    )  # fmt: skip
    html = text_of(viewer, f"/ui/runs/{run.id}")
    assert "999 completed" in html
    assert html.count("<article") == 1
    assert 'data-step="fan/7"' in html
    assert "fan/998" in text_of(viewer, f"/ui/runs/{run.id}?from=501")
    assert viewer.get(f"/ui/runs/{run.id}?from=5000").status_code == 404


def test_the_number_of_queries_does_not_grow_with_steps_signals_or_events(
    viewer: Client, django_assert_num_queries: Any
) -> None:
    run, _ = escalated()
    for n in range(20):
        step = factories.gated(run, factories.worked_example(), name=f"step {n}", index=n + 1)
        factories.signal(step, SignalKind.VERIFIER, score=0.9)
        factories.event(run)
    # session, user, roles, run and version, outline of steps, log, panels' steps, their signals, retries, what is asked
    # about the run (two), what was asked about its steps (two), the badges
    with django_assert_num_queries(19):
        viewer.get(f"/ui/runs/{run.id}")


def test_earlier_log_lines_come_by_pages(viewer: Client) -> None:
    run = factories.run()
    events = [factories.event(run, f"line {n}") for n in range(450)]
    html = text_of(viewer, f"/ui/runs/{run.id}")
    assert "line 250" in html
    assert "line 249" not in html
    earlier = text_of(viewer, f"/ui/runs/{run.id}/log?before={events[250].id}", **{"HX-Request": "true"})
    assert "line 249" in earlier
    assert "line 50" in earlier
    assert "line 49" not in earlier
    assert viewer.get(f"/ui/runs/{run.id}/log?before=x").status_code == 400


def test_only_a_run_on_its_way_opens_a_stream(viewer: Client) -> None:
    assert "live.js" not in text_of(viewer, f"/ui/runs/{factories.run().id}")
    running = factories.run(status="running")
    last = factories.event(running)
    assert f"/ui/runs/{running.id}/events?after={last.id}" in text_of(viewer, f"/ui/runs/{running.id}")


def test_passes_of_a_loop_are_told_and_the_signals_are_of_the_pass_that_counts(viewer: Client) -> None:
    passes = [
        {
            "primary_confidence": 0.6,
            "effective_confidence": 0.55,
            "chosen": False,
            "parsed_output": {"summary": "vague"},
        },
        {"primary_confidence": 0.9, "effective_confidence": 0.9, "chosen": True, "parsed_output": None},
    ]
    run = factories.run()
    step = factories.gated(run, factories.worked_example(), iterations=passes)
    factories.signal(step, SignalKind.VERIFIER, iteration=0, prompt="about the first pass")
    factories.signal(step, SignalKind.VERIFIER, iteration=1, prompt="about the second pass")
    told = words(text_of(viewer, f"/ui/runs/{run.id}"))
    assert "Pass 1 : said 60%, 55% after its verifier" in told or "Pass 1: said 60%, 55% after its verifier" in told
    assert "Pass 2, the one that counts" in told
    assert "about the second pass" in told
    assert "about the first pass" not in told


def test_cancel_needs_an_operator_and_a_post(viewer: Client, operator: Client) -> None:
    run = factories.run(status="running")
    address = f"/ui/runs/{run.id}/cancel"
    assert "Cancel run" not in text_of(viewer, f"/ui/runs/{run.id}")
    assert viewer.post(address).status_code == 403
    assert operator.get(address).status_code == 405
    assert "Cancel run" in text_of(operator, f"/ui/runs/{run.id}")


@pytest.mark.django_db(transaction=True)
def test_an_operator_cancels_and_a_second_click_says_it_had_ended(operator: Client) -> None:
    run = factories.run(status="running")
    response = operator.post(f"/ui/runs/{run.id}/cancel", follow=True)
    assert "The run is cancelled." in response.content.decode()
    run.refresh_from_db()
    assert (run.status, run.reason) == ("cancelled", "Cancelled by olga.")
    response = operator.post(f"/ui/runs/{run.id}/cancel", follow=True)
    assert "had ended before" in response.content.decode()


def test_a_run_that_does_not_exist(viewer: Client) -> None:
    response = viewer.get(f"/ui/runs/{uuid.uuid4()}")
    assert response.status_code == 404
    assert "There is nothing here" in response.content.decode()


def test_what_a_run_and_its_steps_cost_stands_beside_what_is_not_known(viewer: Client) -> None:
    run = factories.run(tokens=1234567, steps_untold=1, cost_nanos=12_400_000_000, steps_unpriced=3)
    factories.step(run, "priced", cost_nanos=4_200_000)
    factories.step(run, "unpriced", index=1)
    factories.step(run, "webhook", index=2, agent="", cost_nanos=0)
    text = words(text_of(viewer, f"/ui/runs/{run.id}"))
    assert "12.40 $, 3 unpriced" in text
    assert "1,234,567, 1 step told none" in text
    assert "Cost 0.0042 $" in text
    assert text.count("Cost not known: a model without a price, or a call that told no tokens") == 1


def test_a_run_that_called_no_model_has_no_cost(viewer: Client) -> None:
    run = factories.run()
    factories.step(run, "by-hand", agent="", cost_nanos=0)
    assert "Cost none" in words(text_of(viewer, f"/ui/runs/{run.id}"))
