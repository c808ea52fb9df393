"""The other VectorStep's runs as ours, and what could not be one of them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from calibration.plurals import plural
from runs.importing import records
from runs.importing.shown import problem_of, shown
from runs.importing.vectorstep import cells
from runs.importing.vectorstep.database import Row, Source
from runs.importing.vectorstep.steps import ENDS, UNFINISHED, lost_numbers, step_fields
from runs.marking.markers import NOTE_CHARS
from runs.moments import is_future

RUN_ENDS = {"completed", "stopped", "escalated", "aborted", "failed", "cancelled"}
INTERRUPTED = "It was interrupted where it came from."
FUTURE = "its time is in the future"
OUTCOMES = {"correct", "partial", "incorrect"}
CELL_CHARS = 50_000_000  # PostgreSQL refuses JSON of a few hundred megabytes, and one such cell would end the import
_REASONS = 50


@dataclass
class Skipped:
    """What was left out: how many of each kind (a noun, for one) for each reason, and the first one's id."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    first: dict[tuple[str, str], str] = field(default_factory=dict)

    def note(self, kind: str, reason: str, which: str, *, times: int = 1) -> None:
        if times > 0:
            self.counts[kind, reason] += times
            self.first.setdefault((kind, reason), shown(which))

    def sentences(self) -> list[str]:
        """Most frequent first."""
        told = []
        for (kind, reason), times in self.counts.most_common(_REASONS):
            first = self.first[kind, reason]
            told.append(f"{plural(times, kind)} left out: {reason}{f' (first: {first})' if first else ''}")
        rest = sum(sorted(self.counts.values(), reverse=True)[_REASONS:])
        return [*told, f"{rest:,} more left out, for other reasons"] if rest else told


class Reader:
    """Reads a Source to its end; afterwards ``skipped`` is complete. Rows of a time after ``now`` are left out."""

    def __init__(self, source: Source, *, marker: str, now: datetime) -> None:
        self.skipped = Skipped()
        self._source = source
        self._marker = marker
        self._now = now
        self._steps_seen = self._step_marks_seen = self._run_marks_seen = 0

    def batches(self) -> Iterator[tuple[int, list[records.Run]]]:
        """How many runs of the file each batch is made of, and those of them that can be stored."""
        for rows in self._source.runs():
            steps = self._source.steps(rows)
            step_ids = [cells.text(step["id"]) for found in steps.values() for step in found]
            on_steps = self._source.feedback("step_feedback", "step_id", step_ids)
            on_runs = self._source.feedback("run_feedback", "run_id", [cells.text(row["id"]) for row in rows])
            self._steps_seen += len(step_ids)
            self._step_marks_seen += sum(map(len, on_steps.values()))
            self._run_marks_seen += sum(map(len, on_runs.values()))
            told = [self._run(row, steps.get(row["id"], []), on_steps, on_runs.get(row["id"], [])) for row in rows]
            yield len(rows), [run for run in told if run is not None]
        self._note_orphans()

    def _note_orphans(self) -> None:
        for kind, table, seen in (
            ("step", "pipeline_steps", self._steps_seen),
            ("step mark", "step_feedback", self._step_marks_seen),
            ("run mark", "run_feedback", self._run_marks_seen),
        ):
            belongs = "run" if table != "step_feedback" else "step"
            self.skipped.note(kind, f"its {belongs} is not in the file", "", times=self._source.count(table) - seen)

    def _run(
        self, row: Row, steps: Sequence[Row], on_steps: Mapping[str, Sequence[Row]], on_run: Sequence[Row]
    ) -> records.Run | None:
        which, status = cells.text(row["id"]), cells.text(row["status"])
        reason = _why_not(status, RUN_ENDS | {"interrupted"}) or _too_large(row)
        if reason or not which:
            self.skipped.note("run", reason or "it has no id", which)
            return None
        at = cells.moment(row["triggered_at"])
        if at is None:
            self.skipped.note("run", "it has no time", which)
            return None
        fields = _run_fields(row, status) | {"id": which, "triggered_at": at}
        fields["steps"] = self._steps(steps, on_steps)
        fields["marks"] = self._marks(on_run, "run mark", fields)
        fields["log"] = self._log(row, which)
        try:
            return records.Run.model_validate(fields, context={"now": self._now})
        except ValidationError as error:
            self.skipped.note("run", problem_of(error), which)
            return None

    def _steps(self, rows: Sequence[Row], feedback: Mapping[str, Sequence[Row]]) -> list[records.Step]:
        """In order; of several with one name the last, which is the one that counted."""
        by_name: dict[str, records.Step] = {}
        for row in rows:
            step = self._step(row, feedback.get(row["id"], []))
            if step is None:
                continue
            if by_name.pop(step.name, None) is not None:
                self.skipped.note("step", "another of its name came later in the run", cells.text(row["id"]))
            by_name[step.name] = step
        return list(by_name.values())

    def _step(self, row: Row, feedback: Sequence[Row]) -> records.Step | None:
        which = cells.text(row["id"])
        if reason := _why_not(cells.text(row["status"]), ENDS) or _too_large(row):
            self.skipped.note("step", reason, which)
            return None
        fields = step_fields(row)
        if lost_numbers(row, fields):
            self.skipped.note("confidence", "it is no number from 0 to 1", which)
        fields["marks"] = self._marks(feedback, "step mark", fields)
        try:
            return records.Step.model_validate(fields, context={"now": self._now})
        except ValidationError as error:
            self.skipped.note("step", problem_of(error), which)
            return None

    def _marks(self, rows: Sequence[Row], kind: str, owner: Mapping[str, Any]) -> list[dict[str, Any]]:
        marks = []
        for row in rows:
            outcome = cells.text(row["outcome"])
            at = cells.moment(row["submitted_at"]) or owner.get("completed_at") or owner.get("triggered_at")
            if reason := self._why_no_mark(outcome, at):
                self.skipped.note(kind, reason, cells.text(row["id"]))
                continue
            note = cells.text(row["notes"])[:NOTE_CHARS]
            marks.append({"outcome": outcome, "note": note, "marker": self._marker, "made_at": at})
        return marks

    def _why_no_mark(self, outcome: str, at: datetime | None) -> str:
        if at is None:
            return "it has no time"
        if outcome not in OUTCOMES:
            return f"{outcome[:40]!r} is no outcome"
        return FUTURE if is_future(at, now=self._now) else ""

    def _log(self, row: Row, run: str) -> list[dict[str, Any]]:
        lines = [line for told in cells.listed(cells.parsed(row["logs"])) if (line := _log_line(told))]
        known = [line for line in lines if not is_future(line["at"], now=self._now)]
        self.skipped.note("log line", FUTURE, run, times=len(lines) - len(known))
        return known


