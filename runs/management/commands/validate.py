"""Check pipeline files without a server or a database, as a reload would."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from calibration.plurals import plural
from runs.pipelines.loader import Loaded, pipeline_files
from runs.pipelines.validating import validate


class Command(BaseCommand):
    help = "Check pipeline files; exit code 1 if any has a problem."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "files", nargs="*", type=Path, metavar="FILE", help="or a folder; default: the pipelines directory"
        )
        parser.add_argument("--steps", type=Path, default=None, help="the step library (default: the service's)")

    def handle(self, *, files: list[Path], steps: Path | None, **_: Any) -> None:
        given = files or [settings.PIPELINES_DIR]
        found = [file for path in given for file in (pipeline_files(path) if path.is_dir() else [path])]
        if not found:
            raise CommandError(f"there is no pipeline file in {', '.join(map(str, given))}")
        results = validate(found, pipelines=settings.PIPELINES_DIR, steps=steps or settings.STEPS_DIR)
        for result in results:
            self._show(result)
        bad = sum(1 for result in results if result.problems)
        if bad:
            raise CommandError(f"{bad} of {plural(len(results), 'file')} {'has' if bad == 1 else 'have'} problems")

    def _show(self, result: Loaded) -> None:
        for problem in result.problems:
            self.stdout.write(str(problem))
        if result.config is not None:
            steps = plural(len(result.config["steps"]), "step")
            self.stdout.write(f"{result.file}: good: {result.name}, {steps}, version {result.digest[:12]}")
