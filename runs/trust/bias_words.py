"""What an agent's drift says about its threshold, in words. Pure."""

from collections.abc import Mapping
from typing import Any

from calibration.plurals import plural
from runs.trust.percent import Percents


def numbers(gate: Mapping[str, Any]) -> list[float | None]:
    """The numbers of a gate's inputs that the words below name."""
    bias = gate.get("bias") or {}
    return [bias.get("claimed"), bias.get("observed"), gate.get("confidence_threshold"), bias.get("threshold")]


def bias(gate: Mapping[str, Any], pct: Percents) -> str:
    """One sentence or two about the record of people's outcomes; "" where there is nothing to tell."""
    given = gate.get("bias")
    if not given or (not given["n"] and not given["enforce"]):
        return ""
    if given["meaning"] == "too_few":
        judged = f"People have judged {plural(given['n'], 'answer')} of this agent"
        return f"{judged}; its drift takes {given['least']}. The threshold stays."
    record = f"This agent claims {pct(given['claimed'])}, people kept {pct(given['observed'])}"
    return f"{record} (its last {plural(given['n'], 'judged answer')}): {_consequence(gate, given, pct)}"


def _consequence(gate: Mapping[str, Any], given: Mapping[str, Any], pct: Percents) -> str:
    threshold, then = gate["confidence_threshold"], given["threshold"]
    if given["meaning"] == "noise":
        return f"within {pct.number(given['band'])} points, which is noise. The threshold stays."
    if threshold is None:
        return "its group decides, and has no agent whose drift could count."
    if threshold == then:
        kept = "as high as it can be" if given["meaning"] == "overconfident" else "and is not lowered for that"
        return f"the threshold of {pct(threshold)} stays, {kept}."
    if given["enforce"]:
        return f"threshold {pct(threshold)} became {pct(then)}."
    return f"threshold {pct(threshold)} would become {pct(then)}, were threshold_bias enforced."
