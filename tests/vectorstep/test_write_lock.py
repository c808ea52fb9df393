"""Who stepped back lets the others go first, and nobody waits for a lock that its holder has left."""

import os
import threading
from pathlib import Path

import pytest

from tests.services import wait_until
from vectorstep.db.write_lock import WriteLock


class Writer:
    """A thread that takes the turn, notes it, and gives it back."""

    def __init__(self, path: Path, turns: list[str], name: str, *, patient: bool) -> None:
        self.lock, self.turns, self.name = WriteLock(str(path), is_patient=lambda: patient), turns, name
        self.thread = threading.Thread(target=self._write)
        self.thread.start()

    def _write(self) -> None:
        self.lock.acquire()
        self.turns.append(self.name)
        self.lock.release()


def waits_for(path: Path) -> bool:
    """Whether somebody waits for the lock file."""
    if not path.exists():
        return False
    inode = path.stat().st_ino
    return any("->" in line and f":{inode} " in line for line in Path("/proc/locks").read_text().splitlines())


def test_one_that_waits_goes_before_all_that_stepped_back(tmp_path):
    path, turns = tmp_path / "db", []
    held = WriteLock(str(path), is_patient=lambda: True)
    held.acquire()
    early = [Writer(path, turns, "patient", patient=True) for _ in range(3)]
    wait_until(lambda: waits_for(tmp_path / "db.queue"), what="the patient ones to wait")
    urgent = Writer(path, turns, "urgent", patient=False)
    wait_until(lambda: waits_for(tmp_path / "db.turn"), what="the urgent one to wait")
    held.release()
    for writer in [urgent, *early]:
        writer.thread.join(timeout=10)
    assert turns == ["urgent", "patient", "patient", "patient"]


def test_a_lock_file_that_cannot_be_made_leaves_nothing_held(tmp_path):
    lock = WriteLock(str(tmp_path / "missing" / "db"))
    with pytest.raises(FileNotFoundError):
        lock.acquire()
    (tmp_path / "missing").mkdir()
    lock.acquire()
    lock.release()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_neither_holds_nor_frees_its_parents_lock(tmp_path):
    lock = WriteLock(str(tmp_path / "db"))
    lock.acquire()
    child = os.fork()
    if child == 0:  # its release must not free what the parent holds, its acquire must wait for it
        lock.acquire()
        os._exit(7)
    wait_until(lambda: waits_for(tmp_path / "db.next") or waits_for(tmp_path / "db.turn"), what="the child to wait")
    lock.release()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
