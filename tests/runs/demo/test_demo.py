"""The demo through the real engine: a few of its cases, and all of it taken away again."""

import io
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from calibration.models import AgentVersion, Bucket, Mark, PromptVersion, Sample, Tally, TallyOfTen
from runs import books
from runs.demo import making, pipelines, story
from runs.demo.alone import AlreadyAtIt, alone
from runs.demo.removal import remove
from runs.demo.runs import demo_runs, progress
from runs.models import Pipeline, PipelineVersion, QueueItem, Run, Step
from runs.spending import NOTHING
from tests import factories
from tests.at_once import at_once
from tests.services import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
# The first and the last day, so that both versions of the refund agent answer.
SOME = [*range(8), *range(story.TOTAL - 8, story.TOTAL)]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    every = story.cases

    def some(*, now: datetime) -> Iterator[story.Case]:
        return (case for case in every(now=now) if case.number in SOME)

    monkeypatch.setattr(making, "cases", some)


def ours() -> list[Any]:
    return [
        list(model.objects.order_by("pk").values()) for model in (Run, Step, Sample, Mark, Bucket, Tally, TallyOfTen)
    ]


def test_the_story_covers_thirty_days_and_is_the_same_every_time() -> None:
    told = list(story.cases(now=NOW))
    assert len(told) == story.TOTAL == 240
    assert told == list(story.cases(now=NOW))
    assert NOW - timedelta(days=30) <= told[0].at < told[-1].at < NOW
    assert all(case.at + opinion.after < NOW for case in told for opinion in case.opinions)
    edited = NOW - timedelta(days=30) + story.EDITED_AFTER
    assert {case.pipeline for case in told if case.kind == "refund" and case.at < edited} == {"refunds-1"}
    assert {case.pipeline for case in told if case.kind == "refund" and case.at >= edited} == {"refunds-2"}


@pytest.mark.parametrize(
    ("right", "decided", "slips", "outcome"),
    [
        ("decline", "decline", False, "correct"),
        ("store credit", "decline", False, "incorrect"),
        ("decline", "store credit", False, "partial"),
        ("decline", "store credit", True, "correct"),
        ("store credit", "store credit", True, "incorrect"),
    ],
)
def test_a_mark_says_whether_the_answer_was_right_unless_the_marker_slips(
    right: str, decided: str, slips: bool, outcome: str
) -> None:
    case = story.Case(0, "refund", "refunds-1", NOW, {"data": {"right": right}}, ())
    assert case.outcome({"decision": decided}, story.Opinion(0, timedelta(hours=1), slips)) == outcome


@pytest.mark.usefixtures("few")
def test_runs_go_through_the_engine_and_then_to_their_day() -> None:
    now = timezone.now()
    told: list[int] = []
    assert making.make(now=now, told=told.append) == len(SOME) == told[-1]
    runs = list(demo_runs().order_by("id"))
    cases = {case.number: case for case in story.cases(now=now)}
    for run in runs:
        case = cases[run.context["data"]["case"]]
        assert run.triggered_at == case.at
        assert abs((run.id.int >> 80) / 1000 - case.at.timestamp()) < 60
        assert run.started_at is not None
        assert case.at <= run.started_at < case.at + timedelta(minutes=5)
        assert run.events.filter(kind="run.started").count() == 1
    assert [run.triggered_at for run in runs] == sorted(run.triggered_at for run in runs)
    assert {run.status for run in runs} <= {"completed", "escalated", "failed", "stopped", "aborted"}
    alert = Step.objects.filter(name="demo-find-cause", status="completed").first()
    assert alert is not None
    assert {signal.kind for signal in alert.signals.all()} == {"verifier", "grounding"}
    assert PromptVersion.objects.filter(step="demo-decide-refund").count() == 2
    assert AgentVersion.objects.filter(agent="command:demo-refund-agent").exclude(soul="").count() == 2
    first = PromptVersion.objects.filter(step="demo-decide-refund").earliest("first_seen")
    assert first.first_seen < now - timedelta(days=29)
    assert Mark.objects.filter(via="demo", was_blind=True).exists()
    assert set(QueueItem.objects.values_list("step_id", flat=True)) <= set(Sample.objects.values_list("id", flat=True))
    call_command("resolve_labels")
    booked = books.by_day(since=date(2000, 1, 1), team="demo")
    assert sum(spent.steps for spent in booked.values()) == Step.objects.filter(run__in=runs).exclude(agent="").count()
    assert {day for day, spent in booked.items() if spent != NOTHING} <= {
        books.day_of(run.triggered_at) for run in runs
    }


