"""A planning agent: looks the cause up in the runbook and proposes one action, which it does not take.

Its confidence is the action's own record: (worked + 1) / (tried + 2), so that no record is even odds.
"""

import csv
import re

from protocol import answer, options, read_prompt, read_task, use


class Runbook:
    def __init__(self, case):
        self.case = case

    def read_runbook(self, cause):
        """The runbook's row for a kind of cause."""
        for row in self._rows("runbook.csv"):
            if row["cause"] == cause:
                return {"runbook": "runbook.csv", **row}
        raise LookupError(f"the runbook has no entry for {cause!r}")

    def version_before(self, version):
        """The version of the service that was deployed before this one."""
        versions = [row["version"] for row in self._rows("deploys.csv") if row["service"] == self.case.service]
        if version not in versions[1:]:
            raise LookupError(f"no version of {self.case.service} is known before {version}")
        return {"service": self.case.service, "version": versions[versions.index(version) - 1]}

    def _rows(self, name):
        with (self.case.data / name).open(newline="", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))


def main():
    prompt = read_prompt()
    book = Runbook(read_task(prompt, options().data))
    cause, suspect = told(prompt, "Cause"), told(prompt, "Suspect")
    entry = use(book.read_runbook, cause=cause)
    if entry is None:
        return nothing_known(cause)
    words, target = entry["action"], None
    if entry["action"] == "roll back":
        found = use(book.version_before, version=suspect)
        if found is None:
            return nothing_known(f"a rollback of {suspect}")
        target = found["version"]
        words = f"Roll back {book.case.service} from {suspect} to {target}"
    elif entry["action"] == "route around":
        words = f"Route around {suspect}"
    tried, worked = int(entry["tried"]), int(entry["worked"])
    return answer(
        confidence=(worked + 1) / (tried + 2),
        summary=f"{words}. It worked {worked} of {tried} times.",
        next_step_context=f"Action: {words}\nUndo: {entry['undo']}",
        reasoning={
            "findings": [f"The runbook says {entry['action']} for {cause}; {worked} of {tried} times it worked."]
        },
        uncertainties=[f"It failed {tried - worked} of {tried} times."],
        action=entry["action"],
        target=target,
        suspect=suspect,
    )


def nothing_known(what):
    answer(confidence=0.2, summary=f"The runbook knows no action for {what}.", action="page a person")


def told(prompt, key):
    match = re.search(rf"^{key}: *(.+)$", prompt, re.MULTILINE)
    return match[1].strip() if match else "unknown"


if __name__ == "__main__":
    main()
