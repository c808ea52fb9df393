"""One shape for every error of the JSON API: ``{"error": sentence, "field"?: path, "allowed"?: [...]}``."""

import logging
from collections.abc import Sequence
from typing import Any

from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from rest_framework import exceptions, serializers
from rest_framework.response import Response
from rest_framework.views import exception_handler

from runs.engine.transactions import drop_dead_connections
from runs.intake.refusals import BacklogFull, BadPayload, TooLarge, UnknownPipeline
from runs.storable import storable_text

logger = logging.getLogger(__name__)

HTML_PATHS = ("/ui", "/static/")


class ErrorBody(serializers.Serializer[Any]):
    """How every error looks, for the API's description."""

    error = serializers.CharField(help_text="A sentence for people.")
    field = serializers.CharField(required=False, help_text="The field or parameter that is wrong.")
    allowed = serializers.ListField(child=serializers.CharField(), required=False, help_text="What it may be.")
    close = serializers.ListField(child=serializers.CharField(), required=False, help_text="Names like an unknown one.")


class BadParameter(exceptions.APIException):
    """A query parameter, or a field of a body, that cannot be used: 400, naming it and what is allowed."""

    status_code = 400

    def __init__(self, field: str, message: str, *, allowed: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.field = field
        self.allowed = list(allowed)


class Conflict(exceptions.APIException):
    status_code = 409


def body(message: str, *, field: str = "", allowed: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """The JSON of an error; what is not known is left out. What a sender wrote may be quoted in it."""
    optional = {"field": storable_text(field), "allowed": list(allowed), **more}
    return {"error": storable_text(message), **{name: value for name, value in optional.items() if value}}


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's EXCEPTION_HANDLER: our own errors and DRF's, in one shape. None (a 500) for what nobody foresaw."""
    own = _own(error)
    if own is not None:
        return own
    response = exception_handler(error, context)
    if response is not None:
        response.data = _reshaped(error, response.data)
    return response


def _own(error: Exception) -> Response | None:
    if isinstance(error, BadPayload):
        return Response(body(str(error), field=error.field, allowed=error.allowed), status=400)
    if isinstance(error, BadParameter):
        return Response(body(str(error), field=error.field, allowed=error.allowed), status=400)
    if isinstance(error, TooLarge):
        return Response(body(str(error)), status=413)
    if isinstance(error, UnknownPipeline):
        return Response(body(str(error), field="pipeline", close=error.close), status=404)
    if isinstance(error, OperationalError):
        logger.exception("the database does not answer")
        drop_dead_connections()
        message = "The database does not answer; send it again in a moment."
        return Response(body(message), status=503, headers={"Retry-After": "5"})
    if isinstance(error, BacklogFull):
        return Response(body(str(error)), status=429, headers={"Retry-After": str(error.retry_after)})
    return None


def _reshaped(error: Exception, data: Any) -> dict[str, Any]:
    if isinstance(error, exceptions.NotAuthenticated):
        return body("Send `Authorization: Bearer TOKEN`, or log in.")
    if isinstance(error, Http404 | exceptions.NotFound):
        return body(str(error) or "There is nothing here.")
    if isinstance(error, exceptions.ValidationError):
        field, message = _first_problem(error.detail)
        return body(f"{field}: {message}" if field else message, field=field)
    if isinstance(data, dict) and "detail" in data:
        return body(str(data["detail"]))
    return body(str(data))


def _first_problem(detail: Any, path: str = "") -> tuple[str, str]:
    """The first of DRF's nested validation messages, as a path such as ``items.1.name`` and its text."""
    if isinstance(detail, dict):
        name, inner = next(iter(detail.items()))
        return _first_problem(inner, _below(path, name))
    if isinstance(detail, list):
        index = next((number for number, item in enumerate(detail) if item), 0)
        nested = isinstance(detail[index], dict | list)
        return _first_problem(detail[index], _below(path, index) if nested else path)
    return path, str(detail)


def _below(path: str, name: str | int) -> str:
    if name == "non_field_errors":
        return path
    return f"{path}.{name}".strip(".")


def is_html_path(path: str) -> bool:
    """Whether a path belongs to pages rather than to the JSON API."""
    return path == "/" or path.startswith(HTML_PATHS)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_html_path(request.path):
        return defaults.bad_request(request, exception)
    return JsonResponse(body("The request cannot be understood."), status=400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_html_path(request.path):
        return defaults.permission_denied(request, exception)
    message = str(exception) if isinstance(exception, DjangoPermissionDenied) else ""
    return JsonResponse(body(message or "You may not do this."), status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_html_path(request.path):
        return defaults.page_not_found(request, exception)
    return JsonResponse(body(f"There is nothing at {request.path[:200]}."), status=404)


def failed(request: HttpRequest) -> HttpResponse:
    if is_html_path(request.path):
        return defaults.server_error(request)
    return JsonResponse(body("Something went wrong here; it is in the server's log."), status=500)
