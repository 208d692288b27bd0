"""The neutral description of a tuning selector: its key, its policy, and how C++ spells them.

Nothing here knows an algorithm. A `SelectorShape` says enough to write the host program that fills a selector's key,
calls it and reads the policy back, and to translate both between neutral names and integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final
from typing import Literal
from typing import TypeAlias

from attrs import field
from attrs import frozen

Value: TypeAlias = "int | str | Mapping[str, Value] | Sequence[Mapping[str, Value]]"
"""A neutral value: an integer or boolean, an enumerator's name, a record, or a list of records."""

ArithmeticType: TypeAlias = Literal["bool", "int", "unsigned"]

RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "bool": (0, 1),
    "int": (-(2**31), 2**31 - 1),
    "unsigned": (0, 2**32 - 1),
}
"""The values that a member of an arithmetic type can hold, both ends included."""


@frozen
class EnumShape:
    """A C++ enumeration.

    Attributes:
        cpp_type: its qualified name, `::cub::detail::type_t`.
        enumerators: pairs of a neutral name and the C++ expression, `("LOAD_LDG", "::cub::LOAD_LDG")`; a value
            travels between the processes as its position here.
    """

    cpp_type: str
    enumerators: tuple[tuple[str, str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The neutral names, in order."""
        return tuple(name for name, _ in self.enumerators)


@frozen
class ScalarField:
    """A member that holds one number or enumerator.

    Attributes:
        name: the neutral name.
        cpp_type: an arithmetic type, or the enumeration.
        member: the C++ member's name where it is not the neutral one (a leading underscore is dropped, say);
            an element of an array is named by its subscript, `[0]`.
    """

    name: str
    cpp_type: ArithmeticType | EnumShape
    member: str = field(kw_only=True)

    @member.default
    def _same_as_name(self) -> str:
        return self.name


@frozen
class RecordField:
    """A member that is itself a struct.

    Attributes:
        name: the neutral name.
        fields: its members.
        member: the C++ member's name where it is not the neutral one, or an array element's subscript.
    """

    name: str
    fields: tuple[Field, ...]
    member: str = field(kw_only=True)

    @member.default
    def _same_as_name(self) -> str:
        return self.name


@frozen
class ListField:
    """A member that is an array of structs.

    In a key its length is free, from 0 to `max_length`, and is the selector's template argument. In a policy the
    array always has `max_length` elements.

    Attributes:
        name: the neutral name.
        fields: the members of an element.
        max_length: the greatest number of elements.
        member: the C++ member's name where it is not the neutral one.
    """

    name: str
    fields: tuple[Field, ...]
    max_length: int
    member: str = field(kw_only=True)

    @member.default
    def _same_as_name(self) -> str:
        return self.name


Field: TypeAlias = ScalarField | RecordField | ListField


@frozen
class SelectorShape:
    """One of CCCL's tuning selectors.

    Attributes:
        algorithm: the neutral name by which the oracle is asked.
        header: the include path that declares the selector, `cub/device/dispatch/tuning/tuning_reduce.cuh`.
        namespace: below `cub::detail`, `reduce` or `rle::encode`.
        selector: the name of the selector, `policy_selector`; a class template over the length of the key's list if
            the key has one.
        key: the selector's data members, in CCCL's order.
        policy: the data members of what it returns.

    Raises:
        ValueError: the key has more than one list, or a list inside a record or a list.
    """

    algorithm: str
    header: str
    namespace: str
    selector: str
    key: tuple[Field, ...]
    policy: tuple[Field, ...]

    def __attrs_post_init__(self) -> None:
        lists = [path for path, member in _walk(self.key, ()) if isinstance(member, ListField)]
        nested = [".".join(path) for path in lists if len(path) > 1]
        if nested or len(lists) > 1:
            names = ", ".join(".".join(path) for path in lists)
            raise ValueError(
                f"{self.algorithm}: a key may have one list, at its top level, since its length is the selector's "
                f"template argument; it has {names}"
            )

    @property
    def list_field(self) -> ListField | None:
        """The key's list, if it has one."""
        return next((member for member in self.key if isinstance(member, ListField)), None)

    @property
    def enums(self) -> tuple[EnumShape, ...]:
        """Every enumeration of the key and the policy, once, in order of appearance."""
        members = (*_walk(self.key, ()), *_walk(self.policy, ()))
        found = (member.cpp_type for _, member in members if isinstance(member, ScalarField))
        return tuple(dict.fromkeys(shape for shape in found if isinstance(shape, EnumShape)))


def _walk(fields: Sequence[Field], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Field]]:
    for member in fields:
        path = (*above, member.name)
        yield path, member
        if not isinstance(member, ScalarField):
            yield from _walk(member.fields, path)
