"""The plan functions as one text without dependencies: the sources of `policygen.plan`, one after another.

What is written there once is what runs in the compiler and, as this text, in a generated package. Statements, comments
and docstrings are kept as they are; only these are turned, each where it stands in the text:

- A docstring of a module becomes a comment above its part.
- Imports go: names of other sources are at hand, `collections.abc` is for a type checker alone, and `typing` is not
  needed any more. A few functions of built-in modules are imported again at the top.
- A record (`@frozen`) becomes a subclass of the package's `Record`, its check one of `_check`.
- A `Protocol` is for a type checker alone.
- A constant's `Final` goes.

A construct that is none of these and would mean something else in the text, or nothing, raises `UnportableSource`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from importlib.resources import files
from typing import Final
from typing import NoReturn

from attrs import field
from attrs import frozen

_PACKAGE: Final = "policygen.plan"
_BUILT_IN: Final = {"math": ("prod",), "operator": ("index",)}
"""What the text imports at run time: functions of modules that are part of every interpreter, and cost nothing."""

_UNDERSTOOD: Final = {"__future__": {"annotations"}, "attrs": {"frozen"}, "typing": {"Final", "Protocol"}}
"""What is turned where it is used, so that the import goes."""

_CHECK: Final = "__attrs_post_init__"


class UnportableSource(ValueError):  # noqa: N818 - it says what the source is
    """A construct that cannot stand in the generated text; the message has file and line."""


@frozen
class PlanSource:
    """A text made of one module or of several.

    Attributes:
        runtime: lines that run.
        typing: lines that a type checker alone reads.
        built_in: functions that the lines need, as (module, name).
        abstract: names of `collections.abc` that annotations need.
        defined: the names that the lines define, each with the file and line that does.
    """

    runtime: tuple[str, ...]
    typing: tuple[str, ...]
    built_in: tuple[tuple[str, str], ...]
    abstract: tuple[str, ...]
    defined: Mapping[str, str] = field(eq=False)


def plan_source(modules: Sequence[str], reserved: Iterable[str] = ()) -> PlanSource:
    """Joins modules of `policygen.plan` and all that they import of it, each behind what it imports.

    Args:
        modules: names of modules, such as "launches".
        reserved: names that what surrounds the text defines.

    Raises:
        UnportableSource: a module has what cannot be turned, or two define one name.
    """
    texts: dict[str, str] = {}
    for name in modules:
        _collect(name, texts)
    return joined([turned(f"plan/{name}.py", text) for name, text in texts.items()], reserved)


def turned(path: str, text: str) -> PlanSource:
    """Turns one module.

    Args:
        path: where it is, for messages.
        text: its source.

    Raises:
        UnportableSource: it has what cannot be turned.
    """
    return _Turner(path, text).turned()


def joined(parts: Sequence[PlanSource], reserved: Iterable[str] = ()) -> PlanSource:
    """Puts texts one after the other.

    Raises:
        UnportableSource: two define one name, or one defines a built-in or reserved one.
    """
    defined = dict.fromkeys([*dir(builtins), *reserved, "Record"], "what surrounds the text")
    for part in parts:
        for name, where in part.defined.items():
            if name in defined:
                raise UnportableSource(f"{where}: {name} is a name of {defined[name]} too")
            defined[name] = where
    return PlanSource(
        runtime=tuple(line for part in parts for line in part.runtime),
        typing=tuple(line for part in parts for line in part.typing),
        built_in=tuple(sorted({pair for part in parts for pair in part.built_in})),
        abstract=tuple(sorted({name for part in parts for name in part.abstract})),
        defined={name: where for part in parts for name, where in part.defined.items()},
    )


def _collect(name: str, texts: dict[str, str]) -> None:
    """Adds a module behind those that it imports."""
    if name in texts:
        return
    text = files(_PACKAGE).joinpath(f"{name}.py").read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and (module := node.module or "").startswith(f"{_PACKAGE}."):
            _collect(module.removeprefix(f"{_PACKAGE}."), texts)
    texts[name] = text


class _Turner:
    """Turns one module: the lines of its text, some of them replaced, dropped or followed by others."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._tree = ast.parse(text, path, feature_version=(3, 10))
        self._lines: list[str | None] = [None, *text.splitlines()]  # numbered as the tree numbers them
        self._behind: dict[int, str] = {}
        self._typing: list[str] = []
        self._built_in: list[tuple[str, str]] = []
        self._abstract: list[str] = []
        self._defined: dict[str, str] = {}

    def turned(self) -> PlanSource:
        docstring, *body = self._tree.body
        title = ast.get_docstring(self._tree)
        if title is None:
            self._refuse(docstring, "a module without a docstring")
        self._drop(docstring.lineno, docstring.end_lineno)
        for node in body:
            self._statement(node)
        for inner in ast.walk(self._tree):
            self._inner(inner)
        comment = [f"# {line}".rstrip() for line in title.splitlines()]
        lines = "\n".join(self._kept()).strip("\n").splitlines()
        gap = ("", "") if lines and lines[0].startswith(("class ", "def ")) else ("",)
        return PlanSource(
            runtime=("", "", *comment, *gap, *_squeezed(lines)) if lines else (),
            typing=tuple(self._typing),
            built_in=tuple(self._built_in),
            abstract=tuple(self._abstract),
            defined=self._defined,
        )

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case ast.ClassDef():
                self._class(node)
            case ast.FunctionDef(decorator_list=[]):
                self._define(node.name, node)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                self._define(name, node)
                self._constant(node)
            case ast.Assign(targets=[ast.Name(id=name)]) if name.isupper():
                self._define(name, node)
            case ast.Expr(value=ast.Constant(value=str())):
                pass  # the docstring of a constant
            case _:
                self._refuse(node, f"{type(node).__name__} at the top of a module")

    def _define(self, name: str, node: ast.stmt) -> None:
        self._defined[name] = f"{self._path}:{node.lineno}"

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.Import) or node.level or any(alias.asname for alias in node.names):
            self._refuse(node, "an import other than `from MODULE import NAME`")
        module = node.module or ""
        if module == "collections.abc":
            self._abstract += names
        elif module in _BUILT_IN and set(names) <= set(_BUILT_IN[module]):
            self._built_in += [(module, name) for name in names]
        elif not module.startswith(f"{_PACKAGE}.") and not set(names) <= _UNDERSTOOD.get(module, set()):
            self._refuse(node, f"an import of {', '.join(names)} from {module}")
        self._drop(node.lineno, node.end_lineno)

    def _constant(self, node: ast.AnnAssign) -> None:
        """Takes `Final` from a constant's annotation."""
        match node.annotation:
            case ast.Name(id="Final"):
                kind = ""
            case ast.Subscript(value=ast.Name(id="Final"), slice=inner):
                kind = f": {ast.unparse(inner)}"
            case _:
                self._refuse(node, "a variable: what is not Final is state")
        if node.annotation.end_lineno != node.lineno:
            self._refuse(node, "an annotation over several lines")
        line = self._line(node.lineno)
        assert node.target.end_col_offset is not None
        self._lines[node.lineno] = line[: node.target.end_col_offset] + kind + line[node.annotation.end_col_offset :]

    def _class(self, node: ast.ClassDef) -> None:
        self._define(node.name, node)
        first, last = node.lineno, node.end_lineno
        assert last is not None
        if not ast.get_docstring(node):
            self._refuse(node, "a class without a docstring")
        match node:
            case ast.ClassDef(decorator_list=[], bases=[*_, ast.Name(id="Protocol")], keywords=[]):
                self._typing += ["", *(self._line(number) for number in range(first, last + 1))]
                self._drop(first, last)
                return
            case ast.ClassDef(decorator_list=[decorator], bases=[], keywords=[]) if _is_frozen(decorator):
                pass
            case _:
                self._refuse(node, "a class that is neither @frozen nor a Protocol")
        self._drop(decorator.lineno, decorator.end_lineno)
        self._replace(first, f"class {node.name}:", f"class {node.name}(Record):")
        docstring, *body = node.body
        assert docstring.end_lineno is not None
        self._behind[docstring.end_lineno] = "\n    __slots__ = ()"
        if body and isinstance(body[0], ast.AnnAssign):
            self._drop(docstring.end_lineno + 1, body[0].lineno - 1)
        for member in body:
            self._member(member)

    def _member(self, node: ast.stmt) -> None:
        match node:
            case ast.AnnAssign(target=ast.Name(), value=default) if _is_plain(default):
                pass
            case ast.FunctionDef(decorator_list=[]) if node.name == _CHECK:
                self._replace(node.lineno, f"def {_CHECK}(", "def _check(")
            case ast.FunctionDef(decorator_list=[] | [ast.Name(id="property")]) if not node.name.startswith("__"):
                pass
            case _:
                self._refuse(node, f"{type(node).__name__} in a record")

    def _inner(self, node: ast.AST) -> None:
        match node:
            case ast.Import() | ast.ImportFrom() if node not in self._tree.body:
                self._refuse(node, "an import inside a function")
            case ast.Global() | ast.AsyncFunctionDef() | ast.Await():
                self._refuse(node, type(node).__name__)
            case ast.Attribute(attr=name) if name.startswith("__"):
                self._refuse(node, f"{name}: records have no such attribute")

    def _kept(self) -> Iterator[str]:
        for number, line in enumerate(self._lines):
            if line is not None:
                yield line
            if number in self._behind:
                yield from self._behind[number].split("\n")

    def _line(self, number: int) -> str:
        line = self._lines[number]
        assert line is not None
        if not line.isascii():
            # columns of a tree count bytes
            raise UnportableSource(f"{self._path}:{number}: letters beyond ASCII")
        return line

    def _replace(self, number: int, old: str, new: str) -> None:
        line = self._line(number)
        if line.count(old) != 1:
            raise UnportableSource(f"{self._path}:{number}: expected {old} on one line")
        self._lines[number] = line.replace(old, new)

    def _drop(self, first: int, last: int | None) -> None:
        assert last is not None
        self._lines[first : last + 1] = [None] * (last + 1 - first)

    def _refuse(self, node: ast.AST, what: str) -> NoReturn:
        number = getattr(node, "lineno", 0)
        raise UnportableSource(f"{self._path}:{number}: {what} cannot stand in a generated plan module")


def _is_frozen(decorator: ast.expr) -> bool:
    return ast.unparse(decorator) in ("frozen", "frozen(kw_only=True)")


def _is_plain(default: ast.expr | None) -> bool:
    """Whether a field has no default, or one that is the same object wherever it is written."""
    match default:
        case None | ast.Constant() | ast.Name() | ast.UnaryOp(operand=ast.Constant()) | ast.Tuple(elts=[]):
            return True
        case _:
            return False


def _squeezed(lines: Sequence[str]) -> Iterator[str]:
    """Without more than two blank lines in a row, which dropped ones leave."""
    blank = 0
    for line in lines:
        blank = 0 if line else blank + 1
        if blank <= 2:
            yield line
