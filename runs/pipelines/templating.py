"""Templates and expressions of pipelines: rendered in a hardened sandbox, within limits of time and size.

A template's braces are the author's; braces in the data it is given are data. What is missing at run
time is empty with a warning in ``render`` and an error in ``evaluate``, unless the author wrote a default.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.conf import settings
from jinja2 import Template, TemplateSyntaxError, nodes
from jinja2.exceptions import TemplateRuntimeError
from jinja2.parser import Parser
from jinja2.runtime import Undefined

from runs import redaction
from runs.pipelines.budget import Budget, TemplateError, spending
from runs.pipelines.sandbox import Sandbox
from runs.pipelines.shell_words import ShellText, ShellTextError
from runs.variables import NotSet, expanded

__all__ = [
    "Rendered",
    "TemplateError",
    "evaluate",
    "expression_tree",
    "render",
    "render_config",
    "render_shell",
    "render_with_env",
    "template_tree",
]

CACHED = 1_024
MAX_TEMPLATE_CHARS = 1_000_000
_FORBIDDEN: dict[type[nodes.Node], str] = {
    nodes.Include: "include", nodes.Import: "import", nodes.FromImport: "import", nodes.Extends: "extends",
    nodes.Block: "block", nodes.ScopedEvalContextModifier: "autoescape", nodes.EvalContextModifier: "autoescape",
}  # fmt: skip
_FAILURES = (
    TemplateRuntimeError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError,
    MemoryError,
)  # fmt: skip


@dataclass(frozen=True)
class Rendered:
    text: str
    warnings: list[str] = field(default_factory=list)


class BadTemplate(TemplateError):
    """The text of a template is not valid; ``line`` counts from 1 within it."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


_prompts = Sandbox(lenient=True)
_conditions = Sandbox(lenient=False)


@contextmanager
def _parsing() -> Iterator[None]:
    try:
        yield
    except TemplateSyntaxError as error:
        message = (error.message or "syntax error").replace("'end of template'", "end")
        raise BadTemplate(message, error.lineno) from None
    except (SyntaxError, RecursionError, MemoryError, OverflowError, ValueError) as error:
        raise BadTemplate(f"cannot be compiled: {error or type(error).__name__}") from None


def template_tree(source: str) -> nodes.Template:
    """The parsed template. Raises BadTemplate."""
    if len(source) > MAX_TEMPLATE_CHARS:
        raise BadTemplate(f"is {len(source)} characters long; at most {MAX_TEMPLATE_CHARS}")
    if source.endswith("{#"):
        raise BadTemplate("Missing end of comment tag", source.count("\n") + 1)  # Jinja2 lets this one pass
    with _parsing():
        return _checked(_prompts.parse(source))


def expression_tree(source: str) -> nodes.Template:
    """A bare expression, parsed, as a template that keeps its value in ``result``. Raises BadTemplate."""
    if "{{" in source or "{%" in source:
        raise BadTemplate("is a bare expression: leave out the braces {{ }}")
    with _parsing():
        parser = Parser(_conditions, source, state="variable")
        expression = parser.parse_expression()
        if not parser.stream.eos:
            found = parser.stream.current.value
            raise BadTemplate(f"has something after its end: {found!r}", parser.stream.current.lineno)
        target = nodes.Name("result", "store", lineno=1)
        tree = nodes.Template([nodes.Assign(target, expression, lineno=1)], lineno=1)
        tree.set_environment(_conditions)
        return _checked(tree)


def _checked(tree: nodes.Template) -> nodes.Template:
    """Refuse what has no place in a pipeline: other templates, and the insides of Python."""
    for node in tree.find_all(nodes.Node):
        if type(node) in _FORBIDDEN:
            raise BadTemplate(f"{{% {_FORBIDDEN[type(node)]} %}} is not allowed", node.lineno)
        name = _inside_python(node)
        if name is not None:
            raise BadTemplate(f"{name!r} is not allowed: templates cannot reach into Python", node.lineno)
    return tree


def _inside_python(node: nodes.Node) -> str | None:
    name: Any = None
    if isinstance(node, nodes.Getattr | nodes.NSRef):
        name = node.attr
    elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        name = node.arg.value
    elif isinstance(node, nodes.Name):
        name = node.name
    if isinstance(name, str) and name.startswith("__"):
        return name
    if isinstance(node, nodes.Name) and name == "self":
        return name
    if isinstance(node, nodes.Getattr) and name in ("format", "format_map"):
        return f"{name} (use ~ or the format filter)"
    if isinstance(node, nodes.Filter) and node.name == "attr":
        return "the filter attr"
    return None


@lru_cache(maxsize=CACHED)
def _template(source: str) -> Template:
    tree = template_tree(source)
    with _parsing():
        return _prompts.from_string(tree)


