"""Rows for tests: real models with plausible values, everything overridable. ``now`` is fixed unless given."""

import datetime as dt
import hashlib
import itertools
from typing import Any

from django.contrib.auth.models import Group, User

from runs.escalations.deciding import CLOSES
from runs.models import (
    Approval,
    Decision,
    Escalation,
    Pipeline,
    PipelineVersion,
    Run,
    RunEvent,
    RunStatus,
    Signal,
    SignalKind,
    Step,
    StepStatus,
)
from runs.trust.vector import CalibrationInput, CheckInput, GroundingInput, VerifierInput, evaluate


def _latest(hour: int, minute: int) -> dt.datetime:
    """The last time it was that late in UTC: pages that show the last 24 hours or 7 days find what was made then."""
    now = dt.datetime.now(dt.UTC)
    today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return today if today <= now else today - dt.timedelta(days=1)


NOW = _latest(14, 32)
_numbers = itertools.count(1)


def user(name: str = "", *, role: str = "viewer", password: str = "secret") -> User:
    person = User.objects.create_user(name or f"{role}{next(_numbers)}", password=password)
    person.groups.add(Group.objects.get_or_create(name=role)[0])
    return person


def version(
    name: str = "checkout-error-rate", *, steps: list[dict[str, Any]] | None = None, **config: Any
) -> PipelineVersion:
    config = {"name": name, "stage": "production", "steps": steps if steps is not None else [step_config()], **config}
    digest = hashlib.sha256(repr(sorted(config.items(), key=str)).encode()).hexdigest()
    row, _ = PipelineVersion.objects.get_or_create(
        digest=digest, defaults={"name": name, "config": config, "source": f"name: {name}\n", "created_at": NOW}
    )
    return row


def step_config(name: str = "assess-and-remediate", **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "executor": "command",
        "executor_config": {"command": ["python3", "examples/agents/assess.py"]},
        "prompt_template": "Assess {{ summary }}",
        "confidence_threshold": 0.75,
        "on_low_confidence": "escalate",
        **fields,
    }


def pipeline(name: str = "checkout-error-rate", *, file: str = "", **fields: Any) -> Pipeline:
    defaults: dict[str, Any] = {"present": True, "loaded_at": NOW, "changed_at": NOW, "errors": []}
    if "version" not in fields:
        fields["version"] = version(name)
    return Pipeline.objects.create(file=file or f"{name}.yaml", name=name, **{**defaults, **fields})


def run(*, status: str = RunStatus.COMPLETED, now: dt.datetime = NOW, **fields: Any) -> Run:
    row_version = fields.pop("version", None) or version(fields.get("pipeline_name", "checkout-error-rate"))
    ended = status not in {RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.ESCALATED}
    defaults: dict[str, Any] = {
        "pipeline_name": row_version.name,
        "stage": "production",
        "team": "payments",
        "source": "generic",
        "started_by": "token of payments",
        "context": {"summary": "Checkout errors above 5%"},
        "payload": {"pipeline": row_version.name, "summary": "Checkout errors above 5%"},
        "summary": "Checkout errors above 5%",
        "triggered_at": now,
        "started_at": None if status == RunStatus.QUEUED else now,
        "completed_at": now + dt.timedelta(seconds=41) if ended else None,
    }
    return Run.objects.create(version=row_version, status=status, **{**defaults, **fields})


def step(of: Run, name: str = "assess-and-remediate", *, status: str = StepStatus.COMPLETED, **fields: Any) -> Step:
    defaults: dict[str, Any] = {
        "index": 0,
        "executor": "command",
        "agent": "command:assess",
        "model": "counter-1",
        "provider": "local",
        "prompt_hash": "a7fad9c01b22",
        "agent_version": "9f31c7aa02de",
        "prompt": "Assess the checkout error rate.",
        "raw_output": '{"confidence": 0.95, "summary": "A deploy broke checkout."}',
        "parsed_output": {"confidence": 0.95, "summary": "A deploy broke checkout.", "next_step_context": ""},
        "created_at": of.triggered_at,
        "started_at": of.triggered_at,
        "completed_at": of.triggered_at + dt.timedelta(seconds=12),
        "duration_ms": 12_340,
        "tries": 1,
    }
    return Step.objects.create(run=of, name=name, status=status, **{**defaults, **fields})


def gated(of: Run, report: dict[str, Any], name: str = "assess-and-remediate", **fields: Any) -> Step:
    """A step whose columns agree with ``report``."""
    signals = report["signals"]
    status = {"none": StepStatus.COMPLETED, "proceed": StepStatus.COMPLETED, "escalate": StepStatus.ESCALATED,
              "abort": StepStatus.ABORTED}[report["action"]]  # fmt: skip
    columns = {
        "trust_report": report,
        "primary_confidence": signals["S"],
        "verifier_confidence": signals["V"],
        "effective_confidence": signals["S_after_V"],
        "grounding_score": signals["G"],
        "deterministic_passed": signals["D"],
        "combined_trust": report["combined_trust"],
        "confidence_threshold": report["confidence_threshold"],
    }
    return step(of, name, **{"status": status, **columns, **fields})


def escalation(of: Step, *, decided: str = "", by: str = "ann", **fields: Any) -> Escalation:
    """A question about the step; ``decided`` (approve, abort, ...) closes it two minutes later."""
    row = Escalation.objects.create(
        step=of, run=of.run, **{"opened_at": of.run.triggered_at, "reason": "50% falls short of 75%.", **fields}
    )
    if decided:
        at = row.opened_at + dt.timedelta(minutes=2)
        row.decisions.create(kind=decided, by=by, reason="looked at it", at=at)
        row.state, row.closed_at, row.closed_by = CLOSES[Decision.Kind(decided)], at, by
        row.save()
    return row


def approval(of: Step, *, answered: str = "", by: str = "ann", **fields: Any) -> Approval:
    """A question to a person; ``answered`` (approved, rejected, ...) closes it two minutes later."""
    asked = {"name": of.name, "kind": "step", "message": "Do it now?", "opened_at": of.run.triggered_at}
    if answered:
        asked |= {"state": answered, "closed_by": by, "reason": "looked at it" if by else ""}
        asked["closed_at"] = of.run.triggered_at + dt.timedelta(minutes=2)
    return Approval.objects.create(step=of, run=of.run, **{**asked, **fields})


def worked_example(**changes: Any) -> dict[str, Any]:
    """The report of the seed's worked example: S .95, V .85, 31 of 50 right, G .50, a check that passed."""
    inputs: dict[str, Any] = {
        "self_report": 0.95,
        "verifier": VerifierInput(score=0.85, combination_strategy="veto"),
        "calibration": CalibrationInput(enforce=True, n=50, n_min=20, accuracy=0.62, lo=0.9, hi=1.0),
        "grounding": GroundingInput(enforce=True, score=0.5, supported=3, total=6),
        "checks": [CheckInput(name="still_breaching", passed=True)],
        "confidence_threshold": 0.75,
        "on_low_confidence": "escalate",
        **changes,
    }
    return evaluate(**inputs).to_json()


def signal(of: Step, kind: str, **fields: Any) -> Signal:
    defaults: dict[str, Any] = {"name": kind, "state": "done", "agent": f"command:{kind}", "duration_ms": 900}
    if kind == SignalKind.CHECK:
        defaults["passed"] = True
    return Signal.objects.create(step=of, kind=kind, **{**defaults, **fields})


def event(of: Run, message: str = "Step begins.", **fields: Any) -> RunEvent:
    return RunEvent.objects.create(
        run=of, **{"at": of.triggered_at, "kind": "step.started", "message": message, **fields}
    )
