"""One-use links to a decision: made for a message, opened by whoever has it, good for one answer until they expire.

A link is a random secret with the service's signature; only the secret's digest is stored. Opening one decides
nothing: mail scanners open every link they see.
"""

import hashlib
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.urls import reverse

from runs.escalations import approving, deciding
from runs.escalations.deciding import Said
from runs.models import Approval, DecisionLink, Escalation, Run
from runs.pipelines import registry, schema
from runs.storable import storable_text

SENT_TO_CHARS = 300
_SALT = "vectorstep.decision-link"
Action = DecisionLink.Action


class NoSuchLink(Exception):
    """Forged, cut off, or its run was removed."""


class LinkExpired(Exception):
    """Its time is over."""


class LinkUsed(Exception):
    """It has decided already; the message says what and when it was."""


@dataclass(frozen=True)
class Opened:
    """A link that can still decide, and what it is about: an approval or an escalation, with its run and its step."""

    link: DecisionLink
    question: Any

    @property
    def message(self) -> str:
        return self.question.message if isinstance(self.question, Approval) else self.question.reason


def decision_links(
    *, escalation: Escalation | None = None, approval: Approval | None = None, sent_to: str, now: datetime
) -> dict[str, str]:
    """Absolute URLs by decision: approve and reject of an approval, approve and abort of an escalation.

    Empty where nobody is asked any more. ``sent_to`` is whom the message goes to, kept with the decision. The URLs
    are secrets: store or log none of them.
    """
    asked: Any = approval if escalation is None else escalation
    assert asked is not None
    assert approval is None or escalation is None
    if asked.state != "open":
        return {}
    rules = rules_of(asked.run_id)
    limit = now + timedelta(seconds=rules.expires_seconds)
    about: dict[str, Any] = {
        "approval": approval,
        "escalation": escalation,
        "tier": 0 if escalation is None else escalation.tier,
        "sent_to": storable_text(sent_to)[:SENT_TO_CHARS],
        "without_login": rules.without_login,
        "created_at": now,
        "expires_at": limit if asked.due_at is None else min(limit, asked.due_at),
    }
    actions = (Action.APPROVE, Action.REJECT if escalation is None else Action.ABORT)
    made = {action: secrets.token_urlsafe(32) for action in actions}
    with transaction.atomic():
        DecisionLink.objects.bulk_create(
            DecisionLink(action=action, digest=_digest(secret), **about) for action, secret in made.items()
        )
    return {str(action): _address(secret) for action, secret in made.items()}


def rules_of(run_id: Any) -> schema.Links:
    """What the run's pipeline says about links."""
    return registry.parsed(Run.objects.values_list("version_id", flat=True).get(id=run_id)).links or schema.Links()


def find(token: str) -> Opened:
    """The link as it was made, whatever has become of it. Raises NoSuchLink."""
    try:
        secret = _signer().unsign(token)
    except signing.BadSignature as error:
        raise NoSuchLink from error
    link = DecisionLink.objects.filter(digest=_digest(secret)).first()
    if link is None:
        raise NoSuchLink
    kind: Any = Escalation if link.approval_id is None else Approval
    rows = kind.objects.select_related("run__version", "step").defer("run__context", "run__payload")
    return Opened(link, rows.get(id=link.escalation_id or link.approval_id))


def check(opened: Opened, *, now: datetime) -> None:
    """Whether it can still decide. Raises LinkUsed, LinkExpired and ``deciding.TooLate``."""
    link, question = opened.link, opened.question
    if link.used_at is not None:
        raise LinkUsed(f"It has already decided: {question.get_state_display().lower()}.")
    if question.state != "open":
        closed = deciding if isinstance(question, Escalation) else approving
        raise deciding.AlreadyClosed(closed.closed_sentence(question))
    if link.expires_at <= now:
        raise LinkExpired
    if isinstance(question, Escalation) and question.tier != link.tier:
        raise deciding.HandedOn(f"This was handed on to {question.to} after the link was sent.")


def use(opened: Opened, *, by: str, reason: str, now: datetime) -> None:
    """Decide as the link says. ``by`` is who is signed in, "" where nobody is.

    Raises LinkUsed, LinkExpired and ``deciding.TooLate``. The question closes once, so of two uses at the same instant
    one decides.
    """
    check(opened, now=now)
    link = opened.link
    told = f"link sent to {link.sent_to}"
    said = Said(by=f"{by} by {told}" if by else told, reason=reason.strip(), now=now, tier=link.tier)
    _DECIDES[isinstance(opened.question, Escalation), link.action](opened.question.id, said)
    DecisionLink.objects.filter(id=link.id).update(used_at=now)


_DECIDES: dict[tuple[bool, str], Callable[[uuid.UUID, Said], None]] = {
    (False, Action.APPROVE): approving.approve,
    (False, Action.REJECT): approving.reject,
    (True, Action.APPROVE): deciding.approve,
    (True, Action.ABORT): deciding.abort,
}


def _address(secret: str) -> str:
    return settings.PUBLIC_URL + reverse("ui-decision-link", kwargs={"token": _signer().sign(secret)})


def _signer() -> signing.Signer:
    return signing.Signer(salt=_SALT, sep=".")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
