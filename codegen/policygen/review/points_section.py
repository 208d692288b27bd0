"""What a target has where the reference would have something else, and why: its own points, and what was adapted."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Final

from attrs import evolve
from attrs import frozen

from policygen.fold.table import PolicyTable
from policygen.resolve.candidate import Candidate
from policygen.resolve.candidate import NoPolicy
from policygen.resolve.key import InvalidKey
from policygen.resolve.resolver import Resolution
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.resolve.telling import as_given
from policygen.resolve.trace import Changed
from policygen.resolve.trace import Neutralised
from policygen.resolve.trace import Shrunk
from policygen.resolve.trace import reason_of_shrink
from policygen.review.key_ranges import Given
from policygen.review.key_ranges import KeyRange
from policygen.review.key_ranges import given_text
from policygen.review.key_ranges import key_ranges
from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject

COLUMNS: Final = (
    Column("algorithm"),
    Column("keys", right=True),
    Column("of which"),
    Column("point"),
    Column("reference point"),
    Column("target, not reference"),
    Column("reason"),
    Column("source"),
    Column("reference's benchmark"),
)

_SHOWN_RANGES: Final = 3
_SHOWN_VALUES: Final = 4
"""Ranges of keys, and values of a field, that are named in a cell; data has all."""


@frozen
class _Difference:
    """Fields that differ, as `path`, reference's value, target's value; what says why."""

    point: str
    reference_point: str
    fields: tuple[tuple[str, str, str], ...]
    reason: str
    source: str
    benchmark: str


def points_section(subject: Subject) -> Section | None:
    """A row for each difference from the reference, with the common keys that it is for."""
    if not subject.rules:
        return None
    name, reference = subject.instance.name, subject.instance.target.reference
    rows: list[Row] = []
    equal: list[str] = []
    for algorithm in subject.rules:
        groups = (
            _own(subject, algorithm) if algorithm in subject.instance.target.rules else _adapted(subject, algorithm)
        )
        rows += [_row(algorithm, difference, keys) for difference, keys in groups.items()]
        if not groups:
            equal.append(algorithm)
    return Section("points", f"{name} against {reference}", COLUMNS, tuple(rows), tuple(_notes(subject, equal)))


def _notes(subject: Subject, equal: list[str]) -> Iterator[str]:
    target = subject.instance.target
    version = f"{subject.instance.cc // 10}.{subject.instance.cc % 10}"
    if not target.rules:
        yield f"{subject.instance.name} has no points of its own"
    yield f"the reference is read as capability {version}: its counts are scaled, and not adapted to the target"
    if equal:
        yield f"equal for every common key: {', '.join(equal)}"


def _own(subject: Subject, algorithm: str) -> dict[_Difference, list[Given]]:
    """Where a target has points of its own: beside what the reference's ladders give for the same key."""
    target = subject.instance.target
    without = {name: rules for name, rules in target.rules.items() if name != algorithm}
    instance = evolve(subject.instance, target=evolve(target, rules=without))
    reference = Resolver(rules_for(subject.spec, instance, algorithm))
    groups: dict[_Difference, list[Given]] = {}
    for row in subject.tables[algorithm].rows:
        resolution = row.resolution
        try:
            candidate = reference.selected(reference.whole_key(row.given))
        except (NoPolicy, InvalidKey) as error:
            groups.setdefault(_unanswered(resolution, str(error)), []).append(given_text(row.given))
            continue
        difference = _against(resolution, candidate)
        if difference is not None:
            groups.setdefault(difference, []).append(given_text(row.given))
    return groups


def _against(resolution: Resolution, candidate: Candidate) -> _Difference | None:
    before, after = dict(_leaves(candidate.policy)), dict(_leaves(resolution.policy.as_dict()))
    fields = tuple((path, before[path], value) for path, value in after.items() if before[path] != value)
    if not fields:
        return None
    point = resolution.point_rule
    mended = "; ".join(dict.fromkeys(reason for _, _, _, reason in _changes(resolution)))
    reasons = [text for text in (point.reason, mended) if text]
    return _Difference(
        f"{resolution.origin}/{resolution.point}",
        f"{candidate.ladder.origin}/{candidate.point.id}",
        fields,
        "; ".join(reasons) or "its source gives no reason",
        point.source,
        candidate.point.benchmark,
    )


