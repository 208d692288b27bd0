"""When a point answers: as clauses over conditions on the key.

A point answers where its own conditions hold, no earlier point of its ladder matches, its ladder accepts it, and every
earlier ladder has no match or does not accept the one it has.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from attrs import evolve
from attrs import frozen

from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.lang.simplify import substitute
from policygen.lang.tree import TRUE
from policygen.lang.tree import Apply
from policygen.lang.tree import Compare
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Fold
from policygen.lang.tree import Logic
from policygen.lang.tree import Member
from policygen.lang.tree import Name
from policygen.lang.tree import Not
from policygen.lang.tree import Quantifier
from policygen.lang.tree import conjunction
from policygen.lang.tree import walk
from policygen.model.ranges import Interval
from policygen.model.types import INT64
from policygen.model.types import BoolType
from policygen.model.types import RecordType
from policygen.resolve.selection import Selection
from policygen.resolve.specialise import Rules
from policygen.spec import Counts
from policygen.spec import Ladder
from policygen.spec import Point
from policygen.spec import Status
from policygen.spec import SubPolicy


@frozen(eq=False)
class Condition:
    """A truth value over the key, lets inlined; `output.size` is one name where `output` is a record of the key.

    Attributes:
        point: the point whose scaled policy it sees; None where it sees none.
        judged: gives the candidate of that point, whatever the key is.
    """

    expr: Expr
    point: Point | None = None
    judged: Selection | None = None

    def evaluator(self) -> Callable[[LazyNames], bool]:
        """Evaluates it on a key; KeyError where a name is missing."""
        run, judged = compiled(self.expr), self.judged
        if judged is None:
            return lambda names: bool(run(names))
        return lambda names: bool(run(judged.candidate(names).visible()))


@frozen(eq=False)
class Clause:
    """At least one condition has the truth value beside it.

    `blocker` is the point that answers instead where the clause does not hold; None for what the point itself asks for.
    """

    literals: tuple[tuple[Condition, bool], ...]
    blocker: Point | None


class Conditions:
    """The conditions of the points of some rules."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        # fields of a record are names of their own, so that a condition on one does not ask for the others
        self._inlined: dict[str, Expr] = {
            f"{f.name}.{part.name}": Name(f"{f.name}.{part.name}", part.type)
            for f in rules.algorithm.key
            if isinstance(f.type, RecordType)
            for part in f.element
        }
        for let in rules.lets:
            self._inlined[let.name] = substitute(let.expr, self._inlined)
        self._policy = {f.name for f in rules.algorithm.policy.fields}
        self._entry: dict[str, tuple[Condition, ...]] = {}
        self._own: dict[str, tuple[Condition, ...]] = {}
        self._whole: dict[str, Condition] = {}
        self._accept: dict[str, tuple[Condition, ...]] = {}
        for ladder in rules.ladders:
            self._entry[ladder.id] = self._conditions(ladder.when)
            for point in ladder.points:
                self._own[point.id] = self._conditions(conjunction([point.when, *_size_limits(point)]))
                if ladder.accept is not None:
                    self._accept[point.id] = self._accepted(ladder, ladder.accept, point)
                    self._whole[point.id] = Condition(conjunction([c.expr for c in self._own[point.id]]))

    def clauses(self, wanted: str, *, accepted: bool) -> tuple[Clause, ...] | None:
        """What must hold for a point to answer; None where these rules do not have the point.

        Without `accepted`, what must hold for it to be its ladder's candidate, whether the ladder accepts it or not.
        """
        found: list[Clause] = []
        for ladder in self._rules.ladders:
            ids = [point.id for point in ladder.points]
            if wanted in ids:
                own = (*self._entry[ladder.id], *self._own[wanted])
                if accepted:
                    own = (*own, *self._accept.get(wanted, ()))
                found += [Clause(((c, True),), None) for c in own]
                # the ladder's own condition holds here
                found += [self._none_of(self._own[p.id], (), p) for p in ladder.points[: ids.index(wanted)]]
                return tuple(found)
            found += self._escapes(ladder)
        return None

    def expressions(self) -> Iterable[Expr]:
        """Every condition of the rules."""
        for conditions in (*self._entry.values(), *self._own.values(), *self._accept.values()):
            yield from (condition.expr for condition in conditions)

    def _escapes(self, ladder: Ladder) -> Iterable[Clause]:
        entry = self._entry[ladder.id]
        for position, point in enumerate(ladder.points):
            earlier: tuple[tuple[Condition, bool], ...] = ()
            if ladder.accept is not None:
                earlier = tuple((self._whole[p.id], True) for p in ladder.points[:position])
            yield self._none_of((*entry, *self._own[point.id], *self._accept.get(point.id, ())), earlier, point)

    def _none_of(
        self, conditions: tuple[Condition, ...], others: tuple[tuple[Condition, bool], ...], point: Point
    ) -> Clause:
        return Clause((*((c, False) for c in conditions), *others), point)

    def _conditions(self, expr: Expr) -> tuple[Condition, ...]:
        return tuple(Condition(e) for e in conjuncts(substitute(expr, self._inlined)))

    def _accepted(self, ladder: Ladder, accept: Expr, point: Point) -> tuple[Condition, ...]:
        visible = {name: expr for name, expr in self._inlined.items() if name.split(".")[0] not in self._policy}
        always = evolve(ladder, when=TRUE, accept=None, points=(evolve(point, when=TRUE, num_items=None),))
        judged = Selection(evolve(self._rules, ladders=(always,)))
        found = []
        for expr in conjuncts(substitute(accept, visible)):
            sees_policy = any(isinstance(node, Name) and node.id in self._policy for node in walk(expr))
            found.append(Condition(expr, point, judged) if sees_policy else Condition(expr))
        return tuple(found)


