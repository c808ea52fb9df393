"""Values in shell commands, checked against the real shell."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.pipelines.templating import TemplateError, render_shell

PROGRAM = """show() { printf '%s\\0' "$@"; }; show"""
NASTY = "a b; $(touch /tmp/x) `id` \"double\" 'single' \\ $HOME * ? ! # & | < > \n{{ x }}"


def arguments(template: str, value: str) -> list[str]:
    """What a command gets when the shell runs the rendered command."""
    command = render_shell(f"{PROGRAM} {template}", {"x": value}).text
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ x }}", [NASTY]),
        ("--name={{ x }}", [f"--name={NASTY}"]),
        ("pre{{ x }}post", [f"pre{NASTY}post"]),
        ('"{{ x }}"', [NASTY]),
        ('"pre {{ x }} post"', [f"pre {NASTY} post"]),
        ("'{{ x }}'", [NASTY]),
        ("'pre {{ x }} post'", [f"pre {NASTY} post"]),
        ("{{ x }}{{ x }}", [NASTY + NASTY]),
        ('"{{ x }}{{ x }}" {{ x }}', [NASTY + NASTY, NASTY]),
        ('\\"{{ x }}\\"', [f'"{NASTY}"']),
        ('"a\\"{{ x }}"', [f'a"{NASTY}']),
        ('"$(printf %s {{ x }})"', [NASTY]),
        ('"$(printf %s "{{ x }}")"', [NASTY]),
        ("\"$(printf %s 'it'\\''s {{ x }}')\"", [f"it's {NASTY}"]),
        ("'#' {{ x }}", ["#", NASTY]),
        ("a#b {{ x }}", ["a#b", NASTY]),
        ("{% for i in [1, 2] %}'{{ x }}' {% endfor %}", [NASTY, NASTY]),
        ('{% if x %}"{{ x }}"{% else %}y{% endif %}', [NASTY]),
    ],
)
def test_a_value_is_one_argument_wherever_it_stands(template, expected):
    assert arguments(template, NASTY) == expected


@settings(max_examples=60, deadline=None)
@given(
    value=st.text(alphabet=st.characters(exclude_characters="\x00", exclude_categories=("Cs",)), max_size=30),
    template=st.sampled_from(["{{ x }}", '"{{ x }}"', "'{{ x }}'", '"a {{ x }}"', "\"$(printf '%s.' {{ x }})\""]),
)
def test_any_text_arrives_as_it_is(template, value):
    expected = {'"a {{ x }}"': "a " + value, "\"$(printf '%s.' {{ x }})\"": value + "."}.get(template, value)
    assert arguments(template, value) == [expected]


@pytest.mark.parametrize(
    "template",
    [
        "echo `echo {{ x }}`",
        "cat <<EOF\n{{ x }}\nEOF",
        "cat <<'EOF'\n{{ x }}\nEOF",
        "cat <<< {{ x }}",
        "echo ${y:-{{ x }}}",
        'echo "${y:-{{ x }}}"',
        "echo $'{{ x }}'",
        'echo $"{{ x }}"',
        "echo \\{{ x }}",
        'echo "\\{{ x }}"',
        "echo ${{ x }}",
        "ls # it's {{ x }}",
        "case y in a) echo {{ x }};; esac",
    ],
)
def test_where_no_quoting_is_certain_a_value_is_refused(template):
    with pytest.raises(TemplateError, match="cannot be quoted safely"):
        render_shell(template, {"x": "v"})


def test_a_nul_cannot_be_an_argument():
    with pytest.raises(TemplateError, match="NUL"):
        render_shell("echo {{ x }}", {"x": "a\x00b"})


def test_what_is_missing_is_an_empty_argument_and_a_warning():
    rendered = render_shell("test {{ output.x }} = y", {"output": {}})
    assert (rendered.text, rendered.warnings) == ("test '' = y", ["output.x is missing"])


def test_numbers_and_lists_are_their_text():
    assert render_shell("echo {{ a }} {{ b }} {{ c }}", {"a": 1.5, "b": [1], "c": True}).text == "echo 1.5 '[1]' True"
