"""Whole runs in one process, with real programs as agents and judges."""

import hashlib

import pytest
from django.db import OperationalError
from django.utils import timezone

from calibration import tallies
from calibration.models import Sample
from runs.engine import drive, gate
from runs.engine.work import Work
from runs.models import RunStatus, Signal, Step, StepStatus
from tests.pipelines import calls, judge, step, steps_of, wake

# The engine commits: what it does on commit belongs to what is tested.
pytestmark = pytest.mark.django_db(transaction=True)

CLAIMS = {
    "confidence": 0.5,
    "reasoning": {
        "claims": [
            {"claim": "the disk is full", "supported": True, "evidence": "df says 100 %"},
            {"claim": "a log filled it", "supported": False, "evidence": ""},
        ]
    },
}


def test_steps_run_in_order_and_see_what_came_before(pipelines, tmp_path):
    pipelines.write(
        "two",
        step("first", says={"confidence": 0.9, "cause": "a full disk"}),
        step(
            "second", prompt_template="Because of {{ steps.first.cause }}: act.", agent={"log": str(tmp_path / "log")}
        ),
    )
    run = pipelines.run("two")
    assert (run.status, run.reason) == (RunStatus.COMPLETED, "")
    assert [row.status for row in steps_of(run).values()] == ["completed", "completed"]
    assert calls(tmp_path / "log")[0]["prompt"] == "Because of a full disk: act."
    assert [event.kind for event in run.events.order_by("id")] == [
        "run.queued", "run.started", "step.started", "step.decided", "step.started", "step.decided", "run.ended",
    ]  # fmt: skip


def test_without_any_mechanism_the_gate_is_the_agents_word_against_the_threshold(pipelines):
    pipelines.write("bare", step(says=0.74), step("never"))
    run = pipelines.run("bare")
    assert run.status == RunStatus.ESCALATED
    assert run.completed_at is None
    assert run.events.order_by("id").last().kind == "run.escalated"
    assert list(steps_of(run)) == ["look"]
    assert steps_of(run)["look"].combined_trust == 0.74
    assert "74%" in run.reason


@pytest.mark.parametrize(
    ("policy", "status"), [("abort", "aborted"), ("proceed", "completed"), ("escalate", "escalated")]
)
def test_low_confidence_does_what_the_step_says(pipelines, policy, status):
    pipelines.write("low", step(says=0.1, on_low_confidence=policy))
    assert pipelines.run("low").status == status


def test_the_worked_example(pipelines):
    """S .95, veto V .85 above its floor, 50 samples of which 31 were right, G .50 enforced, check passed: .50."""
    definition = step(
        says=0.95,
        verifier={**judge(says=0.85), "combination_strategy": "veto", "veto_floor": 0.60},
        grounding={**judge(says=CLAIMS), "enforce": True},
        deterministic_checks=[{"type": "shell", "name": "still_breaching", "run": "true"}],
        calibration={"enforce": True},
        confidence_threshold=0.75,
    )
    pipelines.write("worked", definition)
    seed = steps_of(pipelines.run("worked"))["look"]
    bucket = Sample.objects.get(id=seed.id).bucket
    rights = [1.0] * 31 + [0.0] * 19
    rows = [
        Sample(
            id=Step().id, bucket=bucket, group=Step().id, stage="production", confidence=0.95, confidence_ppm=950_000,
            observed_at=timezone.now(), label=label, label_source="step_mark",
        )
        for label in rights
    ]  # fmt: skip
    Sample.objects.bulk_create(rows)
    tallies.rebuild()
    run = pipelines.run("worked")
    row = steps_of(run)["look"]
    assert run.status == RunStatus.ESCALATED
    assert row.primary_confidence == 0.95
    assert row.verifier_confidence == 0.85
    assert row.effective_confidence == 0.95
    assert [stage["after"] for stage in row.trust_report["stages"]] == [0.95, 0.95, 0.62, 0.5, 0.5, 0.5]
    assert (row.grounding_score, row.deterministic_passed, row.combined_trust) == (0.5, True, 0.5)


def test_leaving_the_confidence_out_is_no_way_around_the_track_record_a_step_insists_on(pipelines):
    record = {"enforce": True, "on_uncalibrated": "escalate"}
    silent = step(says={"summary": "done"}, confidence_threshold=0.0, calibration=record)
    pipelines.write("silent", silent)
    run = pipelines.run("silent")
    assert run.status == RunStatus.ESCALATED
    assert "track record" in run.reason
    assert steps_of(run)["look"].combined_trust is None


def test_each_agent_step_leaves_a_sample_with_s_after_v(pipelines):
    pipelines.write("sampled", step(says=0.9, verifier=judge(says=0.8)))
    row = steps_of(pipelines.run("sampled"))["look"]
    sample = Sample.objects.get()
    assert (sample.id, sample.group, sample.stage, sample.confidence) == (row.id, row.run_id, "testing", 0.8)
    assert (sample.label, sample.label_source) == (None, "")
    assert (sample.bucket.step, sample.bucket.agent, sample.bucket.prompt_hash) == ("look", row.agent, row.prompt_hash)


