"""Filters of a page's query string: unknown names and values are refused with what is allowed."""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches

from django.http import QueryDict


class BadFilter(Exception):
    """Carries one sentence per parameter that cannot be used."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


def read(query: QueryDict, names: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The values at ``names`` ("" where absent), and a sentence for each parameter that is unknown or repeated."""
    problems = []
    for name in query:
        if name not in names:
            problems.append(f"There is no filter “{name[:80]}”. Filters are: {', '.join(names)}.")
        elif len(query.getlist(name)) > 1:
            problems.append(f"{name} is given more than once.")
    return {name: query.get(name, "") for name in names}, problems


def unknown(values: Mapping[str, str], allowed: Mapping[str, Collection[str]]) -> list[str]:
    """A sentence for each value that is not among those ``allowed`` for its name; "" always is."""
    return [
        f"{name} “{values[name][:80]}” is not known. {_say_allowed(values[name], choices)}"
        for name, choices in allowed.items()
        if values[name] and values[name] not in choices
    ]


def _say_allowed(value: str, choices: Collection[str]) -> str:
    if not choices:
        return "There are none yet."
    if len(choices) <= 12:
        return f"Allowed: {', '.join(choices)}."
    close = get_close_matches(value, choices, n=5, cutoff=0.4)
    near = f" Close to it: {', '.join(close)}." if close else ""
    return f"{len(choices)} are known.{near}"
