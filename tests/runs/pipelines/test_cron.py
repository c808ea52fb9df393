"""Ticks, worked out by hand from calendars and from the days on which clocks change."""

from datetime import UTC, datetime

import pytest

from runs.pipelines import cron

BERLIN, LONDON, NEW_YORK = "Europe/Berlin", "Europe/London", "America/New_York"


def at(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)


def ticks(expression: str, zone: str, after: str, count: int) -> list[str]:
    return [f"{tick:%Y-%m-%d %H:%M}" for tick in cron.upcoming(expression, zone, at(after), count)]


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        # 2026-03-01 is a Sunday.
        ("*/20 * * * *", "2026-03-01 12:00", ["2026-03-01 12:20", "2026-03-01 12:40", "2026-03-01 13:00"]),
        ("30 6 * * 1-5", "2026-03-01 12:00", ["2026-03-02 06:30", "2026-03-03 06:30", "2026-03-04 06:30"]),
        ("0 9 1 * *", "2026-03-01 09:00", ["2026-04-01 09:00", "2026-05-01 09:00", "2026-06-01 09:00"]),
        ("0 0 29 2 *", "2026-03-01 12:00", ["2028-02-29 00:00", "2032-02-29 00:00", "2036-02-29 00:00"]),
        # A day of the month and a day of the week: either will do, as in every cron.
        ("0 0 13 * 5", "2026-03-01 12:00", ["2026-03-06 00:00", "2026-03-13 00:00", "2026-03-20 00:00"]),
        ("0 0 * * 7", "2026-03-01 12:00", ["2026-03-08 00:00", "2026-03-15 00:00", "2026-03-22 00:00"]),
    ],
)
def test_ticks_in_utc(expression: str, after: str, expected: list[str]) -> None:
    assert ticks(expression, "UTC", after, 3) == expected


def test_the_hour_is_that_of_the_zone_in_summer_and_in_winter() -> None:
    # New York is at UTC-5, and at UTC-4 from 8 March 2026 on.
    assert ticks("0 9 * * *", NEW_YORK, "2026-03-07 00:00", 2) == ["2026-03-07 14:00", "2026-03-08 13:00"]


def test_a_fixed_time_that_the_clocks_skip_comes_right_after_the_gap() -> None:
    # On 29 March 2026 Berlin's 02:00 (01:00 UTC) becomes 03:00.
    assert ticks("30 2 * * *", BERLIN, "2026-03-28 00:00", 3) == [
        "2026-03-28 01:30", "2026-03-29 01:00", "2026-03-30 00:30",
    ]  # fmt: skip


def test_several_times_in_one_gap_come_once() -> None:
    assert ticks("0,15,30 2-3 * * *", BERLIN, "2026-03-29 00:00", 4) == [
        "2026-03-29 01:00", "2026-03-29 01:15", "2026-03-29 01:30", "2026-03-30 00:00",
    ]  # fmt: skip


def test_a_fixed_time_that_the_clocks_repeat_comes_the_first_time_only() -> None:
    # On 25 October 2026 Berlin's 03:00 (01:00 UTC) becomes 02:00 again: 02:30 is at 00:30 and at 01:30 UTC.
    assert ticks("30 2 * * *", BERLIN, "2026-10-24 12:00", 2) == ["2026-10-25 00:30", "2026-10-26 01:30"]


def test_asked_in_the_second_pass_the_tick_of_the_first_is_over() -> None:
    assert ticks("30 2 * * *", BERLIN, "2026-10-25 01:10", 1) == ["2026-10-26 01:30"]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        # The gap: no quarter is left out and none comes twice, in passing time.
        ("2026-03-29 00:40", ["2026-03-29 00:45", "2026-03-29 01:00", "2026-03-29 01:15"]),
        # The repeated hour: both passes.
        ("2026-10-25 00:40", ["2026-10-25 00:45", "2026-10-25 01:00", "2026-10-25 01:15"]),
    ],
)
def test_every_quarter_of_an_hour_stays_that_when_clocks_change(after: str, expected: list[str]) -> None:
    assert ticks("*/15 * * * *", BERLIN, after, 3) == expected


@pytest.mark.parametrize(
    ("expression", "zone", "moment", "expected"),
    [
        ("0 9 * * *", "UTC", "2026-03-05 09:00", "2026-03-05 09:00"),
        ("0 9 * * *", "UTC", "2026-03-05 08:59", "2026-03-04 09:00"),
        ("0 0 29 2 *", "UTC", "2026-03-05 08:59", "2024-02-29 00:00"),
        ("30 2 * * *", BERLIN, "2026-03-29 01:00", "2026-03-29 01:00"),
        ("30 2 * * *", BERLIN, "2026-03-29 00:59", "2026-03-28 01:30"),
        # In the second pass, the tick of the first is the latest.
        ("30 2 * * *", BERLIN, "2026-10-25 01:10", "2026-10-25 00:30"),
        ("30 2 * * *", BERLIN, "2026-10-25 03:10", "2026-10-25 00:30"),
        ("15 1 * * *", LONDON, "2026-07-01 00:15", "2026-07-01 00:15"),
    ],
)
def test_the_latest_tick_until_a_moment(expression: str, zone: str, moment: str, expected: str) -> None:
    assert cron.latest_until(expression, zone, at(moment)) == at(expected)


@pytest.mark.parametrize("expression", ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "* * 31 4 */2"])
def test_days_that_no_month_has_never_come(expression: str) -> None:
    assert cron.never(expression)


@pytest.mark.parametrize("expression", ["0 0 29 2 *", "0 0 30 2 1", "0 0 31 1-2 *"])
def test_what_comes_seldom_comes(expression: str) -> None:
    assert not cron.never(expression)
