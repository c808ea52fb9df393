"""What calibration costs: the gate's lookup, the API of one step, a mark, and the sums over everything."""

import random
import uuid
from collections.abc import Sequence

from django.contrib.auth.models import User
from django.test import Client

from calibration import buckets, labels, tallies
from calibration.models import Bucket, Sample
from calibration.summary import summaries
from tests.bench.history import NOW
from tests.bench.records import Measure

WIDTH, N_MIN = 0.1, 20


def measures() -> Sequence[Measure]:
    chance = random.Random(11)
    marker = User.objects.get(username="marker")
    ids = list(Bucket.objects.values_list("id", flat=True))
    steps = sorted(set(Bucket.objects.values_list("step", flat=True)))
    unmarked = list(Sample.objects.filter(label_source="").values_list("id", flat=True)[:5_000])
    marked = list(Sample.objects.filter(label_source="step_mark").values_list("id", flat=True)[:5_000])
    groups = list(Sample.objects.values_list("group", flat=True)[:5_000])
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(marker)

    def lookup(width: float) -> None:
        buckets.lookup(chance.choice(ids), chance.random(), n_min=N_MIN, bin_width=width)

    def api(number: int, query: str = "") -> None:
        answer = client.get(f"/steps/{steps[number * 37 % len(steps)]}/calibration{query}")
        assert answer.status_code == 200, answer.content

    def mark(samples: Sequence[uuid.UUID], number: int) -> None:
        labels.mark_sample(sample_id=samples[number], by=marker, outcome="partial", note="x", via="queue", now=NOW)

    def mark_run(number: int) -> None:
        labels.mark_group(group=groups[number * 7], by=marker, outcome="partial", via="page", now=NOW)

    def fail_check(_number: int) -> None:
        buckets.record_sample(
            id=uuid.uuid4(), bucket_id=chance.choice(ids), group=uuid.uuid4(), stage="production",
            confidence=chance.random(), observed_at=NOW, check_failed=True,
        )  # fmt: skip

    def all_buckets(width: float) -> None:
        summaries(bin_width=width, n_min=N_MIN)

    return [
        Measure("gate lookup", 1, lambda _: lookup(WIDTH), times=2_000),
        Measure("gate lookup, bins of 1/8", None, lambda _: lookup(0.125), times=500),
        Measure("GET /steps/{name}/calibration", 50, api),
        Measure("the same in bins of 0.01", None, lambda number: api(number, "?bin_width=0.01")),
        Measure("the same in bins of 1/8, of samples", None, lambda number: api(number, "?bin_width=0.125"), times=50),
        Measure("storing a mark", 20, lambda number: mark(unmarked, number)),
        Measure("storing a mark that replaces one", 20, lambda number: mark(marked, number)),
        Measure("storing a mark on a run", 20, mark_run),
        Measure("a sample whose check failed", None, fail_check),
        Measure("summaries of all buckets", None, lambda _: all_buckets(WIDTH), times=20),
        Measure("all buckets in bins of 1/8, from samples", None, lambda _: all_buckets(0.125), times=3),
        Measure("comparing every tally with the samples", None, lambda _: tallies.differences(), times=3),
    ]
