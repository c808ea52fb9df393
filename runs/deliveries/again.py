"""Having a message sent once more, which a person decides."""

import uuid
from datetime import datetime

from django.db.models import F

from runs.deliveries.sending import log
from runs.engine import transactions
from runs.engine.publish import PATIENCE, publish
from runs.engine.work import Work
from runs.models import Delivery, DeliveryState
from runs.models.delivery import AGAIN, MOST_TRIES


class NotAgain(Exception):
    """The message is not one to be sent again; the text says why."""


def send_again(delivery_id: uuid.UUID, *, by: str, now: datetime) -> None:
    """Make a message due that has failed, or of which nobody knows. Raises NotAgain and Delivery.DoesNotExist."""

    def write() -> None:
        changed = Delivery.objects.filter(id=delivery_id, state__in=AGAIN).update(
            state=DeliveryState.PENDING,
            most_tries=F("tries") + MOST_TRIES,
            lease=F("lease") + 1,
            due_at=now,
            wake_at=now + PATIENCE,
            completed_at=None,
        )
        delivery = Delivery.objects.defer("body").get(id=delivery_id)
        if not changed:
            state = DeliveryState(delivery.state).label.lower()
            raise NotAgain(f"This message is {state}; only one that failed, or is unknown, can be sent again.")
        log(delivery, "delivery.again", f"{by} has the message by {delivery.channel} sent again.", now=now)

    transactions.write(write)
    publish(Work("delivery", delivery_id))
