"""The check that keeps templates within the content security policy."""

import importlib.util

import pytest

from tests.services import ROOT

spec = importlib.util.spec_from_file_location("check_templates", ROOT / "script" / "check_templates.py")
check_templates = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_templates)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('<p style="color: red">', "a style attribute"),
        ('<p\n STYLE = "color: {{ colour }}">', "a style attribute"),
        ("<style>p {}</style>", "a <style> element"),
        ("<script>alert(1)</script>", "an inline <script>"),
        ('<script type="module">x()</script>', "an inline <script>"),
        ('<button onclick="x()">', "an onclick attribute"),
        ('<form hx-on:submit="x()">', "an hx-on:submit attribute"),
        ('<a href=" javascript:x()">', "a javascript: address"),
    ],
)
def test_what_the_policy_blocks_is_found(text, what):
    ((line, found),) = check_templates.problems("{% load static %}\n" + text)
    assert line == 2
    assert found.startswith(what)


@pytest.mark.parametrize(
    "text",
    [
        '<script src="{% static "a.js" %}"></script>',
        '<script id="d" type="application/json">{{ x }}</script>',
        '<p class="style" data-on="x">style="color" onclick="x"</p>',
    ],
)
def test_what_it_lets_pass_is_not(text):
    assert check_templates.problems(text) == []


def test_the_command_lists_places_and_fails(tmp_path, capsys):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.html").write_text('<p>\n<p style="x">')
    assert check_templates.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"{tmp_path}/sub/a.html:2: a style attribute; use a class\n"
    (tmp_path / "sub" / "a.html").write_text("<p>")
    assert check_templates.main([str(tmp_path)]) == 0
