"""Names in addresses."""

from django.urls.converters import StringConverter


class NameConverter(StringConverter):
    """A step's or agent's name, whatever it holds: slashes, and line breaks too."""

    regex = r"[\s\S]+"
