"""Starting runs over HTTP: webhooks, and a pipeline by its name."""

from typing import Any, cast

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs.access.authentication import TokenAuthentication
from runs.access.principal import Principal
from runs.access.roles import name_of
from runs.api import parameters
from runs.api.errors import ErrorBody
from runs.api.parsers import read_object
from runs.intake import sources
from runs.intake.accept import Accepted, accept, start
from runs.models import Role


class AcceptedBody(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=["accepted", "deduplicated", "skipped_testing"])
    pipeline = serializers.CharField()
    run_id = serializers.UUIDField(required=False, help_text="Of a run that is stored; absent when skipped.")
    reason = serializers.CharField(required=False, help_text="Why no new run was made, or why it waits.")


ERRORS = {400: ErrorBody, 401: ErrorBody, 403: ErrorBody, 404: ErrorBody, 413: ErrorBody, 429: ErrorBody}


class Webhook(APIView):
    """A payload from an alerting system or any other sender; answered once the run is stored."""

    authentication_classes = [TokenAuthentication]  # a team's token says whose run it is; a person has no team
    required_role = Role.INTAKE

    @extend_schema(
        request=OpenApiTypes.OBJECT,
        responses={202: AcceptedBody, **ERRORS},
        parameters=[
            OpenApiParameter("source", enum=list(sources.READERS), default="generic"),
            OpenApiParameter("X-Pipeline-Source", location="header", enum=list(sources.READERS)),
            OpenApiParameter("allow_testing", bool, default=False, description="Also run pipelines of stage testing."),
        ],
    )
    @parameters.takes("source", "allow_testing")
    def post(self, request: Request) -> Response:
        source = parameters.text(request.GET, "source") or request.headers.get("X-Pipeline-Source") or "generic"
        incoming = sources.read(source, read_object(request._request))
        sender = cast(Principal, request.auth)
        answer = accept(
            incoming=incoming,
            team=sender.team,
            started_by=name_of(sender),
            allow_testing=parameters.truth(request.GET, "allow_testing"),
            now=timezone.now(),
        )
        return _accepted(answer)


class StartPipeline(APIView):
    """Start one pipeline, whatever its stage. The body is the payload; no body is an empty one."""

    required_role = Role.INTAKE
    required_session_role = Role.OPERATOR

    @extend_schema(request=OpenApiTypes.OBJECT, responses={202: AcceptedBody, **ERRORS})
    @parameters.takes()
    def post(self, request: Request, name: str) -> Response:
        user = request.user
        answer = start(
            pipeline=name,
            payload=read_object(request._request, empty=True),
            team=user.team if isinstance(user, Principal) else "",
            source="api",
            started_by=name_of(user),
            now=timezone.now(),
        )
        return _accepted(answer)


def _accepted(answer: Accepted) -> Response:
    body = {"status": answer.status, "run_id": answer.run_id, "pipeline": answer.pipeline, "reason": answer.reason}
    return Response({name: str(value) for name, value in body.items() if value}, status=202)
