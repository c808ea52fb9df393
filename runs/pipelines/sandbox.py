"""Jinja2's sandbox, hardened: every loop, call, operation and output of a compiled template goes through here.

Templates see plain data only (texts, numbers, lists, objects). No attribute of a Python object is ever
read: ``a.b`` is a key of an object, and the few methods that may be called are listed by name.
"""

from collections.abc import Mapping
from typing import Any

from jinja2 import nodes
from jinja2.filters import _GroupTuple
from jinja2.runtime import Context, LoopContext, Macro, Undefined
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import Namespace

from runs.pipelines.budget import TemplateError, current, measured, text_of
from runs.pipelines.closest import closest, did_you_mean, words
from runs.pipelines.compiling import Generator, is_key
from runs.pipelines.filters import EACH, FILTERS, TESTS, each, limited_range
from runs.pipelines.operations import binary, joined

METHODS: dict[type, frozenset[str]] = {
    str: words(
        "capitalize casefold count endswith find isalnum isalpha isdecimal isdigit islower isnumeric isspace isupper "
        "join lower lstrip partition removeprefix removesuffix replace rfind rpartition rsplit rstrip split "
        "splitlines startswith strip swapcase title upper"
    ),
    dict: frozenset({"get", "items", "keys", "values"}),
    list: frozenset({"count", "index"}),
    tuple: frozenset({"count", "index"}),
    float: frozenset({"is_integer"}),
    LoopContext: frozenset({"cycle", "changed"}),
}
_LOOP_FIELDS = words("index index0 revindex revindex0 first last length depth depth0 previtem nextitem")
_NOWHERE = object()


class Missing(Undefined):
    """A value that is not there, in a prompt: it was warned about, and is empty in every use."""

    __slots__ = ()

    def used_by(self, name: str) -> "Missing":
        return self

    def __repr__(self) -> str:
        return "None"

    def _itself(self, *_: Any, **__: Any) -> "Missing":
        return self

    def _false(self, *_: Any) -> bool:
        return False

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _itself  # type: ignore[assignment]
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _itself  # type: ignore[assignment]
    __pos__ = __neg__ = __call__ = __getitem__ = _itself  # type: ignore[assignment]
    __lt__ = __le__ = __gt__ = __ge__ = _false  # type: ignore[assignment]


class Refused(Undefined):
    """A value that is not there, in an expression: any use is an error that names it."""

    __slots__ = ()

    def used_by(self, name: str) -> Any:
        self._fail_with_undefined_error()

    def _fails(self, *_: Any) -> Any:
        self._fail_with_undefined_error()

    __iter__ = __str__ = __len__ = __eq__ = __ne__ = __bool__ = __hash__ = __contains__ = _fails


