"""Names in addresses."""

import re

from django.urls import register_converter
from django.urls.converters import StringConverter

# What addresses have after a name. A name may end in the same words, and has an address of its own all the same.
SUFFIXES = ("calibration", "pause", "resume", "run", "versions")

# Browsers and proxies take parts of dots alone out of an address, whether the dots are escaped or not.
_TAKEN = rf"(?<![^/])\.{{1,2}}~*(?![^/])|(?<=/)(?:{'|'.join(SUFFIXES)})~*\Z"
_ESCAPED = rf"(?<![^/])\.{{1,2}}~*(?=~(?![^/]))~|(?<=/)(?:{'|'.join(SUFFIXES)})~*(?=~\Z)~"


class NameConverter(StringConverter):
    """A pipeline's, step's or agent's name, whatever it holds: slashes, line breaks, parts of dots alone.

    Of those, ``..`` stands in an address as ``..~``, and a last part ``versions`` as ``versions~``.
    """

    regex = r"[\s\S]+"

    def to_python(self, value: str) -> str:
        return re.sub(_ESCAPED, lambda part: part[0][:-1], value)

    def to_url(self, value: str) -> str:
        return re.sub(_TAKEN, lambda part: f"{part[0]}~", value)


register_converter(NameConverter, "name")
