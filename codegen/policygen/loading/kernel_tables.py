"""Reading `[cpp]` and `[[kernel]]` of an algorithm: how C++ spells its types, and the kernels that CUB launches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from attrs import frozen

from policygen.kernels import CppKind
from policygen.kernels import CppParameter
from policygen.kernels import Kernel
from policygen.lang.tree import Expr
from policygen.lang.tree import Scope
from policygen.loading.collector import Collector
from policygen.loading.needs import Needs
from policygen.loading.toml_positions import KeyPath
from policygen.model.problems import did_you_mean
from policygen.model.types import BOOL
from policygen.model.types import INT32
from policygen.model.types import INT64
from policygen.model.types import ListType
from policygen.spec import Constraint

PLACEHOLDER: Final = re.compile(r"\{(\w+)(\*?)\}")
"""A name in the C++ text of a kernel, with or without an asterisk behind it."""

POLICY: Final = "policy"
"""The placeholder of the selector."""


@frozen
class CppDocument:
    """An entry of `[cpp]`: one of `size`, `integer`, `operator` and `constant` says what it stands for."""

    size: Any = None
    integer: Any = None
    operator: Any = None
    constant: Any = None
    each: str = ""
    type: Any = None
    alignment: Any = None
    primitive: Any = None
    none: str = ""


@frozen
class KernelDocument:
    """`[[kernel]]`."""

    name: str
    headers: list[str]
    instance: str
    threads: Any
    when: Any = True
    dynamic: Any = 0
    shared: str = ""
    registers: str = ""


_KINDS: Final = {
    "size": CppKind.ELEMENT,
    "integer": CppKind.INTEGER,
    "operator": CppKind.OPERATOR,
    "constant": CppKind.CONSTANT,
}


def cpp_parameters(
    collector: Collector, documents: Mapping[str, CppDocument], scope: Scope, lists: Mapping[str, ListType]
) -> tuple[CppParameter, ...]:
    """Reads how C++ spells what a key describes.

    Args:
        collector: the file; problems are added to it.
        documents: the entries by name.
        scope: key and lets.
        lists: the lists of the key by name.
    """
    found: list[CppParameter] = []
    for name, document in documents.items():
        path: KeyPath = ("cpp", name)
        given = [key for key in _KINDS if getattr(document, key) is not None]
        if len(given) != 1:
            collector.report(path, f"expected one of {', '.join(_KINDS)}, not {' and '.join(given) or 'none of them'}")
            continue
        if name == POLICY:
            collector.report(path, f'"{POLICY}" is the selector of the policy: choose another name')
        inner = scope
        if document.each:
            if document.each not in lists:
                hint = did_you_mean(document.each, tuple(lists))
                collector.report((*path, "each"), f'no list of the key is called "{document.each}"{hint}')
                continue
            inner = Scope({f.name: f.type for f in lists[document.each].element.struct.fields})
        value = _expression(collector, (*path, given[0]), getattr(document, given[0]), inner)
        if value is not None:
            found.append(
                CppParameter(
                    name=name,
                    kind=_KINDS[given[0]],
                    value=value,
                    each=document.each,
                    type=_expression(collector, (*path, "type"), document.type, inner),
                    alignment=_expression(collector, (*path, "alignment"), document.alignment, inner),
                    primitive=_expression(collector, (*path, "primitive"), document.primitive, inner),
                    none=document.none,
                    location=collector.location(path),
                )
            )
    return tuple(found)


def kernels(
    needs: Needs,
    documents: Sequence[KernelDocument],
    parameters: Sequence[CppParameter],
    constraints: Sequence[Constraint],
) -> tuple[Kernel, ...]:
    """Reads the kernels of an algorithm.

    Args:
        needs: the reader of what is said over key, facts and policy; problems are added to its file.
        documents: the entries in order.
        parameters: what their C++ may name.
        constraints: what they may name as models.
    """
    found: list[Kernel] = []
    known = (POLICY, *(parameter.name for parameter in parameters))
    for index, document in enumerate(documents):
        path: KeyPath = ("kernel", index)
        if any(earlier.name == document.name for earlier in documents[:index]):
            needs.report((*path, "name"), f'"{document.name}" is the name of an earlier kernel')
        for name, _ in PLACEHOLDER.findall(document.instance):
            if name not in known:
                needs.report((*path, "instance"), f'"{{{name}}}" is no entry of [cpp]{did_you_mean(name, known)}')
        if f"{{{POLICY}}}" not in document.instance:
            needs.report((*path, "instance"), f"expected {{{POLICY}}}, the selector, among the template arguments")
        for key, unit in (("shared", "bytes"), ("registers", "registers")):
            _check_model(needs, (*path, key), getattr(document, key), unit, constraints)
        when = needs.expression((*path, "when"), document.when, {}, BOOL)
        threads = needs.expression((*path, "threads"), document.threads, {}, INT32)
        dynamic = needs.expression((*path, "dynamic"), document.dynamic, {}, INT64)
        if when is not None and threads is not None and dynamic is not None:
            found.append(
                Kernel(
                    name=document.name,
                    when=when,
                    headers=tuple(document.headers),
                    instance=" ".join(document.instance.split()),
                    threads=threads,
                    dynamic=dynamic,
                    shared=document.shared,
                    registers=document.registers,
                    location=needs.location(path),
                )
            )
    return tuple(found)


def _check_model(needs: Needs, path: KeyPath, name: str, unit: str, constraints: Sequence[Constraint]) -> None:
    models = [c.id for c in constraints if c.unit == unit and c.need is not None]
    if name and name not in models:
        needs.report(path, f'no constraint in {unit} is called "{name}"{did_you_mean(name, models)}')


def _expression(collector: Collector, path: KeyPath, value: Any, scope: Scope) -> Expr | None:
    return None if value is None else collector.expression(path, value, scope)
