"""What the run page reads. Long texts stay in the database: their beginnings and their true sizes come out."""

import uuid
from typing import Any

from django.db.models import Case, F, Func, IntegerField, JSONField, Q, QuerySet, TextField, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, Left, Length, Substr

from runs.models import RunEvent, Signal, Step

TEXT_HEAD = 3_000
JSON_INLINE = 30_000
SUMMARY_HEAD = 1_500
LOG_PAGE = 200
HEAVY_STEP = ("prompt", "raw_output", "parsed_output", "revised_output", "agent_trace", "iterations")
_HEAVY_SIGNAL = ("prompt", "raw_output", "detail")


class JSONArrayLength(Func):
    """How many items a JSON list has, without fetching it."""

    output_field = IntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return super().as_sql(compiler, connection, function="JSON_ARRAY_LENGTH", **extra)

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        # JSON null is not a list, and asking for its length is an error.
        template = "CASE jsonb_typeof(%(expressions)s) WHEN 'array' THEN jsonb_array_length(%(expressions)s) ELSE 0 END"
        sql, params = super().as_sql(compiler, connection, template=template, **extra)
        return sql, (*params, *params)


def json_chars(field: str) -> Coalesce:
    """How long the JSON is, written out."""
    return Coalesce(Length(Cast(field, TextField())), Value(0))


def small_json(field: str, limit: int) -> Case:
    """The JSON itself when it is small, else null: then the page shows a way to it instead."""
    return Case(
        When(Q(**{f"{field}_chars__lte": limit}), then=F(field)), default=None, output_field=JSONField(null=True)
    )


def steps_of(run_id: uuid.UUID) -> "QuerySet[Step]":
    """The steps of a run in order."""
    return Step.objects.filter(run_id=run_id).order_by("index", "id")


def outline(steps: "QuerySet[Step]") -> "QuerySet[Step]":
    """Only what the overview of steps shows."""
    return steps.only(
        "id", "run_id", "name", "index", "branch", "status", "executor", "combined_trust", "confidence_threshold",
        "started_at", "completed_at", "duration_ms", "tries", "agent", "cost_nanos",
    )  # fmt: skip


def with_heads(steps: "QuerySet[Step]") -> "QuerySet[Step]":
    """Everything a step's panel shows, with the beginning and size of each long text."""
    return (
        steps.defer(*HEAVY_STEP)
        .annotate(
            prompt_head=Left("prompt", TEXT_HEAD),
            prompt_chars=Length("prompt"),
            raw_output_head=Left("raw_output", TEXT_HEAD),
            raw_output_chars=Length("raw_output"),
            parsed_output_chars=json_chars("parsed_output"),
            agent_trace_chars=json_chars("agent_trace"),
            agent_trace_events=JSONArrayLength("agent_trace"),
            iterations_chars=json_chars("iterations"),
            iteration_count=JSONArrayLength("iterations"),
        )
        .annotate(
            answer=small_json("parsed_output", JSON_INLINE),
            answer_summary=Left(KeyTextTransform("summary", "parsed_output"), SUMMARY_HEAD),
            earlier=small_json("iterations", JSON_INLINE * 4),
        )
    )


def signals_of(step_ids: list[uuid.UUID]) -> "QuerySet[Signal]":
    return (
        Signal.objects.filter(step_id__in=step_ids)
        .defer(*_HEAVY_SIGNAL)
        .annotate(
            prompt_head=Left("prompt", TEXT_HEAD),
            prompt_chars=Length("prompt"),
            raw_output_head=Left("raw_output", TEXT_HEAD),
            raw_output_chars=Length("raw_output"),
            detail_chars=json_chars("detail"),
        )
        .annotate(small_detail=small_json("detail", JSON_INLINE * 4))
        .order_by("step_id", "iteration", "kind", "position")
    )


def log_of(run_id: uuid.UUID, *, before: int | None = None) -> tuple[list[RunEvent], bool]:
    """The newest events (older than ``before``) oldest first, and whether there are still older ones."""
    events = RunEvent.objects.filter(run_id=run_id).defer("data")
    if before is not None:
        events = events.filter(id__lt=before)
    found = list(events.order_by("-id")[: LOG_PAGE + 1])
    return found[:LOG_PAGE][::-1], len(found) > LOG_PAGE


def retries_of(run_id: uuid.UUID) -> list[RunEvent]:
    """The failed tries, as the log tells them."""
    return list(RunEvent.objects.filter(run_id=run_id, kind="step.retry").defer("data").order_by("id")[:LOG_PAGE])


def part_of_text(rows: "QuerySet[Any]", field: str, start: int, size: int) -> dict[str, Any] | None:
    """``size`` characters of a long text from ``start`` (0-based), and its whole length."""
    return rows.annotate(chunk=Substr(field, start + 1, size), chars=Length(field)).values("chunk", "chars").first()