@lru_cache(maxsize=CACHED)
def _expression(source: str) -> Template:
    tree = expression_tree(source)
    with _parsing():
        return _conditions.from_string(tree)


def _budget(shell: ShellText | None = None) -> Budget:
    limits = settings.SERVICE.limits
    return Budget(seconds=limits.template_seconds, max_chars=limits.template_output_chars, shell=shell)


@contextmanager
def _running(template: Template) -> Iterator[None]:
    try:
        yield
    except TemplateError as error:
        raise TemplateError(f"{_where(template, error)}{error}") from None
    except RecursionError as error:
        raise TemplateError(f"{_where(template, error)}is nested too deeply and was stopped") from None
    except (ShellTextError, *_FAILURES) as error:
        text = getattr(error, "message", None) or str(error) or type(error).__name__
        raise TemplateError(f"{_where(template, error)}{text}") from error


def _where(template: Template, error: BaseException) -> str:
    """``line N: `` of the template the error came from, for templates of several lines."""
    found, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            found = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return f"line {found}: " if found > 1 else ""


def _run(template: Template, context: Mapping[str, Any], budget: Budget) -> Rendered:
    with spending(budget), _running(template):
        text = "".join(template.root_render_func(template.new_context(dict(context))))
    return Rendered(text, list(budget.warnings))


def _is_plain(template: str) -> bool:
    """Whether there is nothing to render, so that the text stays as it is, line ends included."""
    return "{{" not in template and "{%" not in template and "{#" not in template


def render(template: str, context: Mapping[str, Any]) -> Rendered:
    """The template's text. Missing attributes are empty and named in ``warnings``. Raises TemplateError."""
    if _is_plain(template):
        return Rendered(template)
    return _run(_template(template), context, _budget())


def render_shell(template: str, context: Mapping[str, Any]) -> Rendered:
    """A shell command in which every interpolated value is one quoted argument (or part of one)."""
    if _is_plain(template):
        return Rendered(template)
    return _run(_template(template), context, _budget(ShellText()))


def evaluate(expression: str, context: Mapping[str, Any]) -> Any:
    """The value of a bare expression. Raises TemplateError, also for a missing attribute without a default."""
    template = _expression(expression)
    with spending(_budget()), _running(template):
        inner = template.new_context(dict(context))
        for _ in template.root_render_func(inner):
            pass
        value = inner.vars["result"]
        if isinstance(value, Undefined):
            raise TemplateError(value._undefined_message)
        return value


def value_of(template: str, context: Mapping[str, Any]) -> Any:
    """The value of a template that is one expression in braces, else its text.

    As a value a list keeps what a text would lose: which of its items are numbers and which are texts.
    Raises TemplateError, in an expression also for a missing attribute without a default.
    """
    inner = _lone_expression(template)
    return render(template, context).text if inner is None else evaluate(inner, context)


def _lone_expression(template: str) -> str | None:
    text = template.strip()
    if not (text.startswith("{{") and text.endswith("}}")):
        return None
    inner = text[2:-2].strip("-")
    try:
        expression_tree(inner)
    except BadTemplate:
        return None  # more than one expression, or text between
    return inner


def render_with_env(template: str, context: Mapping[str, Any]) -> Rendered:
    """``render`` for urls and headers: ``${NAME}`` of the author is expanded, and its value is never a template."""
    values: dict[str, str] = {}

    def hold(value: str) -> str:
        name = f"vectorstep_env_{len(values)}"
        values[name] = value
        return f"{{{{ {name} }}}}"

    try:
        held = expanded(template, os.environ, tell=redaction.learn, write=hold)
    except NotSet as error:
        raise TemplateError(str(error)) from error
    return render(held, {**context, **values})


def render_config(value: Any, context: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Every text inside a config rendered (keys are not), and the warnings. Raises TemplateError naming the key.

    ``${ENV}`` is expanded in ``url`` and in everything under ``headers``, and nowhere else.
    """
    warnings: list[str] = []
    rendered = _config(value, context, "", render, warnings)
    return rendered, list(dict.fromkeys(warnings))


_Render = Callable[[str, Mapping[str, Any]], Rendered]


def _config(value: Any, context: Mapping[str, Any], path: str, how: _Render, warnings: list[str]) -> Any:
    if isinstance(value, str):
        try:
            rendered = how(value, context)
        except TemplateError as error:
            raise TemplateError(f"{path}: {error}" if path else str(error)) from error
        warnings.extend(rendered.warnings)
        return rendered.text
    if isinstance(value, dict):
        return {key: _config(item, context, *_below(key, path, how), warnings) for key, item in value.items()}
    if isinstance(value, list):
        return [_config(item, context, f"{path}[{index}]", how, warnings) for index, item in enumerate(value)]
    return value


def _below(key: str, path: str, how: _Render) -> tuple[str, _Render]:
    inner = f"{path}.{key}" if path else key
    return inner, render_with_env if not path and key in ("url", "headers") else how
