"""The report of a target, to be looked at: what is shown of each algorithm, in the order of the engine's weights.

The page model: `report` makes it of a subject, `report_figures` turns its entries into charts, and `report_page` writes
it as HTML. Nothing here knows about either.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from policygen.fold.table import Row
from policygen.model.facts import EffectiveFact
from policygen.model.record import Record
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.occupancy import Occupancy
from policygen.plan.occupancy import occupancy
from policygen.prove.resources import KernelUse
from policygen.resolve.occupancy import limits_of
from policygen.resolve.resolver import Resolution
from policygen.review.element_types import ElementType
from policygen.review.element_types import ElementTypes
from policygen.review.element_types import filter_words
from policygen.review.key_ranges import KeyRange
from policygen.review.key_ranges import given_text
from policygen.review.key_ranges import key_ranges
from policygen.review.launch_waves import LaunchWaves
from policygen.review.launch_waves import WaveCounter
from policygen.review.limits_section import limits_section
from policygen.review.policy_tiles import Tiles
from policygen.review.policy_tiles import policy_tiles
from policygen.review.section import Section
from policygen.review.subject import Subject
from policygen.review.weights import Phase
from policygen.review.weights import by_weight
from policygen.review.weights import phase_of
from policygen.spec import Algorithm


@frozen(eq=False)
class Entry:
    """Common keys that are alike in all that is shown of them.

    Attributes:
        ranges: the keys.
        leading: the first element type of their keys; None for an algorithm that has none.
        elements: every element type of their keys.
        words: what a filter by type finds them by.
        resolution: of the first of the keys.
        reference: what the reference answers for it; None where there is none to compare with, or it has no policy.
        tiles: of the policy.
        reference_tiles: of the reference's.
        kernels: what is resident of each kernel.
        waves: of a launch; None where the target does not know what a grid needs.
        first_values: the integers that the first field takes in these keys.
    """

    ranges: tuple[KeyRange, ...]
    leading: ElementType | None
    elements: tuple[ElementType, ...]
    words: tuple[str, ...]
    resolution: Resolution
    reference: Resolution | None
    tiles: Tiles
    reference_tiles: Tiles
    kernels: tuple[Occupancy, ...]
    waves: LaunchWaves | None
    first_values: tuple[int, ...]

    @property
    def keys(self) -> int:
        """How many keys these are."""
        return sum(found.keys for found in self.ranges)

    @property
    def point(self) -> str:
        """The point that answered, as `origin/id`."""
        return f"{self.resolution.origin}/{self.resolution.point}"

    @property
    def differs(self) -> bool:
        """Whether the reference has another policy."""
        return self.reference is not None and self.reference.policy != self.resolution.policy


@frozen(eq=False)
class AlgorithmReport:
    """What is shown of an algorithm, or of a table of the engine.

    Attributes:
        phase: the phase of the engine on whose critical path it is; None for any other.
        rows: every common key with its resolution.
        entries: the same, gathered.
        refused: how many common keys have no policy.
        facts: those that the rules look at.
        planned: whether waves are those of the dispatcher's plan, and not of a block for each tile.
        counted: what a problem size counts: items, segments, buffers.
    """

    algorithm: Algorithm
    phase: Phase | None
    rows: tuple[Row, ...]
    entries: tuple[Entry, ...]
    refused: int
    facts: tuple[EffectiveFact, ...]
    planned: bool
    counted: str

    @property
    def name(self) -> str:
        """Its name in specs and commands."""
        return self.algorithm.name

    @property
    def is_engine_table(self) -> bool:
        """Whether it is a table of the engine, which has no kernel of CUB's and no reference."""
        return self.algorithm.engine is not None

    @property
    def distinct(self) -> int:
        """Policies that differ."""
        return len({entry.resolution.policy for entry in self.entries})

    @property
    def differing(self) -> int:
        """Common keys whose policy is another than the reference's."""
        return sum(entry.keys for entry in self.entries if entry.differs)

    @property
    def compared(self) -> int:
        """Common keys that a reference answers too."""
        return sum(entry.keys for entry in self.entries if entry.reference is not None)


@frozen(eq=False)
class Report:
    """The report of a target.

    Attributes:
        target: its name.
        title: what it is.
        reference: what its policies are held against, for people; empty where they are the reference's own.
        limits: facts by name: what charts draw as a limit.
        limits_table: the limits with their evidence.
        algorithms: decode first.
    """

    target: str
    title: str
    reference: str
    limits: Mapping[str, EffectiveFact]
    limits_table: Section
    algorithms: tuple[AlgorithmReport, ...]

    def limit(self, name: str) -> int | None:
        """The value of a limit; None where it is not known."""
        fact = self.limits.get(name)
        return None if fact is None else fact.value


