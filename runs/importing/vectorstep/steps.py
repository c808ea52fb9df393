"""A step of the other VectorStep in our own terms."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from runs.importing.records import Step
from runs.importing.reports import report_of
from runs.importing.vectorstep import cells
from runs.importing.vectorstep.database import Row

ENDS = {"completed", "stopped", "escalated", "aborted", "failed", "skipped"}
UNFINISHED = {"pending", "queued", "running", "judging"}
MODES = {"critic", "independent", "reviewer", "challenger"}
ON_LOW = ("escalate", "abort", "proceed")
UNNAMED_CHECK = "deterministic checks"
SHOWN = 20_000  # characters of what a check printed


def step_fields(row: Row) -> dict[str, Any]:
    """The fields of ``records.Step``, marks aside. A number that cannot be is left out, as if it were not known."""
    report = cells.mapping(row["trust_report"])
    signals, gate = cells.mapping(report.get("signals")), cells.mapping(report.get("gate"))
    fields = {
        "name": cells.text(row["step_name"]),
        "status": cells.text(row["status"]),
        "executor": cells.name(row["executor"]) or "imported",
        **{key: cells.name(row[key]) for key in ("agent", "model", "provider", "prompt_hash", "agent_version")},
        "prompt": cells.text(row["prompt"]),
        "answer": cells.spoken(row["raw_output"]),
        "output": cells.parsed(row["parsed_output"]),
        "trace": _list_or_none(cells.parsed(row["agent_trace"])),
        "confidence": _first(cells.share, row["primary_confidence"], signals.get("S")),
        "confidence_after_verifier": _first(cells.share, row["effective_confidence"], signals.get("S_after_V")),
        "verifier": _verifier(row, signals),
        "grounding": _grounding(row, cells.mapping(report.get("grounding"))),
        "checks": _checks(row, report),
        "threshold": cells.share(gate.get("confidence_threshold")),
        "on_low_confidence": _on_low_confidence(gate),
        "trust": cells.share(report.get("combined_trust")),
        "duration_ms": cells.count(row["duration_ms"]),
        "input_tokens": cells.count(row["input_tokens"]),
        "output_tokens": cells.count(row["output_tokens"]),
        "cost_usd": cells.dollars(row["cost"]),
        **_times(row),
    }
    return _with_calibration(fields, cells.mapping(report.get("calibration")))


def lost_numbers(row: Row, fields: Mapping[str, Any]) -> bool:
    """Whether the row has a confidence that is no number from 0 to 1."""
    return row["primary_confidence"] is not None and fields["confidence"] is None


def _list_or_none(value: Any) -> list[Any] | None:
    return value if isinstance(value, list) else None


def _first(understand: Any, *values: Any) -> Any:
    return next((found for value in values if (found := understand(value)) is not None), None)


def _times(row: Row) -> dict[str, Any]:
    ended = cells.moment(row["executed_at"])
    if ended is None:
        return {}
    took = timedelta(milliseconds=cells.count(row["duration_ms"]) or 0)
    return {"completed_at": ended, "started_at": ended - took}


def _verifier(row: Row, signals: Mapping[str, Any]) -> dict[str, Any] | None:
    score = _first(cells.share, row["verifier_confidence"], signals.get("V"))
    mode = cells.text(row["verifier_mode"] or signals.get("V_mode"))
    if score is None and row["verifier_output"] is None:
        return None
    return {
        "score": score,
        "mode": mode if mode in MODES else "",
        "combination_strategy": "veto" if signals.get("V_combination_strategy") == "veto" else "minimum",
        "veto_floor": _first(cells.share, signals.get("V_veto_floor"), 0.60),
        "prompt": cells.text(row["verifier_prompt"]),
        "answer": cells.spoken(row["verifier_output"]),
        **_judge(row, "verifier"),
    }


def _grounding(row: Row, told: Mapping[str, Any]) -> dict[str, Any] | None:
    score = _first(cells.share, row["grounding_score"], told.get("score"))
    if score is None and not told:
        return None
    claims = [claim for claim in cells.listed(told.get("claims")) if isinstance(claim, dict)]
    return {
        "score": score,
        "enforce": told.get("enforce") is True,
        "claims": [
            {
                "claim": cells.text(claim.get("claim")),
                "supported": claim.get("supported") is True,
                "evidence": cells.text(claim.get("evidence")),
            }
            for claim in claims
        ],
        **_judge(row, "grounding"),
    }


def _judge(row: Row, prefix: str) -> dict[str, Any]:
    return {
        **{key: cells.name(row[f"{prefix}_{key}"]) for key in ("agent", "model", "provider")},
        **{key: cells.count(row[f"{prefix}_{key}"]) for key in ("input_tokens", "output_tokens")},
    }


def _checks(row: Row, report: Mapping[str, Any]) -> list[dict[str, Any]]:
    told = [check for check in cells.listed(report.get("deterministic_checks")) if isinstance(check, dict)]
    checks = [
        {
            "name": cells.name(check.get("name")) or UNNAMED_CHECK,
            "passed": check.get("passed") is True,
            "detail": _detail(check.get("detail")),
            "duration_ms": cells.count(check.get("duration_ms")),
        }
        for check in told
    ]
    passed = row["deterministic_passed"]
    if passed is not None and all(check["passed"] for check in checks) is not bool(passed):
        checks.append({"name": UNNAMED_CHECK, "passed": bool(passed)})
    elif passed is not None and not checks:
        checks.append({"name": UNNAMED_CHECK, "passed": True})
    return checks


def _detail(value: Any) -> str:
    return (value if isinstance(value, str) else "" if value is None else repr(value))[:SHOWN]


def _on_low_confidence(gate: Mapping[str, Any]) -> str:
    return next((value for value in (gate.get("on_low_confidence"), gate.get("policy")) if value in ON_LOW), "escalate")


def _with_calibration(fields: dict[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """The file does not say whether calibration was enforced: it was, unless the trust only comes out without it."""
    n = cells.count(told.get("n"))
    if n is None:
        return fields
    limits = cells.mapping(told.get("bin"))
    calibration = {
        "n": n,
        "n_min": cells.count(told.get("n_min")) or 20,
        "accuracy": cells.share(told.get("calibrated")),
        "on_uncalibrated": "escalate" if told.get("on_uncalibrated") == "escalate" else "proceed",
        "lo": cells.share(limits.get("lo")),
        "hi": cells.share(limits.get("hi")),
    }
    ways: Sequence[dict[str, Any]] = [
        fields | {"calibration": calibration | {"enforce": enforce}} for enforce in (True, False)
    ]
    return next((way for way in ways if _explains(way)), ways[0])


def _explains(fields: dict[str, Any]) -> bool:
    try:
        return report_of(Step.model_validate(fields)) is not None
    except ValueError:  # a step that will be refused for it
        return False
