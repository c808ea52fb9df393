"""Running a finished run again over HTTP."""

import uuid
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs.access.roles import name_of
from runs.api import parameters
from runs.api.errors import BadParameter, Conflict, ErrorBody
from runs.api.parsers import ObjectParser
from runs.api.strict import Strict, Text, Word
from runs.intake import rerun
from runs.models import Role, Run


class Rerun(Strict):
    from_step = Text(help_text="The first step that runs anew; of a group, the group.")
    version = Word(
        rerun.VERSIONS, default="same", help_text="The version the run executed, or the pipeline as it is now."
    )


class RerunBody(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=["accepted"])
    pipeline = serializers.CharField()
    run_id = serializers.UUIDField(help_text="Of the new run.")
    rerun_of = serializers.UUIDField()
    reason = serializers.CharField(required=False, help_text="Why it waits, if it does.")


class RerunRun(APIView):
    """A new run: the steps before ``from_step`` are taken over, it and all after it run anew.

    409 says why that cannot be: the run has not ended, its pipeline was removed, or what comes before does not fit.
    """

    required_role = Role.OPERATOR
    parser_classes = [ObjectParser]

    @extend_schema(
        operation_id="rerun_run",
        request=Rerun,
        responses={202: RerunBody, 400: ErrorBody, 404: ErrorBody, 409: ErrorBody, 429: ErrorBody},
    )
    @parameters.takes()
    def post(self, request: Request, run_id: uuid.UUID) -> Response:
        given = Rerun(data=request.data)
        given.is_valid(raise_exception=True)
        try:
            started = rerun.rerun(run_id, **given.validated_data, by=name_of(request.user), now=timezone.now())
        except Run.DoesNotExist:
            raise NotFound(f"There is no run {run_id}.") from None
        except rerun.NoSuchStep as error:
            raise BadParameter("from_step", str(error), allowed=error.known) from error
        except rerun.CannotRerun as error:
            raise Conflict(str(error)) from error
        answer = {"status": "accepted", "pipeline": started.pipeline, "run_id": started.run_id, "rerun_of": run_id}
        return Response({**answer, **({"reason": started.reason} if started.reason else {})}, status=202)
