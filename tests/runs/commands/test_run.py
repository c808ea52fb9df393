import io
import json
import uuid
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command

from runs import events
from runs.intake import follow
from runs.models import Run, RunStatus, Step
from runs.trust.vector import CheckInput, evaluate
from tests.runs.intake_factories import NOW, pipeline

pytestmark = pytest.mark.django_db


class Clock:
    """The follower's clock: each sleep moves it on and lets the next thing happen."""

    def __init__(self, *happenings):
        self.now = 100.0
        self.happenings = list(happenings)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.happenings:
            self.happenings.pop(0)(Run.objects.get())


@pytest.fixture
def clock(monkeypatch):
    def install(*happenings) -> Clock:
        made = Clock(*happenings)
        monkeypatch.setattr(follow, "time", made)
        return made

    return install


def report():
    return evaluate(
        self_report=0.9,
        verifier=None,
        calibration=None,
        grounding=None,
        checks=[CheckInput(name="ticket", passed=False, detail="")],
        confidence_threshold=0.75,
        on_low_confidence="escalate",
    ).to_json()


def pick_up(run):
    Run.objects.update(status=RunStatus.RUNNING)
    events.log(run.id, "run.started", "A worker has the run.", now=NOW)


def answer(run):
    Step.objects.create(
        run=run, name="look", index=0, executor="command", status="escalated", created_at=NOW, trust_report=report()
    )
    events.log(run.id, "step.answered", "Answered in 12 ms.", now=NOW, step_name="look")


def ending(status):
    def end(run):
        Run.objects.update(status=status, reason="Because.")
        events.log(run.id, "run.ended", "The run is over.", now=NOW)

    return end


def run_command(*arguments, payload=None, tmp_path=None):
    """The exit code and what was printed."""
    if payload is not None:
        file = tmp_path / "payload.json"
        file.write_bytes(payload if isinstance(payload, bytes) else json.dumps(payload).encode())
        arguments = (*arguments, "--payload", str(file))
    out = io.StringIO()
    try:
        call_command("run", *arguments, stdout=out, no_color=True)
    except SystemExit as ended:
        return ended.code, out.getvalue()
    return 0, out.getvalue()


@pytest.mark.parametrize(
    ("status", "code"),
    [("completed", 0), ("stopped", 0), ("escalated", 3), ("aborted", 4), ("failed", 5), ("cancelled", 6)],
)
def test_follows_the_run_and_exits_with_its_end(clock, tmp_path, status, code):
    pipeline(stage="testing")
    clock(pick_up, answer, ending(status))
    ended, printed = run_command("triage", payload={"summary": "Disk full"}, tmp_path=tmp_path)
    assert ended == code
    run = Run.objects.get()
    assert (run.summary, run.source, run.started_by) == ("Disk full", "cli", "the command line")
    lines = printed.splitlines()
    assert lines[0] == f"Run {run.id} of triage."
    assert [line[10:] for line in lines[1:5]] == [
        "Accepted from cli by the command line.",
        "A worker has the run.",
        "look: Answered in 12 ms.",
        "The run is over.",
    ]
    assert lines[-1] == f"{RunStatus(status).label}. Because."


def test_prints_the_trust_narrative_of_each_step(clock):
    pipeline()
    clock(pick_up, answer, ending("escalated"))
    _, printed = run_command("triage")
    assert "\nlook (escalated)\n" in printed
    assert "ticket" in printed.split("look (escalated)")[1]


def test_says_once_when_no_worker_comes(clock, settings):
    pipeline()
    waits = [lambda run: None] * 120
    clock(*waits, ending("completed"))
    code, printed = run_command("triage")
    assert code == 0
    assert printed.count("No worker has picked the run up for 10 seconds") == 1


def test_says_nothing_of_workers_while_one_is_at_it(clock):
    pipeline()
    clock(pick_up, *[lambda run: None] * 120, ending("completed"))
    assert "No worker" not in run_command("triage")[1]


def test_ctrl_c_leaves_the_run_going_and_says_how_to_cancel(clock):
    def interrupt(run):
        raise KeyboardInterrupt

    pipeline()
    clock(interrupt)
    code, printed = run_command("triage")
    run = Run.objects.get()
    assert (code, run.status) == (130, "queued")
    assert f"manage.py cancel {run.id}" in printed


def test_no_follow_prints_the_id_only():
    pipeline()
    code, printed = run_command("triage", "--no-follow", "--team", "ops")
    assert code == 0
    assert printed.strip() == str(Run.objects.get(team="ops").id)


def test_duplicate_follows_the_first(clock, tmp_path):
    pipeline()
    payload = {"idempotency_key": "k"}
    _, first = run_command("triage", "--no-follow", payload=payload, tmp_path=tmp_path)
    clock(ending("completed"))
    code, printed = run_command("triage", payload=payload, tmp_path=tmp_path)
    assert code == 0
    assert f"Run {first.strip()} of triage. A run with the same key is in flight" in printed


def test_payload_from_standard_input(monkeypatch):
    pipeline()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b'{"summary": "piped"}')))
    run_command("triage", "--no-follow", "--payload", "-")
    assert Run.objects.get().summary == "piped"


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (b"{", "not JSON"),
        (b"[]", "must be a JSON object"),
        (b'{"summary": 1}', "summary"),
        (b" " * 1_000_001, "larger"),
    ],
)
def test_bad_payload_is_told(tmp_path, payload, says):
    pipeline()
    with pytest.raises(CommandError, match=says):
        run_command("triage", payload=payload, tmp_path=tmp_path)
    assert not Run.objects.exists()


def test_missing_file_and_pipeline_are_told(tmp_path):
    pipeline()
    with pytest.raises(CommandError, match="Cannot read"):
        run_command("triage", "--payload", str(tmp_path / "nothing.json"))
    with pytest.raises(CommandError, match="Did you mean triage"):
        run_command("triag")


def test_cancel():
    pipeline()
    run_command("triage", "--no-follow")
    run = Run.objects.get()
    out = io.StringIO()
    call_command("cancel", str(run.id), stdout=out)
    run.refresh_from_db()
    assert run.status == RunStatus.CANCELLED
    assert str(run.id) in out.getvalue()
    with pytest.raises(CommandError, match="ended already"):
        call_command("cancel", str(run.id))


def test_cancel_of_nothing():
    with pytest.raises(CommandError, match="There is no run"):
        call_command("cancel", str(uuid.uuid4()))
    with pytest.raises(CommandError, match="invalid"):
        call_command("cancel", "17")


@pytest.mark.django_db(transaction=True)
def test_a_payload_in_another_systems_shape(tmp_path):
    pipeline("alpha")
    labels = {"alertname": "Errors", "service": "checkout"}
    alert = {"status": "firing", "labels": labels, "startsAt": "2026-03-10T14:40:00Z", "fingerprint": "f"}
    payload = {"status": "firing", "groupKey": "g", "commonLabels": labels, "alerts": [alert]}
    file = tmp_path / "alert.json"
    file.write_text(json.dumps(payload))
    call_command("run", "alpha", payload=str(file), source="alertmanager", no_follow=True, stdout=io.StringIO())
    run = Run.objects.get()
    assert (run.pipeline_name, run.source, run.context["labels"]) == ("alpha", "alertmanager", labels)
