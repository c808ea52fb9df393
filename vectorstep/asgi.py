"""How requests reach Django: pages and the API as WSGI in a pool of threads, live tails as ASGI.

Django's own ASGI handler moves each request between threads several times and opens a database
connection of its own for it, which costs more than the whole of accepting a webhook.
"""

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application

from vectorstep.in_threads import InThreads
from vectorstep.settled import settle

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "vectorstep.settings")

streams = get_asgi_application()
pages = InThreads(get_wsgi_application(), threads=settings.WEB_THREADS)

from runs.api.body_limit import BodyLimit  # noqa: E402  (Django must be set up first)
from runs.api.errors import is_html_path  # noqa: E402

Scope = MutableMapping[str, Any]


def limit_of(path: str) -> int:
    """Bytes a request's body may have: a payload's limit, or a form's, in which a payload is written longer."""
    return settings.DATA_UPLOAD_MAX_MEMORY_SIZE if is_html_path(path) else settings.SERVICE.limits.payload_bytes


def is_stream(path: str) -> bool:
    """Whether the path is a run's live tail (``runs.views.urls``), the one answer that does not end."""
    return path.startswith("/ui/runs/") and path.endswith("/events")


async def by_kind(scope: Scope, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
    handler: Any = streams if scope["type"] == "http" and is_stream(scope["path"]) else pages
    await handler(scope, receive, send)


application = BodyLimit(by_kind, limit_of=limit_of)
settle()
