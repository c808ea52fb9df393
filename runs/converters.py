"""Names in addresses."""

import re

from django.urls import register_converter
from django.urls.converters import StringConverter

# Browsers and proxies take such a part out of an address, whether its dots are escaped or not.
_DOTS = re.compile(r"(?<![^/])(\.{1,2}~*)(?![^/])")
_ESCAPED_DOTS = re.compile(r"(?<![^/])(\.{1,2}~*)~(?![^/])")


class NameConverter(StringConverter):
    """A pipeline's, step's or agent's name, whatever it holds: slashes, line breaks, parts of dots alone.

    Of those, ``..`` stands in an address as ``..~``.
    """

    regex = r"[\s\S]+"

    def to_python(self, value: str) -> str:
        return _ESCAPED_DOTS.sub(r"\1", value)

    def to_url(self, value: str) -> str:
        return _DOTS.sub(r"\1~", value)


register_converter(NameConverter, "name")
