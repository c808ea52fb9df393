"""Which of a step's signals count, and what its grounding judge found."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runs.models import Signal
from runs.models.signal import SignalKind

_ORDER: dict[str, int] = {SignalKind.VERIFIER: 0, SignalKind.GROUNDING: 1, SignalKind.CHECK: 2}


def of_current_pass(signals: list[Signal], passes: Sequence[Mapping[str, Any]], count: int) -> list[Signal]:
    """The signals of the pass that counts: the chosen one once it is chosen, else the latest."""
    chosen = next((number for number, one in enumerate(passes) if one.get("chosen")), None)
    number = chosen if chosen is not None else count
    signals = sorted(signals, key=lambda signal: (_ORDER[signal.kind], signal.position))
    of_number = [signal for signal in signals if signal.iteration == number]
    latest = max((signal.iteration for signal in signals), default=0)
    return of_number or [signal for signal in signals if signal.iteration == latest]


def one(signals: Iterable[Signal], kind: str) -> Signal | None:
    return next((signal for signal in signals if signal.kind == kind), None)


def awaited(definition: Mapping[str, Any], signals: Iterable[Signal]) -> list[str]:
    """The signals the step wants and has not got yet."""
    there = {(signal.kind, signal.position) for signal in signals}
    wanted = []
    if definition.get("verifier"):
        wanted.append((SignalKind.VERIFIER, 0, "Verifier"))
    if definition.get("grounding"):
        wanted.append((SignalKind.GROUNDING, 0, "Grounding"))
    checks = definition.get("deterministic_checks") or []
    wanted += [(SignalKind.CHECK, number, f"Check {check.get('name', '')}") for number, check in enumerate(checks)]
    return [name for kind, number, name in wanted if (kind, number) not in there]


def detail_of(signal: Any) -> Mapping[str, Any]:
    return signal.small_detail or {}


def claims_in(grounding: Signal | None) -> list[Mapping[str, Any]]:
    if grounding is None:
        return []
    claims = detail_of(grounding).get("claims")
    found = [claim for claim in claims if isinstance(claim, dict)] if isinstance(claims, list) else []
    # What nothing backs is what a reader looks for.
    return sorted(found, key=lambda claim: bool(claim.get("supported")))


def claims_of(step: Any, signals: list[Signal]) -> list[Mapping[str, Any]]:
    """The claims of the pass that counts; ``step`` and ``signals`` are as ``run_reads`` reads them."""
    current = of_current_pass(signals, step.earlier or [], step.iteration_count or 0)
    return claims_in(one(current, SignalKind.GROUNDING))
