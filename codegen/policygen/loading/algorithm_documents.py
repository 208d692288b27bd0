"""The tables of an algorithm's file, `specs/algorithms/*.toml` or `specs/engine/*/*.toml`, as TOML has them."""

from __future__ import annotations

from typing import Any

from attrs import Factory
from attrs import frozen

from policygen.loading.engine_tables import EngineDocument
from policygen.loading.kernel_tables import CppDocument
from policygen.loading.kernel_tables import KernelDocument
from policygen.loading.needs import AlternativeDocument
from policygen.loading.needs import ConstraintDocument
from policygen.loading.needs import NeutralDocument
from policygen.loading.tune import TuneDocument


@frozen
class ElementDocument:
    """A field of the records of a key field."""

    range: list[int] | None = None
    values: list[int] | None = None
    default: Any = None


@frozen
class KeyDocument:
    """`[key.NAME]`, `[context.NAME]`."""

    type: str
    range: list[int] | None = None
    values: list[int] | None = None
    max_length: int | None = None
    element: dict[str, ElementDocument] = Factory(dict)
    default: Any = None
    doc: str = ""
    unit: str = ""


@frozen
class TypeParameterDocument:
    """An entry of `[types]`."""

    python: str
    kind: str
    gives: dict[str, str]
    default: str = ""


@frozen
class UseDocument:
    """`[use.NAME]`."""

    algorithm: str
    key: dict[str, Any]


@frozen
class PolicyDocument:
    """`[policy]`."""

    struct: str


@frozen
class CubDocument:
    """`cub = {..}`."""

    header: str
    namespace: str
    policy: str


@frozen
class EmptyBlockDocument:
    """`[empty_block]`."""

    items_per_thread: int
    reason: str


@frozen
class AlgorithmDocument:
    """A whole file."""

    name: str
    title: str
    policy: PolicyDocument
    key: dict[str, KeyDocument]
    cub: CubDocument | None = None
    context: dict[str, KeyDocument] = Factory(dict)
    include: list[str] = Factory(list)
    enumeration: dict[str, Any] = Factory(dict)
    struct: dict[str, Any] = Factory(dict)
    let: dict[str, Any] = Factory(dict)
    function: dict[str, Any] = Factory(dict)
    table: dict[str, Any] = Factory(dict)
    use: dict[str, UseDocument] = Factory(dict)
    types: dict[str, TypeParameterDocument] = Factory(dict)
    common: dict[str, Any] = Factory(dict)
    constraint: list[ConstraintDocument] = Factory(list)
    alternative: list[AlternativeDocument] = Factory(list)
    neutral: list[NeutralDocument] = Factory(list)
    cpp: dict[str, CppDocument] = Factory(dict)
    kernel: list[KernelDocument] = Factory(list)
    empty_block: EmptyBlockDocument | None = None
    tune: TuneDocument | None = None
    derived: dict[str, Any] = Factory(dict)
    engine: EngineDocument | None = None
    ladder: list[dict[str, Any]] = Factory(list)
