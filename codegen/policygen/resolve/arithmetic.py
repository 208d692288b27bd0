"""The arithmetic of a policy, written out: how counts were scaled, and what a constraint's need is made of.

Every text is a formula over numbers, in the language of the specs; it has the value that is told beside it.
"""

from __future__ import annotations

from typing import Any
from typing import Final

from attrs import frozen

from policygen.lang.evaluate import Environment
from policygen.lang.evaluate import evaluate
from policygen.lang.text import worked
from policygen.resolve.trace import Scaled
from policygen.scaling import TILE_BYTES
from policygen.scaling import WARP_THREADS
from policygen.scaling import ScalingRule
from policygen.spec import Constraint


@frozen
class ScalingFormulas:
    """How one sub-policy's counts came about: formulas over numbers."""

    items: str
    threads: str


def scaling_formulas(step: Scaled) -> ScalingFormulas:
    """The rule of a scaling step with its numbers: `min(max(16 * 4 // 8, 1), 16 * 2)`.

    The formulas are those of `policygen.scaling`, which says where each is from.
    """
    threads, nominal, size = step.nominal.threads_per_block, step.nominal.items_per_thread, step.size
    items = step.resolved.items_per_thread
    capped = f"min({threads}, round_up({TILE_BYTES} // ({items} * {size}), {WARP_THREADS}))"
    match step.rule:
        case ScalingRule.MEM_BOUND:
            return ScalingFormulas(f"min(max({nominal} * 4 // {size}, 1), {nominal} * 2)", capped)
        case ScalingRule.REG_BOUND:
            return ScalingFormulas(f"max(1, {nominal} * 4 // max(4, {size}))", capped)
        case ScalingRule.NOMINAL_4B_ITEMS:
            return ScalingFormulas(f"min(max({nominal} * 4 // {size}, 1), {nominal})", str(threads))
        case ScalingRule.NOMINAL_8B_ITEMS:
            formula = str(nominal) if size <= 8 else f"min(max(ceil_div(8 * {nominal}, {size}), 1), {nominal})"
            return ScalingFormulas(formula, str(threads))


_LONGEST: Final = 120
"""Characters of a formula that is told in a line; longer ones are data alone."""


@frozen
class Term:
    """One term of a need.

    Attributes:
        name: as the spec calls it.
        value: in the unit of the constraint; of a fact with several plausible values the greatest.
        formula: what it is computed by, with values in place of names.
    """

    name: str
    value: int
    formula: str

    def as_dict(self) -> dict[str, Any]:
        """The term as data."""
        return {"name": self.name, "value": self.value, "formula": self.formula}


def terms_of(constraint: Constraint, names: Environment) -> tuple[Term, ...]:
    """The terms of a constraint's need on a policy."""
    return tuple(Term(name, int(evaluate(expr, names)), worked(expr, names)) for name, expr in constraint.terms)


def terms_text(constraint: Constraint, terms: tuple[Term, ...]) -> str:
    """`tile 45,056 + slack 16`, `the greatest of scan 4,096 and store 8,192`, or the formula of the only term.

    Empty where the only term says no more than the need does.
    """
    if len(terms) == 1:
        formula = terms[0].formula
        return formula if len(formula) <= _LONGEST and formula != str(terms[0].value) else ""
    told = [f"{term.name} {term.value:,}" for term in terms]
    if constraint.model == "union":
        return f"the greatest of {', '.join(told[:-1])} and {told[-1]}"
    return " + ".join(told)
