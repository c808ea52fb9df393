"""The Celery application: ``celery -A vectorstep worker`` on as many machines as wanted."""

import os
from typing import Any

from celery import Celery, signals
from kombu.transport import TRANSPORT_ALIASES

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
