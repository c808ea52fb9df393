"""A trust report in words: how the number came about, and what the gate made of it.

Pure: reads the stored report and nothing else, so a page, the API and the command line say the same.
"""

from collections.abc import Callable, Mapping
from typing import Any

from runs.trust import bias_words, join_words
from runs.trust.percent import Percents
from runs.trust.phrases import (
    backed,
    because,
    checks_failed,
    insisted_on,
    join_names,
    missing_clause,
    record,
    results,
    so_the_step,
    who_verified,
)

Stage = Mapping[str, Any]
Words = Callable[[Stage, Percents], str]

# What else looked at the number and let it stand.
TOOK_PART = ("above_veto_floor", "not_lower", "measured", "passed")
PARTS = {"verifier": "a verifier", "calibration": "calibration", "grounding": "grounding", "checks": "checks"}


def narrative(report: Mapping[str, Any]) -> list[str]:
    """How the number was calculated, one entry per stage in the order they acted, the gate last."""
    if report.get("kind") == "join":
        return join_words.narrative(report)
    pct = percents(report)
    stages = {stage["stage"]: stage for stage in report["stages"]}
    told = [_self_report(stages["self_report"], pct)]
    for name, words in WORDS.items():
        if stages[name]["reason"] != "not_configured":
            told.append(words(stages[name], pct))
        if name == "grounding" and report["wide_gap"]:
            told.append(_wide_gap(report["signals"], pct))
    if absent := [part for name, part in PARTS.items() if stages[name]["reason"] == "not_configured"]:
        told.append(f"Not configured on this step: {join_names(absent)}.")
    if moved := bias_words.bias(stages["gate"]["inputs"], pct):
        told.append(moved)
    told.append(_gate(report, stages["gate"], pct))
    return told


def percents(report: Mapping[str, Any]) -> Percents:
    """The writer of this report's numbers, each told apart from every other in it."""
    if report.get("kind") == "join":
        return join_words.percents(report)
    inputs = {stage["stage"]: stage["inputs"] for stage in report["stages"]}
    numbers = [inputs["verifier"].get("veto_floor"), inputs["calibration"].get("accuracy")]
    numbers += [report["signals"][name] for name in ("S", "V", "S_after_V", "G")]
    numbers += bias_words.numbers(inputs["gate"])
    return Percents([*numbers, report["combined_trust"], report["confidence_threshold"]])


def _self_report(stage: Stage, pct: Percents) -> str:
    if stage["after"] is None:
        return "This step reported no confidence."
    return f"The agent reported {pct(stage['after'])}."


def _verifier(stage: Stage, pct: Percents) -> str:
    given, reason = stage["inputs"], stage["reason"]
    if reason == "not_triggered":
        return "The verifier was not asked, since its trigger did not fire."
    if reason == "missing":
        return (
            f"A verifier was wanted and is missing, because: {because(given['error'])}. No number was changed for it."
        )
    if reason == "nothing_to_judge":
        return "The verifier answered without a score. It changes nothing."
    scored = f"{who_verified(given['mode'])} {pct(given['score'])}."
    if reason == "no_self_report":
        return f"{scored} There is no number it could lower."
    before, floor = pct(stage["before"]), pct(given["veto_floor"])
    if reason == "lowered":
        return f"{scored} The lower of the two counts, so {before} became {pct(stage['after'])}."
    if reason == "vetoed":
        return f"{scored} That is below this step's veto floor of {floor}, so {before} became {pct(stage['after'])}."
    if reason == "above_veto_floor":
        return f"{scored} This step lets a verifier override only below {floor}, so {before} stood."
    return f"{scored} A verifier can only lower the number, so {before} stood."


def _calibration(stage: Stage, pct: Percents) -> str:
    given, reason = stage["inputs"], stage["reason"]
    if reason == "measured":
        return f"{record(given, pct)} {_replaced(stage, pct)}"
    if reason == "no_self_report":
        return "Calibration had no number to look up. It changes nothing."
    if reason == "uncalibrated_escalate" and stage["before"] is None:
        return "This step trusts only a proven track record, and without a number there is none to look up."
    needed = f"{given['n']} of the {given['n_min']} labelled results it needs at this confidence"
    if reason == "advisory":
        known = f"{record(given, pct)} " if given["n"] and given["accuracy"] is not None else ""
        said = f"{known}Calibration is advisory on this step and changes nothing."
    elif reason == "uncalibrated":
        said = f"Calibration has {needed}, so {pct(stage['before'])} stood."
    else:
        said = f"Calibration has {needed}, and until it has them this step's trust is 0%."
    return f"{said} {given['reset']}" if given["reset"] else said


def _replaced(stage: Stage, pct: Percents) -> str:
    before, after = stage["before"], stage["after"]
    if before == after:
        return f"That is the number itself, so {pct(before)} stood."
    return f"That measured figure replaced {pct(before)}" + (", and so raised it." if after > before else ".")


def _grounding(stage: Stage, pct: Percents) -> str:
    given, reason = stage["inputs"], stage["reason"]
    if reason == "missing":
        return f"Grounding was wanted and is missing, because: {because(given['error'])}. No number was changed for it."
    if reason == "nothing_to_judge":
        why = f", because: {because(given['error'])}" if given["error"] else ""
        return f"Grounding was wanted and has no score{why}. It changes nothing."
    score = pct(given["score"])
    if reason == "capped":
        only = backed(given, score, only=True)
        return f"{only}, so trust cannot exceed {score}, and {pct(stage['before'])} became {score}."
    if reason == "no_self_report":
        return f"{backed(given, score)}. There is no number it could lower."
    if reason == "shadow":
        would = stage["before"] is not None and given["score"] < stage["before"]
        then = f" Enforced, it would have capped the number at {score}." if would else ""
        return f"{backed(given, score)}. Grounding is in shadow mode on this step, recorded without effect.{then}"
    return f"{backed(given, score)}. That is not below {pct(stage['before'])}, so it changes nothing."


