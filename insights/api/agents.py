"""``GET /agents``: every agent that has answered."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from insights.agents import Agent, agent_names, agents
from runs.api import parameters
from runs.api.errors import ErrorBody
from runs.models import Role

LIMIT, LIMIT_MAX = 50, 200
BIGGEST = 1_000_000


class AgentBody(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="executor:name")
    last_seen = serializers.DateTimeField(allow_null=True)
    agent_version = serializers.CharField(allow_null=True, help_text="The last it told; null when it tells none.")
    versions = serializers.IntegerField(help_text="How many it has told.")
    steps = serializers.ListField(child=serializers.CharField(), help_text="The steps it has answered in.")
    labelled_count = serializers.IntegerField()
    accuracy = serializers.FloatField(allow_null=True, help_text="Mean label of all its answers; null without any.")
    interval = serializers.ListField(child=serializers.FloatField(), allow_null=True, help_text="95 % of it: [lo, hi].")


class AgentListBody(serializers.Serializer[Any]):
    agents = AgentBody(many=True)
    total = serializers.IntegerField()


class AgentList(APIView):
    """Every agent that has answered or told a version, the one that ran last first."""

    required_role = Role.VIEWER

    @extend_schema(
        operation_id="list_agents",
        parameters=[
            OpenApiParameter("limit", int, default=LIMIT, description=f"1 to {LIMIT_MAX}"),
            OpenApiParameter("offset", int, default=0, description="Agents to leave out, of the first."),
        ],
        responses={200: AgentListBody, 400: ErrorBody},
    )
    @parameters.takes("limit", "offset")
    def get(self, request: Request) -> Response:
        limit = parameters.number(request.GET, "limit", default=LIMIT, low=1, high=LIMIT_MAX)
        offset = parameters.number(request.GET, "offset", default=0, low=0, high=BIGGEST)
        names = agent_names()
        shown = agents(names[offset : offset + limit])
        return Response({"agents": [_body(agent) for agent in shown], "total": len(names)})


def _body(agent: Agent) -> dict[str, Any]:
    record = agent.record
    return {
        "name": agent.name,
        "last_seen": agent.last_seen,
        "agent_version": agent.version or None,
        "versions": agent.versions,
        "steps": agent.steps,
        "labelled_count": agent.labelled,
        "accuracy": record.value,
        "interval": record.interval and list(record.interval),
    }
