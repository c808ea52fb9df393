"""What the overview and Insights cost: all steps, the page of one, the runs behind a bin, agreement."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.test import Client
from django.utils.http import urlencode

from calibration.models import Bucket
from tests.bench.records import Measure


def measures() -> Sequence[Measure]:
    buckets = list(Bucket.objects.order_by("id").values_list("id", flat=True))
    steps = sorted(set(Bucket.objects.values_list("step", flat=True)))
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get(username="marker"))

    def get(address: str) -> None:
        answer = client.get(address)
        assert answer.status_code == 200, answer.content

    def one(items: Sequence[object], number: int) -> object:
        return items[number * 37 % len(items)]

    def behind(number: int, **query: object) -> None:
        get(f"/ui/insights/samples?{urlencode({'bucket': one(buckets, number), **query})}")

    def overview(period: str) -> Measure:
        return Measure(f"overview, {period}", 100, lambda _: get(f"/ui/?period={period}"), times=50)

    return [
        *map(overview, ("24h", "7d", "30d", "all")),
        Measure("Insights, all steps", 100, lambda _: get("/ui/insights/steps"), times=50),
        Measure("Insights, steps of one stage", 100, lambda _: get("/ui/insights/steps?stage=production"), times=50),
        Measure("Insights, one step", 80, lambda number: get(f"/ui/insights/steps/{one(steps, number)}")),
        Measure("the runs behind a bin", None, lambda number: behind(number, bin=9)),
        Measure("the wrong ones of a bucket", None, lambda number: behind(number, show="wrong")),
        Measure("agreement of markers", None, lambda _: get("/ui/insights/agreement"), times=20),
        Measure("GET /steps", None, lambda _: get("/steps"), times=50),
        Measure("GET /steps/{name}", None, lambda number: get(f"/steps/{one(steps, number)}")),
    ]
