"""Cancel a run."""

import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from runs.engine.closing import cancel
from runs.models import Run


class Command(BaseCommand):
    help = "Cancel a run: what waits never starts, running agents are stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run_id", type=uuid.UUID)

    def handle(self, *, run_id: uuid.UUID, **options: Any) -> None:
        if cancel(run_id=run_id, by="the command line", now=timezone.now()):
            self.stdout.write(f"Cancelled {run_id}.")
            return
        run = Run.objects.only("status").filter(id=run_id).first()
        if run is None:
            raise CommandError(f"There is no run {run_id}.")
        raise CommandError(f"The run has ended already ({run.status}).")
