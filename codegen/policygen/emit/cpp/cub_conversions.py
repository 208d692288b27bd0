"""Conversions between the types of a header and CUB's, by name: enumerators, records of a key, policies."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from policygen.emit.cpp.cub_names import cub_enumerator
from policygen.emit.cpp.cub_names import own_enumerator
from policygen.emit.cpp.cub_names import qualified
from policygen.emit.cpp.expressions import identifier
from policygen.model.types import Enumeration
from policygen.model.types import EnumType
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.model.types import StructField
from policygen.tune import Path


def enumerator_to_cub(enumeration: Enumeration) -> tuple[str, ...]:
    """An overload of `to_cub`: one of our enumerators as CUB's, a refinement as what it refines."""
    cases = [(own_enumerator(enumeration, n), cub_enumerator(enumeration, n)) for n in enumeration.names]
    head = f"POLICYGEN_FUNCTION constexpr auto to_cub({identifier(enumeration.name)} value)"
    return (head, *_switch(cases, f"this is no enumerator of {enumeration.name}"))


def enumerator_of_cub(enumeration: Enumeration) -> tuple[str, ...]:
    """An overload of `of_cub`: one of CUB's enumerators as ours."""
    names = [e.name for e in enumeration.enumerators if e.refines is None]
    cases = [(cub_enumerator(enumeration, n), own_enumerator(enumeration, n)) for n in names]
    head = f"POLICYGEN_FUNCTION constexpr {identifier(enumeration.name)} of_cub(decltype({cases[0][0]}) value)"
    return (head, *_switch(cases, f"CUB has an enumerator of {enumeration.name} that this header does not know"))


def record_of_cub(struct: Struct) -> tuple[str, ...]:
    """An overload of `of_cub`: a record of CUB's key as ours."""
    name = identifier(struct.name)
    head = f"POLICYGEN_FUNCTION constexpr {name} of_cub(const CUB_NS_QUALIFIER::detail::{struct.name}& q)"
    return (head, "{", f"  {name} p{{}};", *(f"  p.{identifier(f.name)} = q.{f.name};" for f in struct.fields), *_END)


def policy_to_cub(policy: Struct, cub_name: str) -> list[str]:
    """A function `to_cub`: a policy as CUB's struct, member by member; a member that CUB alone has is an error."""
    spelled = qualified(cub_name)
    found = [f"POLICYGEN_FUNCTION constexpr {spelled} to_cub(const policy& p)", "{", f"  {spelled} q{{}};"]
    found += _member_counts(policy, "q", frozenset())
    for cub_member, own, kind in _scalars(policy, "q", "p"):
        value = f"support::to_cub({own})" if isinstance(kind.type, EnumType) else own
        found.append(f"  {cub_member} = {value};")
    return [*found, "  return q;", "}"]


def policy_to_form(
    policy: Struct, name: str, cub_name: str, form_name: str, leaves: Sequence[Path], spelled: Mapping[str, str]
) -> list[str]:
    """A function: CUB's policy as another struct of CUB's with the same members, but for those it leaves out.

    Args:
        policy: the algorithm's policy.
        name: of the function.
        cub_name: CUB's struct for the policy.
        form_name: the other struct.
        leaves: the members that it leaves out.
        spelled: enumerations with another name there, with `{}` for the enumerator.
    """
    source, target = qualified(cub_name), qualified(form_name)
    found = [f"POLICYGEN_FUNCTION constexpr {target} {name}(const {source}& p)", "{", f"  {target} q{{}};"]
    left_out = frozenset(".".join(("q", *path)) for path in leaves)
    found += _member_counts(policy, "q", left_out)
    for member, given, field in _scalars(policy, "q", "p", own=False):
        if member in left_out:
            continue
        if isinstance(field.type, EnumType) and field.type.enumeration.name in spelled:
            found += _respelled(member, given, field.type.enumeration, spelled[field.type.enumeration.name])
        else:
            found.append(f"  {member} = {given};")
    return [*found, "  return q;", "}"]


_END = ("  return p;", "}")


def _switch(cases: Sequence[tuple[str, str]], reason: str) -> list[str]:
    found = ["{", "  switch (value)", "  {"]
    for case, result in cases:
        found += [f"    case {case}:", f"      return {result};"]
    return [*found, "  }", f'  refuse("{reason}");', f"  return {cases[0][1]};", "}"]


def _respelled(member: str, given: str, enumeration: Enumeration, spelling: str) -> Iterator[str]:
    yield f"  switch ({given})"
    yield "  {"
    for name in enumeration.names:
        yield f"    case {cub_enumerator(enumeration, name)}:"
        yield f"      {member} = {qualified(spelling.format(name))};"
        yield "      break;"
    yield "  }"


def _scalars(struct: Struct, cub: str, given: str, own: bool = True) -> Iterator[tuple[str, str, StructField]]:
    """The members of two records that hold the same: as CUB writes it, and as it is given (ours, or CUB's too)."""
    for field in struct.fields:
        inner = f"{given}.{identifier(field.name) if own else field.name}"
        if not isinstance(field.type, RecordType):
            yield f"{cub}.{field.name}", inner, field
        elif field.array:
            for index, element in enumerate(field.type.struct.fields):
                assert isinstance(element.type, RecordType)
                place = f"{inner}.{identifier(element.name)}" if own else f"{inner}[{index}]"
                yield from _scalars(element.type.struct, f"{cub}.{field.name}[{index}]", place, own)
        else:
            yield from _scalars(field.type.struct, f"{cub}.{field.name}", inner, own)


def _member_counts(policy: Struct, root: str, left_out: frozenset[str]) -> list[str]:
    """Assertions that CUB's records have no members but these, one for each type."""
    found: list[str] = []
    places: dict[Struct, str] = {}
    for struct, place in _records(policy, root, left_out):
        places.setdefault(struct, place)
    for struct, place in places.items():
        members = [f for f in struct.fields if f"{place}.{f.name}" not in left_out]
        found.append(f"  static_assert(!support::has_more<std::decay_t<decltype({place})>, {len(members)}>,")
        found.append(f'      "CUB\'s {struct.name} has a member that this header does not know");')
        for field in members:
            if field.array and isinstance(field.type, RecordType):
                array, length = f"{place}.{field.name}", len(field.type.struct.fields)
                condition = f"sizeof({array}) / sizeof({array}[0]) == {length}"
                found.append(f'  static_assert({condition}, "CUB has another number of {field.name}");')
    return found


def _records(struct: Struct, place: str, left_out: frozenset[str]) -> Iterator[tuple[Struct, str]]:
    """The records of CUB's policy with the expressions that name them; of an array the first element."""
    yield struct, place
    for field in struct.fields:
        inner = f"{place}.{field.name}"
        if not isinstance(field.type, RecordType) or inner in left_out:
            continue
        if not field.array:
            yield from _records(field.type.struct, inner, left_out)
            continue
        element = field.type.struct.fields[0].type
        assert isinstance(element, RecordType)
        yield from _records(element.struct, f"{inner}[0]", left_out)
