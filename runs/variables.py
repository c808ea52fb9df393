"""``${NAME}`` and ``${NAME:-default}`` in texts that an operator or the author of a pipeline wrote. Pure."""

import re
from collections.abc import Callable, Mapping

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class NotSet(LookupError):
    """A variable that is named has no value and no default; the message names it."""


def expanded(
    text: str, environ: Mapping[str, str], *, tell: Callable[[str], None], write: Callable[[str], str] = str
) -> str:
    """``text`` with each variable replaced by ``write`` of its value; ``tell`` is told each that ``environ`` holds.

    Never for text from elsewhere: data that happens to hold ``${SECRET}`` would be expanded. Raises NotSet.
    """

    def replace(found: re.Match[str]) -> str:
        if found[1] in environ:
            tell(environ[found[1]])
        value = environ.get(found[1], found[2])
        if value is None:
            raise NotSet(f"${{{found[1]}}} is not set in the environment; set it, or write ${{{found[1]}:-default}}")
        return write(value)

    return _VARIABLE.sub(replace, text)