class Sandbox(SandboxedEnvironment):
    """``lenient``: what is missing is empty and warned about; else it is an error."""

    code_generator_class = Generator
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self, *, lenient: bool) -> None:
        super().__init__(
            optimized=False, autoescape=False, keep_trailing_newline=True, undefined=Missing if lenient else Refused
        )
        self.lenient = lenient
        self.filters = {**FILTERS, EACH: each}
        self.tests = dict(TESTS)
        self.globals = {"range": limited_range, "dict": dict, "namespace": Namespace}

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        for loop in source.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, EACH, [], [], None, None, lineno=loop.lineno)
        return super()._generate(source, name, filename, defer_init)

    # What compiled templates call -------------------------------------------------------------

    def literal(self, text: str) -> str:
        budget = current()
        budget.wrote(len(text))
        if budget.shell is not None:
            budget.shell.literal(text)
        return text

    def write(self, value: Any) -> str:
        budget = current()
        text = value if type(value) is str else text_of(value)
        if isinstance(value, Undefined):
            self._warn(value)
        if budget.shell is not None:
            text = budget.shell.value(text)
        budget.wrote(len(text))
        return text

    joined = staticmethod(joined)

    def built(self, value: Any) -> Any:
        if type(value) is str:
            current().charge(len(value) / 500)
            return value
        return measured(value)

    def unknown(self, name: str) -> Undefined:
        return self._absent(name, f"{name} is missing")

    def walk(self, value: Any, parts: tuple[str | int, ...], path: str, forgiven: bool) -> Any:
        """The value under ``parts``. Absent: as ``_absent`` says, unless the author handles it."""
        found = value
        for part in parts:
            holder, found = found, _entry(found, part)
            if found is _NOWHERE:
                if forgiven:
                    return self.undefined(hint=f"{path} is missing", name=path)
                return self._absent(path, f"{path} is missing{_hint(holder, part)}")
        return found

    def item(self, value: Any, key: Any, forgiven: bool) -> Any:
        """``value[key]`` for a key that is itself computed, and slices."""
        if isinstance(key, slice):
            if isinstance(value, str | list | tuple):
                return measured(value[key])
            return self._absent("(...)[:]", f"cannot take a slice of {type(value).__name__}")
        found = _entry(value, key) if is_key(key) else _NOWHERE
        if found is not _NOWHERE:
            return found
        path = f"(...)[{key!r}]" if isinstance(key, str | int | Undefined) else "(...)[...]"
        if forgiven:
            return self.undefined(hint=f"{path} is missing", name=path)
        return self._absent(path, f"{path} is missing{_hint(value, key)}")

    def method(self, value: Any, name: str, path: str, /, *args: Any, **kwargs: Any) -> Any:
        """``value.name(...)`` for the methods listed in METHODS."""
        kwargs.pop("_loop_vars", None), kwargs.pop("_block_vars", None)
        budget = current()
        budget.charge()
        if isinstance(value, Undefined):
            return value.used_by(name)
        allowed = next((names for kind, names in METHODS.items() if isinstance(value, kind)), frozenset())
        if name not in allowed:
            raise TemplateError(f"{path}() cannot be called{did_you_mean(name, allowed) if allowed else ''}")
        if isinstance(value, str):
            if name in ("replace", "join"):
                return self.call_filter(name, value, args) if name == "replace" else FILTERS["join"](args[0], value)
            budget.charge(len(value) / 100)
        return measured(_plain(getattr(value, name)(*args, **kwargs)))

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(__obj, Undefined):
            return __obj.used_by("call")
        if __obj is limited_range:
            return limited_range(*args)
        if __obj is dict or __obj is Namespace:
            return measured(__obj(*args, **_own(kwargs)))
        if not isinstance(__obj, Macro | LoopContext):
            raise TemplateError(f"{text_of(__obj)[:60]!r} cannot be called")
        if isinstance(__obj, LoopContext):
            args = (each(args[0]), *args[1:]) if args else args
        with current().nested():
            return __context.call(__obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        return binary(operator, left, right)

    # Jinja2's filters (map, selectattr, groupby ...) look items up through these -----------------

    def getitem(self, obj: Any, argument: Any) -> Any:
        found = _entry(obj, argument)
        return self.undefined(hint=f"{argument} is missing", name=str(argument)) if found is _NOWHERE else found

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)

    # ------------------------------------------------------------------------------------------

    def _absent(self, name: str, message: str) -> Undefined:
        if not self.lenient:
            raise TemplateError(message)
        current().warnings[message] = None
        return Missing(name=name)

    def _warn(self, value: Undefined) -> None:
        """For values that turned out empty without a lookup (``[] | first``)."""
        if value._undefined_name is None and value._undefined_hint:
            current().warnings[value._undefined_hint] = None


def _own(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kwargs.items() if name not in ("_loop_vars", "_block_vars")}


def _plain(value: Any) -> Any:
    """Views of an object (items, keys, values) as lists."""
    return value if isinstance(value, str | int | float | list | tuple | dict | None | Undefined) else list(value)


def _entry(value: Any, key: Any) -> Any:
    """What plain data holds under ``key``; ``_NOWHERE`` if nothing."""
    if isinstance(value, Mapping):
        return value.get(key, _NOWHERE)
    if isinstance(value, list | tuple | str) and isinstance(key, int):
        return value[key] if -len(value) <= key < len(value) else _NOWHERE
    if isinstance(value, _GroupTuple) and key in ("grouper", "list"):
        return getattr(value, key)
    if isinstance(value, LoopContext) and key in _LOOP_FIELDS:
        return getattr(value, key)
    if isinstance(value, Namespace) and isinstance(key, str) and not key.startswith("_"):
        return value._Namespace__attrs.get(key, _NOWHERE)
    return _NOWHERE


def _hint(holder: Any, part: Any) -> str:
    if isinstance(holder, Mapping) and isinstance(part, str):
        near = closest(part, [key for key in list(holder)[:200] if isinstance(key, str)])
        return f" (did you mean {near!r}?)" if near else ""
    return ""
