"""What every form of a mark holds: the outcome, and a note."""

from typing import NamedTuple

from django.core.exceptions import BadRequest
from django.http import HttpRequest

from calibration.models import Outcome
from runs.marking.markers import NOTE_CHARS


class Said(NamedTuple):
    outcome: str
    note: str


def said_in(request: HttpRequest) -> Said:
    """Raises BadRequest for an outcome there is not, and for a note that is too long."""
    outcome, note = request.POST.get("outcome", ""), request.POST.get("note", "")
    if outcome not in Outcome.values:
        raise BadRequest(f"outcome: expected one of {', '.join(Outcome.values)}")
    if len(note) > NOTE_CHARS:
        raise BadRequest(f"note: at most {NOTE_CHARS} characters")
    return Said(outcome, note)
