"""An answer without what its author thinks of it: who judges it shall not know how sure the agent was.

Pure. Numbers beside words of certainty go, and every value under a name that speaks of it. Words
alone ("surely") stay: taking them out would change what is judged.
"""

import re
from typing import Any

HIDDEN = "[hidden]"

_NAME = re.compile(r"confiden|certainty|how_sure", re.IGNORECASE)
# Possessive and bounded: a hostile answer cannot make the search slow.
_NUMBER = r"(?<![\d.])(?:\d++(?:\.\d++)?|\.\d++)(?:\s{0,3}(?:%|percent\b|per cent\b|/\s{0,2}\d++))?"
_MARKS = r"[\\\"'\s:=*~()]*+"
_BETWEEN = rf"{_MARKS}(?:(?:level|score|rating|is|was|of|at|about|around|roughly|approximately)\b{_MARKS})*+"
_AFTER = re.compile(rf"(?P<word>(?:confiden(?:t|ce)|certain(?:ty)?)\w*+{_BETWEEN})(?P<number>{_NUMBER})", re.IGNORECASE)
_BEFORE = re.compile(rf"{_NUMBER}(?P<word>[\s-]{{0,3}}(?:confiden(?:t|ce)|certain(?:ty)?|sure)\b)", re.IGNORECASE)


def without_certainty(text: str) -> str:
    """``text`` with each number that says how sure its author is replaced by ``HIDDEN``."""
    text = _AFTER.sub(rf"\g<word>{HIDDEN}", text)
    return _BEFORE.sub(rf"{HIDDEN}\g<word>", text)


def blinded(value: Any) -> Any:
    """The same for JSON of any depth that was fit to be stored."""
    if isinstance(value, str):
        return without_certainty(value)
    if isinstance(value, dict):
        return {name: HIDDEN if _tells(name, value) else blinded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [blinded(item) for item in value]
    return value


def _tells(name: str, among: dict[str, Any]) -> bool:
    """Beside a claim, ``supported`` is a verdict; anywhere else it may be the very answer that is judged."""
    return bool(_NAME.search(name)) or (name == "supported" and "claim" in among)
