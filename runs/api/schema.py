"""The API's own description (OpenAPI)."""

from collections.abc import Iterable
from typing import Any

from drf_spectacular.renderers import OpenApiJsonRenderer2, OpenApiYamlRenderer2
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from runs.api import parameters
from runs.models import Role


class ByFormat(DefaultContentNegotiation):
    """What is sent is chosen by ``?format=`` or by the Accept header."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Raises BadParameter for a format that is none of the ``renderers``'."""
        offered = list(renderers)
        chosen = parameters.choice(request.GET, "format", [str(renderer.format) for renderer in offered])
        return super().select_renderer(request, offered, format_suffix or chosen)


class Schema(SpectacularAPIView):
    """OpenAPI 3 as JSON; as YAML for ``?format=yaml``."""

    renderer_classes = [OpenApiJsonRenderer2, OpenApiYamlRenderer2]
    content_negotiation_class = ByFormat
    required_role = Role.VIEWER

    @extend_schema(exclude=True)
    @parameters.takes("format")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)
