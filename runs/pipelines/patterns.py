"""Regular expressions of triggers: bounded when they are compiled and when they search.

The texts come from outside, and a pattern that backtracks over them would hold up every webhook. The
``regex`` package can give up after a time, which ``re`` cannot; what it compiles must be bounded, since it
writes counted repeats out.
"""

import logging
import re
from functools import lru_cache

import regex

MAX_PATTERN = 500
MAX_SIZE = 20_000
MAX_SUBJECT = 10_000
SECONDS = 0.05

_log = logging.getLogger(__name__)
_COUNT = re.compile(r"\{(\d*)(?:,(\d*))?\}")


class BadPattern(ValueError):
    """The pattern cannot be used; the message says why."""


def check(pattern: str) -> None:
    """Raises BadPattern for one that is empty, too long, too large once written out, or not valid."""
    if not pattern:
        raise BadPattern("regex takes a pattern that is not empty")
    if len(pattern) > MAX_PATTERN:
        raise BadPattern(f"regex is {len(pattern)} characters long; at most {MAX_PATTERN}")
    if size(pattern) > MAX_SIZE:
        raise BadPattern(f"regex repeats its parts more than {MAX_SIZE} times in all")
    try:
        _compiled(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise BadPattern(f"regex is not valid: {error}") from error


def found(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the first MAX_SUBJECT characters; no, with a warning, if that takes too long."""
    try:
        return _compiled(pattern).search(text[:MAX_SUBJECT], timeout=SECONDS) is not None
    except TimeoutError:
        _log.warning("the trigger regex %r was given up after %s seconds on %r", pattern, SECONDS, text[:100])
        return False


@lru_cache(maxsize=1_024)
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.VERSION0)


def size(pattern: str) -> int:
    """How many single parts the pattern has when counted repeats (``{3}``, ``{2,5}``) are written out."""
    open_groups: list[int] = [0]
    last = 0
    position = 0
    while position < len(pattern):
        char = pattern[position]
        count = _COUNT.match(pattern, position) if char == "{" else None
        if count is not None:
            times = max(int(number) for number in (count[1], count[2], "1") if number)
            open_groups[-1] += last * (times - 1)
            last *= times
            position = count.end()
            continue
        if char == "(":
            open_groups.append(0)
        elif char == ")" and len(open_groups) > 1:
            last = open_groups.pop() + 1
            open_groups[-1] += last
        else:
            last = 1
            open_groups[-1] += 1
        position = _after(pattern, position)
    return sum(open_groups)


def _after(pattern: str, position: int) -> int:
    """The position behind one character, escape or class."""
    if pattern[position] == "\\":
        return position + 2
    if pattern[position] == "[":
        end = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL).match(pattern, position)
        if end is not None:
            return end.end()
    return position + 1
