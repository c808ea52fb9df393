"""Taking the demo away again, whole, and nothing else."""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import ProtectedError

from calibration.removing import remove_groups, remove_records
from calibration.statements import execute
from runs import books
from runs.demo import pipelines
from runs.demo.alone import alone
from runs.demo.marking import MARKERS
from runs.demo.runs import demo_runs
from runs.models import PipelineVersion, Step

AT_ONCE = 100


def remove() -> int:
    """Remove the demo's runs, marks, records, versions, pipelines and people; how many runs there were.

    Whoever is making it stops first.
    """
    digests: set[str] = set()

    def stop_making() -> None:
        # More than once: who has only just begun stores the pipelines after the first time.
        digests.update(pipelines.take_away())

    stop_making()
    with alone(meanwhile=stop_making):
        stop_making()
        steps = Step.objects.filter(run__in=demo_runs()).order_by()
        names = set(steps.values_list("name", flat=True))
        agents = set(steps.values_list("agent", flat=True))
        removed = 0
        while ids := list(demo_runs().values_list("id", flat=True)[:AT_ONCE]):
            remove_groups(ids)
            with transaction.atomic():
                gone = books.spent_by(ids)
                execute(books.bookings((run.team, books.day_of(run.triggered_at), -spent) for run, spent in gone))
                demo_runs().filter(id__in=ids).delete()
            removed += len(ids)
        remove_records(steps=names, agents=agents)
        PipelineVersion.objects.filter(digest__in=digests).delete()
        _remove_people()
    return removed


def _remove_people() -> None:
    for person in User.objects.filter(username__in=MARKERS, is_active=False):
        try:
            person.delete()
        except ProtectedError:
            continue  # somebody let them mark something of their own
