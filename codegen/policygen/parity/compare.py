"""Compares resolved reference points with CCCL's own selectors, field by field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from attrs import frozen

from policygen.model.problems import Location
from policygen.parity.oracle import Oracle
from policygen.parity.spec_shapes import oracle_key
from policygen.parity.suspects import Suspects
from policygen.parity.suspects import differences as fields_that_differ
from policygen.resolve.candidate import Candidate
from policygen.resolve.instance import TargetInstance
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import Rules
from policygen.resolve.specialise import rules_for
from policygen.resolve.trace import Left
from policygen.spec import Path
from policygen.spec import Point
from policygen.spec import Spec


@frozen
class Mismatch:
    """One field of one policy that differs.

    Attributes:
        cc: packed compute capability.
        key: the whole key.
        path: the field of the policy; elements of a list by position.
        ours: the value that the spec gives.
        theirs: the value that CCCL gives.
        point: id of the point to edit.
        location: where that point is.
        answered: id of the point that answered: another one, where the condition of the point to edit is wrong.
    """

    cc: int
    key: Mapping[str, Any]
    path: Path
    ours: Any
    theirs: Any
    point: str
    location: Location
    answered: str

    @property
    def field(self) -> str:
        """The dotted path of the field."""
        return ".".join(self.path)


@frozen
class PointMismatches:
    """The mismatches of one point: what to edit, and why.

    Attributes:
        first: one of them for each field that differs, of the first key and capability that show it.
        count: how many there are.
    """

    point: str
    location: Location
    first: tuple[Mismatch, ...]
    count: int

    def __str__(self) -> str:
        fields = ", ".join(f"{m.field} {m.ours}, CCCL {m.theirs}" for m in self.first)
        return f"{self.location}: {self.point}: {self.count:,} differences: {fields}"


@frozen
class ParityReport:
    """What a comparison found.

    Attributes:
        algorithm: whose selector was compared.
        compared: policies that were compared: keys times capabilities.
        mismatches: by point in the order of the file, then by key and capability.
        nvcc: version of the compiler of the oracle, and of the resolved target.
        cccl: version of CCCL.
    """

    algorithm: str
    compared: int
    mismatches: tuple[Mismatch, ...]
    nvcc: str
    cccl: str

    def by_point(self) -> tuple[PointMismatches, ...]:
        """The mismatches, one entry for each point."""
        return tuple(_gathered(list(group)) for _, group in groupby(self.mismatches, key=_place))


def compare(
    spec: Spec,
    algorithm: str,
    capabilities: Sequence[int],
    keys: Sequence[Mapping[str, Any]],
    oracle: Oracle,
    nvcc: str,
) -> ParityReport:
    """Compares an algorithm's reference with CCCL's selector.

    Selection and scaling alone are compared: CCCL does not judge what fits.

    Args:
        spec: the specs.
        algorithm: one that the oracle knows.
        capabilities: packed compute capabilities.
        keys: whole keys of the declared domains.
        oracle: CCCL's selectors.
        nvcc: the compiler that the resolved targets assume; that of the oracle's toolchain, unless that is the point.

    Raises:
        KeyError: no such algorithm.
        OracleError: the host program failed.
        SpecError: the reference does not answer every key.
        UndefinedAnswerError: CCCL has no defined answer for a key, so it belongs outside of the domain.
    """
    described = spec.algorithms[algorithm]
    theirs = oracle.evaluate(algorithm, [oracle_key(described, key) for key in keys], capabilities)
    found: list[_Difference] = []
    for group in _groups(spec, algorithm, capabilities, nvcc):
        resolver, differences = Resolver(group.rules), _Differences(Suspects(spec, group.instance, algorithm))
        for key, answers in zip(keys, theirs, strict=True):
            candidate = resolver.selected(key)
            found += [
                differences.at(capabilities[position], key, candidate, answers[position])
                for position in group.positions
                if candidate.policy != answers[position]
            ]
    return ParityReport(
        algorithm=algorithm,
        compared=len(keys) * len(capabilities),
        mismatches=tuple(sorted(_told(found), key=_place)),
        nvcc=oracle.toolchain.nvcc_version,
        cccl=oracle.toolchain.cccl_version,
    )


@frozen
class _Group:
    """Capabilities whose rules are equal once specialised, and so give equal policies: 5.0, 5.2 and 5.3, say."""

    instance: TargetInstance
    rules: Rules
    positions: list[int]


def _groups(spec: Spec, algorithm: str, capabilities: Sequence[int], nvcc: str) -> list[_Group]:
    groups: list[_Group] = []
    for position, cc in enumerate(capabilities):
        instance = target_instance(spec, f"sm_{cc}", {"nvcc": nvcc})
        rules = rules_for(spec, instance, algorithm)
        same = next((group for group in groups if _select_alike(group.rules, rules)), None)
        if same is None:
            groups.append(_Group(instance, rules, [position]))
        else:
            same.positions.append(position)
    return groups


def _select_alike(a: Rules, b: Rules) -> bool:
    # A used policy may depend on the target in other ways than by its ladders.
    return not a.uses and not b.uses and a.lets == b.lets and a.ladders == b.ladders


@frozen
class _Difference:
    """A key that gets another policy than from CCCL, and the points that may be why."""

    cc: int
    key: Mapping[str, Any]
    candidate: Candidate
    theirs: Mapping[str, Any]
    suspects: tuple[Point, ...]


class _Differences:
    """Finds the points behind differences; those with the same policies on both sides have the same points."""

    def __init__(self, suspects: Suspects) -> None:
        self._suspects = suspects
        self._known: dict[str, tuple[Point, ...]] = {}

    def at(self, cc: int, key: Mapping[str, Any], candidate: Candidate, theirs: Mapping[str, Any]) -> _Difference:
        tried = [step.point.id for step in candidate.trace if isinstance(step, Left)]
        alike = repr((tried, candidate.point.id, candidate.policy, theirs))
        if alike not in self._known:
            self._known[alike] = self._suspects.of(key, candidate, theirs)
        return _Difference(cc, key, candidate, theirs, self._known[alike])


def _told(differences: Sequence[_Difference]) -> Iterator[Mismatch]:
    """The fields of each difference, at the suspect that explains most of all differences."""
    explained = Counter(point.id for difference in differences for point in difference.suspects)
    for difference in differences:
        point = max(difference.suspects, key=lambda suspect: explained[suspect.id])
        answered = difference.candidate.point.id
        for path, ours, theirs in fields_that_differ(difference.candidate.policy, difference.theirs):
            yield Mismatch(difference.cc, difference.key, path, ours, theirs, point.id, point.location, answered)


def _place(mismatch: Mismatch) -> tuple[str, int, str]:
    return mismatch.location.file, mismatch.location.line or 0, mismatch.point


def _gathered(mismatches: list[Mismatch]) -> PointMismatches:
    first: dict[Path, Mismatch] = {}
    for mismatch in mismatches:
        first.setdefault(mismatch.path, mismatch)
    one = mismatches[0]
    return PointMismatches(one.point, one.location, tuple(first.values()), len(mismatches))
