"""Did an edit help: like with like, and what else the reader has to know."""

import pytest

from insights.effects import Labels, effect


def of(*rows, part="prompt_hash", enough=20):
    before, after = rows
    return effect(before, after, part=part, enough=enough)


def labels(n, right, agent="a", checks=0):
    return Labels((agent,), n, right, by_failed_check=checks)


def test_an_edit_between_answers_of_one_agent_has_no_caveat():
    found = of([labels(40, 20)], [labels(40, 36)])
    assert (found.difference.before.accuracy, found.difference.after.accuracy) == (0.5, 0.9)
    assert found.difference.value == pytest.approx(0.4)
    assert found.difference.verdict == "helped"
    assert found.caveats == []


def test_only_agents_that_answered_on_both_sides_count():
    # agent b answered only before: its 100 wrong answers say nothing about the edit
    found = of([labels(40, 20), labels(100, 0, "b")], [labels(40, 20)])
    assert found.difference.before.n == 40
    assert found.difference.value == 0
    assert found.caveats == ["Only where everything else is the same on both sides: 80 of 180 labels."]


def test_an_agent_without_labels_on_one_side_is_not_on_both_sides():
    found = of([labels(30, 15), labels(0, 0, "b")], [labels(30, 15), labels(25, 0, "b")])
    assert found.difference.after.n == 30


def test_without_an_agent_on_both_sides_everything_counts_with_a_warning():
    found = of([labels(40, 20)], [labels(40, 36, "b")], part="agent_version")
    assert found.difference.verdict == "helped"
    assert found.caveats == [
        "More than the agent version changed between the two, so the difference is not the edit's alone."
    ]


def test_several_agents_on_both_sides_are_named_as_a_mix():
    found = of([labels(20, 10), labels(20, 20, "b")], [labels(20, 10), labels(20, 20, "b")])
    assert (found.difference.before.n, found.difference.before.accuracy) == (40, 0.75)
    assert "2 combinations of agent, model and versions count together" in found.caveats[0]


def test_too_few_labels_say_so():
    found = of([labels(40, 20)], [labels(19, 19)])
    assert found.difference.verdict == "too few"
    assert found.difference.sentence.startswith("Too few marks to say")


def test_labels_on_one_side_only_have_no_difference_and_no_caveat_about_the_edit():
    found = of([labels(40, 20)], [])
    assert (found.difference.value, found.difference.verdict, found.caveats) == (None, "too few", [])


@pytest.mark.parametrize(("checks", "warns"), [(10, False), (11, True)])
def test_labels_mostly_from_failed_checks_are_warned_about(checks, warns):
    found = of([labels(20, 9, checks=checks)], [labels(20, 9)])
    warning = "Most labels before come from failed checks, which can only say wrong."
    assert (warning in found.caveats) == warns


def test_a_sum_that_rounding_put_above_n_is_still_a_share():
    assert of([labels(3, 3.0000000001)], [labels(3, 1)]).difference.before.accuracy == 1.0
