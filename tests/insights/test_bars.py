from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from insights.bars import MOST, cut

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_day_is_cut_at_whole_hours() -> None:
    edges = cut(at("2026-11-29 14:32"), at("2026-11-30 14:32"), UTC)
    assert edges[:3] == [at("2026-11-29 14:32"), at("2026-11-29 15:00"), at("2026-11-29 16:00")]
    # 24 hours with one cut at either end
    assert len(edges) - 1 == 25


def test_a_week_is_cut_at_the_readers_midnights() -> None:
    edges = cut(at("2026-11-23 14:32"), at("2026-11-30 14:32"), BERLIN)
    # Midnight in Berlin is 23:00 UTC in winter.
    assert edges[1] == at("2026-11-23 23:00")
    assert len(edges) - 1 == 8


def test_hours_with_a_quarter_are_cut_where_the_readers_clock_strikes() -> None:
    edges = cut(at("2026-11-30 10:00"), at("2026-11-30 12:00"), ZoneInfo("Asia/Kathmandu"))
    assert edges[1] == at("2026-11-30 10:15")


def test_the_day_the_clocks_change_has_25_hours() -> None:
    edges = cut(at("2026-10-24 12:00"), at("2026-10-27 12:00"), BERLIN)
    days = [after - before for before, after in pairwise(edges)][1:-1]
    assert days == [timedelta(hours=25), timedelta(hours=24)]


def test_the_hour_the_clocks_skip_is_no_bar_of_its_own() -> None:
    edges = cut(at("2026-03-29 00:00"), at("2026-03-29 03:00"), BERLIN)
    assert edges == [at(f"2026-03-29 0{hour}:00") for hour in range(4)]


def test_half_a_year_is_cut_into_weeks_and_ten_years_into_months() -> None:
    weeks = cut(at("2026-06-01 00:00"), at("2026-11-30 00:00"), UTC)
    assert {after - before for before, after in pairwise(weeks)} == {timedelta(days=7)}
    months = cut(at("2016-11-15 00:00"), at("2026-11-30 00:00"), UTC)
    assert len(months) - 1 <= MOST
    assert {edge.day for edge in months[1:-1]} == {1}


def test_nothing_yet_is_one_empty_bar() -> None:
    assert cut(at("2026-11-30 00:00"), at("2026-11-30 00:00"), UTC) == [at("2026-11-30 00:00")] * 2


@given(
    st.integers(0, 40 * 366 * 86_400).map(lambda seconds: datetime.fromtimestamp(seconds, tz=UTC)),
    st.timedeltas(timedelta(seconds=1), timedelta(days=20_000)),
    st.sampled_from([UTC, BERLIN, ZoneInfo("America/St_Johns"), ZoneInfo("Pacific/Apia")]),
)
def test_bars_are_few_in_order_and_leave_nothing_out(start: datetime, span: timedelta, zone: ZoneInfo) -> None:
    edges = cut(start, start + span, zone)
    assert (edges[0], edges[-1]) == (start, start + span)
    assert all(before < after for before, after in pairwise(edges))
    assert len(edges) - 1 <= MOST


@pytest.mark.parametrize("zone", [UTC, BERLIN])
def test_each_inner_edge_is_a_midnight(zone: ZoneInfo) -> None:
    edges = cut(at("2026-10-20 05:00"), at("2026-11-20 05:00"), zone)
    assert {edge.astimezone(zone).strftime("%H:%M") for edge in edges[1:-1]} == {"00:00"}
