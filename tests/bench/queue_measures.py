"""What the marking queue costs: its page under filters, the next step in each order, a mark and its undo."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from calibration.models import Mark, Order
from runs.marking import bulk, marks, offers
from runs.marking.filters import ORDERS, QueueFilters
from runs.models import QueueItem
from tests.bench.records import Measure

PAGE_MS, NEXT_MS, MARK_MS = 50, 20, 20
QUERIES: Mapping[str, dict[str, str]] = {
    "no filter": {},
    "a pipeline": {"pipeline": "pipeline-07"},
    "a step": {"pipeline": "pipeline-07", "step": "step-29"},
    "an agent": {"agent": "command:agent-3"},
    "a team's testing runs": {"team": "team-3", "stage": "testing"},
    "failed checks": {"label": "failed_check"},
    "the last day": {"age": "24h"},
    "nothing matches": {"pipeline": "pipeline-07", "agent": "command:agent-0"},
}


def measures() -> Sequence[Measure]:
    marker = User.objects.get(username="marker")
    return [
        *(Measure(f"queue page, {name}", PAGE_MS, _page(marker, query), times=40) for name, query in QUERIES.items()),
        *(
            Measure(f"next, {order}, {name}", NEXT_MS, _walk(marker, order, QUERIES[name]), times=60)
            for order in ORDERS
            for name in ("no filter", "a pipeline", "a step", "an agent", "a team's testing runs", "failed checks")
        ),
        Measure("asking about a step's selection", None, lambda _: _ask(marker), times=20),
        Measure("a mark in the queue", MARK_MS, _marking(marker)),
        Measure("undoing it", MARK_MS, lambda _: _undo(marker)),
    ]


def _page(marker: User, query: Mapping[str, str]) -> Callable[[int], None]:
    client, address = Client(SERVER_NAME="127.0.0.1"), reverse("ui-marking-queue")
    client.force_login(marker)

    def get(_number: int) -> None:
        answer = client.get(address, query)
        assert answer.status_code == 200, answer.content

    return get


def _walk(marker: User, order: Order, query: Mapping[str, str]) -> Callable[[int], None]:
    """Somebody who moves from step to step, each offer after the one before."""
    seen: list[Any] = [None]

    def go(_number: int) -> None:
        filters = QueueFilters(**query)
        offer = offers.next_item(by=marker, order=order, filters=filters, now=timezone.now(), after=seen[-1])
        assert offer is not None
        seen.append(offer.step_id)

    return go


def _ask(marker: User) -> None:
    bulk.ask(QueueFilters(**QUERIES["a step"]), by=marker, now=timezone.now())


def _marking(marker: User) -> Callable[[int], None]:
    ids = list(QueueItem.objects.order_by("shuffle", "step_id").values_list("pk", flat=True)[:1_000])

    def mark(number: int) -> None:
        said: dict[str, Any] = {"outcome": "correct", "was_blind": True, "via": "queue", "now": timezone.now()}
        marks.mark_step(step_id=ids[number], by=marker, **said)

    return mark


def _undo(marker: User) -> None:
    newest = Mark.objects.filter(by=marker, is_current=True).order_by("-id").values_list("id", flat=True)[0]
    marks.undo(mark_id=newest, by=marker, now=timezone.now())
