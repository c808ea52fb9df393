"""What the histories of prompts and of agents share: which two versions are compared, and the rows of the list."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest
from django.utils.http import urlencode

from insights.histories import History, UnknownVersion, Version
from insights.version_texts import Text, changes
from runs.views.query import whole_number

NAMES = ("version", "against", "page")
PAGE = 20
OFFERED = 200  # versions in the two menus
SHOWN_CHARS = 100_000
SHORT = 16


@dataclass(frozen=True)
class Row:
    """A version in the list; ``query`` is the address that shows it against the one before, ``behind`` names the
    answers it is measured by.
    """

    version: Version
    name: str
    query: str
    behind: str
    is_shown: bool
    ran_last: bool


def history_context(
    request: HttpRequest, history: History, texts: Callable[[str], list[Text]], *, name: str
) -> dict[str, Any]:
    """The page of a history: its list, and the comparison that the address asks for.

    ``texts`` has what is kept of a version by its value, ``name`` is how versions are called.
    A version nothing is known of is named as such: a run's chip may be ahead of the registry. Raises
    Http404 for one to compare with that is not known.
    """
    asked = request.GET.get("version")
    if not history.versions or (asked is not None and not history.has(asked)):
        return {"history": history, "name": name, "unknown": asked, **_list(request, history, None)}
    try:
        version, against = history.chosen(asked, request.GET.get("against"))
    except UnknownVersion as error:
        raise Http404 from error
    assert version is not None
    whole = texts(version.value)
    context = {
        "history": history,
        "name": name,
        "version": version,
        "against": against,
        "texts": [Text(one.title, one.text[:SHOWN_CHARS], one.chars) for one in whole],
        **_list(request, history, version),
    }
    if against is not None and against != version:
        context["effect"] = history.effect(against, version)
        context["changes"] = changes(texts(against.value), whole)
        context["options"] = [(one.value, short(one.value)) for one in history.versions[:OFFERED]]
    return context


def short(value: str) -> str:
    """The beginning of a version's hash, or what stands for none."""
    return value[:SHORT] if value else "not recorded"


def _behind(history: History, version: Version) -> dict[str, str]:
    if history.part == "agent_version":
        return {"agent": history.of, "version": version.value}
    return {"step": history.of, "prompt": version.value}


def _list(request: HttpRequest, history: History, shown: Version | None) -> dict[str, Any]:
    page = whole_number(request.GET, "page", default=1, low=1, high=1_000_000)
    latest = history.latest
    rows = [
        Row(
            version,
            short(version.value),
            query=urlencode({"version": version.value}),
            behind=urlencode(_behind(history, version)),
            is_shown=version is shown,
            ran_last=version is latest,
        )
        for version in history.versions[(page - 1) * PAGE : page * PAGE]
    ]
    kept = {name: request.GET[name] for name in ("version", "against") if name in request.GET}
    return {
        "rows": rows,
        "newer": urlencode({**kept, "page": str(page - 1)}) if page > 1 else None,
        "older": urlencode({**kept, "page": str(page + 1)}) if len(history.versions) > page * PAGE else None,
    }
