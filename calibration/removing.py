"""Taking samples away with all that hangs on them: only for what was made up, such as a demo."""

from collections.abc import Collection
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from calibration import buckets, tallies, versions
from calibration.holds import hold_rows
from calibration.models import AgentVersion, Bucket, Mark, PromptVersion, Sample, Tally, TallyOfTen, Turn


def remove_groups(groups: Collection[UUID]) -> None:
    """Remove the samples of the groups, their marks and the marks on the groups; the tallies stay exact."""
    with transaction.atomic():
        samples = hold_rows(Sample.objects.filter(group__in=groups))
        change = tallies.Change()
        for sample in samples:
            change.take(sample)
        ids = [sample.id for sample in samples]
        Mark.objects.filter(Q(sample_id__in=ids) | Q(group__in=groups)).delete()
        Turn.objects.filter(id__in=ids).delete()
        Sample.objects.filter(id__in=ids).delete()
        change.store()


def remove_records(*, steps: Collection[str], agents: Collection[str]) -> None:
    """Remove the empty buckets of these steps, and the versions of the steps and agents.

    Other processes may remember a bucket's id for a while; ids are not given anew, so a sample that one of
    them adds in that time is refused rather than counted elsewhere.
    """
    with transaction.atomic():
        empty = Bucket.objects.filter(step__in=steps, samples__isnull=True)
        ids = list(empty.values_list("id", flat=True))
        for sums in (Tally, TallyOfTen):
            sums.objects.filter(bucket_id__in=ids).delete()
        Bucket.objects.filter(id__in=ids).delete()
        PromptVersion.objects.filter(step__in=steps).delete()
        AgentVersion.objects.filter(agent__in=agents).delete()
    buckets.forget_ids()
    versions.forget_seen()
