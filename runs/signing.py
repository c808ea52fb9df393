"""Signing what is sent, as Standard Webhooks describes it (standardwebhooks.com). Pure."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence

PREFIX = "whsec_"


def is_secret(text: str) -> bool:
    """Whether it is ``whsec_`` and 24 to 64 bytes in base64."""
    try:
        return 24 <= len(_key(text)) <= 64
    except ValueError:
        return False


def headers(message_id: str, body: bytes, *, secrets: Sequence[str], at: int) -> dict[str, str]:
    """The headers by which a receiver knows the message, its age (``at``, Unix seconds) and its sender.

    One signature for each secret, so that a receiver may have the old or the new one; none without a secret.
    """
    signed = {"webhook-id": message_id, "webhook-timestamp": str(at)}
    if secrets:
        signed["webhook-signature"] = " ".join(_signature(secret, message_id, at, body) for secret in secrets)
    return signed


def _signature(secret: str, message_id: str, at: int, body: bytes) -> str:
    content = f"{message_id}.{at}.".encode() + body
    digest = hmac.new(_key(secret), content, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def _key(secret: str) -> bytes:
    """Raises ValueError."""
    if not secret.startswith(PREFIX):
        raise ValueError(f"does not begin with {PREFIX}")
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
