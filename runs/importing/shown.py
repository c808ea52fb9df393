"""What a file says, and what is wrong with it, within a line that a person reads in a terminal."""

from pydantic import ValidationError

from runs.pipelines.problems import field_path


def shown(text: str, *, most: int = 60) -> str:
    """``text`` cut to ``most`` characters, with those that would steer a terminal as their escapes."""
    cut = text if len(text) <= most else f"{text[:most]}…"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut)


def problem_of(error: ValidationError) -> str:
    """The first thing that is wrong, with its place."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = shown(field_path(first["loc"]), most=200)
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
