"""``manage.py run`` with a real worker: the operator's terminal."""

import signal
import sys

import pytest

from runs.models import Run, RunStatus
from tests.runs.intake_factories import pipeline

ANSWER = "import json; print(json.dumps({{'confidence': {}, 'summary': 'Looked.', 'next_step_context': ''}}))"
SLOW = "import time; time.sleep(60)"


def step(program: str) -> dict:
    return {
        "name": "look",
        "executor": "command",
        "executor_config": {"command": [sys.executable, "-c", program]},
        "prompt_template": "Look at {{ summary }}.",
    }


@pytest.fixture
def run(start):
    return lambda *arguments: start("run", ["manage.py", "run", *arguments])


@pytest.mark.parametrize(
    ("program", "code", "says"),
    [
        (ANSWER.format(0.9), 0, "Completed."),
        (ANSWER.format(0.5), 3, "Escalated."),
        ("raise SystemExit('no')", 5, "Failed."),
    ],
)
def test_follows_to_the_end(worker, run, program, code, says):
    worker()
    pipeline(stage="testing", steps=[step(program)])
    process = run("triage")
    assert process.popen.wait(30) == code, process.log()
    assert says in process.log()
    if code != 5:
        assert "75 %" in process.log() or "75%" in process.log(), "the narrative names the threshold"


def test_ctrl_c_leaves_the_run_going_and_cancel_ends_it(worker, run, start):
    worker()
    pipeline(steps=[step(SLOW)])
    process = run("triage")
    process.wait_until(lambda: Run.objects.filter(status=RunStatus.RUNNING).exists())
    process.signal(signal.SIGINT)
    assert process.popen.wait(10) == 130
    found = Run.objects.get()
    assert found.status == RunStatus.RUNNING
    assert f"manage.py cancel {found.id}" in process.log()

    cancel = start("cancel", ["manage.py", "cancel", str(found.id)])
    assert cancel.popen.wait(20) == 0
    found.refresh_from_db()
    assert found.status == RunStatus.CANCELLED


def test_without_a_worker_it_says_so(run):
    pipeline()
    process = run("triage")
    process.wait_for_line("No worker has picked the run up", seconds=30)
    assert process.running()
