"""A triage agent: reads a service's log, deploys and metrics for a window, and reports the likely cause.

Its confidence is computed, not felt: the share of the rise that one error class explains, times how many
errors there are to go by (n / (n + 10)), times how much points at one cause (0.5 for nothing, 0.85 for one
fact, 0.95 for two, 0.98 for three).
"""

from math import sqrt

from protocol import answer, options, read_prompt, read_task, use

POINTING = (0.5, 0.85, 0.95, 0.98)
LOCAL_PERCENT = 80  # of a class's errors with one value of a field: the trouble lies there


def main():
    case = read_task(read_prompt(), options().data)
    asked = use(case.count_errors, window="asked")
    if asked is None or asked["lines_read"] == 0:
        return nothing_to_read(case)
    before = use(case.count_errors, window="before")
    rise = {name: n - before["by_class"].get(name, 0) for name, n in asked["by_class"].items()}
    more, limit = asked["errors"] - before["errors"], 3 * sqrt(before["errors"] + 1)
    if more <= limit:
        return all_quiet(asked, before, more, limit)
    main_class = max(rise, key=rise.get)
    explained = rise[main_class] / sum(n for n in rise.values() if n > 0)
    return report(case, asked, main_class, explained)


def nothing_to_read(case):
    answer(
        confidence=0.05,
        summary=f"There is nothing to read for {case.service} in this window.",
        uncertainties=["No log lines, so neither a fault nor its absence can be shown."],
        cause="unknown",
        errors=0,
    )


def all_quiet(asked, before, more, limit):
    """A rise within three standard deviations of what the hour before would lead one to expect is none."""
    answer(
        confidence=(1 - max(0, more) / limit / 2) * asked["lines_read"] / (asked["lines_read"] + 10),
        summary=f"Nothing unusual: {asked['errors']} errors, {before['errors']} in the same time before.",
        proceed=False,
        proceed_reason="The errors are within their usual range, so there is nothing to act on.",
        reasoning={"findings": [f"{asked['errors']} errors now, {before['errors']} in the same time before."]},
        uncertainties=["A fault that leaves no errors in the log would not show here."],
        cause="none",
        errors=asked["errors"],
    )


def report(case, asked, main_class, explained):
    n = asked["by_class"][main_class]
    findings = [
        f"{n} of {asked['errors']} errors are {main_class}, {asked['share_percent'][main_class]} percent.",
    ]
    onset = use(case.find_onset, error_class=main_class)
    cause, suspect, facts = look_closer(case, main_class, onset, findings)
    pointing = POINTING[min(facts, len(POINTING) - 1)]
    confidence = explained * n / (n + 10) * pointing
    answer(
        confidence=confidence,
        summary=summary(case, cause, suspect, main_class, onset),
        next_step_context="\n".join([f"Cause: {cause}", f"Suspect: {suspect}", f"Onset: {onset['onset']}", *findings]),
        reasoning={
            "findings": findings,
            "confidence_from": {
                "share_of_rise_explained": round(explained, 3),
                "errors_counted": n,
                "facts_pointing_at_the_cause": facts,
            },
        },
        uncertainties=doubts(explained, facts),
        cause=cause,
        suspect=suspect,
        error_class=main_class,
        errors=n,
        onset=onset["onset"],
        artifacts={"findings": "\n".join(f"- {finding}" for finding in findings)},
    )


def look_closer(case, main_class, onset, findings):
    """(cause, suspect, number of facts that point at it); each fact found is added to the findings."""
    if onset["onset"] is None:
        return "unknown", "none", 0
    at = onset["onset"]
    findings.append(
        f"They began at {at} and peaked at {onset['peak']} with {onset['peak_count']} in one minute; "
        f"usual are {onset['usual_per_minute']:g} a minute."
    )
    moved = metrics_moved(use(case.read_metrics, around=at), findings)
    deploys = use(case.list_deploys, before=at, minutes=15)["deploys"]
    if deploys:
        newest = deploys[0]
        findings.append(
            f"The deploy of {newest['version']} at {newest['at']} came {newest['minutes_before']} minutes "
            f"before: {newest['change']}."
        )
        return "deploy", newest["version"], 1 + moved
    local = localised(case, main_class, findings)
    return ("upstream", local, 1 + bool(moved)) if local else ("unknown", "none", 0)


def metrics_moved(metrics, findings):
    """How many of latency and connection pool moved with the errors."""
    before, after = metrics["before"], metrics["after"]
    if before is None or after is None:
        return 0
    moved = 0
    if after["p95_ms"] > 2 * before["p95_ms"]:
        findings.append(f"p95 latency went from {before['p95_ms']} to {after['p95_ms']} ms.")
        moved += 1
    if after["pool_in_use"] >= 0.95 * after["pool_size"]:
        findings.append(f"The connection pool is exhausted: {after['pool_in_use']} of {after['pool_size']} in use.")
        moved += 1
    return moved


def localised(case, main_class, findings):
    """The value of a field that nearly all errors of the class share, if there is one."""
    for by in ("acquirer", "upstream", "shard", "pod"):
        spread = use(case.group_errors, error_class=main_class, by=by)["share_percent"]
        top = next(iter(spread), "none")
        if top != "none" and spread[top] >= LOCAL_PERCENT:
            findings.append(f"{spread[top]} percent of them have {by} {top}; no deploy came in the 15 minutes before.")
            return f"{by} {top}"
    return ""


def summary(case, cause, suspect, main_class, onset):
    since = f" since {onset['onset']}" if onset["onset"] else ""
    return {
        "deploy": f"{main_class} errors in {case.service}{since}, caused by the deploy of {suspect}.",
        "upstream": f"{main_class} errors in {case.service}{since}, caused outside it by {suspect}.",
    }.get(cause, f"More errors in {case.service}, mostly {main_class}, without a cause that stands out.")


def doubts(explained, facts):
    found = []
    if explained < 0.8:
        found.append(f"Only {explained:.0%} of the rise is of one class: there may be several causes.")
    if facts == 0:
        found.append("No deploy, metric or common field points at a cause.")
    return [*found, "That one thing came before another does not prove that it caused it."]


if __name__ == "__main__":
    main()
