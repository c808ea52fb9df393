"""Runs, steps, signals and events as the JSON API shows them. Unknown is null."""

from typing import Any

from django.db.models import Model
from rest_framework import serializers

from runs.models import Run, RunEvent, Signal, Step
from runs.pricing import dollars


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
    cost_usd = serializers.DecimalField(
        max_digits=19,
        decimal_places=9,
        allow_null=True,
        help_text="Of all its calls, judges, passes and tries included, as a text; null when any part is not known.",
    )
    started_at = serializers.DateTimeField(allow_null=True)
    completed_at = serializers.DateTimeField(allow_null=True)
    taken_from = serializers.UUIDField(
        allow_null=True, help_text="The step of the run run again whose answer this is; nobody was asked here."
    )
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
    tokens = serializers.IntegerField(help_text="Of all steps and judges that told theirs.")
    steps_untold = serializers.IntegerField(help_text="Steps that did not tell all their tokens.")
    cost_usd = serializers.DecimalField(
        max_digits=19, decimal_places=9, help_text="Of the steps whose cost is known, as a text."
    )
    steps_unpriced = serializers.IntegerField(help_text="Steps whose cost is not known, which cost_usd leaves out.")


class RunBody(RunSummaryBody):
    pipeline_version = serializers.CharField()
    parent_step_id = serializers.UUIDField(allow_null=True, help_text="The step of another run that started it.")
    rerun_of = serializers.UUIDField(allow_null=True, help_text="The run it runs again.")
    rerun_from = serializers.CharField(allow_null=True, help_text="The first step it does again.")
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
    return _told(RunSummaryBody, run, cost_usd=usd(run.cost_nanos))


def run_body(run: Run, steps: list[Step]) -> dict[str, Any]:
    """The whole run; ``steps`` come with their signals prefetched."""
    told = {"pipeline_version": run.version_id, "rerun_of": run.rerun_of_id, "cost_usd": usd(run.cost_nanos)}
    return _told(RunBody, run, **told, steps=[step_body(step) for step in steps])


def step_body(step: Step) -> dict[str, Any]:
    signals = [signal_body(signal) for signal in step.signals.all()]
    cost = None if step.cost_nanos is None else usd(step.cost_nanos)
    return _told(StepBody, step, step_name=step.name, tokens=_tokens(step), cost_usd=cost, signals=signals)


def usd(nanos: int) -> str:
    """An amount as exact text: JSON's numbers are no decimals."""
    return f"{dollars(nanos):f}"


def signal_body(signal: Signal) -> dict[str, Any]:
    return _told(SignalBody, signal, tokens=_tokens(signal))


def event_body(event: RunEvent) -> dict[str, Any]:
    return _told(EventBody, event)


def _told(body: type[serializers.Serializer[Any]], row: Model, **given: Any) -> dict[str, Any]:
    """The fields of ``body``: what is ``given``, else the row's column of that name, "" as null where it may be."""
    return {
        name: given[name] if name in given else _known(field, getattr(row, name))
        for name, field in body._declared_fields.items()
    }


def _known(field: serializers.Field[Any, Any, Any, Any], value: Any) -> Any:
    return None if value == "" and field.allow_null else value


def _tokens(row: Step | Signal) -> dict[str, int | None] | None:
    if row.input_tokens is None and row.output_tokens is None:
        return None
    return {"input": row.input_tokens, "output": row.output_tokens}
