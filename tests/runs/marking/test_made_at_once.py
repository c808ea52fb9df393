"""One mark of many made at once is taken back; the others stand, and what was said before counts again."""

import datetime as dt
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from calibration.labels import CannotUndo
from calibration.models import Mark
from calibration.resolving import resolve_all
from runs.marking import bulk, marks
from runs.marking.bulk import Marked, made_at_once
from runs.marking.filters import QueueFilters
from runs.models import QueueItem
from tests import factories
from tests.factories import NOW
from tests.runs.marked import label
from tests.runs.marking.waiting import waiting

pytestmark = pytest.mark.django_db
LOOK = QueueFilters(step="look")
LATER = NOW + dt.timedelta(minutes=5)


def all_at_once(by: User, *, outcome: str = "incorrect", now: dt.datetime = NOW) -> Marked:
    asked = bulk.ask(LOOK, by=by, now=now)
    return bulk.confirm(LOOK, digest=asked.digest, until=asked.until, by=by, outcome=outcome, was_blind=None, now=now)


def made(marked: Marked, by: User) -> list[Mark]:
    return list(made_at_once(first=marked.first, last=marked.last, by=by))


def test_one_is_taken_back_and_waits_again_and_the_others_stand(anna: User) -> None:
    items = [waiting("look") for _ in range(3)]
    marked = all_at_once(anna)
    assert (marked.count, QueueItem.objects.count()) == (3, 0)
    taken = next(mark for mark in made(marked, anna) if mark.sample_id == items[1].pk)
    marks.undo(mark_id=taken.pk, by=anna, now=LATER)
    assert [label(item.pk) for item in items] == [(0.0, "step_mark"), (None, ""), (0.0, "step_mark")]
    assert list(QueueItem.objects.values_list("pk", flat=True)) == [items[1].pk]
    # Nothing is deleted: the history has all three, and says of one when it was taken back.
    assert [(mark.is_current, mark.undone_at) for mark in made(marked, anna)].count((False, LATER)) == 1
    assert len(made(marked, anna)) == 3
    assert not [found for progress in resolve_all(batch=100, correct=False) for found in progress.differences]


def test_what_a_colleague_said_still_counts(anna: User, ben: User, service: Any) -> None:
    service(marking={"second_opinion_share": 1.0})
    item = waiting("look")
    marks.mark_step(step_id=item.pk, by=ben, outcome="correct", was_blind=True, via="queue", now=NOW)
    marked = all_at_once(anna)
    assert label(item.pk) == (0.5, "step_mark")
    marks.undo(mark_id=marked.first, by=anna, now=LATER)
    assert label(item.pk) == (1.0, "step_mark")
    assert QueueItem.objects.get().first_marker == ben


def test_a_mark_taken_back_cannot_be_taken_back_again_nor_one_of_a_colleague(anna: User, ben: User) -> None:
    waiting("look")
    marked = all_at_once(anna)
    with pytest.raises(CannotUndo):
        marks.undo(mark_id=marked.first, by=ben, now=LATER)
    marks.undo(mark_id=marked.first, by=anna, now=LATER)
    with pytest.raises(CannotUndo):
        marks.undo(mark_id=marked.first, by=anna, now=LATER)
    assert made(marked, ben) == []


def test_two_goes_are_kept_apart_and_marks_of_others_between_them_left_out(anna: User, ben: User) -> None:
    waiting("look")
    first = all_at_once(anna)
    waiting("look")
    all_at_once(ben)
    waiting("look", minutes_ago=-1)
    second = all_at_once(anna, now=LATER)
    together = made_at_once(first=first.first, last=second.last, by=anna)
    assert [mark.pk for mark in together] == [first.first]
    assert [mark.pk for mark in made(second, anna)] == [second.first]


def test_they_are_found_by_their_ids_whatever_a_person_has_marked(anna: User) -> None:
    waiting("look")
    marked = all_at_once(anna)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        plan = made_at_once(first=marked.first, last=marked.last, by=anna).explain()
    if connection.vendor == "sqlite":
        assert "INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in plan
    assert len(queries) == 2


def test_the_page_lists_them_and_takes_one_back(anna: User) -> None:
    items = [waiting("look") for _ in range(3)]
    client = Client()
    client.force_login(anna)
    asked = client.get("/ui/marking-queue/bulk?step=look").content.decode()
    form = {name: asked.split(f'name="{name}" value="')[1].split('"')[0] for name in ("digest", "until")}
    listed = client.post("/ui/marking-queue/bulk?step=look", {**form, "outcome": "partial"}, follow=True)
    address = listed.redirect_chain[-1][0]
    text = listed.content.decode()
    assert "3 steps marked partial" in text
    assert all(str(item.run_id) in text for item in items)
    assert f'href="{address.replace("&", "&amp;")}"' in client.get("/ui/marking-queue").content.decode()
    action = text.split('action="/ui/marking-queue/bulk/take-back')[1].split('"')[0].replace("&amp;", "&")
    mark = Mark.objects.order_by("id").first()
    assert mark is not None
    for _ in range(2):  # a second press of the button changes nothing more
        text = client.post(f"/ui/marking-queue/bulk/take-back{action}", {"mark": mark.pk}, follow=True).content.decode()
        assert "1 of them taken back since." in text
        assert text.count("Take back<") == 2
    assert QueueItem.objects.count() == 1


def test_an_address_of_a_colleagues_marks_shows_nothing(anna: User, ben: User) -> None:
    waiting("look")
    marked = all_at_once(anna)
    client = Client()
    client.force_login(ben)
    query = f"first={marked.first}&last={marked.last}"
    assert client.get(f"/ui/marking-queue/bulk/made?{query}").status_code == 404
    assert client.post(f"/ui/marking-queue/bulk/take-back?{query}", {"mark": marked.first}).status_code == 404
    assert Mark.objects.get().is_current
    assert client.get("/ui/marking-queue/bulk/made?first=x&last=1").status_code == 400


def test_the_queries_of_the_page_do_not_depend_on_how_many_there_are(anna: User) -> None:
    client = Client()
    client.force_login(anna)
    counts = []
    for number in (2, 60):
        for _ in range(number):
            waiting("look", of=factories.run())
        marked = all_at_once(anna, now=NOW + dt.timedelta(minutes=number))
        with CaptureQueriesContext(connection) as queries:
            assert client.get(f"/ui/marking-queue/bulk/made?first={marked.first}&last={marked.last}").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]
