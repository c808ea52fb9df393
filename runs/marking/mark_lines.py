"""One line of a file of marks, understood: every value checked, in words a person can act on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.dateparse import parse_datetime

from calibration.models import Order, Outcome
from calibration.storable import storable_text
from runs.marking.mark_files import Line
from runs.marking.markers import NAME_CHARS, NOTE_CHARS
from runs.moments import is_future, utc


class BadValue(ValueError):
    """The message names the column and what is allowed in it."""


@dataclass(frozen=True)
class Said:
    """``made_at`` and ``marker`` are None where the line leaves them to whoever imports it, now."""

    number: int
    outcome: str
    note: str
    marker: str | None
    made_at: datetime | None
    undone_at: datetime | None
    was_blind: bool | None
    offered_by: str
    run_id: UUID | None
    step_id: UUID | None
    step_name: str


def understood(line: Line, *, now: datetime) -> Said:
    """Raises BadValue."""
    if line.problem:
        raise BadValue(line.problem)
    values = line.values
    said = Said(
        number=line.number,
        outcome=_one_of(values, "outcome", Outcome.values),
        note=_text(values, "note", NOTE_CHARS),
        marker=_marker(values),
        made_at=_given(values, "made_at", lambda text: _moment(text, now)),
        undone_at=_given(values, "undone_at", lambda text: _moment(text, now)),
        was_blind=_given(values, "was_blind", _truth),
        offered_by=_one_of(values, "offered_by", Order.values),
        run_id=_given(values, "run_id", _id),
        step_id=_given(values, "step_id", _id),
        step_name=_text(values, "step_name", NOTE_CHARS),
    )
    if said.run_id is None and said.step_id is None:
        raise BadValue("names neither a run_id nor a step_id")
    return said


def _one_of(values: Mapping[str, Any], name: str, allowed: list[str]) -> str:
    text = _text(values, name, NAME_CHARS).strip()
    if text not in allowed:
        raise BadValue(f"{name}: expected one of {', '.join(filter(None, allowed))}, not {text[:50]!r}")
    return text


def _text(values: Mapping[str, Any], name: str, limit: int) -> str:
    value = values.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadValue(f"{name}: expected text, not {type(value).__name__}")
    text = storable_text(value)
    if len(text) > limit:
        raise BadValue(f"{name}: longer than {limit:,} characters")
    return text


def _marker(values: Mapping[str, Any]) -> str | None:
    name = _text(values, "marker", NAME_CHARS).strip()
    if not name.isprintable():
        raise BadValue(f"marker: expected a printable name, not {name[:50]!a}")
    return name or None


def _given(values: Mapping[str, Any], name: str, understand: Callable[[Any], Any]) -> Any:
    """None for an empty cell."""
    value = values.get(name)
    if value is None or value == "":
        return None
    try:
        return understand(value)
    except BadValue as error:
        raise BadValue(f"{name}: {error}, not {str(value)[:50]!r}") from None


def _moment(text: str, now: datetime) -> datetime:
    found = _parsed(text)
    if found is None:
        raise BadValue("expected a time such as 2026-01-31T12:00:00Z")
    try:
        known = utc(found)
    except ValueError as error:
        raise BadValue(str(error)) from error
    if is_future(known, now=now):
        raise BadValue("expected a time that is not in the future")
    return known


def _parsed(text: str) -> datetime | None:
    try:
        return parse_datetime(text)
    except (ValueError, TypeError):
        return None


def _truth(value: Any) -> bool:
    text = str(value).strip().lower() if isinstance(value, bool | str) else ""
    if text not in {"true", "false"}:
        raise BadValue("expected true or false")
    return text == "true"


def _id(value: Any) -> UUID:
    try:
        return UUID(value.strip())
    except (ValueError, AttributeError):
        raise BadValue("expected an id such as 01932f7e-0000-7000-8000-000000000000") from None
