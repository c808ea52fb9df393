"""The tools of the example agents: they read the bundled logs, metrics and deploys, and count.

Each tool takes plain values and returns plain JSON. A tool that has nothing to read raises LookupError.
"""

import csv
import functools
import itertools
import re
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

_LINE = re.compile(r"(?P<at>\S+) (?P<pod>\S+) (?P<level>[A-Z]+) +(?P<rest>.*)")
_FIELD = re.compile(r"(\w+)=(\S+)")


def parse_time(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def clock(at):
    return f"{at:%H:%M}"


def log_file(data, service):
    """The service's log. Only names that are there are opened: a name comes from outside."""
    known = {file.stem: file for file in sorted((data / "logs").glob("*.log"))}
    if service not in known:
        raise LookupError(f"no log of {service!r}; there are logs of {', '.join(known) or 'nothing'}")
    return known[service]


class Line(NamedTuple):
    """One line of a log. ``error_class`` is "" where the line is no error."""

    at: datetime
    text: str
    pod: str
    error_class: str
    fields: dict


class Evidence:
    """What can be read about one service in one window of time."""

    def __init__(self, data: Path, service, start, end):
        self.data = data
        self.service = service
        self.start = start
        self.end = end
        self.span = end - start

    def tail(self, lines):
        """The last lines of the log at the end of the window, as they are."""
        found = [line.text for line in self._lines if line.at < self.end]
        return {"file": f"{self.service}.log", "lines": found[-lines:]}

    def count_errors(self, window):
        """Errors by class in the window "asked" about, or in the stretch of the same length "before" it."""
        start, end = (self.start, self.end) if window == "asked" else (self.start - self.span, self.start)
        lines = [line for line in self._lines if start <= line.at < end]
        by_class = Counter(line.error_class for line in lines if line.error_class)
        errors = by_class.total()
        return {
            "from": clock(start),
            "to": clock(end),
            "lines_read": len(lines),
            "errors": errors,
            "by_class": dict(by_class.most_common()),
            "share_percent": {name: round(100 * n / errors) for name, n in by_class.most_common()},
        }

    def find_onset(self, error_class):
        """The first of two minutes in a row that hold three times the usual number of a class, and the peak."""
        counts = Counter(clock(line.at) for line in self._lines if line.error_class == error_class)
        asked = [clock(self.start + timedelta(minutes=n)) for n in range(self._minutes)]
        before = [clock(self.start - timedelta(minutes=n + 1)) for n in range(self._minutes)]
        usual = sum(counts[minute] for minute in before) / max(1, self._minutes)
        limit = max(2, 6 * usual)
        pairs = itertools.pairwise(asked)
        onset = next((now for now, then in pairs if counts[now] and counts[now] + counts[then] > limit), None)
        peak = max(asked, key=lambda minute: counts[minute], default=None)
        return {
            "class": error_class,
            "usual_per_minute": round(usual, 2),
            "onset": onset,
            "peak": peak,
            "peak_count": counts[peak],
        }

    def group_errors(self, error_class, by):
        """How the errors of a class spread over the values of one field, or over the pods."""
        values = Counter(
            line.pod if by == "pod" else line.fields.get(by, "none")
            for line in self._asked
            if line.error_class == error_class
        )
        total = values.total()
        shares = {name: round(100 * n / total) for name, n in values.most_common(5)}
        return {"class": error_class, "by": by, "values": dict(values.most_common(5)), "share_percent": shares}

    def list_deploys(self, before, minutes):
        """Deploys of the service in the minutes before a time of day, newest first."""
        limit = self._today(before)
        found = []
        for row in self._rows("deploys.csv"):
            at = parse_time(row["time"])
            ago = (limit - at).total_seconds() / 60
            if row["service"] == self.service and 0 <= ago <= minutes:
                deploy = {"version": row["version"], "at": clock(at), "minutes_before": round(ago)}
                found.append(deploy | {"change": row["change"]})
        return {"service": self.service, "before": before, "within_minutes": minutes, "deploys": found[::-1]}

    def read_metrics(self, around):
        """Averages of ten minutes up to five before a time of day, and of ten minutes from five after it."""
        at = self._today(around)
        before = self._average(at - timedelta(minutes=15), at - timedelta(minutes=5))
        after = self._average(at + timedelta(minutes=5), at + timedelta(minutes=15))
        return {"service": self.service, "around": around, "before": before, "after": after}

    def _average(self, start, end):
        rows = [
            row
            for row in self._rows("metrics.csv")
            if row["service"] == self.service and start <= parse_time(row["time"]) < end
        ]
        names = ("requests", "p95_ms", "pool_in_use", "pool_size")
        return {name: round(sum(float(row[name]) for row in rows) / len(rows)) for name in names} if rows else None

    def _today(self, time_of_day):
        hour, minute = map(int, time_of_day.split(":"))
        return self.start.replace(hour=hour, minute=minute, second=0)

    @property
    def _minutes(self):
        return int(self.span.total_seconds() // 60)

    @property
    def _asked(self):
        return [line for line in self._lines if self.start <= line.at < self.end]

    def _rows(self, name):
        with (self.data / name).open(newline="", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))

    @functools.cached_property
    def _lines(self):
        texts = log_file(self.data, self.service).read_text(encoding="utf-8").splitlines()
        return [line for line in map(_read, texts) if line is not None]


def _read(text):
    """The line, or None where the text does not look like one."""
    match = _LINE.match(text)
    if match is None:
        return None
    rest = match["rest"]
    error_class = rest.split()[0] if match["level"] == "ERROR" and rest else ""
    return Line(parse_time(match["at"]), text, match["pod"], error_class, dict(_FIELD.findall(rest)))
