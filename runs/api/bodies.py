"""Runs, steps, signals and events as the JSON API shows them. Unknown is null."""

from typing import Any

from rest_framework import serializers

from runs.models import Run, RunEvent, Signal, Step


class Tokens(serializers.Serializer[Any]):
    input = serializers.IntegerField(allow_null=True)
    output = serializers.IntegerField(allow_null=True)


class SignalBody(serializers.Serializer[Any]):
    kind = serializers.CharField()
    name = serializers.CharField(allow_null=True)
    iteration = serializers.IntegerField()
    state = serializers.CharField()
    score = serializers.FloatField(allow_null=True)
    passed = serializers.BooleanField(allow_null=True)
    error = serializers.CharField(allow_null=True)
    detail = serializers.DictField()
    agent = serializers.CharField(allow_null=True)
    model = serializers.CharField(allow_null=True)
    provider = serializers.CharField(allow_null=True)
    tokens = Tokens(allow_null=True)
    duration_ms = serializers.IntegerField(allow_null=True)


class StepBody(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    step_name = serializers.CharField()
    status = serializers.CharField()
    error = serializers.CharField(allow_null=True)
    executor = serializers.CharField()
    agent = serializers.CharField(allow_null=True)
    model = serializers.CharField(allow_null=True)
    provider = serializers.CharField(allow_null=True)
    prompt_hash = serializers.CharField(allow_null=True)
    agent_version = serializers.CharField(allow_null=True)
    primary_confidence = serializers.FloatField(allow_null=True, help_text="S")
    verifier_confidence = serializers.FloatField(allow_null=True, help_text="V")
    effective_confidence = serializers.FloatField(allow_null=True, help_text="S after V")
    grounding_score = serializers.FloatField(allow_null=True, help_text="G")
    deterministic_passed = serializers.BooleanField(allow_null=True, help_text="D")
    combined_trust = serializers.FloatField(allow_null=True)
    confidence_threshold = serializers.FloatField(allow_null=True)
    parsed_output = serializers.JSONField(allow_null=True)
    duration_ms = serializers.IntegerField(allow_null=True)
    tokens = Tokens(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    completed_at = serializers.DateTimeField(allow_null=True)
    trust_report = serializers.JSONField(allow_null=True)
    signals = SignalBody(many=True)


class RunSummaryBody(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    pipeline_name = serializers.CharField()
    status = serializers.CharField()
    reason = serializers.CharField(allow_null=True, help_text="Why it ended or waits.")
    stage = serializers.CharField()
    team = serializers.CharField(allow_null=True)
    source = serializers.CharField()  # type: ignore[assignment]
    started_by = serializers.CharField(allow_null=True)
    summary = serializers.CharField(allow_null=True)
    triggered_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    completed_at = serializers.DateTimeField(allow_null=True)


class RunBody(RunSummaryBody):
    pipeline_version = serializers.CharField()
    context = serializers.JSONField()  # type: ignore[assignment]
    steps = StepBody(many=True)


class EventBody(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    level = serializers.CharField()
    kind = serializers.CharField()
    step_name = serializers.CharField(allow_null=True)
    message = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]


class RunListBody(serializers.Serializer[Any]):
    runs = RunSummaryBody(many=True)
    next = serializers.UUIDField(allow_null=True, help_text="Give it as `after` for the following runs.")


class EventListBody(serializers.Serializer[Any]):
    events = EventBody(many=True)
    next = serializers.IntegerField(help_text="Give it as `after` for what comes later.")
    status = serializers.CharField(help_text="Of the run; nothing comes after an end.")


def run_summary(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "pipeline_name": run.pipeline_name,
        "status": run.status,
        "reason": run.reason or None,
        "stage": run.stage,
        "team": run.team or None,
        "source": run.source,
        "started_by": run.started_by or None,
        "summary": run.summary or None,
        "triggered_at": run.triggered_at,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
    }


def run_body(run: Run, steps: list[Step]) -> dict[str, Any]:
    """The whole run; ``steps`` come with their signals prefetched."""
    return {
        **run_summary(run),
        "pipeline_version": run.version_id,
        "context": run.context,
        "steps": [step_body(step) for step in steps],
    }


def step_body(step: Step) -> dict[str, Any]:
    return {
        "id": step.id,
        "step_name": step.name,
        "status": step.status,
        "error": step.error or None,
        "executor": step.executor,
        **_who(step),
        "prompt_hash": step.prompt_hash or None,
        "agent_version": step.agent_version or None,
        "primary_confidence": step.primary_confidence,
        "verifier_confidence": step.verifier_confidence,
        "effective_confidence": step.effective_confidence,
        "grounding_score": step.grounding_score,
        "deterministic_passed": step.deterministic_passed,
        "combined_trust": step.combined_trust,
        "confidence_threshold": step.confidence_threshold,
        "parsed_output": step.parsed_output,
        "duration_ms": step.duration_ms,
        "tokens": _tokens(step),
        "started_at": step.started_at,
        "completed_at": step.completed_at,
        "trust_report": step.trust_report,
        "signals": [signal_body(signal) for signal in step.signals.all()],
    }


def signal_body(signal: Signal) -> dict[str, Any]:
    return {
        "kind": signal.kind,
        "name": signal.name or None,
        "iteration": signal.iteration,
        "state": signal.state,
        "score": signal.score,
        "passed": signal.passed,
        "error": signal.error or None,
        "detail": signal.detail,
        **_who(signal),
        "tokens": _tokens(signal),
        "duration_ms": signal.duration_ms,
    }


def event_body(event: RunEvent) -> dict[str, Any]:
    return {
        "id": event.pk,
        "at": event.at,
        "level": event.level,
        "kind": event.kind,
        "step_name": event.step_name or None,
        "message": event.message,
        "data": event.data,
    }


def _who(row: Step | Signal) -> dict[str, str | None]:
    return {"agent": row.agent or None, "model": row.model or None, "provider": row.provider or None}


def _tokens(row: Step | Signal) -> dict[str, int | None] | None:
    if row.input_tokens is None and row.output_tokens is None:
        return None
    return {"input": row.input_tokens, "output": row.output_tokens}
