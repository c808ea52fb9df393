import pytest

from runs.variables import NotSet, expanded


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
    assert expanded(text, {"HOST": "h1", "EMPTY": ""}) == gives


def test_what_a_value_holds_is_not_expanded_again() -> None:
    assert expanded("${A}", {"A": "${B}", "B": "secret"}) == "${B}"


def test_a_variable_without_a_value_is_named() -> None:
    with pytest.raises(NotSet, match=r"\$\{GONE\} is not set"):
        expanded("x${GONE}", {})


def test_values_are_written_as_asked() -> None:
    assert expanded("${A}-${A}", {"A": "x"}, write=str.upper) == "X-X"
