"""List what waits for a person, and decide."""

import json
import sys
import uuid
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from runs.escalations import listing
from runs.escalations.asked import DECISIONS, Asked, BadDecision, decide
from runs.escalations.deciding import BadRevision, TooLate
from runs.models import Escalation
from runs.models.run import STAGES

FILTERS = ("pipeline", "step", "agent", "team", "to")
NOBODY = "the command line"


class Command(BaseCommand):
    help = "List the escalations that wait for a decision, or decide on one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listed = actions.add_parser("list", help="what waits, longest first")
        for name in FILTERS:
            listed.add_argument(f"--{name}", default="")
        listed.add_argument("--stage", choices=STAGES, default="")
        listed.add_argument("--overdue", action="store_true", help="only those whose deadline has passed")
        made = actions.add_parser("decide", help="approve, revise, hand on (escalate) or abort")
        made.add_argument("escalation_id", type=uuid.UUID)
        made.add_argument("decision", choices=DECISIONS)
        made.add_argument("--reason", required=True)
        made.add_argument("--to", default="", help="with escalate: the group that is asked next")
        made.add_argument("--output", default="", help="with revise: a file with the whole answer as JSON; - is stdin")
        made.add_argument("--by", default=NOBODY, help=f"who decides; default: {NOBODY}")

    def handle(self, *, action: str, **options: Any) -> None:
        (self.list if action == "list" else self.decide)(**options)

    def list(self, *, stage: str, overdue: bool, **options: Any) -> None:
        filters = listing.Filters(stage=stage, overdue=overdue, **{name: options[name] for name in FILTERS})
        nothing = True
        for one in listing.ESCALATIONS.every(filters, now=timezone.now()):
            nothing = False
            self.stdout.write(_line(one))
        if nothing:
            self.stdout.write("Nothing waits for a decision.")

    def decide(
        self, *, escalation_id: uuid.UUID, decision: str, reason: str, to: str, output: str, by: str, **_: Any
    ) -> None:
        asked = Asked(decision, reason, output=_read(output) if output else None, to=to)
        try:
            decide(escalation_id, asked, by=by, now=timezone.now())
        except Escalation.DoesNotExist:
            raise CommandError(f"There is no escalation {escalation_id}.") from None
        except (BadDecision, BadRevision, TooLate) as error:
            raise CommandError(str(error)) from error
        one = Escalation.objects.select_related("run").get(id=escalation_id)
        self.stdout.write(f"{one.get_state_display()}. The run is {one.run.status}.")


def _read(path: str) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        found = json.loads(text)
    except OSError as error:
        raise CommandError(f"Cannot read {path}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path} holds no JSON: {error}") from error
    if not isinstance(found, dict):
        raise CommandError(f"{path} must hold one JSON object.")
    return found


def _line(one: Escalation) -> str:
    deadline = f", due {one.due_at:%Y-%m-%d %H:%M}" if one.due_at else ", overdue" if one.overdue_since else ""
    asked = one.to or "anybody"
    since = f"{one.opened_at:%Y-%m-%d %H:%M}"
    return f"{one.id}  {one.step.name} of {one.run.pipeline_name}, for {asked}, since {since}{deadline}: {one.reason}"
