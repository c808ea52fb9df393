"""Did an edit help? Answers of two versions compared like with like. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from calibration.differences import AccuracyDifference, Record, difference
from calibration.plurals import plural

Part = Literal["prompt_hash", "agent_version"]
NOUNS: dict[Part, str] = {"prompt_hash": "prompt", "agent_version": "agent version"}


@dataclass(frozen=True)
class Labels:
    """The labels of one bucket. ``key``: what besides the version told its answers apart (agent, model ...)."""

    key: tuple[str, ...]
    n: int
    sum: float
    by_failed_check: int = 0


@dataclass(frozen=True)
class Effect:
    """``difference`` compares the labels that can be compared; ``caveats`` say what else a reader has to know."""

    difference: AccuracyDifference
    caveats: Sequence[str] = ()


def effect(before: Sequence[Labels], after: Sequence[Labels], *, part: Part, enough: int) -> Effect:
    """Compare what was labelled before an edit of ``part`` with what was after.

    Where some agent and model answered on both sides, only those answers count: the edit is then all
    that differs. Otherwise everything counts, and a caveat says that more than the edit changed.
    """
    shared = _marked(before) & _marked(after)
    old, new = _only(before, shared), _only(after, shared)
    caveats = [*_unlike(before, after, shared, part), *_check_bias(old, new)]
    return Effect(difference(_record(old), _record(new), enough=enough), caveats)


def _marked(labels: Iterable[Labels]) -> set[tuple[str, ...]]:
    return {one.key for one in labels if one.n}


def _only(labels: Sequence[Labels], keys: set[tuple[str, ...]]) -> list[Labels]:
    return [one for one in labels if one.key in keys] if keys else list(labels)


def _record(labels: Sequence[Labels]) -> Record:
    n = sum(one.n for one in labels)
    return Record(min(1.0, sum(one.sum for one in labels) / n) if n else None, n)


def _unlike(
    before: Sequence[Labels], after: Sequence[Labels], shared: set[tuple[str, ...]], part: Part
) -> Iterable[str]:
    if not _marked(before) or not _marked(after):
        return
    if not shared:
        yield f"More than the {NOUNS[part]} changed between the two, so the difference is not the edit's alone."
        return
    used = sum(one.n for one in (*_only(before, shared), *_only(after, shared)))
    every = sum(one.n for one in (*before, *after))
    if used < every:
        yield f"Only where everything else is the same on both sides: {used} of {plural(every, 'label')}."
    if len(shared) > 1:
        yield f"{len(shared)} combinations of agent, model and versions count together; their mix may have shifted."


def _check_bias(before: Sequence[Labels], after: Sequence[Labels]) -> Iterable[str]:
    for labels, where in ((before, "before"), (after, "after")):
        n = sum(one.n for one in labels)
        if n and 2 * sum(one.by_failed_check for one in labels) > n:
            yield f"Most labels {where} come from failed checks, which can only say wrong."
