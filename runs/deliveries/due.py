"""Finding messages that are to be sent, and tries whose outcome nobody will tell any more."""

from datetime import datetime

from django.db import transaction

from runs.deliveries.sending import log
from runs.engine.publish import PATIENCE, publish
from runs.engine.work import Work
from runs.models import Delivery, DeliveryState

BATCH = 500
LOST = "the worker that sent it went silent, so nobody can tell whether it arrived"


def look(*, now: datetime) -> int:
    """Publish each message that is due; how many those were. Any number of schedulers may look at once."""
    _lose(now)
    due = Delivery.objects.filter(state=DeliveryState.PENDING, wake_at__lte=now).order_by("wake_at", "id")
    found = list(due.values_list("id", flat=True)[:BATCH])
    if found:
        due.filter(id__in=found).order_by().update(wake_at=now + PATIENCE)
        publish(*[Work("delivery", id_) for id_ in found], insist=True)
    return len(found)


def _lose(now: datetime) -> None:
    """Show as unknown what may have been sent: sending it again might be once too often."""
    lost = Delivery.objects.filter(state=DeliveryState.SENDING, wake_at__lte=now).order_by("wake_at", "id")
    for delivery in lost.defer("body")[:BATCH]:
        with transaction.atomic():
            ours = Delivery.objects.filter(id=delivery.id, state=DeliveryState.SENDING, lease=delivery.lease)
            if ours.update(state=DeliveryState.UNKNOWN, error=LOST, wake_at=None, due_at=None, completed_at=now):
                message = f"A message by {delivery.channel} to {delivery.to}: {LOST}. It is not sent again by itself."
                log(delivery, "delivery.unknown", message, now=now, level="error")
