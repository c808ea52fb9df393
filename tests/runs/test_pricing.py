"""What calls cost, by hand."""

from decimal import Decimal

import pytest

from runs.pricing import Call, Price, cost_of, dollars, nanos_of, price_of


def price(provider, prefix, read, written):
    return Price(provider, prefix, Decimal(read), Decimal(written))


ANY = price("acme", "", "1", "1")
BIG = price("acme", "big", "3", "15")
BIG_MINI = price("acme", "big-mini", "0.15", "0.60")
OTHER = price("other", "big-mini-2", "100", "100")
LOCAL = price("local", "", "0", "0")
PRICES = [ANY, BIG_MINI, OTHER, BIG, LOCAL]


def call(model="big", provider="acme", read=1000, written=100):
    return Call(provider, model, read, written)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (call("big"), BIG),
        (call("big-2026"), BIG),
        (call("big-mini"), BIG_MINI),
        (call("big-mini-2"), BIG_MINI),  # another provider's longer prefix does not count
        (call("bi"), ANY),
        (call(""), ANY),
        (call("Big"), ANY),  # names are as they are written
        (call("big", provider="Acme"), None),
        (call("big", provider=""), None),
    ],
)
def test_the_longest_prefix_within_the_provider_wins(asked, found):
    assert price_of(asked, PRICES) == found
    assert price_of(asked, PRICES[::-1]) == found


def test_nothing_fits_an_empty_table():
    assert price_of(call(), []) is None
    assert cost_of([call()], []) is None


def test_the_cost_of_one_call():
    # 1000 x 3 + 100 x 15 = 4500 millionths of a dollar = 4,500,000 nanodollars
    assert cost_of([call("big")], PRICES) == 4_500_000


def test_the_cost_of_several_is_rounded_once():
    tenth = [price("acme", "", "0.0001", "0")]  # a tenth of a nanodollar for a token
    assert cost_of([call(read=4, written=0)] * 2, tenth) == 1  # 0.8; each rounded by itself would be 0
    assert cost_of([call(read=5, written=0)], tenth) == 0  # 0.5: half to even
    assert cost_of([call(read=15, written=0)], tenth) == 2


def test_no_call_costs_nothing_and_a_price_of_nothing_is_a_price():
    assert cost_of([], PRICES) == 0
    assert cost_of([call(provider="local")], PRICES) == 0


@pytest.mark.parametrize(
    "unknown",
    [
        call(provider="who"),
        call(read=None),
        call(written=None),
        call(provider="local", read=None),  # even where tokens cost nothing: it told none
    ],
)
def test_any_unknown_part_makes_the_whole_unknown(unknown):
    assert cost_of([call(), unknown], PRICES) is None
    assert cost_of([unknown, call()], PRICES) is None


def test_what_no_column_holds_is_unknown():
    most = [price("acme", "", "10000", "10000")]
    one = call(read=2**31 - 1, written=0)  # 21,474,836.47 dollars
    assert cost_of([one], most) == 21_474_836_470_000_000
    assert cost_of([one] * 430, most) is None


def test_tokens_of_a_call():
    assert (call(read=3, written=4).tokens, call(read=3, written=None).tokens) == (7, 3)
    assert (call().is_told, call(read=None).is_told) == (True, False)


@pytest.mark.parametrize(
    ("amount", "nanos"),
    [
        ("12.4", 12_400_000_000),
        ("0", 0),
        ("0.0000000015", 2),
        ("-0.01", None),
        ("NaN", None),
        ("Infinity", None),
        ("1e30", None),
    ],
)
def test_dollars_as_nanodollars(amount, nanos):
    assert nanos_of(Decimal(amount)) == nanos


@pytest.mark.parametrize(
    ("nanos", "written"), [(0, "0"), (12_400_000_000, "12.4"), (1, "0.000000001"), (10**12, "1000")]
)
def test_nanodollars_as_dollars(nanos, written):
    assert f"{dollars(nanos):f}" == written
