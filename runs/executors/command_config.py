"""The ``executor_config`` of a command agent, checked, with its paths resolved."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from runs.calling import ExecutorError
from runs.redaction import SERVER_SECRETS

_INTERPRETER = re.compile(r"(env|python[\d.]*|pypy[\d.]*|bash|sh|dash|zsh|node|deno|bun|ruby|perl|php|java|uv|run)")
_SUFFIXES = frozenset({".js", ".mjs", ".php", ".pl", ".py", ".rb", ".sh", ".ts"})
_NAME_CHARS = 200


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
    model: str  # what the program is told to use, and reported unless it reports another; "" for none

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
        pass_env = _texts(config, "pass_env")
        if secret := SERVER_SECRETS.intersection(pass_env):
            raise _wrong("pass_env", "names of variables that are not the server's own secrets", min(secret))
        return cls(
            command=command,
            name=agent_name(config),
            cwd=settings.BASE_DIR / str(config.get("cwd") or "."),
            env=_environment(config),
            pass_env=pass_env,
            version_files=[settings.BASE_DIR / file for file in _texts(config, "version_files")],
            model=str(config.get("model") or ""),
        )


def agent_name(config: Mapping[str, Any]) -> str:
    """``agent``, else from ``command``: ``python -u examples/agents/triage.py --fast`` is ``triage``, the first word
    that is no interpreter or option.

    A script in an argument (``python -c ...``) has no name but its interpreter's. "" where there is no command.
    """
    command = config.get("command")
    words = [str(word) for word in command] if isinstance(command, list) else []
    name = str(config.get("agent") or "") or _script(words) or (Path(words[0]).name if words else "")
    return name[:_NAME_CHARS]


def _script(words: list[str]) -> str:
    for word in words:
        if word in ("-c", "-e"):
            break
        path = Path(word)
        name = path.stem if path.suffix in _SUFFIXES else path.name
        if name and not word.startswith("-") and not _INTERPRETER.fullmatch(name):
            return name
    return ""


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
