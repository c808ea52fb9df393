import os

from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "vectorstep.settings")

django_application = get_asgi_application()

from runs.api.body_limit import BodyLimit  # noqa: E402  (Django must be set up first)
from runs.api.errors import is_html_path  # noqa: E402


def limit_of(path: str) -> int:
    """Bytes a request's body may have: a payload's limit, or a form's, in which a payload is written longer."""
    return settings.DATA_UPLOAD_MAX_MEMORY_SIZE if is_html_path(path) else settings.SERVICE.limits.payload_bytes


application = BodyLimit(django_application, limit_of=limit_of)
