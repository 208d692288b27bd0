"""Clauses over variables with a few values each: what must hold together, and whether anything can make it hold.

A variable's remaining values are a bit mask over the tuple of all its values.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import TypeAlias

from attrs import frozen

Values: TypeAlias = Mapping[str, tuple[Any, ...]]
"""Every value of every variable."""

Masks: TypeAlias = dict[str, int]
"""The values that each variable still has."""

Holds: TypeAlias = Callable[[Mapping[str, Any]], bool]


@frozen(eq=False)
class Literal:
    """A condition on some variables.

    Attributes:
        variables: sorted; none for a condition that is decided.
        satisfied: the values for which it holds, where it is about one variable.
        holds: whether it holds, given values of its variables.
    """

    variables: tuple[str, ...]
    satisfied: int
    holds: Holds

    def verdict(self, masks: Masks, values: Values) -> bool | None:
        """Whether it holds for all of the values left, for none of them (False), or for some (None)."""
        if len(self.variables) == 1:
            left = masks[self.variables[0]]
            both = left & self.satisfied
            return True if both == left else None if both else False
        if any(masks[v] & (masks[v] - 1) for v in self.variables):
            return None
        return self.holds({v: values[v][masks[v].bit_length() - 1] for v in self.variables})


SolverClause: TypeAlias = tuple[Literal, ...]
"""At least one of the literals holds."""


def literal(variables: Sequence[str], values: Values, holds: Holds) -> Literal:
    """A literal, tabulated where it is about one variable."""
    names = tuple(sorted(variables))
    satisfied = 0
    if len(names) == 1:
        for position, value in enumerate(values[names[0]]):
            if holds({names[0]: value}):
                satisfied |= 1 << position
    return Literal(names, satisfied, holds)


def all_values(values: Values) -> Masks:
    """Masks that leave every value."""
    return {name: (1 << len(choices)) - 1 for name, choices in values.items()}


def settle(masks: Masks, clauses: Sequence[SolverClause], values: Values) -> list[SolverClause] | None:
    """Draws what follows at once, and narrows `masks` by it.

    Returns:
        The clauses that are still open, with the literals that still may hold; None where a clause cannot hold.
    """
    changed = True
    left = list(clauses)
    while changed:
        changed = False
        clauses, left = left, []
        for clause in clauses:
            open_literals: list[Literal] = []
            for candidate in clause:
                verdict = candidate.verdict(masks, values)
                if verdict:
                    break
                if verdict is None:
                    open_literals.append(candidate)
            else:
                if not open_literals:
                    return None
                only = open_literals[0]
                if len(open_literals) == 1 and len(only.variables) == 1:
                    masks[only.variables[0]] &= only.satisfied
                    changed = True
                else:
                    left.append(tuple(open_literals))
    return left


class OutOfBudget(Exception):  # noqa: N818 - it says what happened
    """The search took as many steps as it may."""


def satisfiable(masks: Masks, clauses: Sequence[SolverClause], values: Values, budget: int) -> bool:
    """Whether some values make every clause hold.

    Raises:
        OutOfBudget: not known after `budget` steps.
    """
    steps = 0

    def search(masks: Masks, clauses: Sequence[SolverClause]) -> bool:
        nonlocal steps
        steps += 1
        if steps > budget:
            raise OutOfBudget
        masks = dict(masks)
        left = settle(masks, clauses, values)
        if left is None:
            return False
        if not left:
            return True
        shortest = min(left, key=len)
        variable = next(v for v in shortest[0].variables if masks[v] & (masks[v] - 1))
        remaining = masks[variable]
        while remaining:
            bit = remaining & -remaining
            remaining ^= bit
            if search({**masks, variable: bit}, left):
                return True
        return False

    return search(masks, clauses)
