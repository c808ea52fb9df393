"""The API's own description (OpenAPI)."""

from drf_spectacular.renderers import OpenApiJsonRenderer2, OpenApiYamlRenderer2
from drf_spectacular.views import SpectacularAPIView

from runs.models import Role


class Schema(SpectacularAPIView):
    """OpenAPI 3 as JSON; as YAML for ``?format=yaml``."""

    renderer_classes = [OpenApiJsonRenderer2, OpenApiYamlRenderer2]
    required_role = Role.VIEWER
