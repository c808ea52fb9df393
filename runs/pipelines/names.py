"""Finding the names a template uses that nothing will ever give it, before it runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from jinja2 import nodes
from jinja2.meta import find_undeclared_variables

from runs.pipelines.closest import did_you_mean
from runs.pipelines.compiling import path_text, static_path
from runs.pipelines.filters import EACH, FILTERS, TESTS
from runs.pipelines.shell_words import ShellText, ShellTextError
from runs.pipelines.templating import BadTemplate, expression_tree, template_tree

GLOBALS = frozenset({"range", "dict", "namespace"})
_OUT_OF_ORDER = (nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.AssignBlock)


@dataclass(frozen=True)
class Scope:
    """The names a text may use; a name with a set of keys knows exactly those, one with None any.

    ``elsewhere`` says about names that exist in other places why they are not here.
    """

    names: Mapping[str, frozenset[str] | None]
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    def plus(self, names: Mapping[str, frozenset[str] | None]) -> "Scope":
        return Scope({**self.names, **names}, {k: v for k, v in self.elsewhere.items() if k not in names})


Finding = tuple[int, str]
"""A line within the text (from 1), and what is wrong there."""


def check_template(source: str, scope: Scope, *, in_shell: bool = False) -> list[Finding]:
    try:
        tree = template_tree(source)
    except BadTemplate as error:
        return [(error.line, str(error))]
    found = list(_unknown(tree, scope))
    return found or (list(_misplaced(tree)) if in_shell else [])


def check_expression(source: str, scope: Scope) -> list[Finding]:
    try:
        tree = expression_tree(source)
    except BadTemplate as error:
        return [(error.line, str(error))]
    return list(_unknown(tree, scope))


def _unknown(tree: nodes.Template, scope: Scope) -> Iterator[Finding]:
    functions = list(_unknown_functions(tree))
    if functions:
        yield from functions
        return
    undeclared = find_undeclared_variables(tree)
    for name in sorted(undeclared - GLOBALS - scope.names.keys()):
        line = next((node.lineno for node in tree.find_all(nodes.Name) if node.name == name), 1)
        yield line, _about(name, scope)
    yield from _unknown_keys(tree, scope, undeclared)


def _unknown_functions(tree: nodes.Template) -> Iterator[Finding]:
    for node in tree.find_all((nodes.Filter, nodes.Test)):
        assert isinstance(node, nodes.Filter | nodes.Test)
        known = FILTERS if isinstance(node, nodes.Filter) else TESTS
        if node.name not in known and node.name != EACH:
            kind = "filter" if isinstance(node, nodes.Filter) else "test"
            yield node.lineno, f"unknown {kind} {node.name!r}{did_you_mean(node.name, known)}"


def _about(name: str, scope: Scope) -> str:
    if name in scope.elsewhere:
        return f"{name!r} is not available here: {scope.elsewhere[name]}"
    hint = did_you_mean(name, scope.names)
    if "known" in hint:
        hint += "; or, if the payload has such a field, list it in context_template.include"
    return f"unknown name {name!r}{hint}"


def _unknown_keys(tree: nodes.Template, scope: Scope, undeclared: set[str]) -> Iterator[Finding]:
    """``vars.x``, ``steps.x`` and the like, where the keys are known now."""
    stored = {node.name for node in tree.find_all(nodes.Name) if node.ctx in ("store", "param")}
    called = {id(call.node) for call in tree.find_all(nodes.Call)}
    for node in tree.find_all((nodes.Getattr, nodes.Getitem)):
        parts, base = static_path(node)
        if len(parts) != 1 or not isinstance(base, nodes.Name) or id(node) in called:
            continue
        known = scope.names.get(base.name)
        if known is None or base.name in stored or base.name not in undeclared or parts[0] in known:
            continue
        path, key = path_text(base, parts), str(parts[0])
        why = scope.elsewhere.get(f"{base.name}.{key}")
        yield node.lineno, f"unknown name {path!r}" + (f": {why}" if why else did_you_mean(key, known))


def _misplaced(tree: nodes.Template) -> Iterator[Finding]:
    """Values in a shell command where no quoting is safe, as far as that shows before it runs."""
    for node in tree.find_all(_OUT_OF_ORDER):
        yield node.lineno, "macro, call, filter and set blocks are not allowed in a shell command"
        return
    shell = ShellText()
    for output in tree.find_all(nodes.Output):
        for part in output.nodes:
            if isinstance(part, nodes.TemplateData):
                shell.literal(part.data)
                continue
            try:
                shell.value("x")
            except ShellTextError as error:
                yield part.lineno, str(error)
                return
