"""A second agent for the same task, by another road: an independent verifier.

Where the triage agent reads the log line by line, this one starts from the metrics: it looks for the split
of the window that separates few errors from many best, and only then searches the raw log text for the
class that fills the later part. It shares no code with the triage agent but the reading of its task.

Its confidence: how well its two sources agree on the number of errors, times how clean the split is, times
the share of the bad part's errors that one class explains; half of that where it finds no cause.
"""

import csv
import re
from collections import Counter
from datetime import timedelta

from evidence import log_file
from protocol import answer, options, read_prompt, read_task, use

NEAR = timedelta(minutes=15)
SHORTEST = 5  # minutes of a part: a bad minute or two is no trend
CLEAN = 0.5  # the bad part must hold twice the errors a minute of the calm one


class Recount:
    def __init__(self, case):
        self.case = case
        self.text = log_file(case.data, case.service).read_text(encoding="utf-8")

    def split_metrics(self):
        """The minute that best splits the window and as long before it into a calm and a bad part."""
        rows = self._metrics()
        errors = [int(row["errors"]) for row in rows]
        possible = range(SHORTEST, len(errors) - SHORTEST + 1)
        best = max(possible, key=lambda at: gap(errors[:at], errors[at:]), default=0)
        calm, bad = mean(errors[:best]), mean(errors[best:])
        asked = sum(int(row["errors"]) for row in rows if row["time"] >= stamp(self.case.start))
        return {
            "errors": asked,
            "split_at": rows[best]["time"][11:16] if best else None,
            "calm_per_minute": round(calm, 2),
            "bad_per_minute": round(bad, 2),
        }

    def search_log(self, since):
        """Error classes of the window, and since a time of day, by a pattern over the text of the whole log."""
        found = re.findall(r"^(\S+) \S+ ERROR (\w+)", self.text, re.MULTILINE)
        asked = [(at, name) for at, name in found if stamp(self.case.start) <= at < stamp(self.case.end)]
        later = Counter(name for at, name in asked if at[11:16] >= since)
        classes = Counter(name for _, name in asked)
        lines = len(re.findall(r"^\S+", self.text, re.MULTILINE))
        return {
            "lines": lines,
            "errors": len(asked),
            "by_class": dict(classes.most_common()),
            "since_split": dict(later.most_common()),
        }

    def find_change(self, onset):
        """The newest deploy of the service within fifteen minutes before the onset."""
        near = [row for row in self._deploys() if self._since(row["time"], onset) is not None]
        newest = max(near, key=lambda row: row["time"], default=None)
        return {"version": newest["version"], "at": newest["time"][11:16]} if newest else {"version": None}

    def common_field(self, error_class):
        """The field and value that most lines of the class share, in percent."""
        lines = [
            rest
            for at, rest in re.findall(rf"^(\S+) \S+ ERROR {error_class} (.*)$", self.text, re.MULTILINE)
            if stamp(self.case.start) <= at < stamp(self.case.end)
        ]
        pairs = Counter(pair for line in lines for pair in re.findall(r"(?:acquirer|upstream|shard)=\S+", line))
        if not pairs:
            return {"field": None}
        pair, n = pairs.most_common(1)[0]
        return {"field": pair.replace("=", " "), "percent": round(100 * n / len(lines))}

    def _metrics(self):
        start, end = stamp(self.case.start - self.case.span), stamp(self.case.end)
        with (self.case.data / "metrics.csv").open(newline="", encoding="utf-8") as stream:
            rows = [row for row in csv.DictReader(stream) if row["service"] == self.case.service]
        return [row for row in rows if start <= row["time"] < end]

    def _deploys(self):
        with (self.case.data / "deploys.csv").open(newline="", encoding="utf-8") as stream:
            return [row for row in csv.DictReader(stream) if row["service"] == self.case.service]

    def _since(self, deployed, onset):
        at = self.case.start.replace(hour=int(onset[:2]), minute=int(onset[3:]), second=0)
        since = at - at.fromisoformat(deployed.replace("Z", "+00:00"))
        return since if timedelta() <= since <= NEAR else None


def stamp(at):
    """A time as the files write it, so that comparing texts compares times."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def mean(values):
    return sum(values) / len(values) if values else 0


def gap(calm, bad):
    """Between-group sum of squares: large where two long parts of different mean meet."""
    return len(calm) * len(bad) / (len(calm) + len(bad)) * (mean(bad) - mean(calm)) ** 2


def main():
    case = read_task(read_prompt(), options().data)
    try:
        recount = Recount(case)
    except LookupError as error:
        return answer(confidence=0.05, summary=str(error), cause="unknown", errors=0)
    split = use(recount.split_metrics)
    if split["split_at"] is None:
        return answer(confidence=0.05, summary="There are no metrics to go by.", cause="unknown", errors=0)
    counted = use(recount.search_log, since=split["split_at"])
    agreement = min(split["errors"], counted["errors"]) / max(split["errors"], counted["errors"], 1)
    clean = 1 - split["calm_per_minute"] / max(split["bad_per_minute"], 0.01)
    if clean < CLEAN or not counted["since_split"]:
        return no_split(counted, agreement, clean)
    return report(recount, split, counted, agreement * (1 + clean) / 2)


def no_split(counted, agreement, clean):
    answer(
        confidence=agreement * (1 - max(0, clean) / 2) * counted["lines"] / (counted["lines"] + 10),
        summary=f"{counted['errors']} errors, and no minute splits the time into a calm and a bad part.",
        proceed=False,
        cause="none",
        errors=counted["errors"],
    )


def report(recount, split, counted, sure):
    main_class, later = next(iter(counted["since_split"].items()))
    explained = later / sum(counted["since_split"].values())
    cause, suspect = explain(recount, split["split_at"], main_class)
    n = counted["by_class"][main_class]
    answer(
        confidence=sure * explained * (1 if cause != "unknown" else 0.5),
        summary=f"{n} {main_class}, the bad part begins at {split['split_at']}; {cause}: {suspect}.",
        reasoning={
            "errors_in_log": counted["errors"],
            "errors_in_metrics": split["errors"],
            "share_of_the_bad_part": round(explained, 3),
        },
        cause=cause,
        suspect=suspect,
        error_class=main_class,
        errors=n,
    )


def explain(recount, split_at, main_class):
    change = use(recount.find_change, onset=split_at)
    if change["version"]:
        return "deploy", change["version"]
    common = use(recount.common_field, error_class=main_class)
    return ("upstream", common["field"]) if common["field"] and common["percent"] >= 80 else ("unknown", "none")


if __name__ == "__main__":
    main()
