"""Running a shell command with a time limit, bounded output, and no process left behind."""

import os
import selectors
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runs.executors.base import Deadline, Stop

MOST_OUTPUT = 1_000_000  # bytes of one stream; past it the command is killed, for a cut text could mislead a check
_CHUNK = 65_536
_LOOK_AGAIN = 0.05  # seconds between looks at a shell whose children hold its output open


class ProcessError(Exception):
    """The command did not come to an end by itself, or could not be started."""


@dataclass(frozen=True)
class Finished:
    """``exit_code`` is negative when a signal ended the shell."""

    exit_code: int
    stdout: str
    stderr: str


def run_shell(command: str, *, timeout: float, stop: Stop, env: Mapping[str, str], cwd: Path) -> Finished:
    """Run ``command`` by ``sh -c`` in a process group of its own, which is killed whole at the end.

    Raises ProcessError when it takes longer than ``timeout`` seconds, prints too much, is stopped or cannot start.
    """
    deadline = Deadline(timeout)
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=env,
            cwd=cwd,
        )
    except (OSError, ValueError) as error:
        raise ProcessError(f"could not be started: {error}") from error
    forget = stop.on_stop(lambda: _kill_group(process))
    try:
        stdout, stderr = _read(process, deadline)
        exit_code = process.wait(deadline.left())
    except subprocess.TimeoutExpired:
        raise ProcessError(_late(timeout)) from None
    finally:
        forget()
        _end(process)
    if stop.is_set():
        raise ProcessError("stopped")
    return Finished(exit_code, stdout.decode(errors="replace"), stderr.decode(errors="replace"))


def _late(timeout: float) -> str:
    return f"timed out after {timeout:g} s; it and its children were killed"


def _read(process: subprocess.Popen[bytes], deadline: Deadline) -> tuple[bytes, bytes]:
    """All output until both streams close, or until the shell is gone and only children keep them open."""
    assert process.stdout is not None
    assert process.stderr is not None
    parts: dict[int, bytearray] = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    with selectors.DefaultSelector() as selector:
        for descriptor in parts:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(min(deadline.left(), _LOOK_AGAIN))
            for key, _ in ready:
                _take(selector, key.fd, parts[key.fd])
            if deadline.passed():
                raise subprocess.TimeoutExpired(process.args, deadline.seconds)
            if not ready and process.poll() is not None:
                break
    stdout, stderr = parts.values()
    return bytes(stdout), bytes(stderr)


def _take(selector: selectors.BaseSelector, descriptor: int, part: bytearray) -> None:
    chunk = os.read(descriptor, _CHUNK)
    if not chunk:
        selector.unregister(descriptor)
    part += chunk
    if len(part) > MOST_OUTPUT:
        raise ProcessError(f"printed more than {MOST_OUTPUT:,} bytes")


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # The group is the shell's own (start_new_session); PermissionError is macOS's word for "only zombies left".
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    _kill_group(process)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
