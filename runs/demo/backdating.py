"""Moving a run to the day it is told of.

A demo that all happened within this minute would show no history. So each run is carried out by the engine now, and
then everything it wrote is moved back together, ids included: they begin with the time they were made.
"""

import uuid
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import DateTimeField, F, Model
from django.db.models.expressions import CombinedExpression

from calibration.models import Sample
from calibration.statements import execute
from runs import books
from runs.models import Escalation, QueueItem, Run, RunEvent, Signal, Step

_BELOW_TIME = (1 << 80) - 1


def backdate(*, run_id: uuid.UUID, to: datetime) -> uuid.UUID:
    """Move a run at rest, nothing of which is marked yet, to the moment ``to``; its new id."""
    with transaction.atomic():
        run = Run.objects.select_for_update().get(id=run_id)
        back = run.triggered_at - to
        moved = _moved(run_id, back)
        [(_, spent)] = books.spent_by([run_id])
        execute(
            books.bookings([(run.team, books.day_of(run.triggered_at), -spent), (run.team, books.day_of(to), spent)])
        )
        steps = {step: _moved(step, back) for step in Step.objects.filter(run_id=run_id).values_list("id", flat=True)}
        Run.objects.filter(id=run_id).update(id=moved, **_earlier(Run, back))
        Step.objects.filter(run_id=run_id).update(run_id=moved, **_earlier(Step, back))
        RunEvent.objects.filter(run_id=run_id).update(run_id=moved, **_earlier(RunEvent, back))
        for old, new in steps.items():
            Signal.objects.filter(step_id=old).update(step_id=new, **_earlier(Signal, back))
            Escalation.objects.filter(step_id=old).update(step_id=new, run_id=moved, **_earlier(Escalation, back))
            QueueItem.objects.filter(step_id=old).update(step_id=new, run_id=moved, **_earlier(QueueItem, back))
            Sample.objects.filter(id=old).update(id=new, group=moved, **_earlier(Sample, back))
            Step.objects.filter(id=old).update(id=new)
    return moved


def _moved(identity: uuid.UUID, back: timedelta) -> uuid.UUID:
    """The id that would have been made so much earlier: the same after its time."""
    made = identity.int >> 80
    return uuid.UUID(int=((made - back // timedelta(milliseconds=1)) << 80) | (identity.int & _BELOW_TIME))


def _earlier(model: type[Model], back: timedelta) -> dict[str, CombinedExpression]:
    """Every moment that a row of the model holds, so much earlier; what is null stays null."""
    moments = (field.name for field in model._meta.concrete_fields if isinstance(field, DateTimeField))
    return {name: F(name) - back for name in moments}
