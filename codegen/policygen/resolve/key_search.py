"""Search for a key that a point answers: representatives narrowed by what must hold, defaults first."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from policygen.lang.evaluate import Evaluator
from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.lang.tree import Expr
from policygen.lang.tree import free_names
from policygen.lang.tree import path_of
from policygen.lang.tree import walk
from policygen.model.types import RecordType
from policygen.resolve import passes
from policygen.resolve.clauses import Literal
from policygen.resolve.clauses import OutOfBudget
from policygen.resolve.clauses import SolverClause
from policygen.resolve.clauses import all_values
from policygen.resolve.clauses import literal
from policygen.resolve.clauses import settle
from policygen.resolve.conditions import Clause
from policygen.resolve.conditions import Condition
from policygen.resolve.conditions import Conditions
from policygen.resolve.conditions import guarded
from policygen.resolve.representatives import representatives
from policygen.resolve.representatives import variables_of
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import Rules
from policygen.resolve.specialise import policy_expressions
from policygen.resolve.trace import Left


@frozen
class Found:
    """What a search found.

    Attributes:
        key: a whole key; None where none was found.
        answered: whether the point answers it; else its ladder is left because of the point.
        tried: how many values were tried.
    """

    key: Mapping[str, Any] | None
    answered: bool
    tried: int


class KeySearch:
    """Searches keys of one algorithm under some rules. Deterministic."""

    def __init__(self, rules: Rules) -> None:
        self.conditions = Conditions(rules)
        self._rules = rules
        self.algorithm = rules.algorithm
        self._resolver = Resolver(rules)
        self._fields = variables_of(rules.algorithm)
        self.values = representatives(rules.algorithm, self.conditions.expressions())
        records = [f for f in rules.algorithm.key if isinstance(f.type, RecordType)]
        self.parts = {f.name: tuple(part.name for part in f.element) for f in records}
        self.lets = self._evaluators()
        self.defaults = {
            name: compiled(field.default) for name, field in self._fields.items() if field.default is not None
        }
        self.needs = {
            name: self._variables([field.default]) if field.default is not None else frozenset()
            for name, field in self._fields.items()
        }
        self.order = self._in_order()
        self._literals: dict[tuple[int, bool], Literal] = {}

    def find(self, clauses: Sequence[Clause], point: str, deviations: int, budget: int) -> Found:
        """A whole key that a point answers, or with which it is at least its ladder's candidate.

        Args:
            clauses: what must hold for that.
            point: its id.
            deviations: how many fields may differ from their defaults.
            budget: values to try.
        """
        masks = all_values(self.values)
        solved = [tuple(self._literal(c, truth) for c, truth in clause.literals) for clause in clauses]
        left = settle(masks, solved, self.values)
        if left is None:
            return Found(None, False, 0)
        descent = _Descent(self, masks, left, point, deviations, budget)
        try:
            key = descent.key() if descent.found(0) else None
        except OutOfBudget:
            key = None
        return Found(key, key is not None and self.answers(key, point), descent.tried)

    def answers(self, key: Mapping[str, Any], point: str) -> bool:
        """Whether resolution answers a whole key with a point."""
        return self._resolver.selected(key).point.id == point

    def considers(self, key: Mapping[str, Any], point: str) -> bool:
        """Whether resolution answers a whole key with a point, or leaves a ladder because of it."""
        candidate = self._resolver.selected(key)
        left = (step.point.id for step in candidate.trace if isinstance(step, Left))
        return point in (candidate.point.id, *left)

    def _evaluators(self) -> dict[str, Evaluator]:
        lets = passes.evaluators(self._rules)
        for name, parts in self.parts.items():
            lets[name] = _assembled(name, parts)
        for name, used, fields in self._rules.uses:
            lets[name] = _used_policy(Resolver(used), fields)
        return lets

    def _literal(self, condition: Condition, truth: bool) -> Literal:
        key = (id(condition), truth)
        if key not in self._literals:
            run = guarded(condition.evaluator())
            exprs = [condition.expr]
            if condition.point is not None:
                exprs += policy_expressions(condition.point.policy)
            lets = self.lets

            def holds(values: Mapping[str, Any]) -> bool:
                return run(LazyNames(values, lets)) is truth

            self._literals[key] = literal(sorted(self._variables(exprs)), self.values, holds)
        return self._literals[key]

    def _variables(self, exprs: Sequence[Expr]) -> frozenset[str]:
        """The parts of the key that expressions look at, through lets and used policies."""
        definitions = {let.name: [let.expr] for let in self._rules.lets}
        definitions |= {name: [e for _, e in fields] for name, _, fields in self._rules.uses}
        found: set[str] = set()
        seen: set[str] = set()
        pending = list(exprs)
        while pending:
            expr = pending.pop()
            paths = {path for node in walk(expr) if (path := path_of(node)) in self._fields}
            found |= {path for path in paths if path is not None}
            for name in free_names(expr) - seen:
                if name in self.parts:
                    found |= {f"{name}.{part}" for part in self.parts[name]}
                if name in definitions:
                    seen.add(name)
                    pending += definitions[name]
        return frozenset(found)

    def _in_order(self) -> tuple[str, ...]:
        """Fields without a default first, then each after what its default is made of."""
        order = [name for name in self._fields if name not in self.defaults]
        waiting = [name for name in self._fields if name in self.defaults]
        while waiting:
            ready = next((n for n in waiting if self.needs[n] <= {*order, n}), waiting[0])
            waiting.remove(ready)
            order.append(ready)
        return tuple(order)


class _Descent:
    """One depth-first search."""

    def __init__(
        self,
        search: KeySearch,
        masks: dict[str, int],
        clauses: Sequence[SolverClause],
        point: str,
        deviations: int,
        budget: int,
    ) -> None:
        self._search = search
        self._masks = masks
        self._clauses = clauses
        self._point = point
        self._deviations = deviations
        self._budget = budget
        self.tried = 0
        self._names = {
            name: search.values[name][mask.bit_length() - 1] for name, mask in masks.items() if not mask & (mask - 1)
        }
        self._chosen = {name: masks[name] for name in self._names}
        self._watching: dict[str, list[SolverClause]] = {name: [] for name in masks}
        branching: set[str] = set()
        for clause in clauses:
            for name in {v for lit in clause for v in lit.variables}:
                self._watching[name].append(clause)
                branching.add(name)
        self._branching = self._with_inputs(branching | {n for n in self._names if n in search.defaults})

    def _with_inputs(self, names: set[str]) -> set[str]:
        """With what their defaults are made of."""
        found: set[str] = set()
        pending = set(names)
        while pending:
            found |= pending
            pending = {need for name in pending for need in self._search.needs[name]} - found
        return found

    def key(self) -> dict[str, Any]:
        """The whole key of the values assigned, in the order of the spec."""
        names, parts = self._names, self._search.parts
        key: dict[str, Any] = {}
        for name in (f.name for f in self._search.algorithm.key):
            key[name] = {p: names[f"{name}.{p}"] for p in parts[name]} if name in parts else names[name]
        return key

    def found(self, position: int) -> bool:
        """Whether the fields from a position of the order on can be given values so that the point answers."""
        order = self._search.order
        if position == len(order):
            return self._search.considers(self.key(), self._point)
        name = order[position]
        fixed = name in self._names
        for bit, deviates in self._choices(name):
            if deviates > self._deviations:
                break
            self.tried += 1
            if self.tried > self._budget:
                raise OutOfBudget
            self._names[name] = self._search.values[name][bit.bit_length() - 1]
            self._chosen[name] = bit
            self._deviations -= deviates
            if (fixed or not any(map(self._violated, self._watching[name]))) and self.found(position + 1):
                return True
            self._deviations += deviates
        if not fixed:
            self._names.pop(name, None)
            self._chosen.pop(name, None)
        return False

    def _choices(self, name: str) -> Iterator[tuple[int, int]]:
        """Values as bits, each with 1 where it differs from a default that could have been taken."""
        preferred = self._default_bit(name)
        left = self._masks[name]
        if preferred & left:
            yield preferred, 0
            if name not in self._branching:
                return
            left ^= preferred
        while left:
            bit = left & -left
            left ^= bit
            yield bit, 1 if preferred else 0
            if name not in self._branching:
                return

    def _default_bit(self, name: str) -> int:
        search = self._search
        default = search.defaults.get(name)
        if default is None:
            return 0
        names = {n: v for n, v in self._names.items() if n != name}
        value = guarded_value(default, LazyNames(names, search.lets))
        return next((1 << i for i, v in enumerate(search.values[name]) if v == value), 0)

    def _violated(self, clause: SolverClause) -> bool:
        for candidate in clause:
            if len(candidate.variables) == 1:
                left = self._chosen.get(candidate.variables[0], self._masks[candidate.variables[0]])
                if left & candidate.satisfied:
                    return False
            elif any(v not in self._names for v in candidate.variables) or candidate.holds(self._names):
                return False
        return True


def guarded_value(default: Evaluator, names: LazyNames) -> Any:
    """The value of a default; None where it has none for these names, or they are not all there."""
    try:
        return default(names)
    except (ArithmeticError, ValueError, KeyError):
        return None


def _assembled(record: str, parts: tuple[str, ...]) -> Evaluator:
    return lambda names: {part: names[f"{record}.{part}"] for part in parts}


def _used_policy(resolver: Resolver, fields: tuple[tuple[str, Expr], ...]) -> Callable[[Mapping[str, Any]], Any]:
    compiled_fields = [(name, compiled(expr)) for name, expr in fields]

    def policy(names: Mapping[str, Any]) -> Any:
        key = resolver.whole_key({name: evaluate(names) for name, evaluate in compiled_fields})
        return resolver.candidate(key).policy

    return policy
