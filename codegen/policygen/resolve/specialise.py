"""Rules for one target: facts become constants, conditions that they decide are folded, what cannot be is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from attrs import evolve
from attrs import field
from attrs import frozen

from policygen.lang.simplify import substitute
from policygen.lang.tree import FALSE
from policygen.lang.tree import TRUE
from policygen.lang.tree import Call
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Field
from policygen.lang.tree import Name
from policygen.lang.tree import conjunction
from policygen.lang.tree import free_names
from policygen.lang.tree import walk
from policygen.loading.targets import PASSES
from policygen.loading.targets import present
from policygen.model.problems import Problem
from policygen.model.problems import SpecError
from policygen.model.types import COMPUTE_CAPABILITY
from policygen.model.types import INT64
from policygen.model.types import TOOLKIT
from policygen.model.types import RecordType
from policygen.model.types import Role
from policygen.model.types import Struct
from policygen.resolve.instance import TargetInstance
from policygen.spec import Algorithm
from policygen.spec import Alternative
from policygen.spec import Constraint
from policygen.spec import Counts
from policygen.spec import Derived
from policygen.spec import Ladder
from policygen.spec import Let
from policygen.spec import Neutral
from policygen.spec import Path
from policygen.spec import Point
from policygen.spec import RuleSet
from policygen.spec import Scale
from policygen.spec import Spec
from policygen.spec import Status
from policygen.spec import SubPolicy


@frozen
class Granule:
    """Blocks are multiples of this many threads."""

    threads: int
    reason: str


@frozen(eq=False)
class Rules:
    """All that decides the policies of one algorithm on one target.

    The only free names left are key fields, lets, the policies of used algorithms and, in constraints, facts that are
    not known. Compared by identity.

    Attributes:
        ladders: in the order in which they are tried; every point of them may match.
        passes: those that run: the target's, or all for a table of the engine, which has no upstream to be equal to.
        facts_used: the facts that any rule looked at.
        unknown: constraints that cannot be judged, each with the fact that is missing.
        fit: constraints that are judged and reported but not enforced (the target runs no constrain pass).
    """

    target: str
    algorithm: Algorithm
    lets: tuple[Let, ...]
    ladders: tuple[Ladder, ...]
    uses: tuple[tuple[str, Rules, tuple[tuple[str, Expr], ...]], ...]
    alternatives: tuple[Alternative, ...]
    granule: Granule | None
    constraints: tuple[Constraint, ...]
    fit: tuple[Constraint, ...]
    unknown: tuple[tuple[Constraint, str], ...]
    neutrals: tuple[Neutral, ...]
    derived: tuple[Derived, ...]
    passes: tuple[str, ...]
    facts_used: tuple[str, ...]
    instance: TargetInstance = field(repr=False)

    @property
    def points(self) -> tuple[Point, ...]:
        """All points, in order."""
        return tuple(point for ladder in self.ladders for point in ladder.points)


def rules_for(spec: Spec, instance: TargetInstance, algorithm: str) -> Rules:
    """Specialises an algorithm's rules for a target.

    Raises:
        KeyError: no such algorithm.
        SpecError: a rule needs a fact that the target does not know, or no point answers every key.
    """
    return _Specialiser(spec, instance, spec.described(algorithm)).run()


class _Specialiser:
    def __init__(self, spec: Spec, instance: TargetInstance, algorithm: Algorithm) -> None:
        self._spec = spec
        self._instance = instance
        self._algorithm = algorithm
        self._used: set[str] = set()
        self._constants: dict[str, Expr] = {"cc": Const(instance.cc, COMPUTE_CAPABILITY)}
        for name, fact in instance.facts.items():
            if fact.value is not None:
                self._constants[f"target.{name}"] = Const(fact.value, INT64)
        nvcc = instance.facts.get("nvcc")
        if nvcc is not None and nvcc.value is not None:
            self._constants["nvcc"] = Const(nvcc.value, TOOLKIT)

    def run(self) -> Rules:
        algorithm, target = self._algorithm, self._instance.target
        reference = algorithm.rules or self._spec.references.get(target.reference, {}).get(algorithm.name)
        sets = [s for s in (target.rules.get(algorithm.name), reference) if s is not None]
        lets = [Let(let.name, self._known(let.expr)) for let in algorithm.lets]
        ladders: list[Ladder] = []
        for rule_set in sets:
            if ladders and _answers_all(ladders[-1]):
                break
            own_lets, own_ladders = self._rule_set(rule_set, {let.name for let in lets})
            lets += own_lets
            ladders += own_ladders
        if not ladders or not _answers_all(ladders[-1]):
            place = sets[-1].location if sets else algorithm.location
            reason = (
                f"no point answers every key of {algorithm.name} on {self._instance.name}: end the last ladder with one"
            )
            raise SpecError([Problem.at(place, "ladder", reason)])
        passes = target.passes if algorithm.engine is None else PASSES
        enforced = "constrain" in passes
        judged, unknown = self._constraints()
        uses = tuple(
            (use.name, rules_for(self._spec, self._instance, use.algorithm), use.key) for use in algorithm.uses
        )
        for _, used, _ in uses:
            self._used.update(used.facts_used)
        return Rules(
            target=self._instance.name,
            algorithm=algorithm,
            lets=tuple(lets),
            ladders=tuple(ladders),
            uses=uses,
            alternatives=self._alternatives() if "adapt" in passes else (),
            granule=self._granule() if "adapt" in passes else None,
            constraints=judged if enforced else (),
            fit=() if enforced else judged,
            unknown=unknown,
            neutrals=self._neutrals() if "canonicalise" in passes else (),
            derived=self._derived(),
            passes=passes,
            facts_used=tuple(sorted(self._used)),
            instance=self._instance,
        )

    def _known(self, expr: Expr, constants: Mapping[str, Expr] | None = None) -> Expr:
        for node in walk(expr):
            if isinstance(node, Field) and node.base == Name("target", node.base.type):
                self._used.add(node.name)
            elif isinstance(node, Name) and node.id == "nvcc":
                self._used.add("nvcc")
        return substitute(expr, self._constants if constants is None else constants)

    def _rule_set(self, rule_set: RuleSet, taken: set[str]) -> tuple[list[Let], list[Ladder]]:
        renamed = {
            let.name: f"{let.name}_of_{_identifier(rule_set.origin)}" for let in rule_set.lets if let.name in taken
        }
        names: dict[str, Expr] = {}
        lets: list[Let] = []
        constants = dict(self._constants)
        for let in rule_set.lets:
            expr = self._known(let.expr, constants)
            name = renamed.get(let.name, let.name)
            if isinstance(expr, Const):
                constants[let.name] = expr
            elif name != let.name:
                constants[let.name] = Name(name, expr.type)
            lets.append(Let(name, expr))
            names[name] = expr
        ladders: list[Ladder] = []
        for ladder in rule_set.ladders:
            found = self._ladder(ladder, constants)
            if found is not None:
                ladders.append(found)
                if _answers_all(found):
                    break
        needed = _needed_lets(ladders, names)
        return [let for let in lets if let.name in needed], ladders

    def _ladder(self, ladder: Ladder, constants: Mapping[str, Expr]) -> Ladder | None:
        target, cc = self._instance.target, self._instance.cc
        if not all(present(target, feature, cc) for feature in ladder.requires):
            return None
        when = self._known(ladder.when, constants)
        points: list[Point] = []
        disabled: list[Point] = []
        for point in ladder.points:
            found = self._point(point, constants)
            if found is None:
                continue
            if found.status is Status.DISABLED:
                disabled.append(found)
                continue
            points.append(found)
            if found.when == TRUE and found.num_items is None:
                break
        if when == FALSE or not points:
            return None
        accept = None if ladder.accept is None else self._known(ladder.accept, constants)
        return evolve(
            ladder,
            when=when,
            points=tuple(points),
            accept=None if accept == TRUE else accept,
            disabled=tuple(disabled),
        )

    def _point(self, point: Point, constants: Mapping[str, Expr]) -> Point | None:
        if point.status is Status.UNREACHABLE:
            return None
        if point.cc is not None and not point.cc.low <= self._instance.cc <= point.cc.high:
            return None
        when = self._known(point.when, constants)
        if when == FALSE:
            return None
        if point.status is Status.DISABLED:
            return evolve(point, cc=None, when=when)
        policy = self._sub_policy(point.policy, constants)
        missing = sorted(_facts_in(policy) | _facts_of(when))
        if missing:
            reason = f"needs {missing[0]}, which {self._instance.name} does not know"
            raise SpecError([Problem.at(point.location, point.id, reason)])
        return evolve(point, cc=None, when=when, policy=policy)

    def _sub_policy(self, policy: SubPolicy, constants: Mapping[str, Expr]) -> SubPolicy:
        fields: list[tuple[str, Expr | SubPolicy]] = []
        for name, value in policy.fields:
            if isinstance(value, SubPolicy):
                fields.append((name, self._sub_policy(value, constants)))
            else:
                fields.append((name, self._known(value, constants)))
        scale = policy.scale
        return evolve(
            policy,
            fields=tuple(fields),
            scale=None if scale is None else Scale(scale.rule, self._known(scale.by, constants)),
        )

    def _lacking(self, feature: str) -> bool:
        return not present(self._instance.target, feature, self._instance.cc)

    def _alternatives(self) -> tuple[Alternative, ...]:
        return tuple(
            evolve(a, otherwise=self._known(a.otherwise))
            for a in self._algorithm.alternatives
            if self._lacking(a.requires)
        )

    def _neutrals(self) -> tuple[Neutral, ...]:
        return tuple(evolve(n, when=self._known(n.when), value=self._known(n.value)) for n in self._algorithm.neutrals)

    def _derived(self) -> tuple[Derived, ...]:
        found = tuple(evolve(d, value=self._known(d.value)) for d in self._algorithm.derived)
        for derived in found:
            missing = sorted(_facts_of(derived.value))
            if missing:
                reason = f"needs {missing[0]}, which {self._instance.name} does not know"
                raise SpecError([Problem.at(derived.location, f"derived.{derived.name}", reason)])
        return found

    def _granule(self) -> Granule | None:
        rule = self._instance.target.block_rule
        if rule is None:
            return None
        self._used.add(rule.multiple_of)
        fact = self._instance.facts.get(rule.multiple_of)
        if fact is None or fact.value is None:
            reason = f"blocks are multiples of {rule.multiple_of}, which {self._instance.name} does not know"
            raise SpecError([Problem.at(self._instance.target.location, "block.multiple_of", reason)])
        multiple = 1
        for value in fact.plausible:
            multiple = _least_common_multiple(multiple, value)
        return Granule(multiple, rule.reason)

    def _constraints(self) -> tuple[tuple[Constraint, ...], tuple[tuple[Constraint, str], ...]]:
        judged: list[Constraint] = []
        unknown: list[tuple[Constraint, str]] = []
        for constraint in self._algorithm.constraints:
            found = self._constraint(constraint)
            missing = sorted(_facts_of(*(e for e in (found.need, found.limit, found.check) if e is not None)))
            if missing:
                unknown.append((found, missing[0]))
            elif found.when != FALSE:
                judged.append(found)
        return tuple(judged), tuple(unknown)

    def _constraint(self, constraint: Constraint) -> Constraint:
        """Facts with several plausible values make a need the greatest of theirs, and a check hold for all."""
        variants = self._plausible_constants(constraint)

        def every(expr: Expr | None) -> list[Expr]:
            found = [] if expr is None else [self._known(expr, constants) for constants in variants]
            return list(dict.fromkeys(found))

        needs, limits, checks = every(constraint.need), every(constraint.limit), every(constraint.check)
        return evolve(
            constraint,
            when=self._known(constraint.when),
            need=_extreme("max", needs),
            limit=_extreme("min", limits),
            check=conjunction(checks) if checks else None,
            terms=tuple((name, _extreme("max", every(term)) or term) for name, term in constraint.terms),
            unknown=None if constraint.unknown is None else self._known(constraint.unknown),
        )

    def _plausible_constants(self, constraint: Constraint) -> list[dict[str, Expr]]:
        mentioned = sorted(
            {
                fact
                for expr in (constraint.need, constraint.limit, constraint.check)
                if expr is not None
                for fact in _facts_of(expr)
            }
        )
        choices = []
        for name in mentioned:
            fact = self._instance.facts.get(name)
            if fact is not None and len(fact.plausible) > 1:
                choices.append([(f"target.{name}", Const(value, INT64)) for value in fact.plausible])
        return [{**self._constants, **dict(choice)} for choice in product(*choices)]


def _least_common_multiple(a: int, b: int) -> int:
    x, y = a, b
    while y:
        x, y = y, x % y
    return a // x * b


def _extreme(function: str, exprs: list[Expr]) -> Expr | None:
    if not exprs:
        return None
    return exprs[0] if len(exprs) == 1 else Call(function, tuple(exprs), exprs[0].type)


def _answers_all(ladder: Ladder) -> bool:
    last = ladder.points[-1]
    return ladder.when == TRUE and ladder.accept is None and last.when == TRUE and last.num_items is None


def _identifier(text: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in text)


def _facts_of(*exprs: Expr) -> set[str]:
    return {
        node.name
        for expr in exprs
        for node in walk(expr)
        if isinstance(node, Field) and isinstance(node.base, Name) and node.base.id == "target"
    } | {node.id for expr in exprs for node in walk(expr) if isinstance(node, Name) and node.id == "nvcc"}


def _facts_in(policy: SubPolicy) -> set[str]:
    found = set() if policy.scale is None else _facts_of(policy.scale.by)
    for _, value in policy.fields:
        found |= _facts_in(value) if isinstance(value, SubPolicy) else _facts_of(value)
    return found


def policy_expressions(policy: SubPolicy) -> list[Expr]:
    """Every expression of a sub-policy, nested ones included."""
    found = [] if policy.scale is None else [policy.scale.by]
    for _, value in policy.fields:
        found += policy_expressions(value) if isinstance(value, SubPolicy) else [value]
    return found


def _needed_lets(ladders: list[Ladder], definitions: Mapping[str, Expr]) -> set[str]:
    exprs = [e for ladder in ladders for e in (ladder.when, ladder.accept) if e is not None]
    for ladder in ladders:
        for point in ladder.points:
            exprs += [point.when, *policy_expressions(point.policy)]
    needed: set[str] = set()
    open_names = {name for expr in exprs for name in free_names(expr)}
    while open_names:
        name = open_names.pop()
        if name in definitions and name not in needed:
            needed.add(name)
            open_names |= free_names(definitions[name])
    return needed


def thread_counts(policy: SubPolicy, at: Path = ()) -> list[tuple[Path, Path | None, bool]]:
    """The threads fields that a point sets: path of the threads, path of the items beside them, whether nominal."""
    found: list[tuple[Path, Path | None, bool]] = []
    roles = roles_of(policy.struct)
    if Role.THREADS in roles and policy.counts is not Counts.NONE:
        items = roles.get(Role.ITEMS)
        found.append(
            ((*at, roles[Role.THREADS]), None if items is None else (*at, items), policy.counts is Counts.NOMINAL)
        )
    for name, value in policy.fields:
        if isinstance(value, SubPolicy):
            found += thread_counts(value, (*at, name))
    return found


def roles_of(struct: Struct) -> dict[Role, str]:
    """The fields of a struct that have a role."""
    return {f.role: f.name for f in struct.fields if f.role is not None and not isinstance(f.type, RecordType)}
