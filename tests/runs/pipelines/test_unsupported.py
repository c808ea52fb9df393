"""Fields that a later version gives meaning to: refused by name, and only for that."""

import pytest

from tests.runs.pipelines.loading import BASE, STEP, load_with

READINESS = {"operational": {"min_runs": 3}}
ALL_TIERS = {
    "operational": {"min_runs": 3, "acceptable_statuses": ["completed", "stopped"], "max_age_days": 9},
    "confidence": {"min_confidence": 0.8, "min_runs": 3},
    "accuracy": {"min_accuracy": 0.8, "min_marked": 3, "min_human_marked": 1},
    "calibration": {"n_min": 10, "bin_width": 0.25, "max_divergence": 0.1, "require_own_evidence": True},
}
STEP_BODY = BASE["steps"][0]


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        ("readiness", ALL_TIERS, "readiness"),
        (f"{STEP}.readiness", {**READINESS, "accuracy": None}, "readiness"),
        (f"{STEP}.verifier", {"executor": "a2a"}, "verifier.executor: a2a"),
        (f"{STEP}.grounding", {"executor": "agent"}, "grounding.executor: agent"),
        ("steps", [{"parallel": {"name": "g", "readiness": READINESS, "steps": [STEP_BODY]}}], "readiness"),
        ("steps", [{"parallel": {"name": "g", "steps": [{**STEP_BODY, "readiness": READINESS}]}}], "readiness"),
        ("steps", [{"fan_out": {**STEP_BODY, "over": "[1]", "readiness": READINESS}}], "readiness"),
        *[
            ("steps", [{"name": "s", "executor": kind, "executor_config": config}], f"executor: {kind}")
            for kind, config in [
                ("a2a", {}),
                ("agent", {}),
            ]
        ],
    ],
)
def test_what_is_not_supported_yet_is_refused_by_name_and_only_for_that(path, value, what):
    loaded = load_with(path, value)
    assert [problem.message for problem in loaded.problems] == [f"not supported yet: {what}"]
    assert loaded.problems[0].line > 1
    assert loaded.config is None