def report(subject: Subject, reference: Subject | None) -> Report:
    """Makes the report of a target.

    Args:
        subject: the target, with the algorithms and tables to show, in any order.
        reference: the same algorithms on the architecture that the target's policies are held against; None where the
            target is that architecture.
    """
    instance = subject.instance
    return Report(
        target=instance.name,
        title=instance.target.title,
        reference="" if reference is None else f"{instance.target.reference} on {reference.instance.name}",
        limits=instance.facts,
        limits_table=limits_section(subject),
        algorithms=tuple(_algorithm(subject, reference, name) for name in sorted(subject.all_rules, key=by_weight)),
    )


def reference_target(subject: Subject) -> str | None:
    """The architecture whose policies a target's are held against; None where the target is that architecture."""
    name = f"sm_{subject.instance.cc}"
    return None if subject.instance.name == name else name


def _algorithm(subject: Subject, reference: Subject | None, name: str) -> AlgorithmReport:
    rules, table = subject.all_rules[name], subject.tables[name]
    gathered = _Gathered(subject, reference, name)
    return AlgorithmReport(
        algorithm=rules.algorithm,
        phase=phase_of(name),
        rows=table.rows,
        entries=tuple(gathered.entries()),
        refused=len(table.refused),
        facts=tuple(rules.instance.facts[fact] for fact in rules.facts_used if fact in rules.instance.facts),
        planned=gathered.waves.planned,
        counted=gathered.waves.counted,
    )


class _Gathered:
    """The common keys of one algorithm, gathered into entries."""

    def __init__(self, subject: Subject, reference: Subject | None, name: str) -> None:
        self._rules = subject.all_rules[name]
        self._table = subject.tables[name]
        self._use = KernelUse(self._rules, subject.evidence.get(name))
        self._types = ElementTypes(self._rules)
        self._limits = limits_of(subject.instance)
        self._engine = self._rules.algorithm.engine is not None
        self.waves = WaveCounter(self._rules)
        known = {} if reference is None or name not in reference.tables else reference.tables[name].rows
        self._reference = {given_text(row.given): row.resolution for row in known}

    def entries(self) -> Iterator[Entry]:
        """One for keys with one policy of one point, elements of the same sizes, and one policy of the reference."""
        groups: dict[tuple[Any, ...], list[Row]] = {}
        elements: dict[int, tuple[ElementType, ...]] = {}
        for row in self._table.rows:
            elements[id(row)] = self._types.of(row.resolution.key)
            other = self._reference.get(given_text(row.given))
            alike = (
                row.policy,
                row.resolution.origin,
                row.resolution.point,
                tuple((element.parameter, element.size) for element in elements[id(row)]),
                self._kernels(row.resolution),
                None if other is None else (other.policy, other.point),
            )
            groups.setdefault(alike, []).append(row)
        for rows in groups.values():
            yield self._entry(rows, [elements[id(row)] for row in rows])

    def _kernels(self, resolution: Resolution) -> tuple[KernelResources, ...]:
        return () if self._engine else self._use.of(resolution)

    def _entry(self, rows: list[Row], elements: list[tuple[ElementType, ...]]) -> Entry:
        first = rows[0].resolution
        other = self._reference.get(given_text(rows[0].given))
        algorithm = self._rules.algorithm
        kernels = tuple(occupancy(self._limits, kernel) for kernel in self._kernels(first))
        launched = tuple(found.kernel.kernel for found in kernels)
        tiles = policy_tiles(algorithm, first.policy, launched)
        tile = tiles[0][1] if tiles else None
        return Entry(
            ranges=key_ranges(given_text(row.given) for row in rows),
            leading=elements[0][0] if elements[0] else None,
            elements=tuple(dict.fromkeys(element for found in elements for element in found)),
            words=tuple(dict.fromkeys(word for found in elements for word in filter_words(found))),
            resolution=first,
            reference=other,
            tiles=tiles,
            reference_tiles=() if other is None else policy_tiles(algorithm, other.policy, launched),
            kernels=kernels,
            waves=None if self._engine else self.waves.of(first, tile, kernels),
            first_values=tuple(dict.fromkeys(value for row in rows if isinstance(value := _first_value(row), int))),
        )


def _first_value(row: Row) -> Any:
    return next(iter(row.given.values()), None)


def embedded(found: Report) -> dict[str, Any]:
    """All policies of a report as data, each distinct one once: what the page carries for programs.

    A row is the values of `fields`, then the places of its policy and of its point.
    """
    return {
        "target": found.target,
        "reference": found.reference,
        "algorithms": [_embedded(one) for one in found.algorithms],
    }


def _embedded(found: AlgorithmReport) -> dict[str, Any]:
    policies: dict[Record, int] = {}
    points: dict[str, int] = {}
    rows: list[list[Any]] = []
    for row in found.rows:
        point = f"{row.resolution.origin}/{row.resolution.point}"
        places = policies.setdefault(row.policy, len(policies)), points.setdefault(point, len(points))
        rows.append([*row.given.values(), *places])
    return {
        "name": found.name,
        "fields": [name for name, _ in found.algorithm.common],
        "policies": [policy.as_dict() for policy in policies],
        "points": list(points),
        "rows": rows,
    }
