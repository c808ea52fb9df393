"""List what people are asked before a run goes on, and answer."""

import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from runs.escalations import listing
from runs.escalations.answering import ANSWERS, Answered, answer
from runs.escalations.asked import BadDecision
from runs.escalations.deciding import AlreadyClosed
from runs.management.commands.escalations import FILTERS, NOBODY
from runs.models import Approval
from runs.models.run import STAGES


class Command(BaseCommand):
    help = "List the approvals that wait for an answer, or answer one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listed = actions.add_parser("list", help="what waits, longest first")
        for name in FILTERS:
            listed.add_argument(f"--{name}", default="")
        listed.add_argument("--stage", choices=STAGES, default="")
        for name in ANSWERS:
            made = actions.add_parser(name, help=f"{name} one of them")
            made.add_argument("approval_id", type=uuid.UUID)
            made.add_argument("--reason", default="", required=name == "reject")
            made.add_argument("--by", default=NOBODY, help=f"who answers; default: {NOBODY}")

    def handle(self, *, action: str, **options: Any) -> None:
        if action == "list":
            self.list(**options)
        else:
            self.answer(action, **options)

    def list(self, *, stage: str, **options: Any) -> None:
        filters = listing.Filters(stage=stage, **{name: options[name] for name in FILTERS})
        nothing = True
        for one in listing.APPROVALS.every(filters, now=timezone.now()):
            nothing = False
            self.stdout.write(_line(one))
        if nothing:
            self.stdout.write("Nobody is asked anything.")

    def answer(self, given: str, *, approval_id: uuid.UUID, reason: str, by: str, **_: Any) -> None:
        try:
            answer(approval_id, Answered(given, reason), by=by, now=timezone.now())
        except Approval.DoesNotExist:
            raise CommandError(f"There is no approval {approval_id}.") from None
        except (BadDecision, AlreadyClosed) as error:
            raise CommandError(str(error)) from error
        one = Approval.objects.get(id=approval_id)
        self.stdout.write(f"{one.get_state_display()}.")


def _line(one: Any) -> str:
    deadline = f", due {one.due_at:%Y-%m-%d %H:%M}" if one.due_at else ""
    asked = " ".join(one.message_head.split())
    since = f"{one.opened_at:%Y-%m-%d %H:%M}"
    of = f"{one.name} of " + (f"{one.step.name} of " if one.kind == "check" else "") + one.run.pipeline_name
    return f"{one.id}  {of}, for {one.to or 'anybody'}, since {since}{deadline}: {asked}"
