"""Takes an action: here a line in changes.csv stands for what would be a call of the deploy system.

Its confidence is about having done it, and it has; whether it should be done was decided before.
"""

import csv
import re

from protocol import answer, options, read_prompt, use


def main():
    prompt, folder = read_prompt(), options().data
    told = {key: re.search(rf"^{key}: *(.+)$", prompt, re.MULTILINE)[1].strip() for key in ("Service", "Version")}
    by = re.search(r"^Approved by: *(.+)$", prompt, re.MULTILINE)[1].strip()

    def roll_back(service, version):
        """Append the change; the row as it was written."""
        with (folder / "changes.csv").open("a", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerow([service, version, by])
        return {"changes": "changes.csv", "service": service, "version": version, "by": by}

    done = use(roll_back, service=told["Service"], version=told["Version"])
    answer(
        confidence=1.0,
        summary=f"{done['service']} is at {done['version']} again; {done['by']} said yes.",
        change=f"{done['service']},{done['version']},{done['by']}",
    )


if __name__ == "__main__":
    main()
