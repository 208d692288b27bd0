"""The tiles of a policy: items that a block takes at a time, for each part that launched kernels go by."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import TypeAlias

from policygen.lang.tree import Expr
from policygen.lang.tree import Field
from policygen.lang.tree import Name
from policygen.lang.tree import walk
from policygen.model.types import RecordType
from policygen.model.types import Role
from policygen.model.types import Struct
from policygen.spec import Algorithm

Tiles: TypeAlias = tuple[tuple[str, int], ...]
"""Dotted path of a part of the policy, empty for the policy itself, and the items of a block."""


def policy_tiles(algorithm: Algorithm, policy: Mapping[str, Any], launched: Collection[str]) -> Tiles:
    """The tiles of a policy: threads times items of a part that has both.

    Args:
        algorithm: whose policy.
        policy: its fields.
        launched: the kernels that are launched for it: parts whose threads none of them has are left out, such as those
            of another algorithm that the policy might have chosen. Where it is empty, no part is.
    """
    found = tuple(_tiles(algorithm.policy, policy, ""))
    used = {path for kernel in algorithm.kernels if kernel.name in launched for path in _parts(kernel.threads)}
    return tuple((path, items) for path, items in found if path in used) if launched else found


def _tiles(struct: Struct, policy: Mapping[str, Any], at: str) -> Iterator[tuple[str, int]]:
    counts: dict[Role, int] = {}
    for field in struct.fields:
        value = policy[field.name]
        if isinstance(field.type, RecordType):
            yield from _tiles(field.type.struct, value, f"{at}.{field.name}" if at else field.name)
        elif field.role is not None:
            counts[field.role] = value
    items = counts.get(Role.THREADS, 0) * counts.get(Role.ITEMS, 0)
    if items:
        yield at, items


def _parts(expr: Expr) -> Iterator[str]:
    """The records whose fields an expression reads; what it reads by itself is a field of the policy."""
    for node in walk(expr):
        match node:
            case Field():
                yield _path(node.base)
            case Name():
                yield ""


def _path(expr: Expr) -> str:
    match expr:
        case Name():
            return expr.id
        case Field():
            return f"{_path(expr.base)}.{expr.name}"
        case _:
            return ""
