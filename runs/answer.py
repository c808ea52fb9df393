"""Reading an agent's answer: finding its JSON object in whatever the agent wrote, and checking the contract.

The whole text is tried first, then the last complete object in it that satisfies the contract.
Where objects lie in prose is found by ``runs.json_spans``, in time linear in the text.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from runs.json_spans import object_spans
from runs.storable import storable

_SHORTEST = len('{"summary":"","next_step_context":""}')
_MAX_DIGITS = 1000
_SHOWN = 80
CONTRACT_KEYS = {
    "confidence",
    "summary",
    "next_step_context",
    "proceed",
    "proceed_reason",
    "reasoning",
    "uncertainties",
    "artifacts",
}


class ContractError(Exception):
    """The answer breaks the contract; the message says what was expected and what came."""


@dataclass(frozen=True)
class Answer:
    """An agent's answer, every value fit to be stored. ``data`` is the whole object, further fields included."""

    confidence: float | None
    summary: str
    next_step_context: str
    proceed: bool = True
    proceed_reason: str = ""
    reasoning: dict[str, Any] = field(default_factory=dict)
    uncertainties: list[Any] = field(default_factory=list)
    artifacts: dict[str, str] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)


def parse(text: str, *, require_confidence: bool = True) -> Answer:
    """The answer in ``text``. Without ``require_confidence`` (a threshold of 0) it may state none.

    Raises ContractError.
    """
    problems: list[tuple[str, bool]] = []
    for found in _objects(text):
        if found is None:
            problems.append(("the JSON object is nested too deeply to be read", False))
            continue
        value, twice = found
        problem = _problem(value, twice, require_confidence)
        if not problem:
            return _answer(value)
        problems.append((problem, "confidence" in value))
    raise ContractError(_explain(text, problems))


_Found = tuple[dict[str, Any], set[str]]


def _objects(text: str) -> Iterator[_Found | None]:
    """The whole text if it is one object, else every object in it long enough to be an answer, last first.

    None stands for an object too deep for Python to read.
    """
    whole = text.strip("\ufeff \t\r\n")
    if whole.startswith("{"):
        try:
            yield _load(whole)
            return
        except (json.JSONDecodeError, RecursionError):
            pass  # not one object: look for objects inside
    # An answer that breaks off may quote another one: what it quotes is not what its author says.
    found = object_spans(text, but_not_in=_BEGINS_AN_ANSWER)
    spans = [(start, end) for start, end in found if end - start >= _SHORTEST]
    for start, end in reversed(spans):
        try:
            yield _load(text[start:end])
        except RecursionError:
            yield None


def _explain(text: str, problems: list[tuple[str, bool]]) -> str:
    """The one complaint worth reading: about the last object that states a confidence, else about the last one."""
    for problem, states_confidence in problems:
        if states_confidence:
            return problem
    if problems:
        return problems[0][0]
    stripped = text.strip("\ufeff \t\r\n")
    if not stripped:
        return "the answer is empty; expected a JSON object with confidence, summary and next_step_context"
    return (
        "no complete JSON object with confidence, summary and next_step_context was found; "
        f"the answer has {len(text)} characters and begins {_shown(stripped)}{_where_json_breaks(text)}"
    )


def _where_json_breaks(text: str) -> str:
    """Where the first thing that looks like an object stops being one, as the end of a sentence."""
    start = _OBJECT_BEGINS.search(text)
    if start is None:
        return ""
    try:
        _DECODER.raw_decode(text, start.start())
    except json.JSONDecodeError as error:
        return f"; its JSON breaks in line {error.lineno}, column {error.colno}: {error.msg}"
    except RecursionError:
        return "; its JSON is nested too deeply to be read"
    return ""


