"""Where complete JSON objects lie in a text: pure, and linear in the text whatever a hostile agent wrote.

Trying the JSON parser at every brace is quadratic: each try may read to the end. Here every
container is read at most once. One that cannot be completed takes down all those it lies in, and
what was completed on the way is remembered, so that the next start jumps over it.
"""

import re
from collections.abc import Iterator

_STRING = r'"(?:[^"\\]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
_SCALAR = rf"(?:{_STRING}|{_NUMBER}|true|false|null|NaN|-?Infinity)"
_BLANK = r"[ \t\r\n]*+"
_VALUE = rf"(?:(?P<scalar>{_SCALAR})|(?P<open>[\[{{]))"

_START = re.compile(rf"\{{(?={_BLANK}{_STRING}{_BLANK}:)")
_NAME = rf"{_BLANK}{_STRING}{_BLANK}:"
_ITEM = {  # a run of plain items with their commas, then one more item or the closing bracket
    "{": re.compile(
        rf"(?P<run>(?:{_NAME}{_BLANK}{_SCALAR}{_BLANK},)*+)(?:{_NAME}{_BLANK}{_VALUE}|{_BLANK}(?P<close>\}}))"
    ),
    "[": re.compile(rf"(?P<run>(?:{_BLANK}{_SCALAR}{_BLANK},)*+){_BLANK}(?:{_VALUE}|(?P<close>\]))"),
}
_AFTER = re.compile(rf"{_BLANK}(?:(?P<comma>,)|(?P<close>[\]}}]))")
_CLOSER = {"{": "}", "[": "]"}
_FAILED = -1
_NEVER = re.compile(r"(?!)")


def object_spans(text: str, *, but_not_in: re.Pattern[str] = _NEVER) -> Iterator[tuple[int, int]]:
    """(start, end) of each complete JSON object that lies in no other complete object, from left to right.

    Empty objects are left out. An object in a list, or in text that is no complete JSON, is found, but none that is a
    part of an unfinished object which begins as ``but_not_in`` says.
    """
    ends: dict[int, int] = {}  # start of a container -> its end, or _FAILED
    parts: set[int] = set()  # starts of containers read inside one that begins as ``but_not_in`` says
    position = 0
    while match := _START.search(text, position):
        start = match.start()
        if start not in ends:
            _read(text, start, ends, parts, but_not_in)
        if ends[start] == _FAILED:
            position = start + 1
        else:
            if start not in parts:
                yield start, ends[start]
            position = ends[start]


def _read(text: str, start: int, ends: dict[int, int], parts: set[int], whole: re.Pattern[str]) -> None:
    """Read the container at ``start``; note in ``ends`` how it, and every container opened on the way, ended.

    ``parts`` gets those that lie, at any depth, in one that begins as ``whole`` says.
    """
    stack = [start]
    position = start + 1
    just_opened = True
    while stack:
        item = _ITEM[text[stack[-1]]].match(text, position)
        if item is None:
            break
        position = item.end()
        if item.lastgroup == "close":
            if not just_opened or item.end("run") > item.start():
                break  # a comma came before the closing bracket
            ends[stack.pop()] = position
        elif item.lastgroup == "open":
            end = ends.get(position - 1)
            if end is None:
                if stack[-1] in parts or whole.match(text, stack[-1]):
                    parts.add(position - 1)
                stack.append(position - 1)
                just_opened = True
                continue
            if end == _FAILED:
                break
            position = end
        position = _after_value(text, position, stack, ends)
        just_opened = False
    for unfinished in stack:
        ends[unfinished] = _FAILED


def _after_value(text: str, position: int, stack: list[int], ends: dict[int, int]) -> int:
    """Past the closing brackets and the comma that follow a value; at the end of the text where neither is right."""
    while stack:
        after = _AFTER.match(text, position)
        if after is None:
            return len(text)
        position = after.end()
        if after.lastgroup == "comma":
            return position
        if after["close"] != _CLOSER[text[stack[-1]]]:
            return len(text)
        ends[stack.pop()] = position
    return position
