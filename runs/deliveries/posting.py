"""Sending a message by HTTP: signed, to a checked address, within limits."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from runs import outbound, signing
from runs.calling import Deadline, Stop
from runs.deliveries.outcome import Outcome
from runs.models import Delivery

RESPONSE_BYTES = 1_000_000  # an answer that goes on is cut off here
WORTH_RETRYING = {408, 423, 425, 429}
LONGEST_WAIT = 3600.0


def post(delivery: Delivery, *, method: str, url: str, headers: Mapping[str, Any], timeout: float, at: int) -> Outcome:
    """One request. Whatever comes of it is an Outcome."""
    body = delivery.body.encode("utf-8", "backslashreplace")
    signed = signing.headers(delivery.webhook_id, body, secrets=settings.SERVICE.outbound.signing_secrets, at=at)
    given = {str(name).lower(): str(value) for name, value in headers.items()}
    try:
        response = outbound.request(
            method,
            url,
            headers={"content-type": "application/json", **given, **signed},
            content=b"" if method in {"GET", "HEAD"} else body,
            deadline=Deadline(timeout),
            stop=Stop(),
            max_bytes=RESPONSE_BYTES,
        )
    except outbound.OutboundError as error:
        return Outcome(error=str(error), retryable=error.retryable)
    return _judged(response)


def _judged(response: outbound.Response) -> Outcome:
    status = response.status_code
    told: dict[str, Any] = {"status_code": status, "response": response.text}
    if 200 <= status < 300:
        return Outcome(**told)
    error = f"HTTP {status}"
    if 300 <= status < 400:
        error += f" (to {response.headers.get('location', 'nowhere')}); redirects are not followed"
    retryable = status >= 500 or status in WORTH_RETRYING
    return Outcome(error=error, retryable=retryable, wait=_wait(response), **told)


def _wait(response: outbound.Response) -> float:
    asked = response.headers.get("retry-after", "")
    return min(float(asked), LONGEST_WAIT) if asked.isascii() and asked.isdigit() else 0.0