@pytest.mark.usefixtures("few")
def test_it_goes_on_where_it_stopped() -> None:
    class Enough(Exception):
        pass

    def stop(made: int) -> None:
        if made == 3:
            raise Enough

    with pytest.raises(Enough):
        making.make(now=timezone.now(), told=stop)
    kept = set(demo_runs().values_list("id", flat=True))
    assert making.make(now=timezone.now()) == len(SOME)
    assert kept < set(demo_runs().values_list("id", flat=True))
    assert making.make(now=timezone.now()) == demo_runs().count() == len(SOME)


@pytest.mark.usefixtures("few")
def test_removing_it_leaves_everything_else_as_it_was() -> None:
    run = factories.run(team="demo", pipeline_name="demo-refunds")
    factories.step(run)
    before = ours()
    making.make(now=timezone.now())
    assert remove() == len(SOME)
    assert ours() == before
    assert progress() is None
    assert set(books.by_day(since=date(2000, 1, 1)).values()) <= {NOTHING}
    assert not Pipeline.objects.filter(name__startswith="demo-").exists()
    assert not PipelineVersion.objects.filter(name__in=["demo-alerts", "demo-tickets"]).exists()
    assert not User.objects.filter(username__startswith="demo-").exists()
    assert not PromptVersion.objects.exists()


@pytest.mark.usefixtures("few")
def test_it_can_be_made_again_after_it_was_removed() -> None:
    making.make(now=timezone.now())
    remove()
    assert making.make(now=timezone.now()) == len(SOME)
    assert Sample.objects.count() == Step.objects.exclude(effective_confidence=None).count()
    assert PromptVersion.objects.filter(step="demo-decide-refund").count() == 2


@pytest.mark.usefixtures("few")
def test_whoever_makes_it_stops_when_it_is_removed() -> None:
    assert making.make(now=timezone.now(), told=lambda made: pipelines.take_away() and None if made == 2 else None) == 2


def test_removing_stops_one_who_had_only_just_begun_to_make_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stored, begun = threading.Event(), threading.Event()

    def make() -> None:
        with alone():
            begun.set()
            assert stored.wait(timeout=20)
            pipelines.stored(now=timezone.now())
            wait_until(lambda: not pipelines.is_wanted(), what="being told to stop")

    def take_away() -> list[str]:
        begun.wait(timeout=20)
        taken = real()
        stored.set()
        return taken

    real = pipelines.take_away
    monkeypatch.setattr(pipelines, "take_away", take_away)
    at_once(make, remove)
    assert not PipelineVersion.objects.exists()
    assert not Pipeline.objects.exists()


def test_nobody_makes_it_twice_at_once() -> None:
    with alone(), pytest.raises(AlreadyAtIt):
        making.make(now=timezone.now())


def test_ctrl_c_says_how_to_go_on(few: None) -> None:
    class Terminal(io.StringIO):
        """The operator presses Ctrl-C when told of the first run."""

        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            raise KeyboardInterrupt

    with pytest.raises(CommandError, match="The same command goes on where it stopped; --remove") as stopped:
        call_command("demo", stdout=Terminal())
    assert stopped.value.returncode == 130
    assert demo_runs().count() == 1


