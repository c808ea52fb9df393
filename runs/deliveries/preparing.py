"""Making a message ready: rendered once, so that every try sends the same body."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction

from runs import events, rows
from runs.deliveries import shapes, wording
from runs.deliveries.facts import Facts, gather
from runs.models import Delivery, DeliveryState
from runs.pipelines import templating
from runs.pipelines.templating import TemplateError
from runs.storable import storable, storable_reason, storable_text

logger = logging.getLogger(__name__)

_FIELDS = ("to", "subject", "body", "state", "error", "prepared_at", "due_at", "wake_at", "completed_at")


def prepare(delivery: Delivery, *, now: datetime) -> bool:
    """Render the message and write it; whether it is to be sent now.

    In testing it is muted, and a message for the log is written to the run's and the
    service's. A template that fails is a failed delivery,
    and nothing else.
    """
    facts = gather(delivery)
    try:
        told = _render(facts)
    except TemplateError as error:
        delivery.state, delivery.error = DeliveryState.FAILED, storable_reason(f"its template failed: {error}")
        told = [f"A message by {delivery.channel} cannot be written: {error}"]
        return _write(facts, told, level="warning", now=now)
    delivery.prepared_at = now
    if facts.run.stage == "testing":
        delivery.state = DeliveryState.MUTED
    elif delivery.channel == "log":
        delivery.state = DeliveryState.DELIVERED
        told.append(delivery.body)
        return _write(facts, told, level=facts.wanted()[1].get("level", "info"), now=now)
    return _write(facts, told, level="info", now=now)


def address(facts: Facts) -> dict[str, Any]:
    """``url`` and ``headers`` of the channel with the environment's values in them, which are stored nowhere.

    Raises TemplateError.
    """
    _, config = facts.wanted()
    needed = {name: config[name] for name in ("url", "headers") if config.get(name)}
    rendered, _ = templating.render_config(needed, facts.context())
    return dict(rendered)


def _render(facts: Facts) -> list[str]:
    """Fill the delivery; what its templates warn of. Raises TemplateError."""
    delivery = facts.delivery
    template, config = facts.wanted()
    scope = facts.context()
    plain = {name: value for name, value in config.items() if name not in ("url", "headers")}
    rendered, warnings = templating.render_config(plain, scope)
    text = wording.text(facts)
    if template is not None:
        written = templating.render(template, scope)
        text, warnings = written.text, [*warnings, *written.warnings]
    delivery.to = storable_text(_to(facts, rendered))
    delivery.subject = storable_reason(shapes.subject(rendered, facts)) if delivery.channel == "email" else ""
    said = shapes.body(delivery.channel, storable(rendered), facts, storable_text(text))
    delivery.body = storable_text(said)
    return [f"A message by {delivery.channel}: {warning}" for warning in warnings]


def _to(facts: Facts, config: Mapping[str, Any]) -> str:
    if facts.delivery.channel == "log":
        return "the log of the run"
    if facts.delivery.channel == "email":
        return ", ".join(_recipients(config))
    try:
        host = urlsplit(str(address(facts).get("url") or "")).hostname or ""
    except (TemplateError, ValueError):
        host = ""  # the try to send it says what is wrong
    return host if facts.delivery.channel != "telegram" else f"{config.get('chat_id')} ({host})"


def _recipients(config: Mapping[str, Any]) -> list[str]:
    to = config.get("to") or []
    return [str(one) for one in ([to] if isinstance(to, str) else to)]


def _write(facts: Facts, told: list[str], *, level: str, now: datetime) -> bool:
    """Write what was prepared, once: of two workers the first. Whether it is to be sent."""
    delivery = facts.delivery
    if delivery.state != DeliveryState.PENDING:
        delivery.due_at, delivery.wake_at, delivery.completed_at = None, None, now
    kind = "delivery.failed" if delivery.state == DeliveryState.FAILED else "delivery.prepared"
    level = level if kind == "delivery.failed" or delivery.channel == "log" else "warning"
    with transaction.atomic():
        unprepared = Delivery.objects.filter(id=delivery.id, state=DeliveryState.PENDING, prepared_at=None)
        if not unprepared.update(**{name: getattr(delivery, name) for name in _FIELDS}):
            return False
        rows.insert([_event(facts, kind, message, level, now) for message in told])
        if delivery.state == DeliveryState.MUTED:
            message = f"Testing: a message by {delivery.channel} to {delivery.to or 'nobody'} is written and not sent."
            rows.insert([_event(facts, "delivery.muted", message, "info", now)])
        elif delivery.state == DeliveryState.DELIVERED:
            severity = logging.getLevelNamesMapping()[level.upper()]
            transaction.on_commit(lambda: logger.log(severity, "%s", delivery.body))
    return delivery.state == DeliveryState.PENDING


def _event(facts: Facts, kind: str, message: str, level: str, now: datetime) -> Any:
    delivery = facts.delivery
    data = {"delivery": str(delivery.id)}
    return events.event(delivery.run_id, kind, message, now=now, step_name=delivery.step_name, level=level, data=data)