def _unanswered(resolution: Resolution, reason: str) -> _Difference:
    after = tuple((path, "none", value) for path, value in _leaves(resolution.policy.as_dict()))
    point = resolution.point_rule
    return _Difference(
        f"{resolution.origin}/{resolution.point}", f"none: {reason}", after, point.reason, point.source, ""
    )


def _adapted(subject: Subject, algorithm: str) -> dict[_Difference, list[Given]]:
    """Where the reference's points answer: what the target's passes made of them."""
    groups: dict[_Difference, list[Given]] = {}
    for row in _changed(subject.tables[algorithm]):
        changes = list(_changes(row.resolution))
        point = row.resolution.point_rule
        name = f"{row.resolution.origin}/{row.resolution.point}"
        fields: dict[str, tuple[str, str, str]] = {}
        for path, before, after, _ in changes:
            first = fields.get(path)
            fields[path] = (path, before if first is None else first[1], after)
        reason = "; ".join(dict.fromkeys(reason for _, _, _, reason in changes))
        difference = _Difference("", name, tuple(fields.values()), reason, point.source, point.benchmark)
        groups.setdefault(difference, []).append(given_text(row.given))
    return groups


def _changed(table: PolicyTable) -> Iterator[Any]:
    kinds = (Changed, Shrunk, Neutralised)
    return (row for row in table.rows if any(isinstance(step, kinds) for step in row.resolution.trace))


def _changes(resolution: Resolution) -> Iterator[tuple[str, str, str, str]]:
    """What passes after scaling changed: path, before, after, why."""
    for step in resolution.trace:
        match step:
            case Changed(path=path, before=before, after=after, reason=reason):
                yield path, as_given(before), as_given(after), reason
            case Shrunk(changes=changes):
                for path, before, after in changes:
                    yield path, as_given(before), as_given(after), reason_of_shrink(step)
            case Neutralised(neutral=neutral, before=before, after=after):
                yield ".".join(neutral.path), as_given(before), as_given(after), neutral.proof
            case _:
                pass


def _leaves(policy: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, str]]:
    for name, value in policy.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{at}{name}.")
        else:
            yield f"{at}{name}", as_given(value)


def _row(algorithm: str, difference: _Difference, keys: list[Given]) -> Row:
    ranges = key_ranges(keys)
    cells = (
        algorithm,
        str(len(keys)),
        _ranges(ranges),
        difference.point or "none of its own",
        difference.reference_point,
        "; ".join(f"{path} {after}, not {before}" for path, before, after in difference.fields),
        difference.reason,
        difference.source,
        difference.benchmark,
    )
    data = {
        "algorithm": algorithm,
        "keys": len(keys),
        "ranges": [{name: list(values) for name, values in found.fields} for found in ranges],
        "point": difference.point,
        "reference_point": difference.reference_point,
        "fields": {path: {"target": after, "reference": before} for path, before, after in difference.fields},
        "reason": difference.reason,
        "source": difference.source,
        "benchmark": difference.benchmark,
    }
    return Row(cells, data)


def _ranges(ranges: tuple[KeyRange, ...]) -> str:
    more = len(ranges) - _SHOWN_RANGES
    shown = "; ".join(map(_range, ranges[:_SHOWN_RANGES]))
    return shown if more <= 0 else f"{shown}; {more} ranges more"


def _range(found: KeyRange) -> str:
    parts = []
    for name, values in found.fields:
        more = len(values) - _SHOWN_VALUES
        told = ", ".join(values if more <= 1 else (*values[:_SHOWN_VALUES], f"{more} more"))
        parts.append(f"{name}={told}" if len(values) == 1 else f"{name}={{{told}}}")
    return ", ".join(parts) or str(found)
