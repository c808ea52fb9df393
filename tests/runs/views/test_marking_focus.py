"""The focus view: blind until the mark, one step for one marker, and an address that can be come back to."""

import re
import uuid
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from calibration import buckets
from calibration.models import Mark
from runs.marking import marks
from runs.models import QueueItem, QueueSkip, Step
from tests import factories
from tests.runs.views.marking import CLAIMS, SECRETS, waiting

pytestmark = pytest.mark.django_db
QUEUE = "/ui/marking-queue"


@pytest.fixture(autouse=True)
def _forget_bucket_ids() -> Iterator[None]:
    yield
    buckets.forget_ids()


def client_of(person: Any) -> Client:
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def anna(db: None) -> Client:
    return client_of(factories.user("anna", role="marker"))


@pytest.fixture
def ben(db: None) -> Client:
    return client_of(factories.user("ben", role="marker"))


def text_of(response: Any) -> str:
    assert response.status_code == 200, response.content
    return unescape(response.content.decode())


def begin(client: Client, query: str = "") -> str:
    """The address of the first step that is offered."""
    return str(client.post(f"{QUEUE}/begin{query}").url)


def mark(client: Client, address: str, outcome: str = "correct", **fields: str) -> str:
    """Mark the step at ``address`` as its page would, and the address that follows."""
    path, query = urlsplit(address).path, urlsplit(address).query
    blind = {"blind": "1"} if 'name="blind" value="1"' in text_of(client.get(address)) else {}
    response = client.post(f"{path}/mark?{query}", {"outcome": outcome, **blind, **fields})
    assert response.status_code == 302, response.content
    return str(response.url)


def step_in(address: str) -> str:
    return urlsplit(address).path.rpartition("/")[2]


def work_of(text: str) -> str:
    """The part of the page about the step itself."""
    return text[text.index('class="card work"') : text.index("</main>")]


def test_a_blind_marker_sees_the_work_and_nothing_the_machine_thinks_of_it(anna: Client) -> None:
    waiting(check_failed=True)
    text = text_of(anna.get(begin(anna)))
    for shown in ("Refund order 90125?", "Offer store credit.", "orders.get", "delivered 34 days ago", "the voucher"):
        assert shown in text
    main = text[text.index("<main") : text.index("</main>")]
    assert [secret for secret in SECRETS if secret in re.sub(r"[0-9a-f-]{36}", "", main)] == []


def test_the_order_of_claims_does_not_tell_which_are_backed(anna: Client) -> None:
    waiting()
    text = work_of(text_of(anna.get(begin(anna))))
    places = [text.index(claim["claim"]) for claim in sorted(CLAIMS, key=lambda claim: str(claim["claim"]))]
    assert places == sorted(places)


def test_the_scores_of_a_step_stand_beside_the_next_once_it_is_marked(anna: Client) -> None:
    first, second = waiting(), waiting()
    follows = mark(anna, begin(anna))
    assert {step_in(follows)} < {str(first.id), str(second.id)}
    text = text_of(anna.get(follows))
    assert "The one before" in text
    assert "50%" in text[text.index("The one before") :]
    assert "97%" not in text
    assert text_of(anna.get(follows)) is not None  # reload stays on it
    assert Mark.objects.get().was_blind is True
    assert Mark.objects.get().offered_by == "oldest"


def test_a_change_after_the_scores_were_shown_is_not_blind(anna: Client) -> None:
    waiting()
    first = begin(anna)
    mark(anna, first)
    text = text_of(anna.get(first))
    assert "97%" in text
    assert "You marked this" in text
    mark(anna, first, "incorrect")
    assert list(Mark.objects.order_by("id").values_list("outcome", "was_blind", "is_current")) == [
        ("correct", True, False),
        ("incorrect", False, True),
    ]


def test_a_page_that_was_open_before_the_mark_does_not_make_a_change_blind(anna: Client) -> None:
    waiting()
    first = begin(anna)
    for outcome in ("correct", "incorrect"):
        anna.post(f"{urlsplit(first).path}/mark", {"outcome": outcome, "blind": "1"})
    assert [mark.was_blind for mark in Mark.objects.order_by("id")] == [True, False]


