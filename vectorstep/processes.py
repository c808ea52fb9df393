"""The processes below a process: agents start programs of their own, and stopping must find them all."""

import contextlib
import os
import signal
import subprocess
from collections import defaultdict
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """The ids of every process started, directly or not, by ``pid``; parents before children."""
    children: dict[int, list[int]] = defaultdict(list)
    for child, parent in _parents():
        children[parent].append(child)
    found = [pid]
    for each in found:
        found.extend(children[each])
    return found[1:]


def _parents() -> list[tuple[int, int]]:
    if not Path("/proc/self/stat").exists():
        table = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
        return [(int(line.split()[0]), int(line.split()[1])) for line in table.stdout.splitlines()]
    rows = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it ended meanwhile
            # The name, in parentheses, may hold anything; the parent is the second field after it.
            rows.append((int(name), int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])))
    return rows


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
