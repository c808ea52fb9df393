"""``manage.py resolve_labels``: are all stored labels what marks and checks say?"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from calibration.resolving import resolve_all


class Command(BaseCommand):
    help = (
        "Resolve the label of every sample afresh, report each stored label that differs, and correct it. "
        "With --check nothing is changed, and any difference is exit code 1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="report only, change nothing")
        parser.add_argument("--batch", type=int, default=1000, help="samples per transaction (1000)")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["batch"] < 1:
            raise CommandError("--batch must be a whole number above 0")
        found = done = 0
        for progress in resolve_all(batch=options["batch"], correct=not options["check"]):
            done = progress.done
            found += len(progress.differences)
            for difference in progress.differences:
                stored, fresh = difference.stored, difference.fresh
                self.stdout.write(
                    f"{difference.sample}: stored {_shown(stored.value, stored.source)}, "
                    f"resolves to {_shown(fresh.value, fresh.source)}"
                )
            self.stderr.write(f"{progress.done} of {progress.total} samples", ending="\n")
        if found and options["check"]:
            raise CommandError(f"{found} of {done} labels differ; run without --check to correct them")
        self.stdout.write(f"{done} samples resolved, {found} labels corrected")


def _shown(value: float | None, source: str) -> str:
    return "no label" if value is None else f"{value:g} ({source})"
