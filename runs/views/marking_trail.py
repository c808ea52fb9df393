"""What a marker's session remembers: the way they came, how each step was offered, and whose scores they have seen."""

import uuid
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.sessions.backends.base import SessionBase

from runs.marking.offers import Offer

_KEY = "marking"
_TRAIL = 100
_SEEN = 500


@dataclass(frozen=True)
class Stop:
    """A step on the way. ``order`` is the one that offered it, "" when it was picked by hand."""

    step: str
    order: str = ""
    reason: str = ""
    bin_reason: str = ""


def begin(session: SessionBase) -> None:
    """A new sitting: nothing marked in it yet, no way back past its beginning."""
    _write(session, trail=[], marked=0)


def offered(session: SessionBase, offer: Offer) -> None:
    """Remember, at the end of the way, that this step was offered."""
    stop = Stop(str(offer.step_id), offer.order.value, offer.reason, offer.bin_reason)
    trail = [entry for entry in _read(session)["trail"] if entry["step"] != stop.step]
    _write(session, trail=[*trail, asdict(stop)][-_TRAIL:])


def visit(session: SessionBase, step_id: uuid.UUID) -> Stop:
    """The step's place on the way; picked by hand, at its end, unless it is on it already."""
    trail = _read(session)["trail"]
    for entry in trail:
        if entry["step"] == str(step_id):
            return Stop(**entry)
    stop = Stop(str(step_id))
    _write(session, trail=[*trail, asdict(stop)][-_TRAIL:])
    return stop


def stop_at(session: SessionBase, step_id: uuid.UUID) -> Stop:
    """How the step was offered; as picked by hand when that is not known."""
    found = (entry for entry in _read(session)["trail"] if entry["step"] == str(step_id))
    return next((Stop(**entry) for entry in found), Stop(str(step_id)))


def around(session: SessionBase, step_id: uuid.UUID) -> tuple[uuid.UUID | None, uuid.UUID | None]:
    """The steps opened before and after this one, where there are any."""
    ids = [uuid.UUID(entry["step"]) for entry in _read(session)["trail"]]
    if step_id not in ids:
        return (ids[-1] if ids else None), None
    place = ids.index(step_id)
    return (ids[place - 1] if place else None), (ids[place + 1] if place + 1 < len(ids) else None)


def latest(session: SessionBase) -> uuid.UUID | None:
    trail = _read(session)["trail"]
    return uuid.UUID(trail[-1]["step"]) if trail else None


def reveal(session: SessionBase, step_id: uuid.UUID) -> None:
    """Remember that the scores of this step have been shown: a mark that follows is not blind."""
    seen = _read(session)["seen"]
    if str(step_id) not in seen:
        _write(session, seen=[*seen, str(step_id)][-_SEEN:])


def is_revealed(session: SessionBase, step_id: uuid.UUID) -> bool:
    return str(step_id) in _read(session)["seen"]


def count(session: SessionBase, marks: int) -> None:
    """``marks`` more (or fewer) were made in this sitting."""
    _write(session, marked=max(0, _read(session)["marked"] + marks))


def marked(session: SessionBase) -> int:
    """How many steps were marked in this sitting."""
    return int(_read(session)["marked"])


def remember_bulk(session: SessionBase, address: str) -> None:
    """Remember the page of what was last marked at once."""
    _write(session, bulk=address)


def last_bulk(session: SessionBase) -> str:
    """The address of that page; "" where nothing was in this session."""
    return str(_read(session)["bulk"])


def _read(session: SessionBase) -> dict[str, Any]:
    return {"trail": [], "seen": [], "marked": 0, "bulk": "", **session.get(_KEY, {})}


def _write(session: SessionBase, **changes: Any) -> None:
    session[_KEY] = {**_read(session), **changes}
