"""Run a Python program so that it never outlives whoever started it.

``python -m vectorstep.leash SECONDS MODULE [ARGUMENT...]`` runs MODULE as ``python -m MODULE`` would. Standard input
is the leash: when its other end closes (on purpose, or because the parent was killed), the program gets SIGTERM, and
after SECONDS it and every process below it are killed. Works wherever there are pipes; no system call of one kernel.
"""

import os
import runpy
import signal
import sys
import threading
import time

from vectorstep.processes import descendants, kill


def _hold(seconds: float) -> None:
    """Wait for the other end to close, then end this process."""
    while os.read(0, 1024):
        pass  # nothing is ever written; whatever comes is no reason to end
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(seconds)
    _kill_all()


def _kill_all() -> None:
    """This process first: an agent killed under a living worker would be recorded as an agent that failed."""
    own, below = os.getpid(), descendants(os.getpid())
    if os.fork() == 0:
        kill(own)
        for pid in below:
            kill(pid)
        os._exit(0)


def main() -> None:
    seconds, module, *arguments = sys.argv[1:]
    threading.Thread(target=_hold, args=[float(seconds)], name="leash", daemon=True).start()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
