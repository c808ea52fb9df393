"""The queue page: what waits, by pipeline and step, and one mark for a whole selection."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.test import Client

from calibration import buckets
from calibration.models import Mark
from runs.models import QueueItem
from tests import factories
from tests.runs.views.marking import waiting

pytestmark = pytest.mark.django_db
QUEUE = "/ui/marking-queue"


@pytest.fixture(autouse=True)
def _forget_bucket_ids() -> Iterator[None]:
    yield
    buckets.forget_ids()


@pytest.fixture
def anna(db: None) -> Client:
    client = Client()
    client.force_login(factories.user("anna", role="marker"))
    return client


def text_of(response: Any) -> str:
    return unescape(response.content.decode())


def pipeline_of(name: str) -> Any:
    return factories.run(version=factories.version(name))


def test_what_waits_is_grouped_by_pipeline_and_step_with_branches_under_their_group(anna: Client) -> None:
    for name in ("look/logs", "look/logs", "look/metrics", "assess"):
        waiting(name, of=pipeline_of("triage"))
    waiting("pay", of=pipeline_of("refunds"))
    text = text_of(anna.get(QUEUE))
    order = ["<bdi>refunds</bdi>", "<bdi>pay</bdi>", "<bdi>triage</bdi>", "<bdi>assess</bdi>", "<bdi>look</bdi>"]
    places = [text.index(name, text.index("<tbody")) for name in order]
    assert places == sorted(places)
    assert re.search(r"look/logs</bdi> <span[^>]*>2<", text)
    counts = re.findall(r"<dt>(\w+) waiting</dt><dd>(\d+)</dd>", text)
    assert counts == [("Pipelines", "2"), ("Runs", "5"), ("Steps", "5")]


def test_filters_narrow_the_queue_and_the_marking(anna: Client) -> None:
    waiting("assess", of=pipeline_of("triage"))
    waiting("pay", of=pipeline_of("refunds"))
    address = f"{QUEUE}?pipeline=refunds&step=pay"
    text = text_of(anna.get(address))
    assert "1 step</span> free" in text
    assert "<bdi>assess</bdi>" not in text[text.index("<tbody") :]
    offered = anna.post(f"{QUEUE}/begin?pipeline=refunds").url
    assert "pipeline=refunds" in offered
    assert QueueItem.objects.get(held_by__isnull=False).pipeline == "refunds"


def test_labels_stay_hidden_in_the_list_from_who_marks_blind(anna: Client) -> None:
    waiting("pay", check_failed=True)
    address = f"{QUEUE}?step=pay"
    listed = text_of(anna.get(address)).partition("items-title")[2]
    assert "a check failed" not in listed
    assert anna.post(f"{QUEUE}/blind?step=pay", {"blind": "off"}).url == address
    assert "a check failed" in text_of(anna.get(address)).partition("items-title")[2]


def test_replays_are_tagged(anna: Client) -> None:
    step = waiting("pay")
    QueueItem.objects.filter(step=step).update(is_replay=True)
    assert "REPLAY" in text_of(anna.get(f"{QUEUE}?step=pay"))


def test_an_empty_queue_says_what_it_is_for_and_an_emptied_one_that_all_is_done(anna: Client) -> None:
    text = text_of(anna.get(QUEUE))
    assert "Nothing to mark yet" in text
    assert "none finished" in text
    step = waiting("pay")
    anna.post(f"{QUEUE}/{step.id}/mark", {"outcome": "correct"})
    text = text_of(anna.get(QUEUE))
    assert "All done" in text
    assert "100%" in text
    assert "Nothing waits under these filters" in text_of(anna.get(f"{QUEUE}?step=pay"))


def test_a_viewer_reads_the_queue_and_cannot_mark(viewer: Client) -> None:
    waiting("pay")
    text = text_of(viewer.get(f"{QUEUE}?step=pay"))
    assert "<bdi>pay</bdi>" in text
    assert "Start marking" not in text
    assert "/bulk" not in text


def test_a_typo_is_refused_with_the_allowed_values(anna: Client) -> None:
    waiting("pay")
    response = anna.get(f"{QUEUE}?step=pey&age=1y")
    assert response.status_code == 400
    assert "pay" in text_of(response)
    assert "Allowed: 24h, 7d, 30d, older." in text_of(response)


def ask(client: Client, query: str) -> dict[str, str]:
    """The form that asks, filled with what it hides."""
    text = text_of(client.get(f"{QUEUE}/bulk?{query}"))
    return dict(re.findall(r'name="(digest|until)" value="([^"]+)"', text))


def test_a_selection_is_marked_at_once_after_asking_with_its_number(anna: Client) -> None:
    for _ in range(3):
        waiting("pay")
    waiting("assess")
    assert "Mark all 3 steps at once?" in text_of(anna.get(f"{QUEUE}/bulk?step=pay"))
    response = anna.post(f"{QUEUE}/bulk?step=pay", {**ask(anna, "step=pay"), "outcome": "incorrect"}, follow=True)
    assert "3 steps marked incorrect" in text_of(response)
    assert list(QueueItem.objects.values_list("name", flat=True)) == ["assess"]
    assert set(Mark.objects.values_list("via", "was_blind")) == {("bulk", None)}


def test_a_selection_that_has_changed_is_asked_about_again(anna: Client) -> None:
    first, _ = waiting("pay"), waiting("pay")
    form = ask(anna, "step=pay")
    anna.post(f"{QUEUE}/{first.id}/mark", {"outcome": "correct"})
    response = anna.post(f"{QUEUE}/bulk?step=pay", {**form, "outcome": "incorrect"})
    assert response.status_code == 409
    assert "Mark 1 step at once?" in text_of(response)
    assert Mark.objects.count() == 1


@pytest.mark.parametrize(
    "fields",
    [{"outcome": "fine"}, {"until": "yesterday"}, {"until": "2026-11-30T10:00:00"}, {"note": "x" * 10_001}],
)
def test_a_bulk_form_that_the_page_never_made_is_refused(anna: Client, fields: dict[str, str]) -> None:
    waiting("pay")
    form = {**ask(anna, "step=pay"), "outcome": "correct", **fields}
    assert anna.post(f"{QUEUE}/bulk?step=pay", form).status_code == 400
    assert not Mark.objects.exists()


def test_the_whole_queue_is_never_marked_at_once(anna: Client) -> None:
    waiting("pay")
    assert anna.get(f"{QUEUE}/bulk").status_code == 400


def test_the_number_of_queries_does_not_grow_with_the_queue(anna: Client, django_assert_max_num_queries: Any) -> None:
    waiting("pay")
    anna.get(f"{QUEUE}?step=pay")
    with django_assert_max_num_queries(14) as few:
        anna.get(f"{QUEUE}?step=pay")
    for number in range(40):
        waiting("pay", of=pipeline_of(f"pipeline-{number}"))
    with django_assert_max_num_queries(len(few.captured_queries)):
        anna.get(f"{QUEUE}?step=pay")
