"""What stands in the marking queue: put in with the step's decision, taken out once enough people have marked it."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import OuterRef, Subquery

from calibration import binning
from calibration.models import Mark, Sample
from runs.marking.chance import place, wants_second_opinion
from runs.models import QueueItem, QueueSkip, Run, Step


def item_of(step: Step, *, run: Run, bucket_id: int, confidence: float, label_source: str, now: datetime) -> QueueItem:
    """An unsaved queue item for a step that finished ``now`` with a sample. ``confidence`` is the sample's."""
    return QueueItem(
        step_id=step.id,
        run_id=run.id,
        pipeline=run.pipeline_name,
        name=step.name,
        group=step.name.partition("/")[0],
        agent=step.agent,
        team=run.team,
        stage=run.stage,
        label_source=label_source,
        bucket_id=bucket_id,
        confidence_ppm=binning.to_ppm(confidence),
        finished_at=now,
        shuffle=place(step.id),
    )


def settle(step_ids: Collection[UUID]) -> None:
    """Make the queue agree with the current marks on these steps, whatever changed them: a mark, an undo, an import.

    A step that lacks a marker (or a second one, if chance chose it for that) stands in the queue, held
    by nobody; the others leave it. To be called in the transaction of the change, after it: the
    samples' rows are locked then, so two changes of one step cannot cross.
    """
    markers = _markers(step_ids)
    share = settings.SERVICE.marking.second_opinion_share
    waiting = [one for one in step_ids if len(markers[one]) < (2 if wants_second_opinion(one, share) else 1)]
    done = set(step_ids).difference(waiting)
    if done:
        QueueItem.objects.filter(step_id__in=done).delete()
        QueueSkip.objects.filter(step_id__in=done).delete()
    if waiting:
        _put_in(waiting, markers)


def refresh_labels(run_id: UUID) -> None:
    """Repeat the labels of a run's samples on its waiting steps, after a mark on the whole run."""
    source = Sample.objects.filter(pk=OuterRef("step_id")).values("label_source")
    QueueItem.objects.filter(run_id=run_id).update(label_source=Subquery(source))


def _markers(step_ids: Collection[UUID]) -> defaultdict[UUID, list[int]]:
    """Who has a current mark on each step, the earliest first."""
    found: defaultdict[UUID, list[int]] = defaultdict(list)
    marks = Mark.objects.filter(sample_id__in=step_ids, is_current=True).order_by("made_at", "id")
    for step_id, by in marks.values_list("sample_id", "by_id"):
        found[step_id].append(by)
    return found


def _put_in(step_ids: Collection[UUID], markers: defaultdict[UUID, list[int]]) -> None:
    fresh = list(_items(step_ids))
    for item in fresh:
        item.first_marker_id = next(iter(markers[item.step_id]), None)
    QueueItem.objects.bulk_create(
        fresh,
        batch_size=200,
        update_conflicts=True,
        unique_fields=["step"],
        update_fields=["label_source", "first_marker", "held_by", "held_until"],
    )


def _items(step_ids: Collection[UUID]) -> Iterable[QueueItem]:
    """A fresh item for each of the steps that has a sample."""
    steps = Step.objects.filter(pk__in=step_ids).select_related("run").defer(*_WIDE).in_bulk()
    for sample in Sample.objects.filter(pk__in=steps):
        step = steps[sample.pk]
        item = item_of(
            step,
            run=step.run,
            bucket_id=sample.bucket_id,
            confidence=sample.confidence,
            label_source=sample.label_source,
            now=sample.observed_at,
        )
        item.is_replay = sample.is_replay
        yield item


# What may be megabytes, and no item needs.
_WIDE = ("prompt", "raw_output", "parsed_output", "agent_trace", "iterations", "trust_report", "run__context")
