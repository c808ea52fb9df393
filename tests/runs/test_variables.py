import pytest

from runs.variables import NotSet, expanded


def _nobody(_value: str) -> None:
    """For tests that do not care who is told."""


@pytest.mark.parametrize(
    ("text", "gives"),
    [
        ("a ${HOST}:${PORT:-80}", "a h1:80"),
        ("${HOST:-other}", "h1"),
        ("[${EMPTY}] [${GONE:-}]", "[] []"),
        ("$HOST ${} ${1} {HOST} ${ HOST }", "$HOST ${} ${1} {HOST} ${ HOST }"),
    ],
)
def test_variables_and_defaults(text: str, gives: str) -> None:
    assert expanded(text, {"HOST": "h1", "EMPTY": ""}, tell=_nobody) == gives


def test_what_a_value_holds_is_not_expanded_again() -> None:
    assert expanded("${A}", {"A": "${B}", "B": "secret"}, tell=_nobody) == "${B}"


def test_a_variable_without_a_value_is_named() -> None:
    with pytest.raises(NotSet, match=r"\$\{GONE\} is not set"):
        expanded("x${GONE}", {}, tell=_nobody)


def test_values_are_written_as_asked() -> None:
    assert expanded("${A}-${A}", {"A": "x"}, tell=_nobody, write=str.upper) == "X-X"


def test_what_the_environment_holds_is_told_and_a_default_is_not() -> None:
    told: list[str] = []
    expanded("${A} ${B:-by default} ${A}", {"A": "x"}, tell=told.append)
    assert told == ["x", "x"]
