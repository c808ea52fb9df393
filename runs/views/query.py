"""What pages are asked for in their address, checked before anything looks it up."""

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest
from django.utils.deprecation import MiddlewareMixin

from runs.api.errors import is_html_path


class BadAddress(BadRequest):
    """An address that asks for what is not offered; its text says so to the reader, and names what is."""


class RefuseNul(MiddlewareMixin):
    """400 for an address with a NUL, in which PostgreSQL cannot even look for anything.

    The JSON API names the parameter that holds it (``runs.api.parameters``).
    """

    def process_request(self, request: HttpRequest) -> None:
        """Raises BadRequest."""
        if is_html_path(request.path) and ("\x00" in request.path or "%00" in request.META.get("QUERY_STRING", "")):
            raise BadRequest("a NUL in the address")


def whole_number(request: HttpRequest, name: str) -> int:
    """The whole number at ``name``; 0 when it is absent. No page offers anything else, so that is a 404."""
    text = request.GET.get(name, "0")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Http404
    return int(text)
