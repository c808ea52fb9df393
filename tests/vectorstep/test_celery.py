"""A worker steps back for the web process: in the processor's queue and in that for writing on SQLite."""

import subprocess
import sys

STEP_BACK = """
import os
from vectorstep import celery
from vectorstep.db.write_lock import WriteLock
before = os.nice(0)
celery.signals.worker_init.send(sender=None)
print(os.nice(0) - before, WriteLock("unused")._is_patient())
"""


def test_a_worker_lets_the_web_process_go_first():
    done = subprocess.run([sys.executable, "-c", STEP_BACK], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["5", "True"]