def _load(text: str) -> _Found:
    """The object and the contract's keys that it states twice.

    Raw line breaks and other control characters inside strings are let through: what is meant is clear.
    """
    twice: set[str] = set()

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        twice.clear()  # the outermost object is built last
        if len(built) != len(pairs):
            seen: set[str] = set()
            twice.update(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return built

    value = json.loads(text, strict=False, parse_int=_integer, object_pairs_hook=build)
    return value, twice & CONTRACT_KEYS


def _integer(digits: str) -> int | str:
    """Python refuses to convert some thousand digits; such a number is kept as the text it is."""
    return int(digits) if len(digits) <= _MAX_DIGITS else digits


_BEGINS_AN_ANSWER = re.compile(rf'\{{\s*"(?:{"|".join(sorted(CONTRACT_KEYS))})"\s*:')
_OBJECT_BEGINS = re.compile(r'\{\s*"')
_DECODER = json.JSONDecoder(strict=False, parse_int=_integer)


def problems(value: dict[str, Any], *, require_confidence: bool = True) -> dict[str, str]:
    """By field of the contract, what is wrong with this object as an answer; empty when nothing is."""
    found = {
        "confidence": _confidence_problem(value, require_confidence),
        "summary": _type_problem(value, "summary", str, "text (it may be empty)", required=True),
        "next_step_context": _type_problem(value, "next_step_context", str, "text (it may be empty)", required=True),
        "proceed": _proceed_problem(value),
        "proceed_reason": _type_problem(value, "proceed_reason", str, "text"),
        "reasoning": _type_problem(value, "reasoning", dict, "an object"),
        "uncertainties": _type_problem(value, "uncertainties", list, "a list"),
        "artifacts": _type_problem(value, "artifacts", dict, "an object of texts") or _artifact_problem(value),
    }
    return {field: problem for field, problem in found.items() if problem}


def _problem(value: dict[str, Any], twice: set[str], require_confidence: bool) -> str:
    """What is wrong with this object as an answer, first things first; "" when nothing is."""
    if twice:
        return f"{' and '.join(sorted(twice))} stated twice in one object; expected once"
    return next(iter(problems(value, require_confidence=require_confidence).values()), "")


def _confidence_problem(value: dict[str, Any], required: bool) -> str:
    expected = "confidence: expected a number from 0 to 1"
    if value.get("confidence") is None:
        came = "null" if "confidence" in value else "an object without it"
        return f"{expected}, got {came}" if required else ""
    number = value["confidence"]
    if isinstance(number, bool) or not isinstance(number, int | float):
        return f"{expected}, got {_shown(number)}"
    if not (math.isfinite(number) and 0 <= number <= 1):
        return f"{expected}, got {_shown(number)}"
    return ""


def _type_problem(value: dict[str, Any], key: str, kind: type, expected: str, *, required: bool = False) -> str:
    """A field that may be left out may also be null."""
    if key not in value:
        return f"{key}: expected {expected}, got an object without it" if required else ""
    if isinstance(value[key], kind) or (value[key] is None and not required):
        return ""
    return f"{key}: expected {expected}, got {_shown(value[key])}"


def _proceed_problem(value: dict[str, Any]) -> str:
    """null is refused here: whether to go on is not a thing to guess."""
    if isinstance(value.get("proceed", True), bool):
        return ""
    return f"proceed: expected true or false, got {_shown(value['proceed'])}"


def _artifact_problem(value: dict[str, Any]) -> str:
    for name, content in (value.get("artifacts") or {}).items():
        if not isinstance(content, str):
            return f"artifacts.{_shown(name)}: expected text, got {_shown(content)}"
    return ""


def _shown(value: Any) -> str:
    """A value as JSON, on one line and short enough for a sentence."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, str):
        value = value if len(value) <= _SHOWN else value[:_SHOWN] + "…"
    written = str(storable(json.dumps(storable(value), ensure_ascii=False)))
    return written if len(written) <= 2 * _SHOWN else written[:_SHOWN] + "…"


def _answer(value: dict[str, Any]) -> Answer:
    data = storable(value)
    confidence = data.get("confidence")
    return Answer(
        confidence=None if confidence is None else abs(float(confidence)),  # abs: -0.0 is 0
        summary=data["summary"],
        next_step_context=data["next_step_context"],
        proceed=data.get("proceed", True),
        proceed_reason=data.get("proceed_reason") or "",
        reasoning=data.get("reasoning") or {},
        uncertainties=data.get("uncertainties") or [],
        artifacts=data.get("artifacts") or {},
        data=data,
    )
