"""Doing what the scheduler and a worker do with messages, at whatever time it is."""

from datetime import timedelta

from django.utils import timezone

from runs.deliveries import due, sending
from runs.models import Delivery


def deliver(run):
    """Send what is due now; the messages of the run in their order."""
    due.look(now=timezone.now())
    for delivery in Delivery.objects.filter(run=run, state="pending").order_by("id"):
        sending.perform(delivery.id)
    return list(Delivery.objects.filter(run=run).order_by("id"))


def come_due(delivery):
    """Let the pause before the next try be over."""
    past = timezone.now() - timedelta(seconds=1)
    Delivery.objects.filter(id=delivery.id, state="pending").update(due_at=past, wake_at=past)


def kinds(run):
    return list(run.events.filter(kind__startswith="delivery.").order_by("id").values_list("kind", flat=True))