def _run_fields(row: Row, status: str) -> dict[str, Any]:
    context = cells.mapping(row["normalised_context"])
    stage = cells.text(row["stage"])
    return {
        "pipeline": cells.text(row["pipeline_name"]),
        "status": "failed" if status == "interrupted" else status,
        "reason": INTERRUPTED if status == "interrupted" else "",
        # Files from before there were stages tell none: those runs were real.
        "stage": stage if stage in {"testing", "production"} else "production",
        "team": cells.name(row["team"]),
        "source": cells.name(row["source"]) or "imported",
        "summary": cells.text(context.get("summary")),
        "context": context,
        "payload": cells.parsed(row["raw_payload"]) or {},
        "version": cells.name(row["config_fingerprint"]),
        "completed_at": cells.moment(row["completed_at"]),
        "is_replay": cells.parsed(row["replay_of"]) is not None,
    }


def _log_line(told: Any) -> dict[str, Any] | None:
    if not isinstance(told, dict) or (at := cells.moment(told.get("ts"))) is None:
        return None
    level = cells.text(told.get("level")).lower()
    return {
        "at": at,
        "level": level if level in {"info", "warning", "error"} else "info",
        "kind": cells.name(told.get("event")) or "imported",
        "message": cells.text(told.get("msg")),
        "step": cells.name(told.get("step") or told.get("step_name")),
    }


def _why_not(status: str, ends: set[str]) -> str:
    """Why something of this status is left out; "" when it is not."""
    if status in ends:
        return ""
    return "it had not ended" if status in UNFINISHED else f"{status[:40]!r} is no status that is known"


def _too_large(row: Row) -> str:
    large = next((name for name, cell in row.items() if isinstance(cell, str | bytes) and len(cell) > CELL_CHARS), None)
    return f"its {shown(large)} is longer than {CELL_CHARS:,} characters" if large else ""