def test_a_mark_from_a_page_that_was_not_blind_is_not_blind(anna: Client) -> None:
    waiting()
    anna.post(f"{urlsplit(begin(anna)).path}/mark", {"outcome": "correct"})
    assert Mark.objects.get().was_blind is False


def test_a_change_of_mind_is_one_step_marked(anna: Client) -> None:
    waiting(), waiting()
    first = begin(anna)
    mark(anna, first)
    second = mark(anna, first, "incorrect")
    assert "1 marked now" in text_of(anna.get(second))


def test_who_looks_at_the_scores_of_a_step_marks_it_not_blind_also_after_switching_blind_on(anna: Client) -> None:
    waiting()
    first = begin(anna)
    anna.post(f"{QUEUE}/blind", {"blind": "off"})
    assert "97%" in text_of(anna.get(first))
    anna.post(f"{QUEUE}/blind", {"blind": "on"})
    assert "You have seen the scores" in text_of(anna.get(first))
    mark(anna, first)
    assert Mark.objects.get().was_blind is False


def test_showing_the_scores_of_one_step_leaves_the_next_one_blind(anna: Client) -> None:
    waiting(), waiting()
    first = begin(anna)
    assert anna.post(f"{urlsplit(first).path}/reveal").url == first
    assert "97%" in text_of(anna.get(first))
    follows = mark(anna, first)
    assert "97%" not in text_of(anna.get(follows))
    mark(anna, follows)
    assert [mark.was_blind for mark in Mark.objects.order_by("id")] == [False, True]


def test_who_filters_by_a_failed_check_knows_of_it_and_is_not_blind(anna: Client) -> None:
    waiting(check_failed=True)
    first = begin(anna, "?label=failed_check")
    assert "still_breaching" in text_of(anna.get(first))
    mark(anna, first)
    assert Mark.objects.get().was_blind is False


def test_undo_brings_the_step_back_and_its_next_mark_is_not_blind(anna: Client) -> None:
    waiting()
    first = begin(anna)
    mark(anna, first)
    assert not QueueItem.objects.exists()
    undo = {"mark": Mark.objects.get().id}
    assert anna.post(f"{QUEUE}/undo", undo).url == first
    assert anna.post(f"{QUEUE}/undo", undo).url == first  # a double press does no harm
    assert QueueItem.objects.count() == 1
    mark(anna, first, "partial")
    assert Mark.objects.get(is_current=True).was_blind is False


def test_another_browser_of_the_same_person_knows_that_they_have_seen_the_scores(anna: Client) -> None:
    waiting()
    first = begin(anna)
    mark(anna, first)
    anna.post(f"{QUEUE}/undo", {"mark": Mark.objects.get().id})
    elsewhere = client_of(factories.User.objects.get(username="anna"))
    assert "You have seen the scores" in text_of(elsewhere.get(first))


def test_undo_pressed_twice_takes_back_one_mark(anna: Client) -> None:
    waiting(), waiting()
    mark(anna, begin(anna))
    made = Mark.objects.get()
    back = [anna.post(f"{QUEUE}/undo", {"mark": made.id}) for _ in range(2)]
    assert [response.status_code for response in back] == [302, 302]
    assert back[0]["Location"] == back[1]["Location"]
    made.refresh_from_db()
    assert made.undone_at is not None
    assert "0 marked now" in text_of(anna.get(back[0]["Location"]))


def test_nobody_undoes_the_mark_of_somebody_else(anna: Client, ben: Client) -> None:
    waiting()
    mark(anna, begin(anna))
    assert ben.post(f"{QUEUE}/undo", {"mark": Mark.objects.get().id}).status_code == 404
    assert ben.get(f"{QUEUE}/done?marked={Mark.objects.get().id}").status_code == 404
    assert Mark.objects.get().is_current


