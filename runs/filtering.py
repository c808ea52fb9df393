"""What an address is asked for: unknown names and values are refused with what is allowed, never passed over."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from django.http import QueryDict

# Characters of one value: fifty ids of runs are half of it, and no name is nearly as long.
LONGEST = 4_000


class BadFilter(Exception):
    """Carries one sentence per parameter that cannot be used."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


def misused(
    query: QueryDict, names: Collection[str], *, many: Collection[str] = (), of: str = "page"
) -> dict[str, str]:
    """By name, a sentence for each parameter that is none of ``names``, is repeated though not one of ``many``, or
    is too long. ``of`` is the word for what takes the parameters.
    """
    takes = f"It takes: {', '.join(names)}." if names else f"This {of} takes no parameters."
    problems = {}
    for name, values in query.lists():
        if name not in names:
            problems[name] = f"There is no parameter “{name[:80]}”. {takes}"
        elif len(values) > 1 and name not in many:
            problems[name] = f"{name} is given more than once."
        elif sum(map(len, values)) > LONGEST:
            problems[name] = f"{name} is longer than {LONGEST:,} characters."
    return problems


def values_of(query: QueryDict, names: Collection[str]) -> dict[str, str]:
    """The values at ``names``, "" where absent."""
    return {name: query.get(name, "") for name in names}


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
