"""Making the demo: every case through the real engine, then to its day, then marked. It goes on where it stopped."""

import time
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from calibration import buckets, versions
from runs.demo import pipelines
from runs.demo.alone import alone
from runs.demo.backdating import backdate
from runs.demo.marking import mark
from runs.demo.runs import TEAM, demo_runs
from runs.demo.seen import date_versions
from runs.demo.story import Case, cases
from runs.engine import drive
from runs.engine.snapshot import snapshot
from runs.engine.work import Work
from runs.intake.accept import store_unannounced
from runs.models import PipelineVersion, Run, Step
from runs.models.run import IN_FLIGHT, STARTED_BY_DEMO

# A worker that took a run over from us is given this long for it.
PATIENCE_SECONDS = 60.0


def make(*, now: datetime, told: Callable[[int], None] = lambda made: None) -> int:
    """Make what is missing of the demo; how many runs it has then.

    It covers the days before the moment it was first asked for. ``told`` hears after each run how many
    there are. Stops when the demo is removed meanwhile. Raises AlreadyAtIt.
    """
    with alone():
        of = pipelines.stored(now=now)
        # This process may remember buckets and versions of a demo that was removed.
        buckets.forget_ids()
        versions.forget_seen()
        made = _numbers()
        for case in cases(now=pipelines.asked_at() or now):
            if case.number in made:
                continue
            if not pipelines.is_wanted():
                break
            _play(case, of[case.pipeline])
            made.add(case.number)
            told(len(made))
        date_versions()
    return len(made)


def _numbers() -> set[int]:
    """The cases that have a run."""
    return set(demo_runs().values_list("context__data__case", flat=True))


def _play(case: Case, version: PipelineVersion) -> None:
    run_id = store_unannounced(
        version=version,
        payload=case.payload,
        team=TEAM,
        source="demo",
        started_by=STARTED_BY_DEMO,
        now=timezone.now(),
    )
    drive.perform(Work("run", run_id))
    _wait_for(run_id)
    for step_id in Step.objects.filter(run_id=run_id).exclude(agent_version="").values_list("id", flat=True):
        snapshot(step_id)
    mark(case, backdate(run_id=run_id, to=case.at))


def _wait_for(run_id: UUID) -> None:
    """Raises TimeoutError when a run that another worker has taken over does not come to rest."""
    until = time.monotonic() + PATIENCE_SECONDS
    while Run.objects.filter(id=run_id, status__in=IN_FLIGHT).exists():
        if time.monotonic() > until:
            raise TimeoutError(f"run {run_id} of the demo has not come to rest")
        time.sleep(0.1)
