"""Make up a history to look around in, or take it away again."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from calibration.plurals import plural
from runs.demo.alone import AlreadyAtIt
from runs.demo.making import make
from runs.demo.removal import remove
from runs.demo.runs import progress
from runs.demo.story import TOTAL

INTERRUPTED = 130


class Command(BaseCommand):
    help = (
        f"Make {TOTAL} runs of example agents through the real engine, spread over 30 days and marked, of team demo; "
        "goes on where it stopped. --remove takes them away again, and nothing else, after asking."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--remove", action="store_true", help="take the demo away")
        parser.add_argument("--yes", action="store_true", help="with --remove: do not ask first")

    def handle(self, *, remove: bool, yes: bool, **options: Any) -> None:
        if remove:
            self._remove(sure=yes)
        elif yes:
            raise CommandError("--yes goes with --remove; making the demo asks nothing")
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
        self.stdout.write(f"The demo has {plural(made, 'run')}. Look at /ui/; manage.py demo --remove takes it away.")

    def _told(self, made: int) -> None:
        if self.stdout.isatty():
            self.stdout.write(f"\r{made} of {plural(TOTAL, 'run')}", ending="\n" if made == TOTAL else "")
            self.stdout.flush()
        elif made % 40 == 0:
            self.stdout.write(f"{made} of {plural(TOTAL, 'run')}")

    def _remove(self, *, sure: bool) -> None:
        there = progress()
        if there is None:
            self.stdout.write("There is no demo.")
            return
        if not (sure or self._says_yes(there.made)):
            raise CommandError("Nothing was removed.")
        self.stdout.write(f"{plural(remove(), 'run')} of the demo removed.")

    def _says_yes(self, made: int) -> bool:
        """Raises CommandError where there is nobody to ask."""
        if not sys.stdin.isatty():
            raise CommandError("Nobody can be asked here whether you are sure: add --yes.")
        self.stdout.write(f"{plural(made, 'run')} of the demo, with their marks, records and versions, go for good.")
        self.stdout.write("Remove them? [y/N] ", ending="")
        self.stdout.flush()
        return sys.stdin.readline().strip().lower() in {"y", "yes"}
