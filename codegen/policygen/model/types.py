"""The types of the spec language: what a key field, a policy field or an expression can hold.

Nothing here knows a target language. A value is an `int`, a `bool`, the name of an enumerator (`str`), a record
(`dict` from field name to value) or a list of records (`tuple`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from typing import TypeAlias

from attrs import frozen

from policygen.model.ranges import Interval

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
UINT32_MAX, UINT64_MAX = 2**32 - 1, 2**64 - 1

Scalar: TypeAlias = "int | bool | str"
Value: TypeAlias = "int | bool | str | Mapping[str, Value] | tuple[Value, ...]"


@frozen
class IntType:
    """A signed integer of 32 or 64 bits; `unsigned` only names how a policy field is stored."""

    bits: int
    unsigned: bool = False

    @property
    def low(self) -> int:
        """The least value that fits."""
        if self.unsigned:
            return 0
        return INT32_MIN if self.bits == 32 else INT64_MIN

    @property
    def high(self) -> int:
        """The greatest value that fits."""
        if self.unsigned:
            return UINT32_MAX if self.bits == 32 else UINT64_MAX
        return INT32_MAX if self.bits == 32 else INT64_MAX

    def __str__(self) -> str:
        return f"{'u' if self.unsigned else ''}int{self.bits}"


@frozen
class BoolType:
    """true or false."""

    def __str__(self) -> str:
        return "bool"


class Version(Enum):
    """What a version literal such as '9.0' means: how its minor part is packed into one integer."""

    COMPUTE_CAPABILITY = 10
    TOOLKIT = 100

    def pack(self, text: str) -> int:
        """'9.0' -> 90 for a compute capability, '13.4' -> 1304 for a toolkit. Raises ValueError for anything else."""
        major, dot, minor = text.partition(".")
        if not (dot and major.isdecimal() and minor.isdecimal()) or int(minor) >= self.value:
            raise ValueError(f"'{text}' is not a version: write major.minor, such as '9.0'")
        return int(major) * self.value + int(minor)

    def unpack(self, packed: int) -> str:
        """The text of a packed version: 90 -> '9.0'."""
        return f"{packed // self.value}.{packed % self.value}"


@frozen
class VersionType:
    """A version, compared with quoted literals only: `cc >= '9.0'`."""

    version: Version

    def __str__(self) -> str:
        return self.version.name.lower()


@frozen
class Enumerator:
    """One name of an enumeration.

    `refines` names the enumerator that a more general rule sees in its place: `float16` refines `other`, so a rule for
    `other` holds for it, while a rule for `float16` holds for it alone.
    """

    name: str
    refines: str | None = None


@frozen(cache_hash=True)
class Enumeration:
    """A closed set of names. `cub` is the C++ spelling of each enumerator in CUB, with `{}` for the name."""

    name: str
    enumerators: tuple[Enumerator, ...]
    cub: str | None = None
    renamed: tuple[tuple[str, str], ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All enumerators in declaration order."""
        return tuple(e.name for e in self.enumerators)

    @cached_property
    def _refinements(self) -> dict[str, tuple[str, ...]]:
        return {
            e.name: (e.name, *(other.name for other in self.enumerators if other.refines == e.name))
            for e in self.enumerators
        }

    def covered_by(self, name: str) -> tuple[str, ...]:
        """The enumerators that a rule for `name` holds for: itself and what refines it."""
        return self._refinements[name]

    def general(self, name: str) -> str:
        """The name that upstream knows: `float16` -> `other`."""
        return next((e.refines or e.name for e in self.enumerators if e.name == name), name)

    def cub_spelling(self, name: str) -> str:
        """The C++ expression for an enumerator in CUB; a refinement is spelled as what it refines."""
        general = self.general(name)
        return (self.cub or "{}").format(dict(self.renamed).get(general, general))


@frozen
class EnumType:
    """The type of an enumerator."""

    enumeration: Enumeration

    def __str__(self) -> str:
        return self.enumeration.name


class Role(Enum):
    """What a count means to the rules that act on counts."""

    THREADS = "threads"
    ITEMS = "items"
    VECTOR = "vector"
    STAGES = "stages"


@frozen
class StructField:
    """A field of a record: its type, the value it is initialised with, its role, and the integers it may hold.

    `array` says that CUB holds the fields of this record, which are all of one type, as the elements of an array;
    `unit` what an integer counts: tokens, say.
    """

    name: str
    type: Type
    default: Scalar | None = None
    role: Role | None = None
    interval: Interval | None = None
    doc: str = ""
    array: bool = False
    unit: str = ""


@frozen(cache_hash=True)
class Struct:
    """A record type. Fields are in CUB's order."""

    name: str
    fields: tuple[StructField, ...]

    @cached_property
    def by_name(self) -> Mapping[str, StructField]:
        """Field name to field."""
        return {f.name: f for f in self.fields}

    def initial(self) -> dict[str, Value]:
        """The value-initialised record: defaults where declared, else zero, false or the first enumerator."""
        return {f.name: _initial(f) for f in self.fields}


@frozen
class RecordType:
    """The type of a record."""

    struct: Struct

    def __str__(self) -> str:
        return self.struct.name


@frozen
class ListType:
    """A list of records with at most `max_length` elements."""

    element: RecordType
    max_length: int

    def __str__(self) -> str:
        return f"list of {self.element}"


Type: TypeAlias = IntType | BoolType | VersionType | EnumType | RecordType | ListType

INT32 = IntType(32)
INT64 = IntType(64)
UINT32 = IntType(32, unsigned=True)
BOOL = BoolType()
COMPUTE_CAPABILITY = VersionType(Version.COMPUTE_CAPABILITY)
TOOLKIT = VersionType(Version.TOOLKIT)

SCALING_RESULT = RecordType(
    Struct("ScalingResult", (StructField("items_per_thread", INT32), StructField("threads_per_block", INT32)))
)


def _initial(field: StructField) -> Value:
    if isinstance(field.type, RecordType):
        return field.type.struct.initial()
    if field.default is not None:
        return field.default
    if isinstance(field.type, BoolType):
        return False
    if isinstance(field.type, EnumType):
        return field.type.enumeration.names[0]
    return 0


def initial_value(field: StructField) -> Value:
    """What a field holds before any rule sets it."""
    return _initial(field)
