from datetime import timedelta

import pytest
from django.http import QueryDict

from insights import periods
from runs.views.query import BadAddress
from tests.factories import NOW


@pytest.mark.parametrize(
    ("query", "span"),
    [("", 7 * 24), ("period=24h", 24), ("period=7d", 7 * 24), ("period=30d", 30 * 24)],
)
def test_a_period_ends_now(query: str, span: int) -> None:
    assert periods.parse(QueryDict(query), now=NOW).since == NOW - timedelta(hours=span)


def test_all_time_has_no_beginning() -> None:
    period = periods.parse(QueryDict("period=all"), now=NOW)
    assert (period.since, period.first_id) == (None, None)


@pytest.mark.parametrize("query", ["period=1d", "period=", "period=7D", "period=24h%20"])
def test_a_typo_is_refused_with_what_is_allowed(query: str) -> None:
    with pytest.raises(BadAddress):
        periods.parse(QueryDict(query), now=NOW)


def test_links_keep_the_rest_of_the_query() -> None:
    query = QueryDict("step=a%2Fb&period=7d")
    links = periods.choices(query, periods.parse(query, now=NOW))
    assert [link["address"] for link in links if link["label"] == "24 hours"] == ["?step=a%2Fb&period=24h"]
    assert [link["label"] for link in links if link["here"]] == ["7 days"]
