"""A group's report in words."""

from runs.trust import join
from runs.trust.join import Branch
from runs.trust.narrative import narrative, verdict


def _report(*branches, threshold=0.75):
    return join.evaluate(
        branches, join="all_must_pass", confidence_threshold=threshold, on_low_confidence="escalate"
    ).to_json()


def test_the_branches_and_what_they_come_to_are_told():
    report = _report(Branch("g/a", "completed", 0.9), Branch("g/b", "completed", 0.6, weight=2.0))

    assert narrative(report) == [
        "The weakest branch counts.",
        "g/a completed with 90%.",
        "g/b completed with 60% (weight 2).",
        "Together that is 60%, below the threshold of 75%.",
        "The branches together are below the threshold.",
    ]
    assert verdict(report) == "The branches together are below the threshold."


def test_a_group_that_clears_says_so():
    assert (
        verdict(_report(Branch("g/a", "completed", 0.9))) == "90% clears this group's 75%. The weakest branch counts."
    )


def test_a_long_group_is_cut_and_one_without_numbers_says_so():
    report = _report(*(Branch(f"g/{number}", "completed", None) for number in range(12)))

    assert narrative(report)[-2:] == [
        "2 more branches stand below.",
        "No branch gave a number, so there is nothing to compare with a threshold.",
    ]
