"""The programs of one algorithm in a generated file: one for a chip, one for each run of architectures of a family."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from functools import cached_property

from attrs import frozen

from policygen.emit.statements import Program
from policygen.fold.arch_list import fold_contiguous
from policygen.fold.table import PolicyTable
from policygen.fold.table import Row
from policygen.model.types import Struct
from policygen.spec import Algorithm


@frozen
class Variant:
    """One program and its common keys.

    Attributes:
        cc: the lowest packed capability that it answers for; None where there is no choice.
        covers: the listed capabilities that it answers for.
    """

    program: Program
    table: PolicyTable
    cc: int | None = None
    covers: tuple[int, ...] = ()

    @property
    def suffix(self) -> str:
        """What tells its functions from those of other variants."""
        return "" if self.cc is None else f"_{self.cc}"


@frozen
class Variants:
    """All programs of a file, by ascending capability."""

    target: str
    variants: tuple[Variant, ...]

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm that they are about."""
        return self.variants[0].program.rules.algorithm

    @property
    def title(self) -> str:
        """The target's title."""
        return self.variants[0].program.rules.instance.target.title

    @property
    def policy(self) -> Struct:
        """The struct of a policy."""
        return self.algorithm.policy

    @property
    def is_family(self) -> bool:
        """Whether a capability chooses among them."""
        return self.variants[0].cc is not None

    @property
    def architectures(self) -> tuple[int, ...]:
        """The listed capabilities of a family."""
        return tuple(cc for variant in self.variants for cc in variant.covers)

    @cached_property
    def rows(self) -> tuple[tuple[Variant, Row], ...]:
        """The common keys, folded: a key is there for each variant whose policy differs from that of the one below."""
        found: list[tuple[Variant, Row]] = []
        below: dict[str, object] = {}
        for variant in self.variants:
            for row in variant.table.rows:
                key = repr(sorted(row.given.items()))
                if below.get(key) != row.policy:
                    found.append((variant, row))
                    below[key] = row.policy
        return tuple(found)


def chip(program: Program, table: PolicyTable) -> Variants:
    """The one program of a chip."""
    return Variants(program.rules.target, (Variant(program, table),))


def family(target: str, members: Sequence[tuple[int, Program]], table_of: Callable[[Program], PolicyTable]) -> Variants:
    """The programs of a family, folded: architectures that follow each other with equal rules share one.

    Args:
        target: the family's name.
        members: each capability with its program, ascending.
        table_of: gives the common keys of a program; called for the first of each run alone.
    """
    same_rules = [(program.statements, program.points, program.uses) for _, program in members]
    runs: dict[int, list[int]] = {}
    for position, representative in enumerate(fold_contiguous(same_rules)):
        runs.setdefault(representative, []).append(members[position][0])
    return Variants(
        target,
        tuple(
            Variant(members[first][1], table_of(members[first][1]), members[first][0], tuple(covered))
            for first, covered in runs.items()
        ),
    )
