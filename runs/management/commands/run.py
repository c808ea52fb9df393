"""Start a pipeline and follow its run in the terminal."""

import sys
import uuid
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from runs.engine import pauses
from runs.intake import body, held_up
from runs.intake.accept import Accepted, start
from runs.intake.follow import NotPickedUp, follow
from runs.intake.refusals import Refused
from runs.intake.sources import READERS
from runs.models import Run, RunEvent, RunStatus, Step
from runs.trust.narrative import narrative

EXIT_CODES = {
    RunStatus.COMPLETED: 0,
    RunStatus.STOPPED: 0,
    RunStatus.ESCALATED: 3,
    RunStatus.ABORTED: 4,
    RunStatus.FAILED: 5,
    RunStatus.CANCELLED: 6,
}
INTERRUPTED = 130
NOBODY = (
    "No worker has picked the run up for {:.0f} seconds. Is one running? `script/server` starts one, and so does "
    "`celery -A vectorstep worker`. The run is stored and will start with it."
)


class Command(BaseCommand):
    help = (
        "Start a pipeline, testing or production, and follow its run. Exit code: 0 completed or stopped, "
        "1 not started, 3 waits for a person, 4 aborted, 5 failed, 6 cancelled, 130 left (Ctrl-C; the run goes on)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("pipeline", help="the pipeline's name")
        parser.add_argument("--payload", metavar="FILE", help="a JSON object; - reads standard input; default: {}")
        parser.add_argument(
            "--source", choices=list(READERS), default="generic", help="whose shape the payload has; default: generic"
        )
        parser.add_argument("--team", default="", help="whose run it is")
        parser.add_argument("--no-follow", action="store_true", help="print the run's id and return at once")

    def handle(
        self, *, pipeline: str, payload: str | None, source: str, team: str, no_follow: bool, **options: Any
    ) -> None:
        accepted = self._start(pipeline, payload, source, team)
        run_id = accepted.run_id
        assert run_id is not None  # a run started by name is never skipped
        if no_follow:
            self.stdout.write(str(run_id))
            return
        self.stdout.write(f"Run {run_id} of {accepted.pipeline}. {accepted.reason}".rstrip())
        try:
            self._follow(run_id, accepted.pipeline)
        except KeyboardInterrupt:
            self.stdout.write(f"\nThe run goes on. To cancel it: manage.py cancel {run_id}")
            sys.exit(INTERRUPTED)
        sys.exit(self._report(run_id))

    def _start(self, pipeline: str, payload: str | None, form: str, team: str) -> Accepted:
        try:
            return start(
                pipeline=pipeline,
                payload=body.parse(_read(payload)) if payload else {},
                team=team,
                source="cli",
                started_by="the command line",
                now=timezone.now(),
                form=form,
            )
        except Refused as error:
            raise CommandError(str(error)) from error

    def _follow(self, run_id: uuid.UUID, pipeline: str) -> None:
        for happened in follow(run_id):
            if isinstance(happened, NotPickedUp):
                if pauses.of(pipeline) is not None:
                    continue  # that was said when the run was stored
                self.stdout.write(self.style.WARNING(NOBODY.format(happened.seconds)))
            else:
                self.stdout.write(self._line(happened))

    def _line(self, event: RunEvent) -> str:
        named = not event.step_name or event.message.startswith(event.step_name)
        where = "" if named else f"{event.step_name}: "
        line = f"{timezone.localtime(event.at):%H:%M:%S}  {where}{event.message}"
        styles = {RunEvent.Level.WARNING: self.style.WARNING, RunEvent.Level.ERROR: self.style.ERROR}
        style = styles.get(RunEvent.Level(event.level))
        return style(line) if style else line

    def _report(self, run_id: uuid.UUID) -> int:
        """Every step's trust in words, then how the run ended; the exit code."""
        gated = Step.objects.filter(run_id=run_id, trust_report__isnull=False).only("name", "status", "trust_report")
        for step in gated.order_by("index", "id"):
            self.stdout.write(f"\n{step.name} ({step.status})")
            for sentence in narrative(step.trust_report or {}):
                self.stdout.write(f"  {sentence}")
        run = Run.objects.only("status", "reason").get(id=run_id)
        for question in held_up.questions(run_id):
            self.stdout.write(f"\nWaits for a person. {question}")
        if run.status == RunStatus.RUNNING:
            return EXIT_CODES[RunStatus.ESCALATED]
        self.stdout.write(f"\n{RunStatus(run.status).label}. {run.reason}".rstrip())
        return EXIT_CODES[RunStatus(run.status)]


def _read(name: str) -> bytes:
    """The bytes of the payload, of one that is too large only so many that this shows. Raises CommandError."""
    limit = settings.SERVICE.limits.payload_bytes
    try:
        if name == "-":
            raw = sys.stdin.buffer.read(limit + 1)
        else:
            with Path(name).open("rb") as file:
                raw = file.read(limit + 1)
    except OSError as error:
        raise CommandError(f"Cannot read {name}: {error.strerror}.") from error
    return raw
