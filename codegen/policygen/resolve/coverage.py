"""Which compute capabilities a point is for: a rung without an upper end is for every newer part, too."""

from __future__ import annotations

from collections.abc import Iterator

from policygen.lang.simplify import substitute
from policygen.lang.tree import FALSE
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.loading.targets import present
from policygen.model.types import COMPUTE_CAPABILITY
from policygen.spec import Ladder
from policygen.spec import Point
from policygen.spec import RuleSet
from policygen.spec import Spec


def capabilities_of(spec: Spec, rule_set: RuleSet) -> Iterator[tuple[Ladder, Point, tuple[int, ...]]]:
    """The points of a rule set, each with the capabilities at which its conditions can hold.

    Capabilities are packed, ascending, and those of the targets that read the rules; a chip counts as the capability
    as which it reads them. Whether an earlier point takes every key there is not asked: that is reachability.
    """
    asked = [
        (target, cc, _constants(rule_set, cc))
        for target in spec.targets.values()
        if rule_set.origin in (target.name, target.reference)
        for cc in (target.capabilities if target.reference_cc is None else (target.reference_cc,))
    ]
    for ladder in rule_set.ladders:
        entered = [
            (cc, constants)
            for target, cc, constants in asked
            if all(present(target, feature, cc) for feature in ladder.requires)
            and substitute(ladder.when, constants) != FALSE
        ]
        for point in ladder.points:
            found = {
                cc
                for cc, constants in entered
                if (point.cc is None or point.cc.low <= cc <= point.cc.high)
                and substitute(point.when, constants) != FALSE
            }
            yield ladder, point, tuple(sorted(found))


def _constants(rule_set: RuleSet, cc: int) -> dict[str, Expr]:
    """The capability, and the names of the rules that it decides."""
    found: dict[str, Expr] = {"cc": Const(cc, COMPUTE_CAPABILITY)}
    for let in rule_set.lets:
        value = substitute(let.expr, found)
        if isinstance(value, Const):
            found[let.name] = value
    return found
