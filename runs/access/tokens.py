"""Bearer tokens of teams: making them, telling whose they are, taking them back.

A token's secret has 256 random bits, so a plain SHA-256 keeps it safe at rest and can be looked up
by an index; a slow password hash would only slow every request down.
"""

import hashlib
import secrets
import threading
import time
import uuid
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q

from runs.access.principal import Principal
from runs.models import Role, Team, Token

PREFIX_CHARS = 12
NAME_CHARS = 100
# A revoked token is refused by every process after at most this many seconds.
REMEMBERED_SECONDS = 2.0
USED_EVERY = timedelta(minutes=1)
_REMEMBERED_MAX = 1_000

_lock = threading.Lock()
_remembered: dict[str, tuple[float, Principal]] = {}


class TokenError(Exception):
    """A token could not be made or taken back; the message says why."""


class AlreadyMade(TokenError):
    """The form was sent before, and made ``token`` then."""

    def __init__(self, token: Token) -> None:
        super().__init__(
            f"This form has made the token {token.prefix}… already, and its secret was shown then, that once. "
            "If nobody kept it, revoke that token and make another."
        )
        self.token = token


def create(
    *, team: str, role: Role, now: datetime, by: str = "", name: str = "", form: uuid.UUID | None = None
) -> tuple[Token, str]:
    """A new token and its secret, which is kept nowhere. The team is made with its first token.

    ``by`` is who makes it, ``name`` what it is for, ``form`` the form that asks for it, which makes one token however
    often it is sent. Raises TokenError, AlreadyMade for such a form.
    """
    team, name = _checked("A team's name", team), _checked("A token's name", name) if name.strip() else ""
    secret = f"vst_{secrets.token_urlsafe(32)}"
    kept = {"digest": _digest(secret), "prefix": secret[:PREFIX_CHARS], "created_at": now, "created_by": by}
    try:
        with transaction.atomic():
            Team.objects.get_or_create(name=team, defaults={"created_at": now})
            token = Token.objects.create(team_id=team, role=role, name=name, form=form, **kept)
    except IntegrityError as error:
        if made := Token.objects.filter(form=form).first() if form else None:
            raise AlreadyMade(made) from error
        raise
    return token, secret


def revoke(*, prefix: str, now: datetime, by: str = "") -> Token:
    """Take back the one token whose secret starts with ``prefix``. Raises TokenError when there is not exactly one."""
    found = list(Token.objects.filter(prefix__startswith=prefix[:PREFIX_CHARS], revoked_at=None)[:2]) if prefix else []
    if not found:
        raise TokenError(f"No live token starts with {prefix!r}; `manage.py token list` shows them.")
    if len(found) > 1:
        raise TokenError(f"More than one token starts with {prefix!r}; give more characters.")
    take_back(found[0], now=now, by=by)
    return found[0]


def take_back(token: Token, *, now: datetime, by: str) -> bool:
    """Whether this revoked it; False when it was revoked before, which stays as it is."""
    with transaction.atomic():
        taken = Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now, revoked_by=by)
    forget()
    return bool(taken)


def _checked(what: str, given: str) -> str:
    """Without blanks around it. Raises TokenError for what is no name."""
    name = given.strip()
    if not name or len(name) > NAME_CHARS or not name.isprintable():
        raise TokenError(f"{what} is 1 to {NAME_CHARS} printable characters, not {given[:NAME_CHARS]!r}.")
    return name


def principal_of(secret: str, *, now: datetime) -> Principal | None:
    """Whose token this is; None when it is unknown or revoked.

    Answers are remembered for REMEMBERED_SECONDS, so a burst of webhooks costs one query.
    """
    digest = _digest(secret)
    instant = time.monotonic()
    known = _remembered.get(digest)
    if known is not None and known[0] > instant:
        return known[1]
    token = Token.objects.filter(digest=digest, revoked_at=None).first()
    if token is None:
        return None
    _note_use(token, now)
    principal = Principal(token_id=token.pk, team=token.team_id, role=Role(token.role), prefix=token.prefix)
    _remember(digest, principal, instant)
    return principal


def forget() -> None:
    """Drop every remembered answer of this process."""
    with _lock:
        _remembered.clear()


def _remember(digest: str, principal: Principal, instant: float) -> None:
    with _lock:
        if len(_remembered) >= _REMEMBERED_MAX:
            _remembered.clear()
        _remembered[digest] = (instant + REMEMBERED_SECONDS, principal)


def _note_use(token: Token, now: datetime) -> None:
    """At most one write a minute; the condition keeps two processes from both writing."""
    if token.last_used_at is not None and token.last_used_at > now - USED_EVERY:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - USED_EVERY)
    with transaction.atomic():
        Token.objects.filter(stale, pk=token.pk).update(last_used_at=now)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
