"""Compares resolved reference points with CCCL's own selectors, field by field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import groupby
from typing import Any
from typing import Final

from attrs import define
from attrs import evolve
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

_PASSES: Final = frozenset({"adapt", "constrain", "canonicalise"})


@frozen
class Mismatch:
    """One field of one policy that differs.

    Attributes:
        cc: the first packed compute capability on which it does.
        key: the first whole key.
        path: the field of the policy; elements of a list by position.
        ours: the value that the spec gives.
        theirs: the value that CCCL gives.
        point: id of the point to edit.
        location: where that point is.
        answered: id of the point that answered: another one, where the condition of the point to edit is wrong.
        count: the policies that differ in this way: keys times capabilities.
        capabilities: all capabilities on which they do.
        also: other points, each with its place, of which editing one instead explains as much.
    """

    cc: int
    key: Mapping[str, Any]
    path: Path
    ours: Any
    theirs: Any
    point: str
    location: Location
    answered: str
    count: int
    capabilities: tuple[int, ...]
    also: tuple[str, ...]

    @property
    def field(self) -> str:
        """The dotted path of the field."""
        return ".".join(self.path)


@frozen
class PointMismatches:
    """The mismatches of one point: what to edit, and why.

    Attributes:
        first: one of them for each field that differs, of the first key and capability that show it.
        count: the policies that differ.
        capabilities: on which they do.
        also: other points, with their places, of which one may have to be edited instead.
    """

    point: str
    location: Location
    first: tuple[Mismatch, ...]
    count: int
    capabilities: tuple[int, ...]
    also: tuple[str, ...]

    def __str__(self) -> str:
        fields = ", ".join(f"{m.field} {m.ours}, CCCL {m.theirs}" for m in self.first)
        also = "".join(f"; or edit {other}" for other in self.also)
        return f"{self.location}: {self.point}: {self.count:,} policies differ: {fields}{also}"


@frozen
class ParityReport:
    """What a comparison found.

    Attributes:
        algorithm: whose selector was compared.
        compared: policies that were compared: keys times capabilities.
        mismatches: by point in the order of the file, then by key and capability; alike ones once.
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
    return ParityReport(
        algorithm=algorithm,
        compared=len(keys) * len(capabilities),
        mismatches=mismatches(spec, algorithm, capabilities, keys, theirs, nvcc),
        nvcc=oracle.toolchain.nvcc_version,
        cccl=oracle.toolchain.cccl_version,
    )


def mismatches(
    spec: Spec,
    algorithm: str,
    capabilities: Sequence[int],
    keys: Sequence[Mapping[str, Any]],
    theirs: Sequence[Sequence[Mapping[str, Any]]],
    nvcc: str,
) -> tuple[Mismatch, ...]:
    """Compares an algorithm's reference with answers that CCCL's selector has given.

    Args:
        spec: the specs.
        algorithm: whose selector it was.
        capabilities: packed compute capabilities.
        keys: whole keys of the declared domains.
        theirs: for each key the policy on each capability.
        nvcc: the compiler that the resolved targets assume.

    Returns:
        What differs, as `ParityReport` has it.

    Raises:
        SpecError: the reference does not answer every key.
    """
    spec = _without_fitting(spec)
    found: list[_Difference] = []
    agreed: set[str] = set()
    for group in _groups(spec, algorithm, capabilities, nvcc):
        resolver, differences = Resolver(group.rules), _Differences(Suspects(spec, group.instance, algorithm))
        for key, answers in zip(keys, theirs, strict=True):
            candidate = resolver.selected(key)
            for position in group.positions:
                if candidate.policy == answers[position]:
                    agreed.add(candidate.point.id)
                else:
                    differences.note(capabilities[position], key, candidate, answers[position])
        found += differences.found
    return tuple(sorted(_told(found, agreed), key=_place))


