"""The examples as a new user meets them: each payload through the real engine, agents and judges."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from runs.engine import drive
from runs.engine.work import Work
from runs.escalations import approving
from runs.escalations.deciding import Said
from runs.models import Approval, Run, Step
from runs.pipelines import registry
from runs.schedules.listing import schedule_for
from runs.schedules.ticking import run_due
from runs.trust.narrative import verdict
from tests.examples.play import EXAMPLES, payload, play, signals, steps

pytestmark = pytest.mark.django_db(transaction=True)


def counted(service: str, start: str, end: str, error_class: str) -> int:
    """What any reader of the log would count."""
    lines = (EXAMPLES / "data" / "logs" / f"{service}.log").read_text(encoding="utf-8").splitlines()
    words = [line.split() for line in lines]
    return sum(start <= word[0] < end and word[2:4] == ["ERROR", error_class] for word in words)


def output(step: Step) -> dict[str, Any]:
    assert step.parsed_output is not None
    return step.parsed_output


def test_all_signals_agree_on_the_deploy_behind_the_checkout_errors() -> None:
    run = play(payload("checkout"))
    assert run.status == "completed"
    triage, plan = steps(run).values()
    assert (output(triage)["cause"], output(triage)["suspect"]) == ("deploy", "4.18.0")
    assert output(triage)["errors"] == counted(
        "checkout", "2026-03-10T14:00:00Z", "2026-03-10T15:00:00Z", "PoolTimeout"
    )
    assert triage.grounding_score == 1.0
    assert triage.deterministic_passed is True
    assert triage.verifier_confidence is not None
    assert triage.combined_trust == min(triage.primary_confidence, triage.verifier_confidence)
    assert (output(plan)["action"], output(plan)["target"]) == ("roll back", "4.17.3")
    assert len(triage.agent_version) >= 12


def test_another_alert_has_another_cause() -> None:
    run = play(payload("payments"))
    assert run.status == "completed"
    triage, plan = steps(run).values()
    assert (output(triage)["cause"], output(triage)["suspect"]) == ("upstream", "acquirer northbank")
    assert output(plan)["summary"].startswith("Route around acquirer northbank.")


def test_without_a_cause_that_stands_out_the_agent_doubts_itself() -> None:
    run = play(payload("search-noisy"))
    assert run.status == "escalated"
    [triage] = steps(run).values()
    assert triage.primary_confidence < 0.5
    assert triage.grounding_score == 1.0
    assert "the agent's own number" in verdict(triage.trust_report)


def test_where_nothing_is_wrong_the_run_stops() -> None:
    run = play(payload("search-quiet"))
    assert run.status == "stopped"
    [triage] = steps(run).values()
    assert triage.combined_trust >= 0.75
    assert output(triage)["cause"] == "none"


def test_claims_without_evidence_are_held_back_by_grounding_alone() -> None:
    run = play(payload("quick-look"))
    assert run.status == "escalated"
    [look] = steps(run).values()
    assert look.primary_confidence > 0.9
    assert look.verifier_confidence > 0.6
    assert look.deterministic_passed is True
    assert look.grounding_score == look.combined_trust == 0.5
    claims = signals(look)["grounding"].detail["claims"]
    assert [claim["supported"] for claim in claims] == [True, True, False, False]
    assert claims[3]["evidence"] == "no tool result mentions deploy"
    assert not signals(look)["grounding"].detail["trace_cut"]
    assert [entry["field"] for entry in signals(look)["verifier"].detail["differs"]] == ["errors"]


def test_a_number_that_a_recount_does_not_find_is_given_up() -> None:
    run = play(payload("status-page"))
    assert run.status == "aborted"
    [count] = steps(run).values()
    assert (count.combined_trust, count.deterministic_passed) == (0.0, False)
    true_count = counted("checkout", "2026-03-10T14:00:00Z", "2026-03-10T14:50:00Z", "PoolTimeout")
    assert signals(count)["same-number-recounted"].detail["stdout"] == f"{true_count}\n"
    assert output(count)["errors"] != true_count


def test_an_alert_finds_its_pipeline_by_its_labels() -> None:
    run = play(payload("alertmanager"), source="alertmanager")
    assert (run.pipeline_name, run.status) == ("alert-triage", "completed")
    [triage] = steps(run).values()
    assert output(triage)["suspect"] == "4.18.0"


def test_the_plain_pipeline_takes_the_agents_at_their_word() -> None:
    run = play(payload("checkout", pipeline="triage-plain"))
    assert run.status == "completed"
    for step in steps(run).values():
        assert step.combined_trust == step.primary_confidence
        assert not signals(step)


def test_a_service_nobody_knows_is_no_crash() -> None:
    given = payload("checkout")
    given["data"] = given["data"] | {"service": "../../etc/passwd"}
    run = play(given)
    assert run.status == "escalated"
    [triage] = steps(run).values()
    assert output(triage)["cause"] == "unknown"


def test_a_task_without_a_window_fails_with_a_reason() -> None:
    given = payload("checkout", pipeline="triage-plain", data={"service": "checkout", "from": "noon", "to": "one"})
    run = play(given)
    assert run.status == "failed"
    assert "Window:" in run.reason


def test_a_service_name_stays_one_argument_of_a_check(tmp_path: Any) -> None:
    given = payload("checkout")
    given["data"] = given["data"] | {"service": f"checkout; touch {tmp_path}/made"}
    run = play(given)
    assert run.status == "escalated"
    assert not (tmp_path / "made").exists()


def test_payloads_name_pipelines_that_exist() -> None:
    named = {file.stem for file in (EXAMPLES / "pipelines").glob("*.yaml")}
    for file in sorted((EXAMPLES / "payloads").glob("*.json")):
        assert payload(file.stem).get("pipeline", "alert-triage") in named


def test_every_agent_answers_within_a_second() -> None:
    runs = [play(payload(name)) for name in ("checkout", "quick-look")]
    for step in itertools.chain(*(steps(run).values() for run in runs)):
        assert step.duration_ms < 1000
        assert all(signal.duration_ms < 1000 for signal in signals(step).values())


def test_a_round_over_all_services_is_held_back_by_the_weakest_of_them() -> None:
    run = play(payload("morning-round"))
    for branch in run.steps.filter(status="pending"):
        drive.perform(Work("step", branch.id))
    run.refresh_from_db()
    found = steps(run)
    looks = [found[f"look/{number}"] for number in range(3)]
    assert [output(look)["cause"] for look in looks[:2]] == ["deploy", "upstream"]
    assert found["look"].combined_trust == looks[2].combined_trust < 0.5
    assert run.status == "escalated"


@pytest.fixture
def changes() -> Iterator[Path]:
    noted = EXAMPLES / "data" / "changes.csv"
    noted.unlink(missing_ok=True)
    yield noted
    noted.unlink(missing_ok=True)


def asked_about_the_rollback() -> tuple[Run, Approval]:
    run = play(payload("rollback"))
    asked = Approval.objects.get(run=run)
    assert (run.status, asked.to) == ("running", "on-call")
    assert asked.message.startswith("Roll back checkout from 4.18.0 to 4.17.3.")
    assert asked.message.endswith("Do it now?")
    return run, asked


def carried_on(run: Run, asked: Approval) -> Run:
    drive.perform(Work("step", asked.step_id))
    run.refresh_from_db()
    return run


def test_nothing_is_changed_before_a_person_has_said_yes(changes: Path) -> None:
    run, asked = asked_about_the_rollback()
    assert not changes.exists()
    approving.approve(asked.id, Said(by="ada", reason="", now=timezone.now()))
    assert carried_on(run, asked).status == "completed"
    assert changes.read_text() == "checkout,4.17.3,ada\n"
    assert steps(run)["roll-back"].deterministic_passed is True


def test_nothing_is_changed_when_a_person_says_no(changes: Path) -> None:
    run, asked = asked_about_the_rollback()
    approving.reject(asked.id, Said(by="ada", reason="not during the sale", now=timezone.now()))
    assert carried_on(run, asked).status == "aborted"
    assert not changes.exists()


def test_the_report_starts_by_itself_on_a_workday_morning_in_london() -> None:
    # Thursday, 1 October 2026: 06:30 of British summer time is 05:30 UTC. The 4th is a Sunday.
    registry.reload(now=datetime(2026, 10, 1, tzinfo=UTC))
    assert run_due(now=datetime(2026, 10, 1, 5, 29, 59, tzinfo=UTC)) == 0
    assert run_due(now=datetime(2026, 10, 1, 5, 30, tzinfo=UTC)) == 1
    run = Run.objects.get()
    drive.perform(Work("run", run.id))
    run.refresh_from_db()
    assert (run.status, run.team) == ("completed", "shop")
    [report] = steps(run).values()
    assert output(report)["suspect"] == "4.18.0"
    assert [tick.day for tick in schedule_for("morning-report", now=datetime(2026, 10, 2, 6, tzinfo=UTC)).upcoming] == [
        5, 6, 7,
    ]  # fmt: skip
