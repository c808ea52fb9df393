"""Web, worker and scheduler under one terminal: what ``manage.py serve`` keeps running.

No Django import: this is about processes. ``vectorstep.start`` prepares the database and the rest.
"""

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TextIO

from vectorstep.processes import descendants, kill

TICK_SECONDS = 0.1
STEADY_SECONDS = 60.0  # a child that ran this long starts again at once
LONGEST_PAUSE_SECONDS = 30.0
# Celery says in eight lines at every start that it runs as root; whoever starts it as root knows.
ENVIRONMENT = {"PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "ignore:You're running the worker"}


@dataclass(frozen=True)
class Program:
    """A child: ``module`` is run as ``python -m`` would; ``grace_seconds`` is how long it may take to end."""

    name: str
    module: str
    arguments: Sequence[str]
    grace_seconds: float


def web(*, host: str, port: int) -> Program:
    options = ["--host", host, "--port", str(port), "--http", "httptools", "--loop", "uvloop", "--lifespan", "off"]
    # Live tails are open streams: without a limit they would hold up Ctrl-C for ever.
    quiet = ["--no-access-log", "--log-level", "warning", "--timeout-graceful-shutdown", "1"]
    return Program("web", "uvicorn", ["vectorstep.asgi:application", *options, *quiet], grace_seconds=3)


def workers(*, count: int) -> list[Program]:
    """Several processes, since one Python process computes on one core; each runs many steps that wait."""
    # Gossip, mingle and heartbeats are for many workers that watch each other through a broker.
    options = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING"]
    shared = ["-q", "-A", "vectorstep", "worker", *options, "-Q", "celery,sweep"]
    names = [f"worker{number}" if count > 1 else "worker" for number in range(1, count + 1)]
    return [Program(name, "celery", [*shared, "--hostname", f"{name}@%h"], grace_seconds=5) for name in names]


def scheduler() -> Program:
    options = ["--loglevel", "WARNING", "--pidfile", ""]
    return Program("beat", "celery", ["-q", "-A", "vectorstep", "beat", *options], grace_seconds=2)


class Printer:
    """Whole lines of several threads, each with the name of who said it."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.Lock()

    def line(self, name: str, text: str) -> None:
        # A terminal that has gone away is no reason to stop serving.
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._out.write(f"{name:<6} | {text}\n")
            self._out.flush()


@dataclass
class Child:
    """One program, started again (ever later) whenever it ends by itself."""

    program: Program
    printer: Printer
    popen: subprocess.Popen[str] | None = None
    started_at: float = 0.0
    start_at: float = 0.0
    pause: float = 0.0

    def start(self, now: float) -> None:
        command = [sys.executable, "-m", "vectorstep.leash", str(self.program.grace_seconds), self.program.module]
        self.popen = subprocess.Popen(
            [*command, *self.program.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**ENVIRONMENT, **os.environ},
            start_new_session=True,  # Ctrl-C reaches the supervisor alone, which ends the others in order
        )
        self.started_at = now
        threading.Thread(target=self._relay, args=[self.popen], daemon=True).start()

    def _relay(self, popen: subprocess.Popen[str]) -> None:
        assert popen.stdout is not None
        for line in popen.stdout:
            self.printer.line(self.program.name, line.rstrip("\n"))

    def tend(self, now: float) -> None:
        """Start it when it is time; notice that it has ended."""
        if self.popen is None:
            if now >= self.start_at:
                self.start(now)
        elif (code := self.popen.poll()) is not None:
            self._close()
            self.popen = None
            steady = now - self.started_at >= STEADY_SECONDS
            self.pause = 0.0 if steady else min(LONGEST_PAUSE_SECONDS, max(1.0, self.pause * 2))
            self.start_at = now + self.pause
            again = f"in {self.pause:g} s" if self.pause else "at once"
            self.printer.line(self.program.name, f"ended unexpectedly ({_reason(code)}); starting again {again}")

    def let_go(self) -> None:
        """Close the leash: it ends by itself within its grace."""
        self._close()

    def _close(self) -> None:
        if self.popen is not None and self.popen.stdin is not None:
            with contextlib.suppress(OSError):
                self.popen.stdin.close()

    def ended(self) -> bool:
        return self.popen is None or self.popen.poll() is not None

    def kill(self) -> None:
        if self.popen is not None and not self.ended():
            below = descendants(self.popen.pid)
            self.popen.kill()
            for pid in below:
                kill(pid)
            self.popen.wait()


def _reason(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


class Supervisor:
    """Keeps the children running until told to stop."""

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        printer: Printer,
        reload: Callable[[], None],
        ready: Callable[[], bool],
        announce: Callable[[], None],
    ) -> None:
        self._children = [Child(program, printer) for program in programs]
        self._reload = reload
        self._ready = ready
        self._announce = announce
        self._stops = 0
        self._reload_asked = False

    def ask_to_stop(self) -> None:
        """Called from a signal handler; a second time means: at once."""
        self._stops += 1

    def ask_to_reload(self) -> None:
        self._reload_asked = True

    def run(self) -> None:
        """Returns when everything has ended."""
        announced = False
        try:
            while not self._stops:
                now = time.monotonic()
                for child in self._children:
                    child.tend(now)
                if not announced and self._ready():
                    announced = True
                    self._announce()
                if self._reload_asked:
                    self._reload_asked = False
                    self._reload()
                time.sleep(TICK_SECONDS)
        finally:
            self._end()

    def _end(self) -> None:
        for child in self._children:
            child.let_go()
        deadline = time.monotonic() + max(child.program.grace_seconds for child in self._children) + 1
        while not all(child.ended() for child in self._children):
            if self._stops > 1 or time.monotonic() > deadline:
                break
            time.sleep(0.02)
        for child in self._children:
            child.kill()
