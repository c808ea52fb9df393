import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs.api.errors import handle
from runs.models import Role
from tests.runs.intake_factories import bearer

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.runs.api.test_errors")]


class Forgotten(APIView):
    """Names no role."""

    def get(self, request: Request) -> Response:
        return Response("in")


class Broken(APIView):
    required_role = Role.INTAKE

    def get(self, request: Request) -> Response:
        raise ZeroDivisionError


class Echo(APIView):
    required_role = Role.INTAKE

    def post(self, request: Request) -> Response:
        return Response(request.data)


def denied(request):
    raise PermissionDenied("Not you.")


urlpatterns = [
    path("forgotten", Forgotten.as_view()),
    path("broken", Broken.as_view()),
    path("echo", Echo.as_view()),
    path("denied", denied),
]
handler403 = "runs.api.errors.forbidden"
handler404 = "runs.api.errors.not_found"
handler500 = "runs.api.errors.failed"


def test_a_view_that_names_no_role_is_for_admins(client):
    assert client.get("/forgotten", headers=bearer(Role.OPERATOR)).status_code == 403
    assert client.get("/forgotten", headers=bearer(Role.ADMIN)).status_code == 200


def test_unforeseen_error_is_json_and_tells_nothing():
    client = Client(raise_request_exception=False)
    answer = client.get("/broken", headers=bearer())
    assert answer.status_code == 500
    assert "log" in answer.json()["error"]
    assert b"ZeroDivision" not in answer.content


def test_denied_outside_of_the_api_views(client):
    answer = client.get("/denied")
    assert (answer.status_code, answer.json()) == (403, {"error": "Not you."})


def test_bodies_are_objects_within_the_limit(client, settings):
    limit = settings.SERVICE.limits.payload_bytes

    def post(body, kind="application/json"):
        return client.post("/echo", body, content_type=kind, headers=bearer())

    assert post(b'{"a": 1}').json() == {"a": 1}
    assert post(b"[1]").status_code == 400
    assert post(b'{"a": NaN}').status_code == 400
    assert post(b"[" * 100_000).status_code == 400
    assert post(b" " * (limit + 1)).status_code == 413
    assert post(b"a=1", "application/x-www-form-urlencoded").status_code == 415


class Inner(serializers.Serializer):
    n = serializers.IntegerField()


class Outer(serializers.Serializer):
    items = Inner(many=True)


def test_serializer_errors_name_the_field():
    outer = Outer(data={"items": [{"n": 1}, {"n": "x"}]})
    with pytest.raises(serializers.ValidationError) as refused:
        outer.is_valid(raise_exception=True)
    body = handle(refused.value, {}).data
    assert body["field"] == "items.1.n"
    assert "integer" in body["error"]
