"""The live tail of a run, as server-sent events.

Between two looks at the database nothing is held: no connection, no thread. Event ids grow with
each insert but are seen in the order of commits: a row with a lower id can appear after a higher
one. So each look goes back over what was new a short while ago and leaves out what was sent.
"""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils import timezone

from runs.access.roles import role_required
from runs.models import Role, Run, RunEvent
from runs.models.run import ENDED, IN_FLIGHT
from runs.views.query import parameters, whole_number

LOOK_EVERY = 0.4
LOOK_EVERY_WAITING = 3.0  # an escalated run waits for a person
HEARTBEAT_EVERY = 10.0
LIFE = 300.0  # then the browser connects again and continues where it was
OVERLAP = 10.0
BATCH = 500
MESSAGE_HEAD = 4_000
COLUMNS = ("id", "at", "level", "kind", "step_name", "message")

# Few threads, short reads: a hundred open tails share them and never touch the pages' own threads.
_readers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="live-tail")


@dataclass
class Cursor:
    """What has been sent. ``settled`` is the id below which no more rows are expected.

    Rows from before ``history`` settle as they are sent: their neighbours are long committed.
    """

    settled: int
    history: datetime
    sent: dict[int, float] = field(default_factory=dict)  # id -> when it was sent, on the monotonic clock

    def note(self, rows: list[dict[str, Any]], now: float) -> None:
        """These rows count as sent from here on."""
        self.sent.update((row["id"], now) for row in rows)
        old = {row_id for row_id, at in self.sent.items() if now - at > OVERLAP}
        old.update(row["id"] for row in rows if row["at"] < self.history)
        self.settled = max([self.settled, *old])
        for row_id in old:
            del self.sent[row_id]


@role_required(Role.VIEWER)
@parameters("after")
async def events(request: HttpRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """``id`` is that of the RunEvent. Starts after ``Last-Event-ID``, else after ``?after=``, else at the beginning."""
    if request.method != "GET":
        return HttpResponse(status=405, headers={"Allow": "GET"})
    after = whole_number(request.GET, "after", default=0)
    if request.headers.get("Last-Event-ID"):
        after = whole_number(request.headers, "Last-Event-ID")
    # The login was looked up in the request's own thread, whose connection would stay out of the pool until the
    # stream ends: as many open tails as the pool has connections would stop every page. Let go before asking for
    # another one, or that many tails opened at once would wait for each other.
    await sync_to_async(_let_go)()
    status = await _in_thread(partial(_status, run_id))
    if status is None:
        return HttpResponse("no such run", status=404, content_type="text/plain")
    response = StreamingHttpResponse(_stream(run_id, after), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


async def _stream(run_id: uuid.UUID, after: int) -> AsyncIterator[str]:
    begun = spoke = time.monotonic()
    cursor = Cursor(settled=after, history=timezone.now() - timedelta(seconds=2 * OVERLAP))
    resumed = after if after else None
    yield "retry: 2000\n\n"
    while True:
        # The status is read before the events: once it says ended, the events read after it are all there are.
        status, rows = await _in_thread(partial(look, run_id, cursor, resumed))
        resumed = None
        now = time.monotonic()
        cursor.note(rows, now)
        for row in rows:
            spoke = now
            yield _message(row)
        if len(rows) >= BATCH:
            continue
        if status is None or status in ENDED:
            yield f"event: end\ndata: {json.dumps({'status': status})}\n\n"
            return
        if now - begun > LIFE:
            return
        if now - spoke > HEARTBEAT_EVERY:
            spoke = now
            yield ": still here\n\n"
        await asyncio.sleep(LOOK_EVERY if status in IN_FLIGHT else LOOK_EVERY_WAITING)


def look(run_id: uuid.UUID, cursor: Cursor, resumed: int | None) -> tuple[str | None, list[dict[str, Any]]]:
    """The run's status (None: it is gone), and the next BATCH or fewer rows that were not sent."""
    status = _status(run_id)
    rows = RunEvent.objects.filter(run_id=run_id, id__gt=cursor.settled).order_by("id")
    # So many ids that a whole batch among them is new, however many were sent lately.
    ids = rows.values_list("id", flat=True)[: len(cursor.sent) + BATCH]
    wanted = [row_id for row_id in ids if row_id not in cursor.sent][:BATCH]
    found: list[dict[str, Any]] = list(rows.filter(id__in=wanted).values(*COLUMNS)) if wanted else []
    if resumed is not None:
        # Rows that committed late, around the moment the reader was cut off; the page leaves out what it has.
        since = timezone.now() - timedelta(seconds=OVERLAP)
        late = RunEvent.objects.filter(run_id=run_id, id__lt=resumed, at__gte=since).order_by("-id")
        found = list(late.values(*COLUMNS)[:BATCH])[::-1] + found
    return status, found


def _status(run_id: uuid.UUID) -> str | None:
    return Run.objects.filter(id=run_id).values_list("status", flat=True).first()


def _let_go() -> None:
    connection.close()


async def _in_thread(read: Callable[[], Any]) -> Any:
    return await asyncio.get_running_loop().run_in_executor(_readers, _and_let_go, read)


def _and_let_go(read: Callable[[], Any]) -> Any:
    try:
        return read()
    finally:
        connection.close()


def _message(row: dict[str, Any]) -> str:
    data = {
        "id": row["id"],
        "at": row["at"].isoformat(timespec="milliseconds"),
        "level": row["level"],
        "kind": row["kind"],
        "step": row["step_name"],
        "message": row["message"][:MESSAGE_HEAD],
        "chars": len(row["message"]),
    }
    return f"id: {row['id']}\nevent: log\ndata: {json.dumps(data)}\n\n"
