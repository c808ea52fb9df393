"""Steps that are ended from outside while they ask a model: what that call took, nobody will ever know."""

import uuid

from django.db.models import QuerySet

from calibration.statements import execute
from runs import books, rows
from runs.models import Run, Step
from runs.spending import Spent


def lose(steps: "QuerySet[Step]", run_id: uuid.UUID) -> None:
    """Count ``steps``, which are about to be ended, as not known where they have begun: in the transaction at hand."""
    n = steps.exclude(agent="").exclude(started_at=None).count()
    if not n:
        return
    lost = Spent(steps=n, steps_untold=n, steps_unpriced=n)
    run = Run.objects.only("team", "triggered_at").get(id=run_id)
    execute([rows.change(Run, {}, {"id": run_id}, add=lost.of_run()), *books.booking(run, lost)])
