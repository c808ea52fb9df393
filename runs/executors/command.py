"""The ``command`` executor: a local program as an agent. The protocol is described in docs/command-agents.md."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from runs.executors import process
from runs.executors.base import AgentDefinition, Call, Deadline, ExecutorError, Reply, Stop, Stopped, TraceEvent
from runs.executors.command_config import CommandConfig, agent_name
from runs.executors.command_output import Output
from runs.executors.process import CannotStart, Ended
from runs.executors.program_version import texts, version

DEFAULT_SECONDS = 1200.0
_PASSED_ON = ("HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LOGNAME", "TMPDIR", "TZ", "USER")
_STDERR_SHOWN = 2000


class Command:
    kind = "command"
    is_agent = True
    on_interrupted = "rerun"
    default_timeout = DEFAULT_SECONDS

    def agent_name(self, config: Mapping[str, Any]) -> str:
        return agent_name(config)

    def call(self, call: Call, stop: Stop, on_event: Callable[[TraceEvent], None]) -> Reply:
        config = CommandConfig.read(call.config)
        agent_version = version(config.version_files)
        output = Output(on_event)
        try:
            ended = process.run(
                config.program,
                cwd=config.cwd,
                env=_environment(config),
                stdin=_input(call, config),
                deadline=Deadline(call.timeout),
                stop=stop,
                max_bytes=settings.SERVICE.limits.answer_bytes,
                on_output=output.feed,
            )
        except CannotStart as error:
            message = f"{config.name} could not be started: {error}{_hint(error, config)}"
            raise ExecutorError(message, retryable=False) from error
        except OSError as error:
            raise ExecutorError(f"{config.name} could not be watched: {error}") from error
        output.finish()
        if ended.reason == "stop":
            raise Stopped
        problem = _problem(ended, call.timeout)
        if problem:
            raise ExecutorError(f"{config.name} {problem}", raw=output.text, trace=output.trace)
        return Reply(
            text=output.text,
            trace=output.trace,
            model=output.model or config.model,
            provider=output.provider,
            agent_version=agent_version,
            input_tokens=output.input_tokens,
            output_tokens=output.output_tokens,
        )

    def describe(self, config: Mapping[str, Any]) -> AgentDefinition | None:
        """The text of its version files; None without any."""
        read = CommandConfig.read(config)
        if not read.version_files:
            return None
        shown = {"command": read.command, "env": sorted(read.env)}
        return AgentDefinition(
            version=version(read.version_files),
            soul=texts(read.version_files),
            config=json.dumps(shown, ensure_ascii=False, indent=2),
        )


def _environment(config: CommandConfig) -> dict[str, str]:
    """Little: nothing that the server keeps secret gets into an agent's hands unless the pipeline names it.

    The interpreter that runs the server comes first in PATH, so that ``python`` means the same everywhere.
    """
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    environment["PYTHONIOENCODING"] = "utf-8"
    environment.update({name: os.environ[name] for name in config.pass_env if name in os.environ})
    return environment | config.env


def _input(call: Call, config: CommandConfig) -> bytes:
    return json.dumps(
        {
            "prompt": call.prompt,
            "context": dict(call.context),
            "model": config.model,
            "idempotency_key": call.idempotency_key,
            "timeout_seconds": call.timeout,
        }
    ).encode()


def _hint(error: CannotStart, config: CommandConfig) -> str:
    """What to look at when a program named without its folder was not found."""
    cause = error.__cause__
    if isinstance(cause, FileNotFoundError) and cause.filename == config.program[0] and "/" not in cause.filename:
        return "; is it installed, and in the PATH of the worker?"
    return ""


def _problem(ended: Ended, seconds: float) -> str:
    """What went wrong, as the rest of a sentence; "" when nothing did."""
    if ended.reason == "timeout":
        problem = f"gave no answer within {seconds:g} s and was killed"
    elif ended.reason == "output":
        limit = settings.SERVICE.limits.answer_bytes
        problem = f"wrote more than {limit} bytes (limits.answer_bytes) and was killed"
    elif ended.returncode < 0:
        problem = f"was killed by signal {-ended.returncode}"
    elif ended.returncode > 0:
        problem = f"ended with exit code {ended.returncode}"
    else:
        return ""
    return f"{problem}; its error output ends: {ended.stderr[-_STDERR_SHOWN:]}" if ended.stderr else problem
