"""The pipelines of the bench: three steps, plain, with every signal (its check a webhook or a shell), and slow."""

import json
from pathlib import Path
from typing import Any

PROMPT = (
    "Look into {{ summary }}. Labels: {{ labels }}.\n"
    "{% if steps %}{% for name, step in steps.items() %}{{ name }} said: {{ step.summary }}\n{% endfor %}{% endif %}"
    "Answer with JSON: confidence, summary, next_step_context."
)


def write_pipelines(folder: Path, gateway_port: int) -> None:
    """Write pipelines/, steps/ and config.yaml under ``folder`` (JSON is YAML)."""
    (folder / "pipelines").mkdir()
    (folder / "steps").mkdir()
    for name, agent, extra in (
        ("plain", "instant", {}),
        ("signals", "tracing", _signals(_webhook_check(gateway_port))),
        ("shell", "tracing", _signals({"type": "shell", "name": "true", "run": "true"})),
        ("slow", "slow", {}),
    ):
        steps = [_step(f"step-{number}", agent, extra) for number in range(1, 2 if name == "slow" else 4)]
        pipeline = {
            "name": f"bench-{name}",
            "stage": "testing",
            "steps": steps,
            "trigger": {"dedup": {"enabled": False}},
        }
        (folder / "pipelines" / f"{name}.yaml").write_text(json.dumps(pipeline))
    gateway = {"url": f"ws://127.0.0.1:{gateway_port}/rpc", "rest_url": f"http://127.0.0.1:{gateway_port}"}
    config = {"executors": {"gateway": gateway}, "outbound": {"allow_private": ["127.0.0.0/8"]}}
    (folder / "config.yaml").write_text(json.dumps(config))


def _step(name: str, agent: str, extra: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "executor": "gateway",
        "executor_config": _config(agent),
        "prompt_template": PROMPT,
        "confidence_threshold": 0.5,
        **extra,
    }


def _config(agent: str) -> dict[str, Any]:
    return {"agent": agent, "session_key": f"agent:{agent}:{{{{ pipeline_run_id }}}}"}


def _signals(check: dict[str, Any]) -> dict[str, Any]:
    return {
        "verifier": {"executor": "gateway", "executor_config": _config("critic")},
        "grounding": {"executor_config": _config("grounding-judge")},
        "deterministic_checks": [check],
        "calibration": {"enforce": True},
    }


def _webhook_check(gateway_port: int) -> dict[str, Any]:
    return {"type": "webhook", "name": "alive", "method": "GET", "url": f"http://127.0.0.1:{gateway_port}/health"}
