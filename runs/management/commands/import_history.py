"""Import runs from a file of JSON Lines."""

from argparse import ArgumentParser
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from calibration.plurals import plural
from runs.importing import jsonl
from runs.importing.prompts import keep_templates
from runs.importing.store import BATCH, Stored, store
from runs.management.progress import Progress

SHOWN = 100


class Command(BaseCommand):
    help = (
        "Import runs, steps and marks from a file with one run a line (docs/importing.md). The same file twice adds "
        "nothing. Lines that cannot be read are told and left out; exit code 1 if there are any."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.jsonl")
        parser.add_argument("--check", action="store_true", help="only read the file and tell what is wrong with it")

    def handle(self, *, file: Path, check: bool, **_: Any) -> None:
        try:
            bad = self._import(file, check=check)
        except OSError as error:
            raise CommandError(f"Cannot read {file}: {error.strerror}.") from error
        if bad:
            raise CommandError(f"{plural(bad, 'line')} left out; mend and send the file again")

    def _import(self, path: Path, *, check: bool) -> int:
        """How many lines were left out."""
        stored, now = Stored(), timezone.now()
        read = bad = 0
        what = "Checking" if check else "Importing"
        progress = Progress(self.stderr, total=path.stat().st_size, what=what)
        with path.open("rb") as file:
            lines = jsonl.read(file, now=now)
            while batch := list(islice(lines, BATCH)):
                problems = [one for one in batch if isinstance(one, jsonl.Problem)]
                runs = [one for one in batch if not isinstance(one, jsonl.Problem)]
                self._tell(problems, bad)
                read, bad = read + len(runs), bad + len(problems)
                if not check:
                    store(runs, stored, now=now)
                    keep_templates(runs)
                if file.seekable():  # a pipe does not tell how far it is
                    progress.at(file.tell())
        progress.end()
        for sentence in [f"{plural(read, 'run')} can be read."] if check else stored.sentences():
            self.stdout.write(sentence)
        return bad

    def _tell(self, problems: list[jsonl.Problem], before: int) -> None:
        for problem in problems[: max(0, SHOWN - before)]:
            self.stdout.write(f"line {problem.line}: {problem.reason}")
