"""Pipelines for tests: written as files, loaded as the service loads them, with a real program as the agent."""

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from runs.engine import drive, sweeper
from runs.engine.work import Work
from runs.intake import accept
from runs.models import Run, Step
from runs.pipelines import registry

AGENT = Path(__file__).parent / "agents" / "scripted.py"


class Pipelines:
    """A directory of pipelines, each reloaded as it is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def write(self, name: str, *steps: dict[str, Any], **fields: Any) -> None:
        pipeline = {"name": name, "stage": "testing", "steps": list(steps), **fields}
        (self.folder / f"{name}.yaml").write_text(json.dumps(pipeline))  # JSON is YAML
        report = registry.reload(now=timezone.now())
        assert not report.problems, report.problems

    def accept(self, name: str, **payload: Any) -> Run:
        """Store a run as the API would; nobody has looked at it yet."""
        accepted = accept.start(
            pipeline=name,
            payload={"summary": "disk full", **payload},
            team="",
            source="test",
            started_by="a test",
            now=timezone.now(),
        )
        return Run.objects.get(id=accepted.run_id)

    def run(self, name: str, **payload: Any) -> Run:
        """Run it to its rest in this process, as one worker would."""
        run = self.accept(name, **payload)
        drive.perform(Work("run", run.id))
        run.refresh_from_db()
        return run


def agent(**spec: Any) -> dict[str, Any]:
    """executor_config of a scripted agent."""
    # Braces in an argument would be a template: the spec is kept from being read as one.
    text = json.dumps(spec).replace("{{", "{ {").replace("}}", "} }")
    return {"agent": spec.pop("name", "scripted"), "command": [sys.executable, str(AGENT), text]}


def step(name: str = "look", *, says: Any = 0.9, **fields: Any) -> dict[str, Any]:
    """A step whose agent is scripted by ``agent=`` (a dict), or just says a confidence."""
    spec = {"says": says, **fields.pop("agent", {})}
    return {
        "name": name,
        "executor": "command",
        "executor_config": agent(**spec),
        "prompt_template": "Look into {{ summary }}.",
        **fields,
    }


def nested(name: str = "sub", *, pipeline: str = "inner", context: Any = None, **fields: Any) -> dict[str, Any]:
    """A step that runs another pipeline."""
    config = {"pipeline": pipeline, **({"context": context} if context else {})}
    return {"name": name, "executor": "pipeline", "executor_config": config, **fields}


def human(name: str = "ask", *, message: str = "Restart {{ summary }}?", **fields: Any) -> dict[str, Any]:
    """A step that asks a person."""
    return {"name": name, "executor": "human", "executor_config": {"message": message}, **fields}


def human_check(name: str = "sign-off", **fields: Any) -> dict[str, Any]:
    return {"type": "human", "name": name, "message": "Is {{ output.summary }} right?", **fields}


def judge(**spec: Any) -> dict[str, Any]:
    """A verifier or a grounding judge, scripted."""
    return {"executor": "command", "executor_config": agent(**spec)}


def steps_of(run: Run) -> dict[str, Step]:
    return {step.name: step for step in run.steps.order_by("index")}


def calls(log: Path) -> list[dict[str, Any]]:
    """What a scripted agent noted, call by call."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def wake(run: Run) -> None:
    """Do what the sweeper would have a worker do at the next due time."""
    sweeper.sweep(now=timezone.now() + timedelta(hours=1))
    for row in run.steps.filter(status__in=["pending", "running", "judging"]):
        drive.perform(Work("step", row.id))
    run.refresh_from_db()
