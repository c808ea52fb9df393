"""Keeping the server's secrets out of what is stored: prompts, answers, traces and logs.

Agents and their tools see environments and headers; what they print of them must not be readable
on a page. Only whole values that this process knows to be secret are hidden: guessing by shape
would eat parts of honest answers.
"""

import os
import re
from functools import cache
from urllib.parse import unquote, urlsplit

from django.conf import settings

HIDDEN = "[redacted]"
# Variables that are handed to no program, neither agents nor checks.
SERVER_SECRETS = frozenset({"VECTORSTEP_SECRET_KEY", "VECTORSTEP_ADMIN_PASSWORD", "DATABASE_URL", "CELERY_BROKER_URL"})
# Shorter values stand in too many honest texts.
SHORTEST = 8
_SECRET_NAME = re.compile(r"(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|PRIVATE_?KEY|CREDENTIALS?)(_|$)", re.IGNORECASE)


def redact(text: str) -> str:
    """``text`` with each known secret replaced by ``[redacted]``."""
    for secret in _secrets():
        if secret in text:
            text = text.replace(secret, HIDDEN)
    return text


def forget() -> None:
    """Look the secrets up again at the next call (they are read once per process)."""
    _secrets.cache_clear()


@cache
def _secrets() -> list[str]:
    # Longest first: a secret that contains another is hidden whole.
    return sorted({secret for secret in _known() if len(secret) >= SHORTEST}, key=len, reverse=True)


def _known() -> list[str]:
    passwords = [urlsplit(os.environ.get(name, "")).password or "" for name in SERVER_SECRETS if name.endswith("_URL")]
    return [
        settings.SECRET_KEY,
        settings.SERVICE.executors.gateway.token,
        *passwords,
        *map(unquote, passwords),
        *(value for name, value in os.environ.items() if _SECRET_NAME.search(name)),
    ]
