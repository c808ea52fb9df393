"""``manage.py resolve_labels``: are all stored labels what marks and checks say?"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from calibration import tallies
from calibration.binning import MILLION
from calibration.plurals import plural
from calibration.resolving import resolve_all


class Command(BaseCommand):
    help = (
        "Resolve the label of every sample afresh, report each stored label that differs, and correct it; then the "
        "same for the sums over labels. With --check nothing is changed, and any difference is exit code 1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="report only, change nothing")
        parser.add_argument("--batch", type=int, default=1000, help="samples per transaction (1000)")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["batch"] < 1:
            raise CommandError("--batch must be a whole number above 0")
        correct = not options["check"]
        done, labels = self._labels(options["batch"], correct=correct)
        sums = self._sums(correct=correct)
        if not correct and (labels or sums):
            told = f"{labels} of {plural(done, 'label')} and {plural(sums, 'sum')} differ"
            raise CommandError(f"{told}; run without --check to correct them")
        found = f"{plural(labels, 'label')} and {plural(sums, 'sum')}"
        self.stdout.write(f"{plural(done, 'sample')} resolved, {found} corrected")

    def _labels(self, batch: int, *, correct: bool) -> tuple[int, int]:
        """How many samples there are, and how many had another label."""
        found = done = 0
        for progress in resolve_all(batch=batch, correct=correct):
            done = progress.done
            found += len(progress.differences)
            for difference in progress.differences:
                stored, fresh = difference.stored, difference.fresh
                self.stdout.write(
                    f"{difference.sample}: stored {_shown(stored.value, stored.source)}, "
                    f"resolves to {_shown(fresh.value, fresh.source)}"
                )
            self.stderr.write(f"{progress.done} of {plural(progress.total, 'sample')}", ending="\n")
        return done, found

    def _sums(self, *, correct: bool) -> int:
        """How many sums differ from what the labels, right by now, add up to."""
        found = tallies.rebuild() if correct else tallies.differences()
        for difference in found:
            at, missing = difference.place, difference.missing
            self.stdout.write(
                f"bucket {at.bucket_id}, {at.stage}, {at.part * 100 // at.parts} to "
                f"{(at.part + 1) * 100 // at.parts} %: "
                f"{missing.n:+} labels, {missing.label_ppm / MILLION:+g} in their sum"
            )
        return len(found)


def _shown(value: float | None, source: str) -> str:
    return "no label" if value is None else f"{value:g} ({source})"
