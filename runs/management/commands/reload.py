"""Read the pipeline files again; every running process uses the result from then on."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from runs.pipelines import registry


class Command(BaseCommand):
    help = "Read the pipeline files again; exit code 1 if any has a problem (it keeps its last good version)."

    def handle(self, **_: Any) -> None:
        report = registry.reload(now=timezone.now())
        for problem in report.problems:
            self.stdout.write(str(problem))
        for file in report.changed:
            self.stdout.write(f"{file}: loaded")
        for file in report.removed:
            self.stdout.write(f"{file}: removed")
        self.stdout.write(
            f"{len(report.loaded)} good, {len(report.changed)} new or changed, {len(report.removed)} removed, "
            f"{len({problem.file for problem in report.problems})} with problems"
        )
        if report.problems:
            raise CommandError("files with problems keep their last good version")
