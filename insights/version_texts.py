"""The texts behind the hashes, as much of each as a page or a comparison can bear."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Length, Substr

from calibration.models import AgentVersion, PromptVersion
from insights.diff import Diff, compare

COMPARED = 2_000_000  # characters of each text


@dataclass(frozen=True)
class Text:
    """``text`` is the beginning of a text of ``chars`` characters."""

    title: str
    text: str
    chars: int


@dataclass(frozen=True)
class Change:
    """How one text of a version became another's; ``is_cut``: only the first COMPARED characters were compared."""

    title: str
    diff: Diff
    is_cut: bool


def prompt_texts(step: str, prompt_hash: str) -> list[Text]:
    """The template of one version; [] when none is kept."""
    return texts_of_prompt(step, [prompt_hash], head=COMPARED).get(prompt_hash, [])


def agent_texts(agent: str, version: str) -> list[Text]:
    """The soul and the configuration of one version; [] when neither is kept."""
    return texts_of_agent(agent, [version], head=COMPARED).get(version, [])


def texts_of_prompt(step: str, hashes: Sequence[str], *, head: int) -> dict[str, list[Text]]:
    """The first ``head`` characters of the templates, by hash. One query."""
    rows = PromptVersion.objects.filter(step=step, prompt_hash__in=hashes)
    return _texts(rows, "prompt_hash", {"template": "Template"}, head)


def texts_of_agent(agent: str, versions: Sequence[str], *, head: int) -> dict[str, list[Text]]:
    """The first ``head`` characters of souls and configurations, by version. One query."""
    rows = AgentVersion.objects.filter(agent=agent, version__in=versions)
    return _texts(rows, "version", {"soul": "Soul", "config": "Configuration"}, head)


def changes(before: list[Text], after: list[Text]) -> list[Change]:
    """What changed in each text that both sides or one of them have; [] when a side has none at all to compare."""
    if not before or not after:
        return []
    old, new = ({text.title: text for text in side} for side in (before, after))
    found = []
    for title in dict.fromkeys((*old, *new)):
        left, right = (side.get(title, Text(title, "", 0)) for side in (old, new))
        is_cut = len(left.text) < left.chars or len(right.text) < right.chars
        found.append(Change(title, compare(left.text, right.text), is_cut))
    return found


def _texts(rows: "QuerySet[Any]", column: str, titles: dict[str, str], head: int) -> dict[str, list[Text]]:
    wanted = {f"{name}_head": Substr(name, 1, head) for name in titles}
    sizes = {f"{name}_chars": Length(name) for name in titles}
    return {
        row[column]: [
            Text(title, row[f"{name}_head"], row[f"{name}_chars"])
            for name, title in titles.items()
            if row[f"{name}_chars"]
        ]
        for row in rows.values(column, **wanted, **sizes)
    }
