"""Make up a history to look around in, or take it away again."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from runs.demo.alone import AlreadyAtIt
from runs.demo.making import make
from runs.demo.removal import remove
from runs.demo.story import TOTAL

INTERRUPTED = 130


class Command(BaseCommand):
    help = (
        f"Make {TOTAL} runs of example agents through the real engine, spread over 30 days and marked, of team demo; "
        "goes on where it stopped. --remove takes them away again, and nothing else."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--remove", action="store_true", help="take the demo away")

    def handle(self, *, remove: bool, **options: Any) -> None:
        if remove:
            self._remove()
        else:
            self._make()

    def _make(self) -> None:
        try:
            made = make(now=timezone.now(), told=self._told)
        except AlreadyAtIt as error:
            raise CommandError("The demo is being made or removed already.") from error
        except TimeoutError as error:
            raise CommandError(f"{error}; start the command again to go on.") from error
        except KeyboardInterrupt as error:
            told = "Interrupted. The same command goes on where it stopped; --remove takes away what was made."
            raise CommandError(told, returncode=INTERRUPTED) from error
        self.stdout.write(f"The demo has {made} runs. Look at /ui/; manage.py demo --remove takes it away.")

    def _told(self, made: int) -> None:
        if self.stdout.isatty():
            self.stdout.write(f"\r{made} of {TOTAL} runs", ending="\n" if made == TOTAL else "")
            self.stdout.flush()
        elif made % 40 == 0:
            self.stdout.write(f"{made} of {TOTAL} runs")

    def _remove(self) -> None:
        self.stdout.write(f"{remove()} runs of the demo are gone.")