def test_a_failed_check_gives_zero_and_labels_the_sample(pipelines):
    checks = [{"type": "shell", "name": "no", "run": "false"}]
    pipelines.write("checked", step(says=1.0, confidence_threshold=0.0, deterministic_checks=checks))
    run = pipelines.run("checked")
    assert run.status == RunStatus.ESCALATED
    assert steps_of(run)["look"].combined_trust == 0.0
    sample = Sample.objects.get()
    assert (sample.confidence, sample.label, sample.label_source) == (1.0, 0.0, "failed_check")


def test_the_agent_may_stop_the_run_once_the_gate_has_let_it_pass(pipelines):
    pipelines.write(
        "stop", step(says={"confidence": 0.9, "proceed": False, "proceed_reason": "a duplicate"}), step("b")
    )
    run = pipelines.run("stop")
    assert (run.status, run.reason) == (RunStatus.STOPPED, "look: a duplicate")
    pipelines.write("low-stop", step(says={"confidence": 0.2, "proceed": False}))
    assert pipelines.run("low-stop").status == RunStatus.ESCALATED


def test_a_step_whose_when_is_false_is_skipped(pipelines):
    pipelines.write("when", step("a", says=0.8), step("b", when="steps.a.confidence > 0.9"), step("c"))
    run = pipelines.run("when")
    assert {name: row.status for name, row in steps_of(run).items()} == {
        "a": "completed", "b": "skipped", "c": "completed",
    }  # fmt: skip


def test_a_when_that_cannot_be_evaluated_fails_by_name(pipelines):
    pipelines.write("when", step("a"), step("b", when="steps.a.nothing > 1"))
    run = pipelines.run("when")
    assert run.status == RunStatus.FAILED
    assert "nothing" in run.reason


def test_a_run_that_ends_before_any_step_begins_is_over_at_once(pipelines):
    """Not only when the sweeper finds it later, with its end told twice."""
    pipelines.write("broken", step(when="data.x == 1"), context_template={"include": ["data"]})
    pipelines.write("idle", step(when="summary == 'no'"))

    broken, idle = pipelines.run("broken", data={}), pipelines.run("idle")

    assert (broken.status, broken.reason) == ("failed", "look failed: data.x is missing")
    assert idle.status == "completed"
    assert idle.completed_at is not None
    assert idle.events.filter(kind="run.ended").count() == 1


def test_a_missing_name_in_a_prompt_renders_empty_and_warns(pipelines, tmp_path):
    log = tmp_path / "log"
    pipelines.write("warn", step("a"), step("b", prompt_template="[{{ steps.a.nothing }}]", agent={"log": str(log)}))
    run = pipelines.run("warn")
    assert calls(log)[0]["prompt"] == "[]"
    warning = run.events.get(kind="template.warning")
    assert (warning.level, warning.step_name) == ("warning", "b")
    assert "steps.a.nothing" in warning.message


def test_a_failure_ends_the_run_unless_it_may_be_passed_over(pipelines):
    pipelines.write("fail", step("a", agent={"exit": 3}), step("b"))
    run = pipelines.run("fail")
    assert run.status == RunStatus.FAILED
    assert "scripted to fail" in run.reason
    pipelines.write("pass-over", step("a", agent={"exit": 3}, on_failure="continue"), step("b"))
    run = pipelines.run("pass-over")
    assert run.status == RunStatus.COMPLETED
    assert [row.status for row in steps_of(run).values()] == ["failed", "completed"]


def test_an_answer_that_breaks_the_contract_fails_the_step_and_is_kept(pipelines):
    pipelines.write("nan", step(agent={"raw": '{"confidence": NaN, "summary": "x", "next_step_context": ""}'}))
    run = pipelines.run("nan")
    row = steps_of(run)["look"]
    assert (run.status, row.status, row.primary_confidence, row.combined_trust) == ("failed", "failed", None, None)
    assert "NaN" in row.raw_output
    assert "confidence" in row.error
    assert not Sample.objects.exists()


def test_a_verifier_that_fails_changes_nothing_and_is_told(pipelines):
    pipelines.write("v", step(says=0.9, verifier=judge(exit=1)))
    row = steps_of(pipelines.run("v"))["look"]
    assert (row.status, row.combined_trust, row.verifier_confidence) == ("completed", 0.9, None)
    signal = Signal.objects.get()
    assert (signal.state, signal.score) == ("failed", None)
    assert "scripted to fail" in signal.error
    pipelines.write("v2", step(says=0.9, verifier={**judge(exit=1), "on_error": "escalate"}))
    row = steps_of(pipelines.run("v2"))["look"]
    assert (row.status, row.combined_trust) == ("escalated", 0.9)


