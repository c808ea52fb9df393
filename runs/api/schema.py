"""The API's own description (OpenAPI)."""

from drf_spectacular.views import SpectacularAPIView

from runs.models import Role


class Schema(SpectacularAPIView):
    """OpenAPI 3; ask with ``Accept: application/json`` or ``?format=json`` for JSON."""

    permission_classes = SpectacularAPIView.permission_classes
    required_role = Role.INTAKE
