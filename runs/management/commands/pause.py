"""Pause a pipeline, or everything."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from runs.engine import pauses

NOBODY = "the command line"


class Command(BaseCommand):
    help = (
        "Pause a pipeline, or everything when none is named: no queued run starts and no new step, what is under way "
        "ends. Payloads are still accepted and wait."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("pipeline", nargs="?", default=pauses.EVERYTHING, help="its name; default: everything")
        parser.add_argument("--reason", default="", help="shown to everybody")
        parser.add_argument("--by", default=NOBODY, help=f"who pauses; default: {NOBODY}")

    def handle(self, *, pipeline: str, reason: str, by: str, **options: Any) -> None:
        try:
            made = pauses.pause(pipeline, by=by, reason=reason, now=timezone.now())
        except (pauses.AlreadyPaused, pauses.NoSuchPipeline) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{pauses.sentence(made)}.")
