"""Sending one message: claim it, send it, write how that ended. Doing it twice does no harm."""

import logging
import random
import time
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import F
from django.utils import timezone

from runs import events, rows
from runs.deliveries import mailing, posting, preparing
from runs.deliveries.facts import Facts, gather
from runs.deliveries.outcome import Outcome
from runs.engine import transactions
from runs.models import Delivery, DeliveryState, DeliveryTry
from runs.pipelines.templating import TemplateError
from runs.storable import storable_reason, storable_text

logger = logging.getLogger(__name__)

FIRST_PAUSE, GROWTH, LONGEST_PAUSE = 5.0, 4.0, 3600.0  # seconds; times; seconds
MARGIN = timedelta(seconds=30)  # beyond its timeout a try is given this long before its outcome counts as unknown
RESPONSE_CHARS = 2_000
NO_LIMIT_SAID = 30.0


def perform(delivery_id: uuid.UUID) -> None:
    """Do what is due for the message. One that is someone else's, or done, is no error."""
    delivery = Delivery.objects.filter(id=delivery_id, state=DeliveryState.PENDING).first()
    if delivery is None:
        return
    try:
        if delivery.prepared_at is None and not preparing.prepare(delivery, now=timezone.now()):
            return
        facts = gather(delivery)
    except (AssertionError, LookupError, ValueError, TypeError) as error:
        logger.exception("message %s cannot be prepared", delivery_id)
        _give_up(delivery, f"unforeseen error: {type(error).__name__}: {error}", now=timezone.now())
        return
    _send(facts)


def _send(facts: Facts) -> None:
    delivery, limit = facts.delivery, _limit(facts)
    now = timezone.now()
    if not transactions.write(lambda: _claim(delivery, now, limit)):
        return
    connection.close_if_unusable_or_obsolete()
    started = time.monotonic()
    outcome = _outcome(facts, limit, now)
    took = round((time.monotonic() - started) * 1000)
    transactions.write(lambda: _record(delivery, outcome, took, timezone.now()))


def _limit(facts: Facts) -> float:
    return float(facts.wanted()[1].get("timeout_seconds") or NO_LIMIT_SAID)


def _claim(delivery: Delivery, now: datetime, limit: float) -> bool:
    """Take the message and note the try before it is made: should this worker die, it is known that one was."""
    due = Delivery.objects.filter(id=delivery.id, state=DeliveryState.PENDING, due_at__lte=now)
    until = now + timedelta(seconds=limit) + MARGIN
    if not due.update(state=DeliveryState.SENDING, lease=F("lease") + 1, tries=F("tries") + 1, wake_at=until):
        return False
    delivery.refresh_from_db(fields=["lease", "tries", "most_tries"])
    rows.insert([DeliveryTry(delivery_id=delivery.id, number=delivery.tries, at=now)])
    return True


def _outcome(facts: Facts, limit: float, now: datetime) -> Outcome:
    delivery = facts.delivery
    if delivery.channel == "email":
        return mailing.mail(delivery, timeout=limit)
    try:
        where = preparing.address(facts)
    except TemplateError as error:
        return Outcome(error=str(error))
    return posting.post(
        delivery,
        method=facts.wanted()[1].get("method", "POST"),
        url=str(where.get("url") or ""),
        headers=where.get("headers") or {},
        timeout=limit,
        at=int(now.timestamp()),
    )


def pause_after(delivery: Delivery, asked: float = 0.0) -> timedelta:
    """How long after a failed try the next one begins: four times as long each time, and never all at one instant.

    ``asked`` is what the receiver wants at least, in seconds.
    """
    longest = min(FIRST_PAUSE * GROWTH ** (delivery.tries - 1), LONGEST_PAUSE)
    spread = random.Random(f"{delivery.id}:{delivery.tries}").uniform(0.8, 1.2)  # noqa: S311  (spreading, not secrecy)
    return timedelta(seconds=max(longest * spread, asked))


def _record(delivery: Delivery, outcome: Outcome, took: int, now: datetime) -> None:
    """Write the outcome, unless the message was handed to somebody else meanwhile."""
    ours = Delivery.objects.filter(
        id=delivery.id, lease=delivery.lease, state__in=[DeliveryState.SENDING, DeliveryState.UNKNOWN]
    )
    error = storable_reason(outcome.error)
    if not ours.update(**_after(delivery, outcome, now), error=error):
        return
    DeliveryTry.objects.filter(delivery_id=delivery.id, number=delivery.tries).update(
        ended_at=now,
        duration_ms=took,
        status_code=outcome.status_code,
        response=storable_text(outcome.response)[:RESPONSE_CHARS],
        error=error,
    )
    _tell(delivery, outcome, now)


def _after(delivery: Delivery, outcome: Outcome, now: datetime) -> dict[str, Any]:
    if not outcome.error:
        return _over(DeliveryState.DELIVERED, now)
    if not outcome.retryable or delivery.tries >= delivery.most_tries:
        return _over(DeliveryState.FAILED, now)
    due_at = now + pause_after(delivery, outcome.wait)
    return {"state": DeliveryState.PENDING, "due_at": due_at, "wake_at": due_at, "completed_at": None}


def _over(state: DeliveryState, now: datetime) -> dict[str, Any]:
    return {"state": state, "due_at": None, "wake_at": None, "completed_at": now}


def _tell(delivery: Delivery, outcome: Outcome, now: datetime) -> None:
    what = f"A message by {delivery.channel} to {delivery.to or 'nobody'}"
    after = _after(delivery, outcome, now)
    if after["state"] == DeliveryState.DELIVERED:
        log(delivery, "delivery.delivered", f"{what} was delivered.", now=now)
    elif after["state"] == DeliveryState.FAILED:
        log(delivery, "delivery.failed", f"{what} was not delivered: {outcome.error}.", now=now, level="error")
    else:
        seconds = (after["due_at"] - now).total_seconds()
        message = f"{what}, try {delivery.tries}: {outcome.error}. Trying again in {seconds:.0f} s."
        log(delivery, "delivery.retry", message, now=now, level="warning")


def log(delivery: Delivery, kind: str, message: str, *, now: datetime, level: str = "info") -> None:
    """A line in the run's log about the message."""
    data: Mapping[str, Any] = {"delivery": str(delivery.id)}
    events.log(delivery.run_id, kind, message, now=now, step_name=delivery.step_name, level=level, data=data)


def _give_up(delivery: Delivery, reason: str, *, now: datetime) -> None:
    def write() -> None:
        pending = Delivery.objects.filter(id=delivery.id, state=DeliveryState.PENDING)
        if pending.update(**_over(DeliveryState.FAILED, now), error=storable_reason(reason)):
            log(delivery, "delivery.failed", f"A message by {delivery.channel}: {reason}", now=now, level="error")

    transactions.write(write)
