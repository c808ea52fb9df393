"""The picture of a trust report: each stage a bar from 0 to 100, as plain geometry.

Nothing here decides anything: every number is one the report holds. Positions are shares of the
width in [0, 1], so that the drawing needs no fixed size.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calibration.plurals import plural

NAMES = {
    "self_report": "Self-report",
    "verifier": "Verifier",
    "calibration": "Calibration",
    "grounding": "Grounding",
    "checks": "Checks",
}
HUES = {"self_report": "s", "verifier": "v", "calibration": "c", "grounding": "g", "checks": "d"}


@dataclass(frozen=True)
class Bar:
    """One stage. Trust stands at ``after``; ``taken`` and ``gained`` are the spans (from, to) that it lost or won.

    ``faded``: the stage changed nothing. ``dot``: a value the stage had that did not count.
    ``missing``: the signal was wanted and could not be had.
    """

    stage: str
    name: str
    hue: str
    after: float
    taken: tuple[float, float] | None
    gained: tuple[float, float] | None
    faded: bool
    dot: float | None
    missing: bool
    note: str


@dataclass(frozen=True)
class Waterfall:
    bars: tuple[Bar, ...]
    threshold: float | None
    label: str


def whole(value: float) -> str:
    """A share as it stands on the axis: 0.62 is "62", 0.625 is "62.5"."""
    return f"{value * 100:.1f}".removesuffix(".0")


def waterfall(report: Mapping[str, Any]) -> Waterfall | None:
    """The geometry of ``report``, or None where there is no number to draw (the step had no self-report)."""
    stages = [stage for stage in report.get("stages", ()) if stage.get("stage") in NAMES and _was_wanted(stage)]
    bars = tuple(_bar(stage) for stage in stages if stage.get("after") is not None)
    if not bars:
        return None
    threshold = report.get("confidence_threshold")
    return Waterfall(bars=bars, threshold=threshold, label=_label(bars, threshold))


def _was_wanted(stage: Mapping[str, Any]) -> bool:
    return stage.get("reason") != "not_configured"


def _bar(stage: Mapping[str, Any]) -> Bar:
    name, after = stage["stage"], stage["after"]
    before = stage.get("before")
    inputs = stage.get("inputs") or {}
    fell = before is not None and after < before
    rose = before is not None and after > before
    moved = fell or rose
    return Bar(
        stage=name,
        name=NAMES[name],
        hue=HUES[name],
        after=after,
        taken=(after, before) if before is not None and fell else None,
        gained=(before, after) if before is not None and rose else None,
        faded=before is not None and not moved,
        dot=_dot(name, inputs, after, moved),
        missing=inputs.get("state") == "failed",
        note=_note(name, stage, inputs),
    )


def _dot(name: str, inputs: Mapping[str, Any], after: float, moved: bool) -> float | None:
    if moved:
        return None
    value = {
        "verifier": inputs.get("score"),
        "grounding": inputs.get("score"),
        "calibration": inputs.get("accuracy") if _validated(inputs) else None,
    }.get(name)
    return value if value is not None and value != after else None


def _validated(inputs: Mapping[str, Any]) -> bool:
    return inputs.get("n") is not None and inputs["n"] >= inputs.get("n_min", 0) and inputs.get("accuracy") is not None


def _note(name: str, stage: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    if inputs.get("state") == "failed":
        return "wanted, missing"
    if stage.get("reason") == "not_triggered":
        return "not triggered"
    if name == "verifier":
        return _verifier(inputs)
    if name == "calibration":
        return _calibration(inputs)
    if name == "grounding":
        return _grounding(inputs, enforced=bool(stage.get("enforced")))
    return _checks(inputs) if name == "checks" else "what it said"


def _verifier(inputs: Mapping[str, Any]) -> str:
    score = inputs.get("score")
    if score is None:
        return "gave no score"
    if inputs.get("combination_strategy") == "veto":
        floor = inputs["veto_floor"]
        return f"{whole(score)} {'clears' if score >= floor else 'is under'} veto {whole(floor)}"
    return f"scored {whole(score)}"


def _calibration(inputs: Mapping[str, Any]) -> str:
    n, needed = inputs.get("n") or 0, inputs.get("n_min")
    if not _validated(inputs):
        return f"{n} of {needed} marked" if needed is not None else f"{n} marked"
    marked = plural(n, "marked run")
    return marked if inputs.get("enforce") else f"{marked}, advisory"


def _grounding(inputs: Mapping[str, Any], *, enforced: bool) -> str:
    if inputs.get("score") is None:
        return "no trace to check" if inputs.get("state") == "skipped" else "no claims to check"
    supported, total = inputs.get("supported"), inputs.get("total")
    text = f"scored {whole(inputs['score'])}" if not total else f"{supported} of {total} claims"
    return text if enforced else f"{text}, shadow"


def _checks(inputs: Mapping[str, Any]) -> str:
    checks = inputs.get("checks") or []
    failed = sum(1 for check in checks if not check.get("passed"))
    if failed:
        return f"{failed} of {len(checks)} failed"
    return f"{len(checks)} of {len(checks)} passed" if checks else "none"


def _label(bars: tuple[Bar, ...], threshold: float | None) -> str:
    """What the picture shows, for those who cannot see it."""
    start, end = bars[0], bars[-1]
    lowered = [bar.name.lower() for bar in bars if bar.taken]
    raised = [bar.name.lower() for bar in bars if bar.gained]
    text = f"Trust from {whole(start.after)} percent {start.name.lower()} to {whole(end.after)} percent"
    if lowered:
        text += f", lowered by {' and '.join(lowered)}"
    if raised:
        text += f", raised by {' and '.join(raised)}"
    return text + (f"; threshold {whole(threshold)} percent" if threshold is not None else "")
