"""Export and import marks."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from calibration.plurals import plural
from runs.management.progress import Progress
from runs.marking import mark_files
from runs.marking.exporting import exported
from runs.marking.importing import Outcome, import_lines

NOBODY = "imported"


class Command(BaseCommand):
    help = "Export all marks as CSV or JSON Lines, or import such a file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        out = actions.add_parser("export", help="write every mark to a file")
        out.add_argument("file", help="its name ends in .csv or .jsonl; - writes to standard output")
        out.add_argument("--form", choices=mark_files.FORMS, default="csv", help="for standard output; default: csv")
        out.add_argument("--current", action="store_true", help="only marks that count, not the history")
        into = actions.add_parser("import", help="check a file, then store its marks; adds nothing twice")
        into.add_argument("file", type=Path, help="its name ends in .csv or .jsonl")
        into.add_argument("--dry-run", action="store_true", help="only say what would change")
        into.add_argument(
            "--skip-absent", action="store_true", help="leave out lines about runs and steps that are not here"
        )
        into.add_argument("--by", default=NOBODY, help=f"who says what has no marker; default: {NOBODY}")

    def handle(self, *, action: str, **options: Any) -> None:
        try:
            (self.export if action == "export" else self.import_)(**options)
        except mark_files.BadFile as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"Cannot use {options['file']}: {error.strerror}.") from error

    def export(self, *, file: str, form: mark_files.Form, current: bool, **_: Any) -> None:
        form = form if file == "-" else mark_files.form_of(file)
        lines = mark_files.written(exported(current_only=current), form)
        if file == "-":
            # Bytes: the terminal's encoding may not have every character, and CSV ends its lines itself.
            sys.stdout.buffer.writelines(line.encode() for line in lines)
            return
        with Path(file).open("wb") as out:
            out.writelines(line.encode() for line in lines)

    def import_(self, *, file: Path, dry_run: bool, skip_absent: bool, by: str, **_: Any) -> None:
        options: dict[str, Any] = {"by": by, "skip_absent": skip_absent, "now": timezone.now()}
        foretold = self._run(file, "Checking", dry_run=True, **options)
        for problem in foretold.problems:
            self.stdout.write(f"line {problem.line}: {problem.reason}")
        if foretold.bad:
            raise CommandError(
                f"{foretold.bad} of {plural(foretold.lines, 'line')} cannot be used; nothing was imported"
            )
        done = foretold if dry_run else self._run(file, "Importing", dry_run=False, **options)
        for sentence in done.sentences(foretold=dry_run):
            self.stdout.write(sentence)

    def _run(self, path: Path, what: str, **options: Any) -> Outcome:
        if not path.is_file() and path.exists():
            raise CommandError(f"{path} is no file, and this reads it twice: first to check it")
        told = Outcome()
        progress = Progress(self.stderr, total=path.stat().st_size, what=what)
        with path.open("rb") as file:
            lines = mark_files.read(file, mark_files.form_of(path.name))
            for told_so_far in import_lines(lines, **options):
                told = told_so_far
                progress.at(file.tell())
        progress.end()
        return told
