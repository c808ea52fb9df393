"""Databases of another VectorStep, as its releases make them."""

import json
import sqlite3
import uuid
from pathlib import Path
from typing import Any


def columns(text: str) -> list[str]:
    return text.split()


RUN = columns(
    "id pipeline_name source triggered_at status normalised_context raw_payload completed_at logs fingerprint "
    "parent_run_id team stage config_fingerprint resumed_at replay_of"
)
STEP = columns(
    "id run_id step_name step_index executor agent model provider prompt_hash agent_version prompt raw_output "
    "parsed_output verifier_output verifier_mode verifier_agent verifier_model verifier_provider verifier_prompt "
    "status primary_confidence verifier_confidence effective_confidence grounding_score trust_report "
    "deterministic_passed duration_ms executed_at artifacts agent_trace input_tokens output_tokens "
    "verifier_input_tokens verifier_output_tokens grounding_model grounding_provider grounding_input_tokens "
    "grounding_output_tokens cost"
)
TABLES = {
    "pipeline_runs": RUN,
    "pipeline_steps": STEP,
    "step_feedback": columns("id step_id run_id pipeline_name step_name outcome notes submitted_at"),
    "run_feedback": columns("id run_id pipeline_name outcome notes submitted_at"),
    "step_prompt_versions": columns("prompt_hash step_name template first_seen_at last_seen_at"),
    "agent_version_snapshots": columns("agent_version agent soul_md agent_yaml note first_seen_at last_seen_at"),
}
# What files of the first releases have.
OLD_TABLES = {
    "pipeline_runs": columns("id pipeline_name source triggered_at status normalised_context raw_payload completed_at"),
    "pipeline_steps": columns(
        "id run_id step_name step_index executor prompt raw_output parsed_output status primary_confidence "
        "effective_confidence duration_ms executed_at"
    ),
    "step_feedback": TABLES["step_feedback"],
}

# S .95, V .85 above the veto floor, 31 of 50 right = .62, G .50 enforced, the check passed: .50 against .75.
REPORT: dict[str, Any] = {
    "signals": {"S": 0.95, "S_after_V": 0.95, "V": 0.85, "V_mode": "reviewer", "V_combination_strategy": "veto",
                "V_veto_floor": 0.6, "G": 0.5, "D": True},
    "combined_trust": 0.5,
    "grounding": {"computed": True, "score": 0.5, "enforce": True,
                  "claims": [{"claim": f"claim {n}", "supported": n < 3, "evidence": "a tool"} for n in range(6)]},
    "deterministic_checks": [{"name": "still", "type": "shell", "passed": True, "detail": "7.9", "duration_ms": 20}],
    "calibration": {"bin": {"lo": 0.9, "hi": 1.0}, "n": 50, "n_min": 20, "validated": True, "raw": 0.95,
                    "calibrated": 0.62, "on_uncalibrated": "proceed"},
    "gate": {"policy": "escalate", "confidence_threshold": 0.75, "on_low_confidence": "escalate"},
}  # fmt: skip


class Other:
    """One such file; ``run`` and ``step`` add rows and return their ids, ``add`` any row."""

    def __init__(self, path: Path, tables: dict[str, list[str]] = TABLES) -> None:
        self.path = path
        self._connection = sqlite3.connect(path)
        for table, columns in tables.items():
            self._connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        self._tables = tables

    def add(self, table: str, **values: Any) -> str:
        columns = self._tables[table]
        row = {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in values.items()}
        kept = {name: value for name, value in row.items() if name in columns}
        marks = ", ".join("?" for _ in kept)
        self._connection.execute(f"INSERT INTO {table} ({', '.join(kept)}) VALUES ({marks})", [*kept.values()])
        self._connection.commit()
        return str(values.get("id", ""))

    def run(self, **changes: Any) -> str:
        fields = {
            "id": str(uuid.uuid4()), "pipeline_name": "checkout", "source": "alertmanager",
            "triggered_at": "2026-01-02 10:00:00.500000", "status": "completed",
            "normalised_context": {"summary": "Errors above 5 %"}, "raw_payload": {"alerts": []},
            "completed_at": "2026-01-02 10:01:00", "team": "payments", "stage": "production",
            "logs": [{"ts": "2026-01-02T10:00:01", "level": "WARNING", "event": "begun", "msg": "assess begins"}],
        }  # fmt: skip
        return self.add("pipeline_runs", **(fields | changes))

    def step(self, run: str, **changes: Any) -> str:
        fields = {
            "id": str(uuid.uuid4()), "run_id": run, "step_name": "assess", "step_index": 0, "executor": "gateway",
            "agent": "gateway:sre", "model": "m1", "provider": "p1", "prompt_hash": "abc", "agent_version": "v1",
            "prompt": "Assess it.", "raw_output": '"{\\"confidence\\": 0.95}"', "parsed_output": {"confidence": 0.95},
            "status": "completed", "primary_confidence": 0.95, "effective_confidence": 0.95, "duration_ms": 12000,
            "executed_at": "2026-01-02 10:00:13", "agent_trace": [{"type": "tool_call", "name": "q", "input": {}}],
            "input_tokens": 10, "output_tokens": 20,
        }  # fmt: skip
        return self.add("pipeline_steps", **(fields | changes))

    def mark(self, step: str, outcome: str = "correct", **changes: Any) -> str:
        fields = {"id": str(uuid.uuid4()), "step_id": step, "outcome": outcome, "submitted_at": "2026-01-03 09:00:00"}
        return self.add("step_feedback", **(fields | changes))

    def mark_run(self, run: str, outcome: str = "correct", **changes: Any) -> str:
        fields = {"id": str(uuid.uuid4()), "run_id": run, "outcome": outcome, "submitted_at": "2026-01-03 09:00:00"}
        return self.add("run_feedback", **(fields | changes))
