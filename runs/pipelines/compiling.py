"""Compiling templates so that every lookup, output and operation becomes a call of the sandbox."""

from typing import Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame

from runs.pipelines.filters import FORGIVING_FILTERS, FORGIVING_TESTS

_LOOKUPS = (nodes.Name, nodes.Getattr, nodes.Getitem)
_SYMBOLS = {"eq": "==", "ne": "!=", "gt": ">", "gteq": ">=", "lt": "<", "lteq": "<=", "in": "in", "notin": "not in"}


class Generator(CodeGenerator):
    """Compiles lookups, outputs and operations into calls of the environment below."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._forgiven: set[int] = set()

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        if not isinstance(node, nodes.TemplateData):
            raise nodes.Impossible
        return node.data

    def _output_const_repr(self, group: Any) -> str:
        return f"environment.literal({''.join(group)!r})"

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        self.write("environment.write(")

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        self.write(")")

    def visit_Name(self, node: nodes.Name, frame: Frame) -> None:
        if node.ctx != "load" or id(node) in self._forgiven:
            super().visit_Name(node, frame)
            return
        ref = frame.symbols.ref(node.name)
        self.write(f"(environment.unknown({node.name!r}) if {ref} is missing else {ref})")

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:
        self._lookup(node, frame)

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:
        self._lookup(node, frame)

    def _lookup(self, node: nodes.Expr, frame: Frame) -> None:
        forgiven = id(node) in self._forgiven
        parts, base = static_path(node)
        if not parts:
            assert isinstance(node, nodes.Getitem)  # anything else has a static part
            self.write("environment.item(")
            self._forgiving(node.node, frame)
            self.write(", ")
            self._index(node.arg, frame)
            self.write(f", {forgiven})")
            return
        self.write("environment.walk(")
        self._forgiving(base, frame)
        self.write(f", {tuple(parts)!r}, {path_text(base, parts)!r}, {forgiven})")

    def _index(self, index: nodes.Expr, frame: Frame) -> None:
        if not isinstance(index, nodes.Slice):
            self.visit(index, frame)
            return
        self.write("slice(")
        for bound in (index.start, index.stop, index.step):
            if bound is None:
                self.write("None")
            else:
                self.visit(bound, frame)
            self.write(", ")
        self.write(")")

    def _forgiving(self, node: nodes.Node, frame: Frame) -> None:
        """Visit a lookup whose absence the surrounding code handles itself."""
        if isinstance(node, _LOOKUPS):
            self._forgiven.add(id(node))
        self.visit(node, frame)

    def visit_Filter(self, node: nodes.Filter, frame: Frame) -> None:
        if node.name in FORGIVING_FILTERS and isinstance(node.node, _LOOKUPS):
            self._forgiven.add(id(node.node))
        super().visit_Filter(node, frame)

    def visit_Test(self, node: nodes.Test, frame: Frame) -> None:
        if node.name in FORGIVING_TESTS and isinstance(node.node, _LOOKUPS):
            self._forgiven.add(id(node.node))
        super().visit_Test(node, frame)

    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:
        target = node.node
        if forward_caller:
            self.write("environment.write(")
            super().visit_Call(node, frame, forward_caller=True)
            self.write(")")
            return
        if not isinstance(target, nodes.Getattr):
            super().visit_Call(node, frame)
            return
        self.write("environment.method(")
        self.visit(target.node, frame)
        parts, base = static_path(target)
        self.write(f", {target.attr!r}, {path_text(base, parts)!r}")
        self.signature(node, frame)
        self.write(")")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_List(self, node: nodes.List, frame: Frame) -> None:
        self._measured(super().visit_List, node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:
        self._measured(super().visit_Dict, node, frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:
        if node.ctx == "load":
            self._measured(super().visit_Tuple, node, frame)
        else:
            super().visit_Tuple(node, frame)

    def _measured(self, visit: Any, node: nodes.Expr, frame: Frame) -> None:
        self.write("environment.built(")
        visit(node, frame)
        self.write(")")

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:
        self.write("(environment.built(")
        self.visit(node.expr, frame)
        self.write(")")
        for operand in node.ops:
            self.visit(operand, frame)
        self.write(")")

    def visit_Operand(self, node: nodes.Operand, frame: Frame) -> None:
        self.write(f" {_SYMBOLS[node.op]} environment.built(")
        self.visit(node.expr, frame)
        self.write(")")

    def visit_CondExpr(self, node: nodes.CondExpr, frame: Frame) -> None:
        if node.expr2 is None:
            node.expr2 = nodes.Const("")
        super().visit_CondExpr(node, frame)


def static_path(node: nodes.Node) -> tuple[list[str | int], nodes.Node]:
    """The constant keys at the end of a lookup, outermost last, and what they are looked up in."""
    parts: list[str | int] = []
    while True:
        if isinstance(node, nodes.Getattr):
            parts.append(node.attr)
        elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and is_key(node.arg.value):
            parts.append(node.arg.value)
        else:
            return parts[::-1], node
        node = node.node


def is_key(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def path_text(base: nodes.Node, parts: list[str | int]) -> str:
    """A lookup as its author wrote it: ``steps.assess.rootcause``."""
    text = base.name if isinstance(base, nodes.Name) else "(...)"
    for part in parts:
        text += f".{part}" if isinstance(part, str) and part.isidentifier() else f"[{part!r}]"
    return text
