"""Templates that try to take the service down or to reach into it: each is stopped, quickly, with a reason."""

import time

import pytest

from runs.pipelines.templating import TemplateError, evaluate, render, render_shell

SECONDS = 0.4
"""The limit of time where the clock is what is tested; elsewhere it is far away, so that the other limits show."""
PATIENCE = 6.0
"""How long a machine that is busy may take over anything here; what hangs, hangs for minutes."""

DOUBLING = (
    "{% set ns = namespace(x='aaaa') %}{% for i in range(99) %}{% set ns.x = EXPR %}{% endfor %}{{ ns.x|length }}"
)


def limit(service, seconds: float) -> None:
    service(limits={"template_seconds": seconds, "template_output_chars": 200_000})


@pytest.fixture(autouse=True)
def _small_limits(service):
    limit(service, 60)


@pytest.fixture
def _short_time(service):
    limit(service, SECONDS)


def stopped(template: str, context=None, how=render) -> str:
    """The message of the error the template is stopped with; fails if that takes long."""
    began = time.perf_counter()
    with pytest.raises(TemplateError) as refused:
        how(template, context or {})
    assert time.perf_counter() - began < PATIENCE
    return str(refused.value)


@pytest.mark.parametrize(
    "template",
    [
        "{% for i in range(10**9) %}x{% endfor %}",
        "{% for i in range(10**9) %}{% endfor %}",
        "{{ range(10**9) | list }}",
        "{{ range(10**12) | sum }}",
        "{{ 5 in range(10**9) }}",
    ],
)
def test_a_range_is_limited_in_length(template):
    assert "at most 100000" in stopped(template)


@pytest.mark.usefixtures("_short_time")
@pytest.mark.parametrize(
    "template",
    [
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) if not range(99999) %}{% endfor %}",
        "{% macro m(n) %}{{ m(n-1) if n }}{{ m(n-1) if n }}{% endmacro %}{{ m(39) }}",
        "{% for i in range(99999) %}{% if -1 in range(99999) %}{% endif %}{% endfor %}",
        "{% for i in range(99999) %}{% set x = range(99999) | sort %}{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99) %}{% set x = 'a' * 199999 %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{% set x = 'a' * 199999 == 'b' * 199999 %}{% endfor %}",
        "{% for i in range(99999) %}{% set x = ('a b ' * 40000) | title | length %}{% endfor %}",
        "{% for i in range(99999) %}{% set x = ('a b ' * 40000).split(' ') %}{% endfor %}",
        "{% for i in range(99999) %}{% set x = range(9999) | map('string') | map('length') | sum %}{% endfor %}",
        "{% for i in range(99999) %}{% set x = range(9999) | groupby('x') %}{% endfor %}",
        "{% for i in range(99999) %}{% set x = 9 ** 999 %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
    ],
)
def test_work_without_output_is_stopped_by_the_clock(template):
    assert "took longer than 0.4 seconds" in stopped(template)


@pytest.mark.usefixtures("_short_time")
def test_the_message_names_the_line_of_the_template():
    nested = "Hello\n\n\n{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    assert stopped(nested).startswith("line 4: took longer")


@pytest.mark.parametrize(
    "template",
    [
        "{% for i in range(99999) %}0123456789{% endfor %}",
        "{% set ns = namespace(x='a'*99999) %}{% for i in range(9) %}{{ ns.x }}{% endfor %}",
        "{% set ns = namespace(x='aaaa') %}{% for i in range(99) %}{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}"
        "{% set ns.x = y %}{% endfor %}",
        "{% macro m() %}" + "x" * 1000 + "{% endmacro %}{% for i in range(999) %}{{ m() }}{% endfor %}",
        "{% for i in range(999) %}{% set x %}" + "x" * 1000 + "{% endset %}{% endfor %}",
        "{% for i in range(999) %}{% filter upper %}" + "x" * 1000 + "{% endfilter %}{% endfor %}",
    ],
)
def test_output_is_limited(template):
    assert "wrote more than 200000 characters" in stopped(template)