def _without_fitting(spec: Spec) -> Spec:
    """The specs without what comes after selection and scaling, which need not even be specialised then."""
    algorithms = {
        name: evolve(algorithm, constraints=(), alternatives=(), neutrals=())
        for name, algorithm in spec.algorithms.items()
    }
    return evolve(spec, algorithms=algorithms)


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
    if a.lets != b.lets or a.ladders != b.ladders:
        return False
    # a used policy has gone through all passes of the target, and these may depend on more than the ladders
    if a.uses and not _PASSES.isdisjoint(a.instance.target.passes):
        return False
    return all(
        (name, key) == (other_name, other_key) and _select_alike(used, other)
        for (name, used, key), (other_name, other, other_key) in zip(a.uses, b.uses, strict=True)
    )


@define
class _Difference:
    """Policies that differ from CCCL's in one way, and the points that may be why."""

    cc: int
    key: Mapping[str, Any]
    candidate: Candidate
    theirs: Mapping[str, Any]
    suspects: tuple[Point, ...]
    count: int
    capabilities: set[int]


class _Differences:
    """Gathers differences; those with the same policies on both sides have the same points behind them."""

    def __init__(self, suspects: Suspects) -> None:
        self._suspects = suspects
        self._known: dict[str, _Difference] = {}

    @property
    def found(self) -> list[_Difference]:
        return list(self._known.values())

    def note(self, cc: int, key: Mapping[str, Any], candidate: Candidate, theirs: Mapping[str, Any]) -> None:
        tried = [step.point.id for step in candidate.trace if isinstance(step, Left)]
        alike = repr((tried, candidate.point.id, candidate.policy, theirs))
        if alike not in self._known:
            suspects = self._suspects.of(key, candidate, theirs)
            self._known[alike] = _Difference(cc, key, candidate, theirs, suspects, 0, set())
        self._known[alike].count += 1
        self._known[alike].capabilities.add(cc)


def _told(differences: Sequence[_Difference], agreed: set[str]) -> Iterator[Mismatch]:
    """The fields of each difference, at the suspect that explains most of all differences.

    A point that never gives what CCCL gives is itself what has to be edited: one that answers in another's place is
    right where it does not.
    """
    explained: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for difference in differences:
        answered[difference.candidate.point.id] += difference.count
        for suspect in difference.suspects:
            explained[suspect.id] += difference.count
    for difference in differences:
        own = point = difference.candidate.point
        if own.id in agreed:
            point = max(difference.suspects, key=lambda suspect: explained[suspect.id])
        also = {p.id: p for p in difference.suspects if explained[p.id] == explained[point.id] and own.id in agreed}
        if answered[own.id] >= explained[point.id]:
            also[own.id] = own  # another point should have answered, or this one should answer otherwise
        also.pop(point.id, None)
        for path, ours, theirs in fields_that_differ(difference.candidate.policy, difference.theirs):
            yield Mismatch(
                cc=difference.cc,
                key=difference.key,
                path=path,
                ours=ours,
                theirs=theirs,
                point=point.id,
                location=point.location,
                answered=own.id,
                count=difference.count,
                capabilities=tuple(sorted(difference.capabilities)),
                also=tuple(f"{other.id} ({other.location})" for other in also.values()),
            )


def _place(mismatch: Mismatch) -> tuple[str, int, str]:
    return mismatch.location.file, mismatch.location.line or 0, mismatch.point


def _gathered(found: list[Mismatch]) -> PointMismatches:
    first: dict[Path, Mismatch] = {}
    for mismatch in found:
        first.setdefault(mismatch.path, mismatch)
    # a policy that differs in several fields is told of once for each
    policies = {(id(mismatch.key), mismatch.cc, mismatch.answered): mismatch.count for mismatch in found}
    return PointMismatches(
        point=found[0].point,
        location=found[0].location,
        first=tuple(first.values()),
        count=sum(policies.values()),
        capabilities=tuple(sorted({cc for mismatch in found for cc in mismatch.capabilities})),
        also=tuple(dict.fromkeys(other for mismatch in found for other in mismatch.also)),
    )
