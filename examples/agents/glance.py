"""An agent in a hurry: it reads the last lines of the log and fills in the rest from experience.

Its numbers for the whole window are extrapolated from the lines it read, and its cause is what such
errors usually come from. Both may be right; neither is evidence. It is as sure as the lines look alike.
"""

from collections import Counter

from protocol import answer, options, read_prompt, read_task, use

USUALLY = {  # error class -> (what it usually is, the words for it)
    "PoolTimeout": ("deploy", "A recent deploy leaks database connections"),
    "AcquirerTimeout": ("upstream", "The acquirer has an outage"),
    "IndexLag": ("deploy", "A recent deploy slowed the indexer down"),
}


def main():
    given = options(lines=40)
    case = read_task(read_prompt(), given.data)
    read = use(case.tail, lines=given.lines)
    errors = [line.split()[3] for line in read["lines"] if line.split()[2] == "ERROR"] if read else []
    if not errors:
        return answer(confidence=0.3, summary="No errors in the last lines.", cause="unknown", errors=0)
    return report(case, read["lines"], errors)


def report(case, lines, errors):
    main_class, n = Counter(errors).most_common(1)[0]
    minutes = max(1, seconds(lines[-1]) - seconds(lines[0])) / 60
    estimate = round(n / minutes * case.span.total_seconds() / 60)
    cause, words = USUALLY.get(main_class, ("unknown", "This looks like a passing fault"))
    findings = [
        f"{n} of the {len(lines)} lines read are {main_class}.",
        f'The last of them reads "{message(lines, main_class)}".',
        f"That makes about {estimate} {main_class} in the whole window.",
        f"{words}.",
    ]
    answer(
        confidence=(n + 1) / (len(errors) + 1) * 0.99,
        summary=f"{main_class} in {case.service}, about {estimate} of them. {words}.",
        next_step_context=f"Cause: {cause}\nSuspect: the latest one\nError class: {main_class}",
        reasoning={"findings": findings},
        uncertainties=["Only the last lines of the log were read."],
        cause=cause,
        error_class=main_class,
        errors=estimate,
    )


def message(lines, error_class):
    """What the newest line of the class says after its name."""
    newest = next(line for line in reversed(lines) if line.split()[3] == error_class)
    return newest.split(maxsplit=4)[4]


def seconds(line):
    hour, minute, second = line.split()[0][11:19].split(":")
    return int(hour) * 3600 + int(minute) * 60 + int(second)


if __name__ == "__main__":
    main()
