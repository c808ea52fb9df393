import pytest

from calibration.summary import summaries
from insights import thresholds
from insights.thresholds import Explorer, explore
from tests import factories
from tests.insights.history import answer, answers

pytestmark = pytest.mark.django_db


def explored(current: float | None = 0.75) -> Explorer | None:
    [summary] = summaries(bin_width=0.1, n_min=20)
    return explore(summary, stage="all", current=current)


def found(current: float | None = 0.75) -> Explorer:
    explorer = explored(current)
    assert explorer is not None
    return explorer


def test_without_labels_there_is_nothing_to_explore() -> None:
    answer()
    assert explored() is None


def test_replays_tell_nothing_of_a_threshold() -> None:
    olga = factories.user()
    answers("c", 0.9, by=olga)
    answers("i", 0.6, by=olga, is_replay=True)
    assert (found().n, found().wrong) == (1, 0)


def test_what_a_threshold_would_have_done() -> None:
    olga = factories.user()
    answers("ii", 0.6, by=olga)
    answers("c", 0.7, by=olga)
    answers("ccci", 0.9, by=olga)
    explorer = found()
    assert (explorer.n, explorer.wrong) == (7, 3)
    # 3 of 7 below 75 %; Wilson of 3/7: 16 to 75 %, of 2/3: 21 to 94 %, of 3/4: 30 to 95 %
    assert explorer.told == (
        "At 75%, 3 of 7 answers (43%, 16 to 75%) would have gone to a person; "
        "2 of the 3 wrong ones (67%, 21 to 94%) would have been caught. Those let through were 75% right (30 to 95%)."
    )


def test_a_threshold_stops_only_what_is_strictly_below() -> None:
    answers("c", 0.75, by=factories.user())
    at = {point.threshold: point.to_person_n for point in found().points}
    assert (at[0.75], at[0.76]) == (0, 1)


def test_a_threshold_between_whole_per_cents_is_a_point_too() -> None:
    answers("c", 0.756, by=factories.user())
    assert found(0.755).told.startswith("At 75.5%, 0 of 1 answer")


def test_when_nothing_was_wrong_nothing_is_said_to_be_caught() -> None:
    answers("c", 0.9, by=factories.user())
    explorer = found(0.95)
    assert "none of them was wrong" in explorer.told
    assert "Nothing would have been let through" in explorer.told


def test_the_table_leaves_out_rows_that_say_the_same() -> None:
    answers("cc", 0.9, by=factories.user())
    assert [point.threshold for point in found(0.75).table] == [0, 0.75, 0.95]


def test_of_many_labels_the_newest_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "MOST", 2)
    answers("ccc", 0.9, by=factories.user())
    explorer = found()
    assert (explorer.n, explorer.newest_only) == (2, True)
