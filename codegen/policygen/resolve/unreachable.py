"""Proofs that a point never answers.

The clauses of `Conditions` are weakened to ones over finitely many values: a comparison of one field with constants
cuts its domain into cells, and any other condition becomes a truth value that is free, the same wherever it is written.
What cannot hold even so holds for no key.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from policygen.lang.evaluate import compiled
from policygen.lang.intervals import Domains
from policygen.lang.intervals import interval_of
from policygen.lang.intervals import narrow
from policygen.lang.simplify import fold_constants
from policygen.lang.simplify import substitute
from policygen.lang.tree import FALSE
from policygen.lang.tree import TRUE
from policygen.lang.tree import Call
from policygen.lang.tree import Choose
from policygen.lang.tree import Compare
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Logic
from policygen.lang.tree import Member
from policygen.lang.tree import Name
from policygen.lang.tree import Not
from policygen.lang.tree import free_names
from policygen.lang.tree import path_of
from policygen.lang.tree import rebuild
from policygen.model.ranges import Interval
from policygen.model.types import BOOL
from policygen.model.types import IntType
from policygen.model.types import ListType
from policygen.resolve.clauses import OutOfBudget
from policygen.resolve.clauses import SolverClause
from policygen.resolve.clauses import all_values
from policygen.resolve.clauses import literal
from policygen.resolve.clauses import satisfiable
from policygen.resolve.conditions import Clause
from policygen.resolve.conditions import Condition
from policygen.resolve.conditions import guarded
from policygen.resolve.conditions import policy_constants
from policygen.resolve.representatives import enumerated
from policygen.resolve.representatives import interval_of_field
from policygen.resolve.representatives import variables_of
from policygen.spec import Algorithm
from policygen.spec import Point


def proof_of(algorithm: Algorithm, clauses: Sequence[Clause], budget: int) -> str | None:
    """Why no key makes all clauses hold; None where that is not proven.

    Args:
        algorithm: declares the domains.
        clauses: what must hold for a point to answer.
        budget: steps for each of the few searches that it takes.
    """
    own = [clause for clause in clauses if clause.blocker is None]
    domains = _narrowed(algorithm.domains, own)
    if domains is None:
        return _CONTRADICTION
    return _Proof(algorithm, domains, clauses, budget).reason()


_CONTRADICTION = "no key of the declared domains meets its conditions"


def _narrowed(domains: Domains, own: Sequence[Clause]) -> Domains | None:
    narrowed: Domains | None = domains
    for clause in own:
        for condition, truth in clause.literals:
            # what the policy is called may be the name of a key field too
            if narrowed is not None and condition.point is None:
                narrowed = narrow(narrowed, condition.expr, truth)
    return narrowed


def covered_by(blocker: Point) -> str:
    """The reason of a point that one other point shadows."""
    return f"{blocker.id} ({blocker.location}) comes first and answers every key that it could answer"


class _Proof:
    def __init__(self, algorithm: Algorithm, domains: Domains, clauses: Sequence[Clause], budget: int) -> None:
        self._budget = budget
        self._abstraction = _Abstraction(algorithm, domains)
        weakened = [
            (clause.blocker, [(self._abstraction.of(condition), truth) for condition, truth in clause.literals])
            for clause in clauses
        ]
        self._values = self._abstraction.values()
        self._own: list[SolverClause] = []
        self._blocked: dict[str, tuple[Point, list[SolverClause]]] = {}
        for blocker, literals in weakened:
            clause = tuple(self._literal(expr, truth) for expr, truth in literals)
            if blocker is None:
                self._own.append(clause)
            else:
                self._blocked.setdefault(blocker.id, (blocker, []))[1].append(clause)

    def _literal(self, expr: Expr, truth: bool) -> Any:
        run = guarded(compiled(expr))
        return literal(sorted(free_names(expr)), self._values, lambda names: bool(run(names)) is truth)

    def reason(self) -> str | None:
        if not self._possible(list(self._blocked)):
            needed = list(self._blocked)
            for name in reversed(list(self._blocked)):
                without = [n for n in needed if n != name]
                if not self._possible(without):
                    needed = without
            return self._told([self._blocked[name][0] for name in needed])
        return None

    def _possible(self, blockers: list[str]) -> bool:
        clauses = [*self._own, *(clause for name in blockers for clause in self._blocked[name][1])]
        try:
            return satisfiable(all_values(self._values), clauses, self._values, self._budget)
        except OutOfBudget:
            return True

    def _told(self, blockers: list[Point]) -> str:
        if not blockers:
            return _CONTRADICTION
        if len(blockers) == 1:
            return covered_by(blockers[0])
        names = ", ".join(f"{p.id} ({p.location})" for p in blockers)
        return f"{names} come first and between them answer every key that it could answer"


class _Abstraction:
    """Conditions as truth values over finitely many values of what they look at."""

    def __init__(self, algorithm: Algorithm, domains: Domains) -> None:
        self._domains = domains
        self._policy = {f.name for f in algorithm.policy.fields}
        outside = {path: i for path, i in domains.paths.items() if path.split(".")[0] not in self._policy}
        self._outside_policy = Domains(outside)
        self._constants: dict[str, Mapping[str, Expr]] = {}
        self._fields = {n: f for n, f in variables_of(algorithm).items() if not isinstance(f.type, ListType)}
        self._lengths = {f"len {f.name}": f.type.max_length for f in algorithm.key if isinstance(f.type, ListType)}
        self._few: dict[str, tuple[Any, ...]] = {n: tuple(range(most + 1)) for n, most in self._lengths.items()}
        for name, field in self._fields.items():
            values = enumerated(field)
            if values is not None:
                self._few[name] = values
        self._cuts: dict[str, set[int]] = {}
        self._free: dict[tuple[Expr, str], Name] = {}

    def of(self, condition: Condition) -> Expr:
        """The weakened condition; it may grow `values`."""
        if condition.point is None:
            return self._weakened(condition.expr, "")
        constants = self._constants.setdefault(condition.point.id, policy_constants(condition.point))
        return self._weakened(substitute(condition.expr, constants), condition.point.id)

    def values(self) -> dict[str, tuple[Any, ...]]:
        """The values that stand for all others."""
        found: dict[str, tuple[Any, ...]] = {**self._few, **{n.id: (False, True) for n in self._free.values()}}
        for name, cuts in self._cuts.items():
            domain = interval_of_field(self._fields[name])
            inside = {v for cut in cuts for v in (cut - 1, cut, cut + 1) if domain.low <= v <= domain.high}
            found[name] = tuple(sorted({domain.low, domain.high, *inside}))
        return found

    def _weakened(self, expr: Expr, point: str) -> Expr:
        match expr:
            case Const():
                return expr
            case Not() | Logic():
                return fold_constants(rebuild(expr, lambda e: self._weakened(e, point)))
            case Choose():
                return fold_constants(rebuild(expr, lambda e: self._weakened(e, point)))
            case _:
                return self._atom(expr, point)

    def _atom(self, expr: Expr, point: str) -> Expr:
        sees_policy = bool(point) and not self._policy.isdisjoint(free_names(expr))
        if not sees_policy:
            flat = self._flat(expr)
            if free_names(flat) <= self._few.keys() or self._is_cut(flat):
                return flat
        decided = self._decided(expr, self._with_policy(point) if sees_policy else self._domains)
        if decided is not None:
            return decided
        return self._free.setdefault((expr, point if sees_policy else ""), Name(f"condition {len(self._free)}", BOOL))

    def _with_policy(self, point: str) -> Domains:
        known = {
            path: Interval(expr.value, expr.value)
            for path, expr in self._constants[point].items()
            if isinstance(expr, Const) and isinstance(expr.value, int)
        }
        return self._outside_policy.with_paths(known)

    def _flat(self, expr: Expr) -> Expr:
        """The expression with a name for each part of a key that it looks at."""
        path = path_of(expr)
        if path in self._fields:
            return Name(path, expr.type)
        if isinstance(expr, Call) and expr.function == "len" and (name := f"len {path_of(expr.args[0])}") in self._few:
            return Name(name, expr.type)
        return rebuild(expr, self._flat)

    def _is_cut(self, expr: Expr) -> bool:
        """Whether it compares one integer of the key with constants; its domain is cut there."""
        match expr:
            case Compare(left=Name(id=name), right=Const(value=int() as value)):
                constants = [value]
            case Compare(left=Const(value=int() as value), right=Name(id=name)):
                constants = [value]
            case Member(operand=Name(id=name)):
                constants = [v for v in expr.values if isinstance(v, int)]
            case _:
                return False
        if name not in self._fields or not isinstance(self._fields[name].type, IntType):
            return False
        self._cuts.setdefault(name, set()).update(constants)
        return True

    def _decided(self, expr: Expr, domains: Domains) -> Expr | None:
        """What a comparison of integers is throughout the domains, if it is one and the same."""
        if not (isinstance(expr, Compare) and isinstance(expr.left.type, IntType)):
            return None
        left, right = (interval_of(side, domains, lambda _: None) for side in (expr.left, expr.right))
        meet = left.meet(right) is not None
        verdicts = {
            "<": (left.high < right.low, left.low >= right.high),
            "<=": (left.high <= right.low, left.low > right.high),
            ">": (left.low > right.high, left.high <= right.low),
            ">=": (left.low >= right.high, left.high < right.low),
            "==": (left.low == left.high == right.low == right.high, not meet),
            "!=": (not meet, left.low == left.high == right.low == right.high),
        }
        always, never = verdicts[expr.op]
        return TRUE if always else FALSE if never else None
