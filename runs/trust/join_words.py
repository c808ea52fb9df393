"""A group's report in words, beside ``narrative.py`` for a step's. Pure."""

from collections.abc import Mapping
from typing import Any

from calibration.plurals import plural
from runs.trust.percent import Percents
from runs.trust.phrases import join_names

JOINS = {
    "all_must_pass": "The weakest branch counts",
    "any_must_pass": "The best branch counts",
    "weighted_average": "The branches' weighted average counts",
}
SHOWN = 10  # branches told one by one


def narrative(report: Mapping[str, Any]) -> list[str]:
    """How the group's number came about: what counts, each branch's part, and what the gate made of it."""
    pct = percents(report)
    trust, threshold = report["combined_trust"], report["confidence_threshold"]
    told = [f"{JOINS[report['join']]}."]
    branches = report["branches"]
    told += [_branch(branch, pct) for branch in branches[:SHOWN]]
    if len(branches) > SHOWN:
        more = len(branches) - SHOWN
        told.append(f"{plural(more, 'more branch stands', 'more branches stand')} below.")
    if trust is None:
        told.append("No branch gave a number, so there is nothing to compare with a threshold.")
    else:
        side = "below" if trust < threshold else "not below"
        told.append(f"Together that is {pct(trust)}, {side} the threshold of {pct(threshold)}.")
    return [*told, report["reason"]] if report["reason"] else told


def verdict(report: Mapping[str, Any]) -> str:
    """The decision in one sentence."""
    if report["reason"]:
        return str(report["reason"])
    pct, trust = percents(report), report["combined_trust"]
    if trust is None:
        return "Its branches gave no number to compare with a threshold."
    return f"{pct(trust)} clears this group's {pct(report['confidence_threshold'])}. {JOINS[report['join']]}."


def percents(report: Mapping[str, Any]) -> Percents:
    trusts = [branch["trust"] for branch in report["branches"]]
    return Percents([*trusts, report["combined_trust"], report["confidence_threshold"]])


def _branch(branch: Mapping[str, Any], pct: Percents) -> str:
    notes = []
    if branch["weight"] != 1:
        notes.append(f"weight {branch['weight']:g}")
    if branch["blocked"]:
        notes.append("cannot clear")
    if branch["accepted"]:
        notes.append("let pass by a person, so it is not counted")
    if branch["forgiven"] and branch["status"] == "failed":
        notes.append("its failure is passed over")
    worth = "no number" if branch["trust"] is None else pct(branch["trust"])
    more = f" ({join_names(notes)})" if notes else ""
    return f"{branch['name']} {branch['status']} with {worth}{more}."