@pytest.mark.parametrize(
    "expression",
    [
        "ns.x ~ ns.x",
        "ns.x + ns.x",
        "ns.x * 2",
        "2 * ns.x",
        "'%s%s' % (ns.x, ns.x)",
        "'%s%s' | format(ns.x, ns.x)",
        "[ns.x, ns.x] | join",
        "[ns.x, ns.x] | join(ns.x)",
        "ns.x.join([ns.x, ns.x])",
        "ns.x | replace('a', 'aa')",
        "ns.x.replace('a', 'aa')",
        "ns.x.replace('', 'aa')",
        "'a a a a' | wordwrap(1, wrapstring=ns.x) ~ ns.x ~ ns.x",
        "(ns.x ~ '\\n' ~ ns.x) | indent(8, true)",
        "ns.x | urlencode | urlencode ~ ns.x",
        "(ns.x ~ ns.x) | tojson",
    ],
)
def test_texts_that_double_are_stopped(expression):
    assert "characters and was stopped" in stopped(DOUBLING.replace("EXPR", expression))


@pytest.mark.parametrize(
    "expression",
    [
        "[ns.x, ns.x]",
        "(ns.x, ns.x)",
        "{'a': ns.x, 'b': ns.x}",
        "dict(a=ns.x, b=ns.x)",
        "[ns.x] + [ns.x]",
        "[ns.x] * 2",
    ],
)
def test_values_that_double_are_stopped(expression):
    assert "was stopped" in stopped(DOUBLING.replace("EXPR", expression))


def test_two_large_equal_trees_cannot_be_built_to_be_compared():
    tree = (
        "{% set ns = namespace(x=1, y=1) %}{% for i in range(60) %}"
        "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}"
    )
    assert "was stopped" in stopped(tree)


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a' * 10**9 }}",
        "{{ 10**9 * 'a' }}",
        "{{ [1] * 10**9 }}",
        "{{ 9**9**9**9**9 }}",
        "{{ 10 ** (10 ** 8) }}",
        "{{ (2 ** 4000) * (2 ** 4000) }}",
        "{{ 2.0 ** 99999 }}",
        "{{ (-8) ** 0.5 }}",
        "{{ 'a' | center(10**9) }}",
        "{{ ('a\\n' * 9000) | indent(900, true) }}",
        "{{ '%9999999999d' % 1 }}",
        "{{ '%.9999999999f' % 1 }}",
        "{{ '%*d' % (99999999, 1) }}",
        "{{ '%(x)99999d' % {'x': 1} }}",
        "{{ '%c' % 65 }}",
        "{{ 1 | round(10**9) }}",
        "{{ 1 | round(10**9, 'ceil') }}",
        "{{ [1] | batch(10**9, 'x') | list }}",
        "{{ [1] | slice(10**9) | list }}",
        "{{ [1] | batch(10**9, fill_with=1) }}",
        "{{ {} | tojson(indent=10**9) }}",
        "{{ 1 / 0 }}",
        "{{ 'x' < 1 }}",
        "{{ 'x' + 1 }}",
        "{{ {} + 1 }}",
    ],
)
def test_operations_that_would_be_huge_or_mean_nothing_are_refused(template):
    assert stopped(template)


def test_recursion_is_limited():
    assert "calls itself more than" in stopped("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}")
    assert "calls itself more than" in stopped(
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}"
    )
    assert "calls itself more than" in stopped(
        "{% for a in [1] recursive %}{{ loop([a]) }}{% endfor %}",
    )


def test_data_nested_too_deeply_to_be_written_is_an_error():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert stopped("{{ x }}", {"x": deep})
    assert stopped("{{ x | tojson }}", {"x": deep})
    assert stopped("{{ x == y }}", {"x": deep, "y": [deep]})


