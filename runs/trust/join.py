"""The join: what a group is worth, from what its branches are worth. Pure, no Django.

The branches' numbers are their combined trusts, so each has been through the whole of ``vector.py``
before it gets here; the join never makes a number higher than the best branch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

VERSION = 1

Join = Literal["all_must_pass", "any_must_pass", "weighted_average"]
Outcome = Literal["completed", "stopped", "skipped", "escalated", "aborted", "failed"]


# Ends of one branch that decide for its group, the stronger first.
_DECIDING: tuple[tuple[Outcome, str], ...] = (("aborted", "aborted"), ("escalated", "waits for a person"))


@dataclass(frozen=True)
class Branch:
    """One branch as it ended. ``trust`` in [0, 1]; None has no number (no agent) and is not counted.

    ``status`` is a finished step's: completed, stopped, escalated, aborted, failed or skipped.
    ``blocked``: a check failed, or it insists on a track record it lacks; nothing else makes up for that.
    ``forgiven``: its author wrote that the run goes on when it fails. ``accepted``: a person let it pass, so
    its number does not hold the group back a second time.
    """

    name: str
    status: str
    trust: float | None
    weight: float = 1.0
    blocked: bool = False
    forgiven: bool = False
    accepted: bool = False

    @property
    def blocks(self) -> bool:
        return self.blocked and not self.accepted


@dataclass(frozen=True)
class Joined:
    """What becomes of the group; ``trust`` is the number its gate compared, None when no branch had one."""

    outcome: Outcome
    trust: float | None
    reason: str
    inputs: Mapping[str, Any]

    @property
    def waits_for_branches(self) -> bool:
        """Whether it is a branch that a person has to look at, not the group's own number."""
        return self.outcome == "escalated" and any(one["status"] == "escalated" for one in self.inputs["branches"])

    def to_json(self) -> dict[str, Any]:
        """The report to store: every input and the outcome, so that ``recompute`` can check it."""
        return {
            "kind": "join",
            "version": VERSION,
            **self.inputs,
            "combined_trust": self.trust,
            "action": self.outcome,
            "reason": self.reason,
        }


def evaluate(branches: Sequence[Branch], *, join: Join, confidence_threshold: float, on_low_confidence: str) -> Joined:
    """Decide on a group whose branches have all ended, in the order of the pipeline.

    A branch that failed fails ``all_must_pass``, is ignored by ``any_must_pass`` unless all failed, and
    counts 0 with its weight in ``weighted_average``. A blocked branch makes the group 0, except that
    ``any_must_pass`` looks at the others while there are any; a group made 0 so clears no threshold. A branch that
    waits for a person or aborted by a threshold of its own decides for the group, once its siblings have ended.
    """
    inputs = {
        "join": join,
        "confidence_threshold": confidence_threshold,
        "on_low_confidence": on_low_confidence,
        "branches": [asdict(branch) for branch in branches],
    }
    running = [one for one in branches if one.status != "skipped" and not (one.status == "failed" and one.forgiven)]
    trust = _combined(running, join)
    outcome, reason = _settled(running, join) or _gated(running, trust, join, confidence_threshold, on_low_confidence)
    return Joined(outcome, trust, reason, inputs)


def recompute(report: Mapping[str, Any]) -> Joined:
    """The decision again, from the inputs of a stored report. Raises ValueError when it does not hold them."""
    try:
        if report["kind"] != "join" or report["version"] != VERSION:
            raise ValueError("not a report of a join")
        return evaluate(
            [Branch(**branch) for branch in report["branches"]],
            join=report["join"],
            confidence_threshold=report["confidence_threshold"],
            on_low_confidence=report["on_low_confidence"],
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a report of a join: {error!r}") from error


def _combined(running: Sequence[Branch], join: Join) -> float | None:
    if _blocking(running, join):
        return 0.0
    running = [one for one in running if not one.accepted]
    if join == "weighted_average":
        counted = [(0.0 if one.status == "failed" else one.trust, one.weight) for one in running]
        return _average([(trust, weight) for trust, weight in counted if trust is not None])
    numbers = [one.trust for one in running if one.trust is not None and one.status != "failed"]
    if not numbers:
        return None
    return min(numbers) if join == "all_must_pass" else max(numbers)


def _blocking(running: Sequence[Branch], join: Join) -> list[Branch]:
    """The blocked branches that make the whole group 0."""
    blocked = [one for one in running if one.blocks]
    others = any(one.status != "failed" and not one.blocks for one in running)
    return [] if join == "any_must_pass" and others else blocked


def _average(counted: Sequence[tuple[float, float]]) -> float | None:
    """As fractions of the decimals that were written: 0.1 + 0.2 is 0.3 to the person who set the threshold."""
    if not counted:
        return None
    weights = [Fraction(Decimal(repr(weight))) for _, weight in counted]
    total = sum(Fraction(Decimal(repr(trust))) * weight for (trust, _), weight in zip(counted, weights, strict=True))
    return float(total / sum(weights))


def _settled(running: Sequence[Branch], join: Join) -> tuple[Outcome, str] | None:
    """What the branches' own ends decide, before any number is looked at."""
    if not running:
        return "skipped", "No branch ran."
    failed = [one for one in running if one.status == "failed"]
    if failed and (join == "all_must_pass" or (join == "any_must_pass" and len(failed) == len(running))):
        return "failed", f"{_names(failed)} failed."
    for outcome, told in _DECIDING:
        found = [one for one in running if one.status == outcome]
        if found:
            return outcome, f"{_names(found)} {told}."
    return None


def _gated(
    running: Sequence[Branch], trust: float | None, join: Join, threshold: float, on_low: str
) -> tuple[Outcome, str]:
    blocking = _blocking(running, join)
    low = trust is not None and (trust < threshold or bool(blocking))
    why = _low(blocking) if low else ""
    if low and on_low != "proceed":
        return ("aborted" if on_low == "abort" else "escalated"), why
    if all(one.status == "stopped" for one in running):
        return "stopped", "Every branch saw nothing more to do."
    return "completed", why


def _low(blocking: Sequence[Branch]) -> str:
    if blocking:
        return f"{_names(blocking)} cannot clear (a failed check, or no track record where one is demanded)."
    return "The branches together are below the threshold."


def _names(branches: Sequence[Branch]) -> str:
    names = [branch.name for branch in branches[:3]]
    more = len(branches) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")
