import re

import pytest

from calibration.bins import Bin, Sums, make_bins
from calibration.buckets import BucketKey
from calibration.summary import Summary
from insights import strip
from insights.templatetags.strips import strip as drawn


def a_bin(n: int, said: float, right: float, *, n_min: int = 20) -> Bin:
    """The bin of ``n`` labels that ``said`` falls into."""
    sums = Sums(n, round(n * right * 1e6), round(n * said * 1e6))
    return next(one for one in make_bins({int(said * 10): sums}, bin_width=0.1, n_min=n_min) if one.n)


def a_bucket(*bins: Bin) -> Summary:
    nothing = {"ece": None, "brier": None, "recommendation": None, "flags": []}
    sources = {"by_step_mark": 0, "by_failed_check": 0, "by_run_mark": 0}
    n = sum(one.n for one in bins)
    return Summary(bucket_id=7, key=BucketKey("assess", "a"), total_n=n, bins=[*bins], **sources, **nothing)


@pytest.mark.parametrize(
    ("n", "said", "right", "kind"),
    [
        (19, 0.95, 0.10, "few"),
        (20, 0.95, 0.80, "over"),  # exactly 15 points
        (20, 0.95, 0.85, "agrees"),
        (20, 0.60, 0.95, "under"),
    ],
)
def test_what_a_bin_has_to_say(n: int, said: float, right: float, kind: str) -> None:
    assert strip.kind_of(a_bin(n, said, right)) == kind


def test_an_empty_bin_is_not_a_wrong_one() -> None:
    [empty] = make_bins({}, bin_width=1, n_min=20)
    [cell] = strip.cells([empty], n_min=20)
    assert (cell.kind, cell.fill) == ("empty", 0)


def test_a_cell_fills_up_as_labels_come_in() -> None:
    assert [strip.cells([a_bin(n, 0.9, 0.9)], n_min=20)[0].fill for n in (5, 10, 40)] == [0.25, 0.5, 1]


def test_a_verdict_that_the_interval_does_not_bear_out_is_hollow() -> None:
    # 16 of 20 right: Wilson gives 58 to 92 %, and 95 % lies outside; at 7 of 10 it gives 40 to 89 %, and 85 % inside.
    assert strip.cells([a_bin(20, 0.95, 0.8)], n_min=20)[0].sure
    assert not strip.cells([a_bin(10, 0.85, 0.7, n_min=10)], n_min=10)[0].sure


def test_the_strip_is_told_in_words_too() -> None:
    sums = {9: Sums(20, 12_000_000, 19_000_000), 3: Sums(2, 1_000_000, 700_000)}
    told = strip.told(make_bins(sums, bin_width=0.1, n_min=20))
    assert told == "says 95%, is right 60% of 20 (less often right than it says); 2 more in bins with too few to say"
    assert strip.told(make_bins({}, bin_width=0.1, n_min=20)) == "no labels yet"
    assert strip.told(make_bins({3: sums[3]}, bin_width=0.1, n_min=20)) == "2 labels, too few in any bin to say"


def test_every_kind_has_a_shape_of_its_own() -> None:
    bins = (a_bin(20, 0.9, 0.5), a_bin(20, 0.5, 0.9), a_bin(20, 0.9, 0.9))
    over, under, agrees = (drawn(a_bucket(one)) for one in bins)
    shapes = [svg.split('rx="3"/>')[1].split("</g>")[0] for svg in (over, under, agrees)]
    assert len(set(shapes)) == 3


def test_every_bin_with_labels_leads_to_the_answers_in_it() -> None:
    svg = drawn(a_bucket(*make_bins({1: Sums(2, 0, 600_000)}, bin_width=0.25, n_min=20)), "testing")
    assert re.findall(r'href="([^"]+)"', svg) == [
        "/ui/insights/samples?bucket=7&amp;stage=testing&amp;width=0.25&amp;bin=1"
    ]
    assert 'role="group"' in svg
    empty = drawn(a_bucket(*make_bins({}, bin_width=0.1, n_min=20)))
    assert "href" not in empty
    assert 'role="img"' in empty


@pytest.mark.parametrize(
    ("lo", "hi", "text"), [(0.8, 0.9, "80 to 90%"), (0.125, 0.25, "12.5 to 25%"), (0.0, 0.05, "0 to 5%")]
)
def test_ranges(lo: float, hi: float, text: str) -> None:
    assert strip.percent_range(lo, hi) == text
