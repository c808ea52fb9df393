"""Runs as files tell them."""

import json
from pathlib import Path
from typing import Any

STEP = {
    "name": "assess",
    "agent": "command:assess",
    "model": "m1",
    "provider": "p1",
    "prompt_hash": "abc",
    "prompt": "Assess it.",
    "answer": '{"confidence": 0.95}',
    "output": {"confidence": 0.95, "summary": "A deploy broke checkout.", "next_step_context": ""},
    "confidence": 0.95,
    "started_at": "2026-01-02T10:00:01Z",
    "completed_at": "2026-01-02T10:00:13Z",
    "duration_ms": 12000,
}


def a_step(**changes: Any) -> dict[str, Any]:
    return STEP | changes


def a_run(id: str = "one", **changes: Any) -> dict[str, Any]:
    return {"id": id, "pipeline": "checkout", "triggered_at": "2026-01-02T10:00:00Z", "steps": [a_step()]} | changes


def a_mark(outcome: str = "correct", **changes: Any) -> dict[str, Any]:
    return {"outcome": outcome, "marker": "anna", "made_at": "2026-01-03T09:00:00Z"} | changes


# S .95, V .85 above the veto floor .60, 31 of 50 right = .62, G 3 of 6 = .50 enforced, the check passed: trust .50.
WORKED_EXAMPLE = a_step(
    verifier={"score": 0.85, "mode": "critic", "combination_strategy": "veto", "veto_floor": 0.60},
    calibration={"enforce": True, "n": 50, "n_min": 20, "accuracy": 0.62, "lo": 0.9, "hi": 1.0},
    grounding={
        "score": 0.5,
        "enforce": True,
        "claims": [{"claim": f"claim {n}", "supported": n < 3, "evidence": "a tool"} for n in range(6)],
    },
    checks=[{"name": "still-breaching", "passed": True, "detail": "7.9"}],
    threshold=0.75,
    trust=0.5,
    status="escalated",
)


def written(folder: Path, *rows: Any) -> Path:
    """A file of these rows; text is written as it is."""
    file = folder / "history.jsonl"
    file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return file
