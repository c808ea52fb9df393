"""The Celery application: ``celery -A vectorstep worker`` on as many machines as wanted."""

import os

from celery import Celery
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "vectorstep.settings")

TRANSPORT_ALIASES["filesystem"] = "vectorstep.broker:Transport"
for name in ("redis", "rediss"):
    TRANSPORT_ALIASES[name] = "vectorstep.redis_broker:Transport"

app = Celery("vectorstep")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
