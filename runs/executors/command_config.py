"""The ``executor_config`` of a command agent, checked, with its paths resolved."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from runs.executors.base import ExecutorError

_INTERPRETER = re.compile(r"(env|python[\d.]*|pypy[\d.]*|bash|sh|dash|zsh|node|deno|bun|ruby|perl|php|java|uv|run)")
SERVER_SECRETS = frozenset(
    {"VECTORSTEP_SECRET_KEY", "VECTORSTEP_ADMIN_PASSWORD", "DATABASE_URL", "CELERY_BROKER_URL", "DJANGO_SECRET_KEY"}
)


@dataclass(frozen=True)
class CommandConfig:
    """Relative paths start at the project's root, the arguments after the first excepted: those the program reads
    in its own way, from ``cwd`` (the project's root unless configured)."""

    command: list[str]
    name: str
    cwd: Path
    env: dict[str, str]
    pass_env: list[str]
    version_files: list[Path]
    timeout_seconds: float | None

    @property
    def program(self) -> list[str]:
        """The argument list with a relative path to the program made absolute; a bare name is looked up in PATH."""
        first = self.command[0]
        return [str(settings.BASE_DIR / first) if "/" in first else first, *self.command[1:]]

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> "CommandConfig":
        """Raises ExecutorError naming the field and what was expected."""
        command = _texts(config, "command")
        if not command or not command[0]:
            raise _wrong("command", "a list of texts: the program and its arguments", config.get("command"))
        timeout = config.get("timeout_seconds")
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0):
            raise _wrong("timeout_seconds", "a number of seconds above 0", timeout)
        pass_env = _texts(config, "pass_env")
        if secret := SERVER_SECRETS.intersection(pass_env):
            raise _wrong("pass_env", "names of variables that are not the server's own secrets", min(secret))
        return cls(
            command=command,
            name=str(config.get("agent") or _name(command)),
            cwd=settings.BASE_DIR / str(config.get("cwd") or "."),
            env=_environment(config),
            pass_env=pass_env,
            version_files=[settings.BASE_DIR / file for file in _texts(config, "version_files")],
            timeout_seconds=timeout,
        )


def _name(command: list[str]) -> str:
    """``python -u examples/agents/triage.py --fast`` is ``triage``: the first word that is no interpreter or option."""
    for word in command:
        stem = Path(word).stem if Path(word).suffix in (".py", ".sh", ".js", ".rb", ".pl", ".mjs", ".ts") else ""
        name = stem or Path(word).name
        if name and not word.startswith("-") and not _INTERPRETER.fullmatch(name):
            return name
    return Path(command[0]).name


def _texts(config: Mapping[str, Any], key: str) -> list[str]:
    """Numbers are taken as the text they are written as: YAML makes no difference between ``5`` and ``"5"`` for a
    person who lists arguments."""
    value = config.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or any(isinstance(item, bool | dict | list) or item is None for item in value):
        raise _wrong(key, "a list of texts", value)
    return [str(item) for item in value]


def _environment(config: Mapping[str, Any]) -> dict[str, str]:
    value = config.get("env") or {}
    if not isinstance(value, Mapping) or any(isinstance(item, dict | list) or item is None for item in value.values()):
        raise _wrong("env", "names with texts", value)
    return {str(name): str(item) for name, item in value.items()}


def _wrong(key: str, expected: str, got: Any) -> ExecutorError:
    return ExecutorError(f"executor_config.{key}: expected {expected}, got {got!r:.200}", retryable=False)