def _wide_gap(signals: Mapping[str, float], pct: Percents) -> str:
    said, shown = pct(signals["S"]), pct(signals["G"])
    apart = "lie 20 percentage points or more apart"
    return f"What the agent reported ({said}) and what its evidence supports ({shown}) {apart}."


def _checks(stage: Stage, pct: Percents) -> str:
    checks = stage["inputs"]["checks"]
    if stage["reason"] == "check_failed":
        return f"{checks_failed(checks, with_detail=True)}, which forces trust to 0% whatever the other signals say."
    if len(checks) == 1:
        return f"The check {checks[0]['name']} passed and changes nothing."
    return f"All {len(checks)} checks passed ({join_names([check['name'] for check in checks])}) and change nothing."


def _gate(report: Mapping[str, Any], stage: Stage, pct: Percents) -> str:
    trust = report["combined_trust"]
    if stage["reason"] == "left_to_group":
        return "This branch has no threshold of its own: its group decides."
    if stage["reason"] == "check_failed":
        found = "A step with a failed check never clears"
    elif stage["reason"] == "uncalibrated_escalate":
        found = "On this step, what has no proven track record never clears"
    elif trust is None:
        found = "There is no number to compare with a threshold"
    elif report["confidence_threshold"] is None:
        found = "This branch has no threshold of its own"
    else:
        found = f"{pct(trust)} is {'' if trust < report['confidence_threshold'] else 'not '}below the threshold"
        found += f" of {pct(report['confidence_threshold'])}"
    if missing := insisted_on(report):
        them = "it" if len(missing) == 1 else "them"
        return f"{found}. Since {missing_clause(missing)}, and this step insists on {them}, a person decides."
    return f"{found}, {so_the_step(report['action'])}."


def verdict(report: Mapping[str, Any]) -> str:
    """The decision in one sentence that names the weakest link."""
    if report.get("kind") == "join":
        return join_words.verdict(report)
    pct, trust = percents(report), report["combined_trust"]
    missing = missing_clause(insisted_on(report))
    if report["confidence_threshold"] is None:
        return _for_group(report, missing, pct)
    if report["cleared"] and trust is not None:
        clears = f"{pct(trust)} clears this step's {pct(report['confidence_threshold'])}"
        return f"{clears}, but {missing}, so a person decides." if missing else f"{clears}: {_link(report, pct)}."
    if report["cleared"]:
        if missing:
            return f"This step reported no confidence, and {missing}, so a person decides."
        return "This step reported no confidence, so there is no trust to compare with a threshold."
    if trust is None:
        return f"This step cannot clear: {_link(report, pct)}."
    never = _stage(report, "gate")["reason"] in ("check_failed", "uncalibrated_escalate")
    short_of = "any threshold" if never else f"this step's {pct(report['confidence_threshold'])}"
    return f"{pct(trust)} falls short of {short_of}: {_link(report, pct)}."


def _for_group(report: Mapping[str, Any], missing: str, pct: Percents) -> str:
    if missing:
        return f"{missing[0].upper()}{missing[1:]}, so a person decides."
    if report["combined_trust"] is None:
        return "It gives its group no number."
    return f"Its group counts it with {pct(report['combined_trust'])}: {_link(report, pct)}."


def _link(report: Mapping[str, Any], pct: Percents) -> str:
    stage = _stage(report, report["weakest"])
    given = stage["inputs"]
    weakest = "the weakest link is"
    if stage["stage"] == "self_report":
        alone = report["cleared"] and not any(_stage(report, name)["reason"] in TOOK_PART for name in PARTS)
        return "nothing but the agent's own word stands behind it" if alone else f"{weakest} the agent's own number"
    if stage["stage"] == "verifier":
        return f"{weakest} the verifier, which came to {pct(given['score'])}"
    if stage["stage"] == "grounding":
        claims = backed(given, pct(given["score"]), only=True)
        return f"{weakest} its evidence, since {claims[0].lower()}{claims[1:]}"
    if stage["stage"] == "checks":
        failed = checks_failed(given["checks"], with_detail=False)
        return f"{weakest} its checks, since {failed[0].lower()}{failed[1:]}"
    if stage["reason"] == "uncalibrated_escalate" and stage["before"] is None:
        return f"{weakest} its track record, which cannot be looked up without a number"
    if stage["reason"] == "uncalibrated_escalate":
        return f"{weakest} its track record, with {given['n']} of the {given['n_min']} labelled results it needs"
    measured = f"its track record, right {pct(given['accuracy'])} of the time ({results(given['n'])})"
    return f"the number is {measured}" if stage["after"] > stage["before"] else f"{weakest} {measured}"


def _stage(report: Mapping[str, Any], name: str) -> Stage:
    return next(stage for stage in report["stages"] if stage["stage"] == name)


WORDS: dict[str, Words] = {
    "verifier": _verifier,
    "calibration": _calibration,
    "grounding": _grounding,
    "checks": _checks,
}