@pytest.mark.parametrize("opening", ["(" * 5000, "[" * 5000, "not " * 5000, "-" * 5000, "1+" * 20_000])
def test_text_nested_too_deeply_to_be_compiled_is_an_error(opening):
    closing = opening.replace("(", ")").replace("[", "]") if opening[0] in "([" else ""
    stopped("{{ " + opening + "1" + closing + " }}")


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__ }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ x['__class__'] }}",
        "{{ x.__init__.__globals__ }}",
        "{{ ''|attr('__class__') }}",
        "{{ ''|attr('__cl' ~ 'ass__') }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ '{x.__class__}'.format_map({'x': 1}) }}",
        "{{ self }}",
        "{{ self.__init__ }}",
        "{{ __import__('os') }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ range.__self__ }}",
        "{% set x.__class__ = 1 %}",
        "{% include '/etc/passwd' %}",
        "{% import 'x' as y %}",
        "{% from 'x' import y %}",
        "{% extends 'x' %}",
        "{% block a %}{% endblock %}",
        "{% autoescape true %}{% endautoescape %}",
    ],
)
def test_reaching_into_python_or_other_files_is_refused_by_name(template):
    assert "not allowed" in stopped(template)


@pytest.mark.parametrize(
    "template",
    [
        "{{ x['__cl' ~ 'ass__'] }}",
        "{{ [x] | map(attribute='__class__') | first }}",
        "{{ [[x]] | map(attribute='0.__class__') | first }}",
        "{{ x | items | first | map(attribute='__class__') | first }}",
        "{{ [x] | selectattr('__class__') | list }}",
        "{{ [x] | groupby('__class__') | map('last') | map('first') | map(attribute='__class__') | first }}",
    ],
)
def test_an_attribute_by_a_computed_name_finds_only_data(template):
    text = render(template, {"x": {"a": 1}}).text
    assert "class" not in text.replace("__class__", "")


@pytest.mark.parametrize(
    "template",
    [
        "{{ x.clear() }}",
        "{{ x.update({}) }}",
        "{{ x.pop('a') }}",
        "{{ y.append(1) }}",
        "{{ 'x'.encode() }}",
        "{{ 'x'.ljust(10**9) }}",
        "{{ 'x'.zfill(10**9) }}",
        "{{ 'x'.expandtabs(10**9) }}",
        "{{ 'x'.translate({}) }}",
        "{{ x() }}",
        "{{ 'x'() }}",
        "{{ range }}",
        "{{ dict }}",
        "{% macro m() %}{% endmacro %}{{ m }}",
        "{% macro m() %}{% endmacro %}{{ [m] }}",
        "{% macro m() %}{% endmacro %}{{ m.__call__ }}",
        "{{ namespace() }}",
        "{% for a in x %}{{ loop }}{% endfor %}",
        "{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns }}",
    ],
)
def test_other_methods_and_objects_cannot_be_used(template):
    data = {"x": {"a": 1}, "y": [1]}
    assert stopped(template, data)
    assert data == {"x": {"a": 1}, "y": [1]}


def test_expressions_and_shell_commands_have_the_same_limits():
    assert "characters" in stopped("'a' * 10**9", how=evaluate)
    assert "not allowed" in stopped("''.__class__", how=evaluate)
    assert "wrote more" in stopped("{% for i in range(9) %}echo {{ 'x' * 99999 }}\n{% endfor %}", how=render_shell)


@pytest.mark.usefixtures("_short_time")
def test_an_expression_is_stopped_by_the_clock():
    work = "[" + "range(99999) | sort | length, " * 300 + "]"
    assert "took longer" in stopped(work, how=evaluate)


def test_a_template_that_was_stopped_does_not_spoil_the_next_one():
    stopped("{% for i in range(10**9) %}{% endfor %}")
    stopped("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}")
    assert render("{{ x }}", {"x": 1}).text == "1"
