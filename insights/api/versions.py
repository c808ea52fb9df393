"""``GET /steps/{name}/versions`` and ``GET /agents/{name}/versions``: what ran, what changed, and whether it helped."""

from collections.abc import Callable, Sequence
from typing import Any

from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from insights.api import counting
from insights.api import version_bodies as bodies
from insights.histories import History, UnknownVersion, Version, agent_history, prompt_history
from insights.version_texts import Text, agent_texts, changes, prompt_texts, texts_of_agent, texts_of_prompt
from runs.api import parameters
from runs.api.errors import ErrorBody
from runs.models import Role, Step

LIMIT, LIMIT_MAX = 20, 50
BIGGEST = 1_000_000
NAMES = {"Template": "template", "Soul": "soul", "Configuration": "config"}
PARAMETERS = [
    *counting.PARAMETERS,
    OpenApiParameter("version", str, description="The version to compare; the newest if absent, empty: unreported."),
    OpenApiParameter("against", str, description="What to hold it against; the one before it if absent."),
    OpenApiParameter("limit", int, default=LIMIT, description=f"Versions listed: 1 to {LIMIT_MAX}."),
    OpenApiParameter("offset", int, default=0, description="Versions to leave out, of the newest."),
]


class StepVersions(APIView):
    """The prompts a step has had, newest first, and what changed from one of them to another."""

    required_role = Role.VIEWER

    @extend_schema(
        operation_id="step_versions",
        parameters=PARAMETERS,
        responses={200: bodies.PromptHistoryBody, 400: ErrorBody, 404: ErrorBody},
    )
    @parameters.takes(*(parameter.name for parameter in PARAMETERS))
    def get(self, request: Request, name: str) -> Response:
        listed = _listed(request.GET)
        history = prompt_history(name, **counting.counting_of(request.GET)) if "\x00" not in name else None
        if history is None or not (history.versions or Step.objects.filter(name=name).exists()):
            raise NotFound(f"No step called {name[:200]} has run.")
        shown = history.versions[listed]
        kept = texts_of_prompt(name, [version.value for version in shown], head=bodies.HEAD)
        comparison = _comparison(request.GET, history, lambda value: prompt_texts(name, value))
        versions = [
            {
                **bodies.version_body(version),
                "prompt_hash": version.value or None,
                "template": bodies.text_body(_named(kept.get(version.value, []), "Template")),
            }
            for version in shown
        ]
        total = len(history.versions)
        return Response({"step_name": name, "versions": versions, "total": total, "comparison": comparison})


class AgentVersions(APIView):
    """The versions an agent has reported, newest first, and what changed from one of them to another."""

    required_role = Role.VIEWER

    @extend_schema(
        operation_id="agent_versions",
        parameters=PARAMETERS,
        responses={200: bodies.AgentHistoryBody, 400: ErrorBody, 404: ErrorBody},
    )
    @parameters.takes(*(parameter.name for parameter in PARAMETERS))
    def get(self, request: Request, name: str) -> Response:
        listed = _listed(request.GET)
        history = agent_history(name, **counting.counting_of(request.GET)) if "\x00" not in name else None
        if history is None or not history.versions:
            raise NotFound(f"No agent called {name[:200]} has answered.")
        shown = history.versions[listed]
        kept = texts_of_agent(name, [version.value for version in shown], head=bodies.HEAD)
        comparison = _comparison(request.GET, history, lambda value: agent_texts(name, value))
        versions = [_agent_version(version, kept.get(version.value, [])) for version in shown]
        total = len(history.versions)
        return Response({"agent": name, "versions": versions, "total": total, "comparison": comparison})


def _agent_version(version: Version, kept: Sequence[Text]) -> dict[str, Any]:
    return {
        **bodies.version_body(version),
        "agent_version": version.value or None,
        "steps": version.steps,
        "soul": bodies.text_body(_named(kept, "Soul")),
        "config": bodies.text_body(_named(kept, "Configuration")),
        "note": version.note,
    }


def _listed(query: QueryDict) -> slice:
    limit = parameters.number(query, "limit", default=LIMIT, low=1, high=LIMIT_MAX)
    offset = parameters.number(query, "offset", default=0, low=0, high=BIGGEST)
    return slice(offset, offset + limit)


def _comparison(query: QueryDict, history: History, texts: Callable[[str], list[Text]]) -> dict[str, Any] | None:
    try:
        version, against = history.chosen(query.get("version"), query.get("against"))
    except UnknownVersion as error:
        raise NotFound(f"Nothing ran with version {str(error)[:200]!r}.") from error
    if version is None or against is None:
        return None
    changed = changes(texts(against.value), texts(version.value))
    return bodies.comparison_body(version, against, history.effect(against, version), changed, NAMES)


def _named(texts: Sequence[Text], title: str) -> Text | None:
    return next((text for text in texts if text.title == title), None)
