"""The Celery application: ``celery -A vectorstep worker`` on as many machines as wanted."""

import contextlib
import os
from typing import Any

from celery import Celery, signals
from kombu.transport import TRANSPORT_ALIASES

from vectorstep.db import write_lock

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "vectorstep.settings")

TRANSPORT_ALIASES["filesystem"] = "vectorstep.broker:Transport"
for name in ("redis", "rediss"):
    TRANSPORT_ALIASES[name] = "vectorstep.redis_broker:Transport"

NICENESS = 5

app = Celery("vectorstep")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.worker_init.connect
def step_back(**_worker: Any) -> None:
    """Let the web process go first where they share a machine: a sender waits for its answer, a step does not."""
    os.nice(NICENESS)
    write_lock.step_back()
    # Linux may schedule by session first, and then a process's own niceness counts only within that.
    if os.getsid(0) == os.getpid():
        _lower_session()


def _lower_session() -> None:
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w", encoding="ascii") as group:
        group.write(str(NICENESS))
