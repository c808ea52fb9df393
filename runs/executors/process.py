"""Running a local program: its own process group, bounded output, a deadline, and nothing left behind.

Knows nothing of agents. One thread watches everything (pipes, exit, stop, deadline), so whatever
the program does with its pipes, it cannot hang the worker.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from runs.calling import Deadline, Stop

GRACE_SECONDS = 1.0
_CHUNK = 65_536
_STDERR_KEPT = 16_384
_PIPE_AT_MOST = 1_048_576  # what the kernel lets an unprivileged program enlarge a pipe to
_POLL_SECONDS = 0.05  # only where the system cannot tell an exit by a file descriptor


class CannotStart(OSError):
    """There is no such program, it may not be run, or its arguments cannot be passed."""


@dataclass(frozen=True)
class Ended:
    """``reason`` is "exit", "timeout", "stop" or "output" (more of it than allowed); ``stderr`` is its last part."""

    reason: str
    returncode: int
    stderr: str


def run(
    command: list[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes,
    deadline: Deadline,
    stop: Stop,
    max_bytes: int,
    on_output: Callable[[bytes], None],
    keep_stderr: int = _STDERR_KEPT,
) -> Ended:
    """Run to the end, feeding ``on_output`` with standard output as it comes; the last ``keep_stderr`` bytes of the
    error output are kept.

    Raises CannotStart, Stopped where it should not start, OSError where the worker is out of file descriptors, and
    whatever ``on_output`` raises; the program is killed in any case.
    """
    stop.raise_if_set()
    process = _start(command, cwd, env)
    watch: _Watch | None = None
    forget: Callable[[], object] = stop.is_set  # nothing to forget yet
    try:
        watch = _Watch(process, stdin, max_bytes, on_output, keep_stderr)
        forget = stop.on_stop(watch.wake)
        reason = watch.until_end(deadline, stop)
        if reason != "exit":
            watch.ask_to_end()
        # Still unreaped, the program's process id cannot have gone to anybody else: the time to kill what it left.
        _kill_session(process.pid)
        reason = watch.drain(reason)
    finally:
        forget()
        _kill_session(process.pid)
        process.wait()
        if watch is not None:
            watch.close()
    return Ended(reason, process.returncode, watch.stderr())


def _start(command: list[str], cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise CannotStart(str(error)) from error


class _Watch:
    """All that can happen to a running program, waited for in one place."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        stdin: bytes,
        max_bytes: int,
        on_output: Callable[[bytes], None],
        keep_stderr: int,
    ) -> None:
        self._process = process
        self._to_write = memoryview(stdin)
        self._left = max_bytes
        self._on_output = on_output
        self._keep_stderr = keep_stderr
        self._stderr = bytearray()
        self._exited = False
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._pipes: dict[IO[bytes], Callable[[], bool]] = {
            process.stdin: self._write,
            process.stdout: self._read,
            process.stderr: self._read_stderr,
        }
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)
            event = selectors.EVENT_WRITE if pipe is process.stdin else selectors.EVENT_READ
            self._selector.register(pipe, event, self._pipes[pipe])
        self._wake_read, self._wake_write = os.pipe()
        self._selector.register(self._wake_read, selectors.EVENT_READ, self._woken)
        self._exit_fd = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
        if self._exit_fd is not None:
            self._selector.register(self._exit_fd, selectors.EVENT_READ, self._saw_exit)

    def wake(self) -> None:
        """Called from another thread when a stop is set."""
        with self._lock:
            if self._wake_write >= 0:
                os.write(self._wake_write, b"!")

    def until_end(self, deadline: Deadline, stop: Stop) -> str:
        """The reason to end: "exit", "timeout", "stop" or "output"."""
        while True:
            if self._has_exited():
                return "exit"
            if stop.is_set():
                return "stop"
            if self._left < 0:
                return "output"
            if deadline.passed():
                return "timeout"
            self._turn(deadline.left())

    def ask_to_end(self) -> None:
        """SIGTERM, and a moment to obey; its pipes are still emptied, lest it hang on them."""
        _signal_group(self._process.pid, signal.SIGTERM)
        grace = Deadline(GRACE_SECONDS)
        while not self._has_exited() and not grace.passed():
            self._turn(grace.left())

    def drain(self, reason: str) -> str:
        """Take what the program had written before it ended: a pipe full at most.

        A process that fled to a session of its own may go on writing, but cannot hold this up.
        """
        for pipe, read in ((self._process.stdout, self._read), (self._process.stderr, self._read_stderr)):
            for _ in range(_PIPE_AT_MOST // _CHUNK):
                if self._left < 0 or pipe not in self._pipes or not read():
                    break
        return "output" if self._left < 0 and reason == "exit" else reason

    def stderr(self) -> str:
        return self._stderr.decode("utf-8", "replace").strip()

    def close(self) -> None:
        with self._lock:
            os.close(self._wake_write)
            self._wake_write = -1
        os.close(self._wake_read)
        if self._exit_fd is not None:
            os.close(self._exit_fd)
        self._selector.close()
        for pipe in list(self._pipes):
            pipe.close()

    def _turn(self, seconds: float) -> None:
        if self._exit_fd is None:
            seconds = min(seconds, _POLL_SECONDS)
        for key, _ in self._selector.select(seconds):
            key.data()

    def _has_exited(self) -> bool:
        """Without reaping it, where the system can tell without."""
        if not self._exited and self._exit_fd is None:
            self._exited = _has_ended(self._process)
        return self._exited

    def _saw_exit(self) -> bool:
        self._exited = True
        return True

    def _woken(self) -> bool:
        os.read(self._wake_read, 64)
        return True

    def _write(self) -> bool:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            self._to_write = self._to_write[os.write(pipe.fileno(), self._to_write[:_CHUNK]) :]
        except BlockingIOError:
            return False
        except OSError:
            self._to_write = self._to_write[:0]  # the program does not want the rest
        if not self._to_write:
            self._done_with(pipe)
        return True

    def _read(self) -> bool:
        data = self._read_from(self._process.stdout)
        self._left -= len(data)
        if data:
            self._on_output(data if self._left >= 0 else data[: self._left])
        return bool(data)

    def _read_stderr(self) -> bool:
        data = self._read_from(self._process.stderr)
        self._stderr += data
        del self._stderr[: -self._keep_stderr]
        return bool(data)

    def _read_from(self, pipe: IO[bytes] | None) -> bytes:
        """b"" when there is nothing now, or never again."""
        assert pipe is not None
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return b""
        if not data:
            self._done_with(pipe)
        return data

    def _done_with(self, pipe: IO[bytes]) -> None:
        self._selector.unregister(pipe)
        del self._pipes[pipe]
        pipe.close()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    if not hasattr(os, "waitid"):  # macOS
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _kill_session(session: int) -> None:
    """The program's group, then whoever left the group but not the session (a shell with job control does that)."""
    _signal_group(session, signal.SIGKILL)
    for _ in range(5):  # one that forks while it is being looked for is found the next time
        members = _session_members(session)
        if not members:
            return
        for member in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(member, signal.SIGKILL)


def _session_members(session: int) -> list[int]:
    """Living processes of the session, where the system has /proc; the leader itself is left out."""
    members = []
    for pid in _younger_than(session) if os.path.isdir("/proc/self") else []:
        with contextlib.suppress(OSError, IndexError, ValueError):
            # pid (name) state parent group session ...; the name may itself hold brackets and blanks
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[3]) == session and fields[0] not in (b"Z", b"X"):
                members.append(pid)
    return members


def _younger_than(pid: int) -> list[int]:
    """The processes that may have begun after ``pid`` did: the higher numbers, and the low ones once numbers wrapped.

    A member of a session is younger than its leader. On a busy machine, reading all processes after every
    short program would cost more than the program.
    """
    newest = int(Path("/proc/loadavg").read_bytes().split()[4])
    if newest == pid:
        return []
    running = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    if newest < pid:
        return [other for other in running if other > pid or other <= newest]
    return [other for other in running if other > pid]
