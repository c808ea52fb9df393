"""Resume a pipeline, or everything."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from runs.engine import pauses
from runs.management.commands.pause import NOBODY


class Command(BaseCommand):
    help = "Resume a pipeline, or everything when none is named: what waited goes on within a second or two."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("pipeline", nargs="?", default=pauses.EVERYTHING, help="its name; default: everything")
        parser.add_argument("--by", default=NOBODY, help=f"who resumes; default: {NOBODY}")

    def handle(self, *, pipeline: str, by: str, **options: Any) -> None:
        try:
            pauses.resume(pipeline, by=by, now=timezone.now())
        except pauses.NotPaused as error:
            raise CommandError(str(error)) from error
        left = len(pauses.in_force())
        self.stdout.write("Resumed." + (f" {left} more paused: see /ui/pipelines." if left else ""))