def _size_limits(point: Point) -> list[Expr]:
    if point.num_items is None:
        return []
    items = Name("num_items", INT64)
    # an unknown size, -1, lies in no range
    low, high = max(point.num_items.low, 0), point.num_items.high
    return [Compare(">=", items, Const(low, INT64)), Compare("<=", items, Const(high, INT64))]


def conjuncts(expr: Expr) -> list[Expr]:
    """Conditions that hold together exactly where one does; none for what always holds."""
    expr = opened(expr)
    if isinstance(expr, Logic) and expr.op == "and":
        return [e for operand in expr.operands for e in conjuncts(operand)]
    if isinstance(expr, Not):
        inner = opened(expr.operand)
        if isinstance(inner, Logic) and inner.op == "or":
            return [e for operand in inner.operands for e in conjuncts(Not(operand))]
        if isinstance(inner, Not):
            return conjuncts(inner.operand)
    return [] if expr == TRUE else [expr]


def opened(expr: Expr) -> Expr:
    """The body of a call, where it is a condition that binds no names of its own."""
    if not (isinstance(expr, Apply) and isinstance(expr.type, BoolType)):
        return expr
    bindings: dict[str, Expr] = {name: arg for (name, _), arg in zip(expr.function.parameters, expr.args, strict=True)}
    bodies = [*(e for _, e in expr.function.lets), expr.function.result]
    if any(isinstance(node, Quantifier | Fold) for body in bodies for node in walk(body)):
        return expr
    for name, definition in expr.function.lets:
        bindings[name] = substitute(definition, bindings)
    return substitute(expr.function.result, bindings)


def covering(ladder: Ladder, point: Point) -> Point | None:
    """An earlier point of a ladder that matches wherever a point does, as far as that can be read off their text."""
    own = conjuncts(point.when)
    for earlier in ladder.points:
        if earlier is point:
            break
        if (
            earlier.status is Status.ACTIVE
            and _within(point.cc, earlier.cc)
            and _within(point.num_items, earlier.num_items)
            and all(any(_implies(a, b) for a in own) for b in conjuncts(earlier.when))
        ):
            return earlier
    return None


def _within(inner: Interval | None, outer: Interval | None) -> bool:
    return outer is None or (inner is not None and inner.inside(outer))


def _implies(a: Expr, b: Expr) -> bool:
    if isinstance(a, Member) and isinstance(b, Member) and set(a.values) <= set(b.values):
        return a.operand == b.operand
    return a == b


def guarded(run: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """False where a condition has no value. It stands beside the condition that guards it, which decides there."""

    def held(names: Any) -> bool:
        try:
            return run(names)
        except (ArithmeticError, ValueError):
            return False

    return held


def policy_constants(point: Point) -> Mapping[str, Expr]:
    """The policy fields of a point, by dotted path, that are constants whatever the key is."""
    found: dict[str, Expr] = {}
    _constants_of(point.policy, "", found)
    return found


def _constants_of(policy: SubPolicy, prefix: str, found: dict[str, Expr]) -> None:
    for name, value in policy.fields:
        field = policy.struct.by_name[name]
        if isinstance(value, SubPolicy):
            _constants_of(value, f"{prefix}{name}.", found)
        elif isinstance(value, Const) and not (policy.counts is Counts.NOMINAL and field.role is not None):
            found[f"{prefix}{name}"] = value
