"""Compares resolved reference points with CCCL's own selectors, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from attrs import frozen

from policygen.model.problems import Location
from policygen.parity.oracle import Oracle
from policygen.parity.spec_shapes import oracle_key
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import Rules
from policygen.resolve.specialise import rules_for
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
        point: id of the point that answered.
        location: where that point is.
    """

    cc: int
    key: Mapping[str, Any]
    path: Path
    ours: Any
    theirs: Any
    point: str
    location: Location

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
    mismatches: list[Mismatch] = []
    for resolver, positions in _resolvers(spec, algorithm, capabilities, nvcc):
        for key, answers in zip(keys, theirs, strict=True):
            candidate = resolver.selected(key)
            policy = candidate.policy
            for position in positions:
                answer = answers[position]
                if policy != answer:
                    cc = capabilities[position]
                    mismatches += _mismatches(cc, key, policy, answer, candidate.point)
    return ParityReport(
        algorithm=algorithm,
        compared=len(keys) * len(capabilities),
        mismatches=tuple(sorted(mismatches, key=_place)),
        nvcc=oracle.toolchain.nvcc_version,
        cccl=oracle.toolchain.cccl_version,
    )


def _resolvers(
    spec: Spec, algorithm: str, capabilities: Sequence[int], nvcc: str
) -> list[tuple[Resolver, tuple[int, ...]]]:
    """A resolver for each different set of rules, and the positions of the capabilities that it answers for.

    Rules that are equal once specialised give equal policies: 5.0, 5.2 and 5.3, say.
    """
    groups: list[tuple[Rules, list[int]]] = []
    for position, cc in enumerate(capabilities):
        rules = rules_for(spec, target_instance(spec, f"sm_{cc}", {"nvcc": nvcc}), algorithm)
        same = next((positions for known, positions in groups if _select_alike(known, rules)), None)
        if same is None:
            groups.append((rules, [position]))
        else:
            same.append(position)
    return [(Resolver(rules), tuple(positions)) for rules, positions in groups]


def _select_alike(a: Rules, b: Rules) -> bool:
    # A used policy may depend on the target in other ways than by its ladders.
    return not a.uses and not b.uses and a.lets == b.lets and a.ladders == b.ladders


def _mismatches(
    cc: int, key: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any], point: Point
) -> list[Mismatch]:
    return [
        Mismatch(cc, key, path, our_value, their_value, point.id, point.location)
        for path, our_value, their_value in _differences(ours, theirs, ())
    ]


def _differences(ours: Any, theirs: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for name in dict.fromkeys((*ours, *theirs)):
            yield from _differences(ours.get(name), theirs.get(name), (*path, name))
    elif isinstance(ours, tuple) and isinstance(theirs, tuple) and len(ours) == len(theirs):
        for index, (our_element, their_element) in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(our_element, their_element, (*path, str(index)))
    elif ours != theirs:
        yield path, ours, theirs


def _place(mismatch: Mismatch) -> tuple[str, int, str]:
    return mismatch.location.file, mismatch.location.line or 0, mismatch.point


def _gathered(mismatches: list[Mismatch]) -> PointMismatches:
    first: dict[Path, Mismatch] = {}
    for mismatch in mismatches:
        first.setdefault(mismatch.path, mismatch)
    one = mismatches[0]
    return PointMismatches(one.point, one.location, tuple(first.values()), len(mismatches))
