"""Reading what is particular to `specs/engine/`: an engine's tables, and the shapes of the model that it serves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from policygen.lang.tree import free_names
from policygen.loading.collector import Collector
from policygen.loading.needs import Needs
from policygen.loading.toml_positions import KeyPath
from policygen.model.problems import did_you_mean
from policygen.model.types import IntType
from policygen.model.types import Struct
from policygen.spec import Constraint
from policygen.spec import Derived
from policygen.spec import Engine
from policygen.spec import KeyField
from policygen.spec import Shape

SHAPE_PREFIX = "model_"
"""A shape `hidden_size` is `model_hidden_size` in expressions, in defaults and among common values."""

_NAME = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")
_SHAPE_NAME = re.compile(r"[a-z][a-z0-9_]*")


@frozen
class EngineDocument:
    """`[engine]`: what runs with a table, and what its function answers."""

    returns: str
    backend: str = ""
    precompiled: str = ""


@frozen
class ShapeDocument:
    """`[shape.NAME]`."""

    value: int
    unit: str
    doc: str


def read_shapes(collector: Collector) -> dict[str, Shape]:
    """Reads `specs/engine/model.toml`: the model's numbers by name."""
    found: dict[str, Shape] = {}
    for key in collector.source.data:
        if key != "shape":
            collector.report((key,), "unknown key; a model has [shape.NAME] tables")
    for name, table in collector.source.data.get("shape", {}).items():
        path: KeyPath = ("shape", name)
        document = collector.structured(path, table, ShapeDocument)
        if not _SHAPE_NAME.fullmatch(name):
            collector.report(path, "expected a name of small letters, digits and _")
        elif document is not None and document.value < 1:
            collector.report((*path, "value"), f"expected a positive number, not {document.value}")
        elif document is not None:
            found[name] = Shape(document.value, document.unit, document.doc, collector.location(path))
    return found


def with_shapes(data: Mapping[str, Any], shapes: Mapping[str, Shape]) -> dict[str, Any]:
    """A table's document with the model's numbers: as names for its expressions, as values of defaults and common keys.

    Args:
        data: the document as it was read.
        shapes: the model's numbers.
    """
    values = {f"{SHAPE_PREFIX}{name}": shape.value for name, shape in shapes.items()}

    def value(given: Any) -> Any:
        if isinstance(given, list):
            return [value(one) for one in given]
        return values.get(given, given) if isinstance(given, str) else given

    document = dict(data)
    document["let"] = {**{name: str(number) for name, number in values.items()}, **data.get("let", {})}
    for kind in ("key", "context"):
        if isinstance(data.get(kind), dict):
            document[kind] = {
                name: {part: value(given) for part, given in field.items()} if isinstance(field, dict) else field
                for name, field in data[kind].items()
            }
    if isinstance(data.get("common"), dict):
        document["common"] = {name: value(listed) for name, listed in data["common"].items()}
    return document


def read_engine(
    collector: Collector,
    name: str,
    document: EngineDocument | None,
    features: Sequence[str],
    key: Sequence[KeyField],
    policy: Struct,
) -> Engine | None:
    """Reads `[engine]`. Every integer of a table says what it counts."""
    if document is None:
        return None
    if not _NAME.fullmatch(name):
        collector.report(("name",), f'"{name}" is no table of an engine: write module.function, attention.decode say')
        return None
    if document.backend and document.backend not in features:
        hint = did_you_mean(document.backend, features)
        collector.report(("engine", "backend"), f'unknown feature "{document.backend}"{hint}')
    for field in key:
        if isinstance(field.type, IntType) and not field.unit and field.name != "num_items":
            collector.report(("key", field.name), 'expected unit = "..": what it counts, tokens or blocks say')
    for member in policy.fields:
        if isinstance(member.type, IntType) and not member.unit:
            path: KeyPath = ("struct", policy.name, member.name)
            collector.report(path, 'expected unit = "..": what it counts, tokens or blocks say')
    module, _, function = name.partition(".")
    return Engine(module, function, document.backend, document.precompiled, document.returns)


def read_derived(
    collector: Collector, needs: Needs, policy: Struct, table: Mapping[str, Any], constraints: Sequence[Constraint]
) -> tuple[Derived, ...]:
    """Reads `[derived]`: fields of the policy, each an expression over key, facts and the fields before it."""
    found: list[Derived] = []
    for name, value in table.items():
        path: KeyPath = ("derived", name)
        field = policy.by_name.get(name)
        if field is None:
            collector.report(path, f"{policy.name} has no such field{did_you_mean(name, tuple(policy.by_name))}")
            continue
        expr = needs.expression(path, value, {}, field.type)
        if expr is not None:
            later = free_names(expr) & (set(table) - {d.name for d in found})
            if later:
                collector.report(path, f"{min(later)} is derived after it: put it before")
            found.append(Derived(name, expr, collector.location(path)))
    for constraint in constraints:
        for expr in (constraint.need, constraint.limit, constraint.check, constraint.when):
            late = set() if expr is None else free_names(expr) & set(table)
            if late:
                collector.report(
                    ("derived", min(late)), f"the constraint {constraint.id} is judged before it is derived"
                )
    return tuple(found)
