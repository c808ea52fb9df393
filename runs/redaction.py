"""Keeping the server's secrets out of what is stored: prompts, answers, traces and logs.

Agents and their tools see environments and headers; what they print of them must not be readable
on a page. Only whole values that this process knows or was handed as a setting are hidden: guessing
by shape would eat parts of honest answers.
"""

import os
import re
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from django.conf import settings

HIDDEN = "[redacted]"
# Variables that are handed to no program, neither agents nor checks.
SERVER_SECRETS = frozenset(
    {"VECTORSTEP_SECRET_KEY", "VECTORSTEP_ADMIN_PASSWORD", "DATABASE_URL", "CELERY_BROKER_URL"}
    | {"VECTORSTEP_WEBHOOK_SECRET", "VECTORSTEP_EMAIL_PASSWORD"}
)
# Shorter values stand in too many honest texts.
SHORTEST = 8
_SECRET_NAME = re.compile(r"(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|PRIVATE_?KEY|CREDENTIALS?)(_|$)", re.IGNORECASE)

# Words and short numbers (``us-east-1``), or a host with nothing behind it (``http://db.internal:8080/``).
_WORD = r"([A-Z]?[a-z]+|[A-Z]+|[0-9]{1,4})"
_PUBLIC = re.compile(
    rf"{_WORD}([-_/. ]{_WORD})*|([a-z]+://)?([a-z0-9-]+(\.[a-z0-9-]+)+|localhost|\[[0-9a-f:]+\])(:[0-9]+)?/?"
)
_learnt: set[str] = set()


def redact(text: str) -> str:
    """``text`` with each known secret replaced by ``[redacted]``."""
    for secret in _secrets(len(_learnt)):
        if secret in text:
            text = text.replace(secret, HIDDEN)
    return text


def learn(value: str) -> None:
    """Hide ``value``, which a ``${NAME}`` stood for, from now on, whatever its variable is called.

    Plain words, short numbers and bare addresses are left: they are settings rather than secrets, and honest
    texts are full of them.
    """
    if value not in _learnt and not _PUBLIC.fullmatch(value):
        _learnt.add(value)


def forget() -> None:
    """Look the secrets up again at the next call (they are read once per process)."""
    _learnt.clear()
    _secrets.cache_clear()


@lru_cache(maxsize=2)
def _secrets(_learnt_count: int) -> list[str]:
    # The count is there for the cache alone: each value learnt asks anew.
    # Longest first: a secret that contains another is hidden whole.
    return sorted({secret for secret in _known() if len(secret) >= SHORTEST}, key=len, reverse=True)


def _known() -> list[str]:
    passwords = [urlsplit(os.environ.get(name, "")).password or "" for name in SERVER_SECRETS if name.endswith("_URL")]
    return [
        *_learnt.copy(),  # another thread may learn one meanwhile
        settings.SECRET_KEY,
        settings.SERVICE.executors.gateway.token,
        *settings.SERVICE.outbound.signing_secrets,
        *passwords,
        *map(unquote, passwords),
        *(value for name, value in os.environ.items() if _SECRET_NAME.search(name)),
    ]
