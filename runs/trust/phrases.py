"""The parts of sentences that the narrative and the verdict share. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from calibration.intervals import wilson
from calibration.plurals import plural
from runs.trust.percent import Percents, edge

VERIFIED = {
    "critic": "A reviewer that saw its answer scored it",
    "independent": "A second agent that did the task without seeing the answer reported",
    "": "A verifier scored it",
}
CONSEQUENCE = {
    "none": "so the gate lets the step pass",
    "escalate": "so a person decides",
    "abort": "so the step is aborted",
    "proceed": "but this step is set to proceed all the same",
}
INSISTED = {"verifier": "the verifier", "grounding": "grounding"}
LONGEST = 200  # characters of an error or a check's detail; the whole text stands beside the narrative


def who_verified(mode: str) -> str:
    return VERIFIED[mode]


def so_the_step(action: str) -> str:
    return CONSEQUENCE[action]


def because(error: str) -> str:
    """An error as the end of a sentence: one line, clipped, without its own full stop."""
    text = " ".join(error.split())
    text = text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()}…"
    return text.rstrip(".") or "it failed without saying why"


def join_names(names: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def insisted_on(report: Mapping[str, Any]) -> list[str]:
    """The signals that failed on a step whose ``on_error`` says that a person decides then."""
    return [
        INSISTED[stage["stage"]]
        for stage in report["stages"]
        if stage["inputs"].get("on_error") == "escalate" and stage["inputs"]["state"] == "failed"
    ]


def missing_clause(names: Sequence[str]) -> str:
    """ "the verifier was wanted and is missing", or "" when nothing is."""
    if not names:
        return ""
    return f"{join_names(names)} {'was wanted and is' if len(names) == 1 else 'were wanted and are'} missing"


def results(n: int) -> str:
    return plural(n, "labelled result")


def record(given: Mapping[str, Any], pct: Percents) -> str:
    """How often this bucket was right at this confidence, with how sure that is."""
    accuracy, n = given["accuracy"], given["n"]
    bounds = wilson(accuracy, n)
    sure = ""
    if bounds is not None:
        apart = Percents(bounds)
        sure = f", 95% interval {apart.number(bounds.lo)} to {apart.number(bounds.hi)}%"
    where = "At this confidence,"
    if given["lo"] is not None and given["hi"] is not None:
        where = f"At {edge(given['lo'])} to {edge(given['hi'])}% confidence,"
    return f"{where} this exact agent, model and prompt were right {pct(accuracy)} of the time ({results(n)}{sure})."


def backed(given: Mapping[str, Any], score: str, *, only: bool = False) -> str:
    """What the evidence supports; by claims where they were counted."""
    supported, total = given["supported"], given["total"]
    if not total:
        return f"Its evidence supports {'only ' if only else ''}{score} of what it claims"
    if total == 1:
        return f"Its one claim is {'' if supported else 'not '}backed by a tool result ({score})"
    verb = "is" if supported == 1 else "are"
    return f"{'Only ' if only else ''}{supported} of {total} claims {verb} backed by a tool result ({score})"


def checks_failed(checks: Sequence[Mapping[str, Any]], *, with_detail: bool) -> str:
    failed = [check for check in checks if not check["passed"]]
    if len(failed) == 1:
        detail = f" ({because(failed[0]['detail'])})" if with_detail and failed[0]["detail"].strip() else ""
        return f"The check {failed[0]['name']} failed{detail}"
    return f"{len(failed)} of {len(checks)} checks failed ({join_names([check['name'] for check in failed])})"
