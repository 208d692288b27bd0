"""How keys and policies travel between the oracle and its host program: as lines of integers.

A selector is compiled once for every length that its key's list may have; each of these is an *instance* with a
number. A request is one line, `instance count cc... field...`: the number of compute capabilities, each as
10 * major + minor, then the key's scalars depth first in declared order, enumerators as their position. Every
capability is answered by one line with the policy's scalars in the same manner, or by `undefined`.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from attrs import frozen

from policygen.parity.shape import RANGES
from policygen.parity.shape import EnumShape
from policygen.parity.shape import Field
from policygen.parity.shape import ListField
from policygen.parity.shape import RecordField
from policygen.parity.shape import ScalarField
from policygen.parity.shape import SelectorShape
from policygen.parity.shape import Value

VERSION: Final = 1
"""Printed first by the program, so that a stale one is noticed."""

UNDEFINED: Final = "undefined"
"""The answer where the selector divided by zero or overflowed."""

RecordEncoder = Callable[[object, list[int]], None]
"""Checks what should be a record and appends its integers."""

FieldEncoder = Callable[[Mapping[str, Value], list[int]], None]
"""Checks one field of a record and appends its integers."""


@frozen
class Instance:
    """A selector with the length of its list fixed.

    Attributes:
        shape: the selector.
        length: the elements of the key's list; None if the key has no list.
    """

    shape: SelectorShape
    length: int | None

    @property
    def cpp_type(self) -> str:
        """The C++ type, template argument included."""
        name = f"::cub::detail::{self.shape.namespace}::{self.shape.selector}"
        return name if self.length is None else f"{name}<{self.length}>"


def instances_of(shapes: Sequence[SelectorShape]) -> tuple[Instance, ...]:
    """Lists what has to be compiled, in the order of the numbers that requests use.

    Raises:
        ValueError: two shapes have the same algorithm.
    """
    names = [shape.algorithm for shape in shapes]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"each algorithm may have one selector; repeated: {', '.join(repeated)}")
    found: list[Instance] = []
    for shape in shapes:
        members = shape.list_field
        lengths = (None,) if members is None else tuple(range(members.max_length + 1))
        found.extend(Instance(shape, length) for length in lengths)
    return tuple(found)


class KeyEncoder:
    """Turns the keys of one selector into the integers of a request."""

    def __init__(self, shape: SelectorShape, first_instance: int) -> None:
        self._list = shape.list_field
        self._first = first_instance
        self._encode = _record_encoder(shape.key, shape.algorithm)

    def encode(self, key: Mapping[str, Value], ccs: Sequence[int]) -> list[int]:
        """Encodes one request.

        Args:
            key: every field of the key, by neutral name.
            ccs: compute capabilities, as 10 * major + minor.

        Raises:
            ValueError: a field is missing, unknown, of the wrong type or out of its type's range.
        """
        fields: list[int] = []
        self._encode(key, fields)
        instance = self._first
        if self._list is not None:
            elements = key[self._list.name]
            assert isinstance(elements, Sequence)
            instance += len(elements)
        return [instance, len(ccs), *ccs, *fields]


def decode_policy(shape: SelectorShape, answer: str) -> dict[str, Value]:
    """Turns an answer line back into a policy, nested as CCCL's struct.

    Raises:
        ValueError: the line is not one of this selector's answers, or holds an enumerator that its shape does not list.
    """
    numbers = iter([int(word) for word in answer.split()])
    try:
        policy = _decode_record(shape.policy, numbers, shape.algorithm)
    except StopIteration:
        raise ValueError(f"{shape.algorithm}: the answer '{answer}' has too few numbers for the policy") from None
    if next(numbers, None) is not None:
        raise ValueError(f"{shape.algorithm}: the answer '{answer}' has too many numbers for the policy")
    return policy


def _record_encoder(fields: Sequence[Field], where: str) -> RecordEncoder:
    names = tuple(member.name for member in fields)
    expected = frozenset(names)
    encoders = tuple(_field_encoder(member, f"{where}.{member.name}") for member in fields)

    def encode(record: object, into: list[int]) -> None:
        if not isinstance(record, Mapping):
            raise ValueError(f"{where}: expected a record with {', '.join(names)}; got {record!r}")
        if record.keys() != expected:
            missing = [name for name in names if name not in record]
            unknown = [str(name) for name in record if name not in expected]
            said = [f"missing {', '.join(missing)}"] if missing else []
            said += [f"unknown {', '.join(unknown)}"] if unknown else []
            raise ValueError(f"{where}: the fields are {', '.join(names)}; {'; '.join(said)}")
        for member_encoder in encoders:
            member_encoder(record, into)

    return encode


def _field_encoder(member: Field, where: str) -> FieldEncoder:
    name = member.name
    match member:
        case ScalarField(cpp_type=EnumShape() as shape):
            positions = {enumerator: position for position, enumerator in enumerate(shape.names)}

            def encode_enumerator(record: Mapping[str, Value], into: list[int]) -> None:
                value = record[name]
                position = positions.get(value) if isinstance(value, str) else None
                if position is None:
                    raise ValueError(f"{where}: expected one of {', '.join(positions)}; got {value!r}")
                into.append(position)

            return encode_enumerator
        case ScalarField(cpp_type=str() as arithmetic):
            low, high = RANGES[arithmetic]

            def encode_number(record: Mapping[str, Value], into: list[int]) -> None:
                value = record[name]
                if not isinstance(value, int) or not low <= value <= high:
                    raise ValueError(f"{where}: expected {arithmetic} from {low} to {high}; got {value!r}")
                into.append(int(value))

            return encode_number
        case RecordField(fields=fields):
            encode_fields = _record_encoder(fields, where)

            def encode_record(record: Mapping[str, Value], into: list[int]) -> None:
                encode_fields(record[name], into)

            return encode_record
        case ListField(fields=fields, max_length=max_length):
            encode_element = _record_encoder(fields, f"{where}[]")

            def encode_list(record: Mapping[str, Value], into: list[int]) -> None:
                elements = record[name]
                if isinstance(elements, str) or not isinstance(elements, Sequence) or len(elements) > max_length:
                    raise ValueError(f"{where}: expected a list of at most {max_length} records; got {elements!r}")
                for element in elements:
                    encode_element(element, into)

            return encode_list
    raise AssertionError(f"{where}: not a field: {member!r}")


def _decode_record(fields: Sequence[Field], numbers: Iterator[int], where: str) -> dict[str, Value]:
    return {member.name: _decode_field(member, numbers, f"{where}.{member.name}") for member in fields}


def _decode_field(member: Field, numbers: Iterator[int], where: str) -> Value:
    match member:
        case ScalarField(cpp_type=EnumShape() as shape):
            position = next(numbers)
            if not 0 <= position < len(shape.names):
                raise ValueError(f"{where}: CCCL answered a {shape.cpp_type} that is none of {', '.join(shape.names)}")
            return shape.names[position]
        case ScalarField(cpp_type="bool"):
            return bool(next(numbers))
        case ScalarField():
            return next(numbers)
        case RecordField(fields=fields):
            return _decode_record(fields, numbers, where)
        case ListField(fields=fields, max_length=length):
            return tuple(_decode_record(fields, numbers, f"{where}[{index}]") for index in range(length))