def test_the_button_asks_for_it_and_the_page_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr("runs.tasks.make_demo.delay", lambda: asked.append(True))
    client = Client()
    client.force_login(factories.user("olga", role="operator"))
    page = client.post("/ui/demo/make", follow=True).content.decode()
    assert asked == [True]
    assert "0 of 240 runs" in page
    assert "0 of 240 runs" in client.get("/ui/demo", headers={"HX-Request": "true"}).content.decode()
    gone = client.post("/ui/demo/remove", follow=True).content.decode()
    assert "The demo is gone" in gone
    assert client.get("/ui/demo", headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"


def test_the_state_opened_by_hand_leads_to_the_page_it_is_part_of() -> None:
    client = Client()
    client.force_login(factories.user("olga"))
    assert client.get("/ui/demo").headers["Location"] == "/ui/"


def test_the_question_before_removing_stands_outside_of_what_is_swapped() -> None:
    pipelines.stored(now=timezone.now())
    client = Client()
    client.force_login(factories.user("olga", role="operator"))
    whole = client.get("/ui/").content.decode()
    part = client.get("/ui/demo", headers={"HX-Request": "true"}).content.decode()
    assert ('<dialog id="demo-remove"' in whole, "<dialog" in part) == (True, False)
    # The one form that removes is in the question; the buttons only open it.
    assert whole.count('action="/ui/demo/remove"') == 1
    assert (whole.count('href="#demo-remove"'), part.count('href="#demo-remove"')) == (1, 1)
    client.force_login(factories.user("vera"))
    assert "demo-remove" not in client.get("/ui/").content.decode()


def test_beside_runs_of_ones_own_it_leads_to_its_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "cases", lambda *, now: iter([next(story.cases(now=now))]))
    making.make(now=timezone.now())
    own = factories.run(team="demo", source="webhook")
    client = Client()
    client.force_login(factories.user("walt"))
    assert 'href="/ui/runs?source=demo"' in client.get("/ui/").content.decode()
    listed = client.get("/ui/runs?source=demo").content.decode()
    assert (str(demo_runs().get().id) in listed, str(own.id) in listed) == (True, False)


class Operator(io.StringIO):
    """A terminal at which somebody types."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("typed", "kept"), [("y\n", 0), ("Yes\n", 0), ("n\n", 1), ("\n", 1), ("", 1), ("yesterday\n", 1)]
)
def test_the_command_asks_before_it_removes(monkeypatch: pytest.MonkeyPatch, typed: str, kept: int) -> None:
    monkeypatch.setattr(making, "cases", lambda *, now: iter([next(story.cases(now=now))]))
    making.make(now=timezone.now())
    monkeypatch.setattr("sys.stdin", Operator(typed))
    told = io.StringIO()
    if kept:
        with pytest.raises(CommandError, match="Nothing was removed"):
            call_command("demo", "--remove", stdout=told)
    else:
        call_command("demo", "--remove", stdout=told)
        assert "1 run of the demo removed." in told.getvalue()
    assert "1 run of the demo, with their marks, records and versions, go for good." in told.getvalue()
    assert demo_runs().count() == kept


def test_where_nobody_can_be_asked_the_command_wants_to_be_told(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    call_command("demo", "--remove")
    assert "There is no demo." in capsys.readouterr().out
    pipelines.stored(now=timezone.now())
    with pytest.raises(CommandError, match="add --yes"):
        call_command("demo", "--remove")
    assert pipelines.is_wanted()
    call_command("demo", "--remove", "--yes")
    assert not pipelines.is_wanted()
    with pytest.raises(CommandError, match="--yes goes with --remove"):
        call_command("demo", "--yes")


def test_it_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "cases", lambda *, now: iter([next(story.cases(now=now))]))
    making.make(now=timezone.now())
    client = Client()
    client.force_login(factories.user("walt"))
    run = demo_runs().get()
    flag = '<span class="tag">demo</span>'
    for address in ("/ui/?period=all", "/ui/runs", f"/ui/runs/{run.id}"):
        assert flag in client.get(address).content.decode()
    assert "Part of the demo" in client.get(f"/ui/pipelines/{run.pipeline_name}").content.decode()
    assert "No longer there" not in client.get("/ui/pipelines").content.decode()
