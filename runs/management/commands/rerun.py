"""Run a finished run again from one of its steps."""

import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from runs.intake.refusals import Refused
from runs.intake.rerun import CannotRerun, Version, rerun
from runs.models import Run


class Command(BaseCommand):
    help = "Run a finished run again: the steps before the one named are taken over, it and all after it run anew."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run_id", type=uuid.UUID)
        parser.add_argument("from_step", help="the first step that runs anew; of a group, the group")
        parser.add_argument(
            "--current", action="store_true", help="with the pipeline as it is now; default: the version it executed"
        )

    def handle(self, *, run_id: uuid.UUID, from_step: str, current: bool, **options: Any) -> None:
        version: Version = "current" if current else "same"
        try:
            started = rerun(run_id, from_step=from_step, version=version, by="the command line", now=timezone.now())
        except Run.DoesNotExist:
            raise CommandError(f"There is no run {run_id}.") from None
        except (CannotRerun, Refused) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Run {started.run_id} of {started.pipeline}. {started.reason}".rstrip())
