"""Reading the pipelines that are loaded, and loading them again."""

from typing import Any

from django.db.models import F
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs.api import parameters
from runs.api.errors import ErrorBody
from runs.intake.resolve import unknown
from runs.models import Pipeline, Role
from runs.pipelines import registry


class ProblemBody(serializers.Serializer[Any]):
    file = serializers.CharField()
    line = serializers.IntegerField(help_text="From 1; 0 where the whole file is meant.")
    field = serializers.CharField(help_text="For example steps[0].when; empty where the whole file is meant.")
    message = serializers.CharField()


class PipelineBody(serializers.Serializer[Any]):
    name = serializers.CharField()
    file = serializers.CharField()
    version = serializers.CharField(
        allow_null=True, help_text="The digest runs execute now; null if the file never was good."
    )
    description = serializers.CharField(allow_null=True)
    tags = serializers.ListField(child=serializers.CharField())
    stage = serializers.CharField(allow_null=True)
    steps = serializers.ListField(child=serializers.CharField(), help_text="Their names, in order.")
    problems = ProblemBody(many=True, help_text="What is wrong with the file as it is now.")
    loaded_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()


class PipelineListBody(serializers.Serializer[Any]):
    pipelines = PipelineBody(many=True)


class PipelineDetailBody(PipelineBody):
    config = serializers.JSONField(allow_null=True, help_text="The pipeline with every default and the step library.")


class ReloadBody(serializers.Serializer[Any]):
    loaded = serializers.ListField(child=serializers.CharField(), help_text="Files that are good.")
    changed = serializers.ListField(child=serializers.CharField(), help_text="Files that run another version now.")
    removed = serializers.ListField(child=serializers.CharField())
    problems = ProblemBody(many=True)


class PipelineList(APIView):
    """Every pipeline file, good or not, by name."""

    required_role = Role.VIEWER

    @extend_schema(operation_id="list_pipelines", responses={200: PipelineListBody, 400: ErrorBody})
    @parameters.takes()
    def get(self, request: Request) -> Response:
        rows = Pipeline.objects.filter(present=True).select_related("version").defer("version__source")
        return Response({"pipelines": [_body(row) for row in rows.order_by("name", "file")]})


class PipelineDetail(APIView):
    """One pipeline with its resolved configuration."""

    required_role = Role.VIEWER

    @extend_schema(operation_id="get_pipeline", responses={200: PipelineDetailBody, 404: ErrorBody})
    @parameters.takes()
    def get(self, request: Request, name: str) -> Response:
        rows = Pipeline.objects.filter(present=True, name=name).select_related("version").defer("version__source")
        # Of several files with one name, the one that runs.
        row = rows.order_by(F("version_id").asc(nulls_last=True), "file").first() if "\x00" not in name else None
        if row is None:
            raise unknown(name)
        return Response({**_body(row), "config": None if row.version is None else row.version.config})


class Reload(APIView):
    """Read the pipeline files again. A file with problems keeps its last good version."""

    required_role = Role.OPERATOR

    @extend_schema(operation_id="reload_pipelines", request=None, responses={200: ReloadBody})
    @parameters.takes()
    def post(self, request: Request) -> Response:
        return Response(registry.reload(now=timezone.now()).to_json())


def _body(row: Pipeline) -> dict[str, Any]:
    pipeline = None if row.version is None else registry.parsed(row.version)
    return {
        "name": row.name,
        "file": row.file,
        "version": row.version_id,
        "description": pipeline.description if pipeline else None,
        "tags": pipeline.tags if pipeline else [],
        "stage": pipeline.stage if pipeline else None,
        "steps": [entry.name for entry in pipeline.entries] if pipeline else [],
        "problems": row.errors,
        "loaded_at": row.loaded_at,
        "changed_at": row.changed_at,
    }