def test_two_markers_are_never_given_the_same_step(anna: Client, ben: Client) -> None:
    waiting(), waiting()
    hers, his = begin(anna), begin(ben)
    assert step_in(hers) != step_in(his)
    text = text_of(ben.get(hers))
    assert "A colleague has this one in front of them until" in text
    assert 'name="outcome"' not in text


def test_all_done_is_said_only_when_nothing_is_left(anna: Client, ben: Client) -> None:
    waiting(), waiting()
    begin(anna)
    end = mark(ben, begin(ben))
    assert end.startswith(f"{QUEUE}/done?marked=")
    assert re.search(r"1 left, locked by a colleague\s+until <time", text_of(ben.get(end)))
    mark(anna, begin(anna))
    assert "<h1>All done</h1>" in text_of(ben.get(f"{QUEUE}/done"))


def test_a_step_that_a_colleague_marked_meanwhile_says_so(anna: Client, ben: Client) -> None:
    step = waiting()
    mark(anna, begin(anna))
    text = text_of(ben.get(f"{QUEUE}/{step.id}"))
    assert "A colleague has marked this one." in text
    assert 'name="outcome"' not in text


def test_marks_of_others_are_hidden_until_the_second_opinion_is_given(anna: Client, ben: Client, service: Any) -> None:
    service(marking={"second_opinion_share": 1.0})
    waiting()
    mark(anna, begin(anna), "incorrect", note="the voucher was forgotten")
    second = begin(ben)
    text = text_of(ben.get(second))
    assert "forgotten" not in text
    assert "anna" not in text
    text = text_of(ben.get(mark(ben, second)))
    assert "anna" in text
    assert "forgotten" in text


def test_double_submit_gives_one_mark(anna: Client) -> None:
    waiting()
    first = begin(anna)
    for _ in range(2):
        anna.post(f"{urlsplit(first).path}/mark", {"outcome": "correct", "blind": "1"})
    assert Mark.objects.count() == 1


def test_moving_on_leaves_a_step_free_and_back_leads_the_way_one_came(anna: Client, ben: Client) -> None:
    steps = {str(waiting().id), str(waiting().id)}
    first = begin(anna)
    second = anna.post(f"{urlsplit(first).path}/next").url
    assert {step_in(first), step_in(second)} == steps
    assert step_in(begin(ben)) == step_in(first)
    assert f'href="{first}"' in text_of(anna.get(second))


def test_after_a_change_further_back_one_is_where_one_was(anna: Client) -> None:
    for _ in range(3):
        waiting()
    first = begin(anna)
    second = mark(anna, first)
    assert step_in(mark(anna, first, "partial")) == step_in(second)


def test_a_skipped_step_comes_last(anna: Client) -> None:
    waiting(), waiting()
    first = begin(anna)
    second = anna.post(f"{urlsplit(first).path}/skip").url
    assert step_in(second) != step_in(first)
    again = mark(anna, second)
    assert step_in(again) == step_in(first)
    assert "You skipped it before" in text_of(anna.get(again))


def test_the_bin_behind_why_this_one_is_shown_after_the_mark_only(anna: Client) -> None:
    waiting(), waiting()
    first = begin(anna, "?order=useful")
    assert "90% to 100%" not in text_of(anna.get(first))
    assert "90% to 100%" in text_of(anna.get(mark(anna, first)))
    assert Mark.objects.get().offered_by == "useful"


def test_a_step_opened_by_hand_counts_as_picked(anna: Client) -> None:
    step = waiting()
    mark(anna, f"{QUEUE}/{step.id}?order=random")
    assert Mark.objects.get().offered_by == ""


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("order=best", "Allowed: oldest, newest, useful, random."),
        ("marked=x", "marked must be the number of a mark."),
        ("stage=prod", "Allowed: testing, production."),
        ("labell=none", "There is no parameter “labell”."),
    ],
)
def test_a_typo_is_refused_with_the_allowed_values(anna: Client, query: str, told: str) -> None:
    response = anna.get(f"{QUEUE}/{waiting().id}?{query}")
    assert response.status_code == 400
    assert told in unescape(response.content.decode())