def test_a_step_without_confidence_passes_only_at_threshold_0(pipelines):
    said = {"summary": "no number"}
    pipelines.write("none", step(says=said))
    assert pipelines.run("none").status == RunStatus.FAILED
    pipelines.write("zero", step(says=said, confidence_threshold=0.0))
    run = pipelines.run("zero")
    row = steps_of(run)["look"]
    assert (run.status, row.primary_confidence, row.combined_trust) == ("completed", None, None)


def test_work_that_is_done_is_not_done_again(pipelines, tmp_path):
    log = tmp_path / "log"
    pipelines.write("once", step(agent={"log": str(log)}))
    run = pipelines.run("once")
    drive.perform(Work("run", run.id))
    drive.perform(Work("step", steps_of(run)["look"].id))
    assert len(calls(log)) == 1


def test_an_unforeseen_error_ends_step_and_run_with_a_reason(pipelines, monkeypatch):
    from runs.engine import gate

    def broken(*_args, **_kwargs):
        raise ZeroDivisionError("nobody thought of this")

    monkeypatch.setattr(gate, "decide", broken)
    pipelines.write("broken", step())
    run = pipelines.run("broken")
    assert run.status == RunStatus.FAILED
    assert "nobody thought of this" in run.reason


def test_a_run_executes_the_version_it_started_with(pipelines, tmp_path):
    log = tmp_path / "log"
    pipelines.write("versioned", step(agent={"log": str(log)}, prompt_template="old"))
    run = pipelines.accept("versioned")
    pipelines.write("versioned", step(agent={"log": str(log)}, prompt_template="new"))
    drive.perform(Work("run", run.id))
    assert [call["prompt"] for call in calls(log)] == ["old"]


def test_unstorable_text_is_stored_as_its_escape(pipelines):
    pipelines.write(
        "odd", step(agent={"raw": '{"confidence": 0.9, "summary": "\\u0000 \\ud800", "next_step_context": ""}'})
    )
    run = pipelines.run("odd")
    assert run.status == RunStatus.COMPLETED
    assert steps_of(run)["look"].parsed_output["summary"] == "\\u0000 \\ud800"


def test_names_and_counts_of_an_agent_that_no_column_holds_do_not_cost_its_answer(pipelines):
    name = "".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(150))  # nothing that compresses
    trace = [
        {"type": "model", "model": name, "provider": name[::-1]},
        {"type": "usage", "input_tokens": 2**31, "output_tokens": 10**30},
    ]
    pipelines.write("boastful", step(agent={"says": 0.9, "trace": trace}))
    row = steps_of(pipelines.run("boastful"))["look"]
    assert (row.status, row.primary_confidence) == (StepStatus.COMPLETED, 0.9)
    assert (row.input_tokens, row.output_tokens) == (None, None)
    assert row.model.startswith(name[:100])
    assert len(row.model.encode()) <= 200
    assert Sample.objects.get(id=row.id).bucket.model == row.model


def test_what_is_too_large_for_the_database_ends_the_step_at_once(pipelines, monkeypatch):
    pipelines.write("large", step(says=0.9))
    too_large = OperationalError("index row requires 18056 bytes")
    too_large.__cause__ = type("Cause", (Exception,), {"sqlstate": "54000"})()

    def refuse(*_: object, **__: object) -> None:
        raise too_large

    monkeypatch.setattr(gate, "decide", refuse)
    run = pipelines.run("large")
    assert (run.status, steps_of(run)["look"].attempts) == (RunStatus.FAILED, 1)
    assert "index row requires" in run.reason


def test_a_failure_with_a_nul_in_its_words_is_told_as_it_is(pipelines):
    pipelines.write("nul", step(agent={"says": 0.9, "exit": 3, "stderr": "boom \x00"}))
    run = pipelines.run("nul")
    assert run.reason.startswith("look: scripted ended with exit code 3")
    assert "\x00" not in run.reason


def test_a_database_that_refuses_is_named_when_the_step_is_given_up(pipelines, monkeypatch):
    from runs.engine import step as engine_step

    def refuse(*_args, **_kwargs):
        raise OperationalError("disk full")

    pipelines.write("refused", step())
    with monkeypatch.context() as patch:
        patch.setattr(engine_step, "decide", refuse)
        run = pipelines.run("refused")
    assert run.status == RunStatus.RUNNING
    run.steps.update(attempts=5)
    wake(run)
    assert (run.status, run.reason) == (
        "failed",
        "look: given up: 5 workers went silent while they had it; the last trouble was OperationalError: disk full",
    )


def test_trouble_that_is_over_leaves_no_error_behind(pipelines, monkeypatch):
    from runs.engine import step as engine_step

    def refuse(*_args, **_kwargs):
        raise OperationalError("disk full")

    pipelines.write("refused", step())
    with monkeypatch.context() as patch:
        patch.setattr(engine_step, "decide", refuse)
        run = pipelines.run("refused")
    wake(run)
    assert (run.status, steps_of(run)["look"].error) == ("completed", "")
