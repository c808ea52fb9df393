import datetime as dt
from typing import Any

import pytest

from insights.standings import StepStanding, narrowed, step_standings
from tests import factories
from tests.factories import NOW
from tests.insights.history import answer, answers, key

pytestmark = pytest.mark.django_db


def standings(**given: Any) -> list[StepStanding]:
    return step_standings(**{"stage": "all", "bin_width": 0.1, "n_min": 4, **given})


def test_the_most_miscalibrated_step_comes_first() -> None:
    olga = factories.user()
    answers("cccc", 0.95, by=olga, bucket=key(step="right"))
    answers("ciii", 0.95, by=olga, bucket=key(step="worse"))  # 70 points off
    answers("ccii", 0.95, by=olga, bucket=key(step="wrong"))  # 45 points off
    answer(key(step="unmarked"))
    answers("c", 0.95, by=olga, bucket=key(step="few"))
    assert [step.name for step in standings()] == ["worse", "wrong", "right", "few", "unmarked"]


def test_what_was_replaced_counts_less_than_what_is_in_use() -> None:
    olga = factories.user()
    long_ago = NOW - dt.timedelta(days=30)
    answers("iiii", 0.95, by=olga, bucket=key(step="mended", prompt_hash="old"), at=long_ago)
    answers("cccc", 0.95, by=olga, bucket=key(step="mended", prompt_hash="new"))
    answers("cici", 0.95, by=olga, bucket=key(step="broken"))
    broken, mended = standings()
    assert (broken.name, mended.name) == ("broken", "mended")
    assert [(one.in_use, one.is_flagged) for one in mended.buckets] == [(True, False), (False, True)]


@pytest.mark.parametrize(
    ("outcomes", "said", "standing"),
    [
        ("ccci", 0.9, (4, 1, 0.15, True)),  # exactly 15 points
        ("cccp", 0.9, (4, 1, 0.025, False)),
        ("iii", 0.9, (3, 0, 0, False)),  # too few to say
        ("cccccpii", 0.54, (8, 1, 0.1475, False)),
        ("", 0.9, (0, 0, 0, False)),
    ],
)
def test_how_a_bucket_stands(outcomes: str, said: float, standing: tuple[Any, ...]) -> None:
    answer()
    answers(outcomes, said, by=factories.user())
    [[bucket]] = [step.buckets for step in standings()]
    assert (bucket.n, bucket.validated, pytest.approx(bucket.widest), bucket.is_flagged) == standing


@pytest.mark.parametrize("bin_width", [0.1, 0.05, 0.125])
def test_from_tallies_and_samples_alike(bin_width: float) -> None:
    olga = factories.user()
    answers("ccci", 0.9, by=olga)
    answers("iiii", 0.3, by=olga)
    [[bucket]] = [step.buckets for step in standings(bin_width=bin_width)]
    assert (bucket.n, bucket.validated, bucket.widest) == (8, 2, pytest.approx(0.3))


def test_the_stage_asked_for_is_the_one_counted() -> None:
    olga = factories.user()
    answers("cc", 0.95, by=olga, stage="testing")
    answers("i", 0.95, by=olga)
    assert [standings(stage=stage)[0].total_n for stage in ("all", "testing", "production")] == [3, 2, 1]


def test_narrowing() -> None:
    olga = factories.user()
    answers("iiii", 0.95, by=olga, bucket=key(step="Refund"))
    answers("cccc", 0.95, by=olga, bucket=key(step="ticket", agent="command:other"))
    answer(key(step="ticket"))
    every = standings()

    def names(**given: str) -> list[str]:
        return [step.name for step in narrowed(every, **given)]

    assert names() == ["Refund", "ticket"]
    assert names(contains="fund") == ["Refund"]
    assert names(show="flagged") == ["Refund"]
    assert names(show="validated") == ["Refund", "ticket"]
    assert names(show="unmarked") == []
    assert names(show="unmarked", agent="command:assess") == ["ticket"]
    assert names(agent="nobody") == []