@pytest.mark.parametrize("action", ["mark", "skip", "next", "reveal"])
@pytest.mark.parametrize("sampled", [False, None])
def test_of_a_step_that_is_not_there_the_reader_is_told_and_led_back(
    anna: Client, action: str, sampled: bool | None
) -> None:
    waiting()
    step_id = uuid.uuid4() if sampled is None else factories.step(factories.run()).id
    form = {"outcome": "correct"} if action == "mark" else {}
    response = anna.post(f"{QUEUE}/{step_id}/{action}?order=newest", form)
    assert response.status_code == 404
    assert "There is no such step to mark" in response.content.decode()
    assert f'href="{QUEUE}?order=newest"' in response.content.decode()
    assert not QueueSkip.objects.exists()


def test_switching_blind_marking_refuses_a_step_that_is_no_id(anna: Client) -> None:
    assert anna.post(f"{QUEUE}/blind", {"blind": "on", "step": "x"}).status_code == 400


def test_what_cannot_be_marked_is_refused(anna: Client) -> None:
    step = waiting()
    assert anna.post(f"{QUEUE}/{step.id}/mark", {"outcome": "fine"}).status_code == 400
    assert anna.post(f"{QUEUE}/{step.id}/mark", {"outcome": "correct", "note": "x" * 10_001}).status_code == 400
    unsampled = factories.step(factories.run())
    assert anna.get(f"{QUEUE}/{unsampled.id}").status_code == 404
    assert anna.post(f"{QUEUE}/{unsampled.id}/mark", {"outcome": "correct"}).status_code == 404
    assert not Mark.objects.exists()


def test_what_an_agent_wrote_is_never_markup(anna: Client) -> None:
    answer = {"confidence": 0.9, "summary": "<script>alert(1)</script>", "next_step_context": "", "<b>x</b>": ["<i>"]}
    waiting(parsed_output=answer, prompt="<script>alert(2)</script>")
    page = anna.get(begin(anna)).content.decode()
    assert "<script>alert" not in page
    assert "<b>x</b>" not in page


def test_long_texts_are_read_by_parts_and_blind(anna: Client) -> None:
    answer = {"confidence": 0.953, "summary": "I am 97% confident. " + "long " * 20_000, "next_step_context": ""}
    step = waiting(parsed_output=answer, prompt="ask " * 2_000)
    page = text_of(anna.get(begin(anna)))
    assert "The first 3,000 characters." in page
    assert "97%" not in page
    for part in ("answered", "event?event=2"):
        text = text_of(anna.get(f"{QUEUE}/{step.id}/text/{part}"))
        assert "[hidden]" in text
        assert "0.953" not in text
        assert "97%" not in text
    assert "0.953" not in text_of(anna.get(f"{QUEUE}/{step.id}/trace"))
    assert anna.get(f"{QUEUE}/{step.id}/text/answered?from=50000").status_code == 200
    assert anna.get(f"{QUEUE}/{step.id}/text/answered?from=900000").status_code == 404
    assert anna.get(f"{QUEUE}/{step.id}/text/raw").status_code == 404


def test_a_trace_of_any_shape_is_survived(anna: Client) -> None:
    waiting(agent_trace=["text", 3, {"type": "tool_call"}, None], parsed_output={"summary": 3, "uncertainties": "x"})
    assert "Called" in text_of(anna.get(begin(anna)))


def test_the_number_of_queries_does_not_grow(anna: Client, django_assert_max_num_queries: Any) -> None:
    for _ in range(3):
        waiting()
    first = begin(anna)
    second = mark(anna, first)
    with django_assert_max_num_queries(17) as few:
        anna.get(second)
    for number in range(30):
        other = waiting(f"step-{number}")
        marks.mark_step(step_id=other.id, by=factories.user(), outcome="correct", was_blind=True, via="api",
                        now=timezone.now())  # fmt: skip
        waiting()
    with django_assert_max_num_queries(len(few.captured_queries)):
        anna.get(second)
    assert Step.objects.count() > 60
