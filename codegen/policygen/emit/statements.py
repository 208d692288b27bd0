"""Statements: the rules of one algorithm on one target as a small program, before it is spelled in any language.

Both artefacts are printed from these, so that they answer alike for any key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from attrs import field
from attrs import frozen

from policygen.lang.simplify import fold_constants
from policygen.lang.tree import TRUE
from policygen.lang.tree import Apply
from policygen.lang.tree import Arith
from policygen.lang.tree import Call
from policygen.lang.tree import Compare
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Field
from policygen.lang.tree import Function
from policygen.lang.tree import Member
from policygen.lang.tree import Name
from policygen.lang.tree import Not
from policygen.lang.tree import conjunction
from policygen.lang.tree import free_names
from policygen.lang.tree import walk
from policygen.model.types import INT32
from policygen.model.types import INT64
from policygen.model.types import SCALING_RESULT
from policygen.model.types import EnumType
from policygen.model.types import RecordType
from policygen.model.types import Role
from policygen.model.types import Struct
from policygen.model.types import Type
from policygen.resolve.specialise import Rules
from policygen.resolve.specialise import roles_of
from policygen.resolve.specialise import thread_counts
from policygen.scaling import ScalingRule
from policygen.spec import Constraint
from policygen.spec import Counts
from policygen.spec import Ladder
from policygen.spec import Otherwise
from policygen.spec import Path
from policygen.spec import Point
from policygen.spec import SubPolicy


@frozen
class Define:
    """A name for an expression."""

    name: str
    value: Expr


@frozen
class DefineUse:
    """A name for the policy of a used algorithm, selected for a key."""

    name: str
    algorithm: str
    key: tuple[tuple[str, Expr], ...]


@frozen
class Assign:
    """A policy field is given a value."""

    path: Path
    value: Expr


@frozen
class Take:
    """The point with this number (in the order of `Program.points`) is the candidate."""

    point: int


@frozen
class Leave:
    """There is no candidate any more; the policy is value-initialised again."""


@frozen
class If:
    """The first branch whose condition holds is run."""

    branches: tuple[tuple[Expr, tuple[Statement, ...]], ...]


@frozen
class While:
    """Runs as long as a condition holds; every lowering of rules makes sure that it ends."""

    condition: Expr
    body: tuple[Statement, ...]


@frozen
class Refuse:
    """There is no policy for this key.

    Attributes:
        need: what is needed, where a limit stands in the way.
        limit: that limit.
        unit: of both.
    """

    reason: str
    need: Expr | None = None
    limit: Expr | None = None
    unit: str = ""


@frozen
class Note:
    """A remark for the reader of the generated file.

    Attributes:
        header_only: a table does not carry it.
    """

    text: str
    header_only: bool = False


Statement: TypeAlias = Define | DefineUse | Assign | Take | Leave | If | While | Refuse | Note

CANDIDATE = Name("point", INT32)
"""The number of the candidate's point; negative for none."""

_HAS_CANDIDATE = Compare(">=", CANDIDATE, Const(0, INT32))
_NO_CANDIDATE = Compare("<", CANDIDATE, Const(0, INT32))
_NUM_ITEMS = Name("num_items", INT64)


@frozen
class Program:
    """What selects a policy: statements, the points they can take, and the sub-programs of used algorithms."""

    rules: Rules = field(repr=False)
    statements: tuple[Statement, ...]
    points: tuple[Point, ...]
    uses: tuple[tuple[str, Program], ...]


def program(rules: Rules) -> Program:
    """Lowers rules to statements."""
    return _Lowering(rules).run()


class _Lowering:
    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._points = rules.points
        self._struct = rules.algorithm.policy

    def run(self) -> Program:
        rules = self._rules
        body: list[Statement] = []
        for number, ladder in enumerate(rules.ladders):
            body += self._ladder(ladder, first=number == 0)
        body += self._adapt() + self._constrain() + self._canonicalise()
        body += [Assign((derived.name,), derived.value) for derived in rules.derived]
        definitions: dict[str, tuple[Statement, frozenset[str]]] = {
            let.name: (Define(let.name, let.expr), free_names(let.expr)) for let in rules.lets
        }
        for name, used, key in rules.uses:
            use_needs = frozenset(n for _, expr in key for n in free_names(expr))
            definitions[name] = (DefineUse(name, used.algorithm.name, key), use_needs)
        ordered = _with_definitions(_names_of(tuple(body)), definitions)
        return Program(
            rules,
            (*ordered, *body),
            self._points,
            tuple((used.algorithm.name, program(used)) for name, used, _ in rules.uses),
        )

    def _ladder(self, ladder: Ladder, first: bool) -> list[Statement]:
        conditions: list[Expr] = [] if first else [_NO_CANDIDATE]
        if ladder.when != TRUE:
            conditions.append(ladder.when)
        chain = If(tuple((_condition(point), self._point(ladder, point)) for point in ladder.points))
        body: list[Statement] = [
            *(Note(f"{ladder.origin}/{p.id} is disabled: {p.reason}", header_only=True) for p in ladder.disabled),
            chain,
        ]
        if ladder.accept is not None:
            rejected = conjunction([_HAS_CANDIDATE, Not(ladder.accept)])
            body.append(If(((rejected, (Note(f"{ladder.id}: not accepted"), Leave())),)))
        if not conditions:
            return body
        return [If(((conjunction(conditions), tuple(body)),))]

    def _point(self, ladder: Ladder, point: Point) -> tuple[Statement, ...]:
        notes = [Note(f"{ladder.origin}/{point.id}")]
        notes += [Note(text) for text in (point.reason, point.benchmark) if text]
        assigned = self._fields(point.policy, ())
        return (*notes, *assigned, Take(self._points.index(point)))

    def _fields(self, policy: SubPolicy, at: Path) -> list[Statement]:
        """Assignments in the struct's order, so that later root fields see earlier ones resolved."""
        found: list[Statement] = []
        roles = roles_of(policy.struct)
        counts = {roles[r] for r in (Role.THREADS, Role.ITEMS) if r in roles}
        scaled = policy.counts is Counts.NOMINAL
        for name, value in policy.fields:
            if isinstance(value, SubPolicy):
                found += self._fields(value, (*at, name))
            elif not (scaled and name in counts) and not _is_initial(policy.struct, name, value):
                found.append(Assign((*at, name), value))
        if scaled:
            found = self._scaled(policy, at, roles) + found
        return found

    def _scaled(self, policy: SubPolicy, at: Path, roles: dict[Role, str]) -> list[Statement]:
        assert policy.scale is not None
        values = dict(policy.fields)
        threads, items = values[roles[Role.THREADS]], values[roles[Role.ITEMS]]
        assert not isinstance(threads, SubPolicy)
        assert not isinstance(items, SubPolicy)
        threads_path, items_path = (*at, roles[Role.THREADS]), (*at, roles[Role.ITEMS])
        size = policy.scale.by
        if policy.scale.rule in (ScalingRule.NOMINAL_4B_ITEMS, ScalingRule.NOMINAL_8B_ITEMS):
            return [
                Assign(threads_path, threads),
                Assign(items_path, Call(policy.scale.rule.value, (items, size), INT32)),
            ]
        scaled = Name("_".join(("scaled", *at)), SCALING_RESULT)
        call = Call(f"scale_{policy.scale.rule.value}", (threads, items, size), SCALING_RESULT)
        return [
            Define(scaled.id, call),
            Assign(threads_path, Field(scaled, "threads_per_block", INT32)),
            Assign(items_path, Field(scaled, "items_per_thread", INT32)),
        ]

    def _read(self, path: Path) -> Expr:
        return policy_field(self._struct, path)

    def _adapt(self) -> list[Statement]:
        found: list[Statement] = []
        for alternative in self._rules.alternatives:
            field_read = self._read(alternative.path)
            condition: Expr = (
                Member(field_read, (alternative.value,))
                if isinstance(field_read.type, EnumType)
                else Compare("==", field_read, Const(alternative.value, field_read.type))
            )
            reason = self._rules.instance.target.withheld.get(alternative.requires, "not there")
            replacement = (
                Note(f"{alternative.requires}: {reason}"),
                Assign(alternative.path, alternative.otherwise),
            )
            found.append(If(((condition, replacement),)))
        if self._rules.granule is not None:
            found += self._granule(self._rules.granule.threads)
        return found

    def _granule(self, multiple: int) -> list[Statement]:
        """Blocks go down to a multiple; a block of no threads is one where a point scaled it to nothing."""
        found: list[Statement] = []
        paths: dict[Path, Path | None] = {}
        emptied: dict[Path, list[int]] = {}
        for number, point in enumerate(self._points):
            for threads, items, nominal in thread_counts(point.policy):
                paths[threads] = items
                if nominal:
                    emptied.setdefault(threads, []).append(number)
        size = Const(multiple, INT32)
        for threads, items in paths.items():
            value = self._read(threads)
            if threads in emptied:
                found.append(self._empty(threads, items, multiple, emptied[threads]))
            rounded = Call("max", (size, Call("round_down", (value, size), INT32)), INT32)
            found.append(If(((Compare(">", value, Const(0, INT32)), (Assign(threads, rounded),)),)))
        return found

    def _empty(self, threads: Path, items: Path | None, multiple: int, points: list[int]) -> Statement:
        scaled_here = Member(CANDIDATE, tuple(points))
        condition = conjunction([Compare("==", self._read(threads), Const(0, INT32)), scaled_here])
        empty = self._rules.algorithm.empty_block
        if empty is None:
            name = ".".join(threads)
            return If(
                ((condition, (Refuse(f"{name}: one item exceeds 48 KiB, and the tile lives in shared memory"),)),)
            )
        body: list[Statement] = [Note(empty.reason), Assign(threads, Const(multiple, INT32))]
        if items is not None:
            body.append(Assign(items, Const(empty.items_per_thread, INT32)))
        return If(((condition, tuple(body)),))

    def _constrain(self) -> list[Statement]:
        found: list[Statement] = []
        for constraint in self._rules.constraints:
            violated = violation(constraint)
            applies = [constraint.when] if constraint.when != TRUE else []
            if constraint.unknown is not None:
                applies.append(fold_constants(Not(constraint.unknown)))
            condition = conjunction([*applies, violated])
            refuse = _refusal(constraint)
            steps = [self._lowered(path, violated) for path in constraint.shrink]
            if not steps and constraint.otherwise is Otherwise.ERROR:
                found.append(If(((condition, (refuse,)),)))
            elif steps:
                if constraint.otherwise is Otherwise.ERROR:
                    steps.append(If(((violated, (refuse,)),)))
                found.append(If(((condition, tuple(steps)),)))
        return found

    def _lowered(self, path: Path, violated: Expr) -> Statement:
        value, struct = self._read(path), self._struct
        for name in path[:-1]:
            struct = _record(struct, name)
        match struct.by_name[path[-1]].role:
            case Role.THREADS:
                least = self._rules.granule.threads if self._rules.granule is not None else 32
                lower: Expr = Arith("-", value, Const(least, INT32), INT32)
            case Role.VECTOR:
                least, lower = 1, Arith("//", value, Const(2, INT32), INT32)
            case _:
                least, lower = 1, Arith("-", value, Const(1, INT32), INT32)
        return While(
            conjunction([violated, Compare(">", value, Const(least, INT32))]),
            (Assign(path, lower),),
        )

    def _canonicalise(self) -> list[Statement]:
        return [If(((n.when, (Note(n.proof), Assign(n.path, n.value))),)) for n in self._rules.neutrals]


def _refusal(constraint: Constraint) -> Refuse:
    if constraint.need is None:
        return Refuse(f"{constraint.id}: {constraint.reason or constraint.source}")
    reason = f"{constraint.id}: more {constraint.unit} are needed than the target has"
    return Refuse(reason, measured(constraint), constraint.limit, constraint.unit)


def violation(constraint: Constraint) -> Expr:
    """The condition under which a constraint does not hold. What it measures is a function of its own."""
    if constraint.check is not None:
        return fold_constants(Not(constraint.check))
    assert constraint.limit is not None
    return Compare(">", measured(constraint), constraint.limit)


def measured(constraint: Constraint) -> Expr:
    """The need of a constraint: a call of a function of key, lets and policy that computes it."""
    assert constraint.need is not None
    parameters = tuple(sorted(_typed_names(constraint.need).items()))
    name = "".join(c if c.isalnum() else "_" for c in constraint.id)
    function = Function(f"need_of_{name}", parameters, (), constraint.need)
    return Apply(function, tuple(Name(n, t) for n, t in parameters), constraint.need.type)


def _typed_names(expr: Expr) -> dict[str, Type]:
    free = free_names(expr)
    return {node.id: node.type for node in walk(expr) if isinstance(node, Name) and node.id in free}


def policy_field(struct: Struct, path: Path) -> Expr:
    """The expression that reads a field of the policy."""
    root = struct.by_name[path[0]]
    expr: Expr = Name(root.name, root.type)
    for name in path[1:]:
        assert isinstance(expr.type, RecordType)
        kind: Type = expr.type.struct.by_name[name].type
        expr = Field(expr, name, kind)
    return expr


def _record(struct: Struct, name: str) -> Struct:
    kind = struct.by_name[name].type
    assert isinstance(kind, RecordType)
    return kind.struct


def _is_initial(struct: Struct, name: str, value: Expr) -> bool:
    return isinstance(value, Const) and value.value == struct.initial()[name] and type(value.value) is not str


def _condition(point: Point) -> Expr:
    """num_items in the point's range (an unknown size lies in none), and the rest."""
    if point.num_items is None:
        return point.when
    low, high = Const(point.num_items.low, INT64), Const(point.num_items.high, INT64)
    return conjunction([Compare(">=", _NUM_ITEMS, low), Compare("<=", _NUM_ITEMS, high), point.when])


def _with_definitions(
    names: set[str], definitions: Mapping[str, tuple[Statement, frozenset[str]]]
) -> tuple[Statement, ...]:
    """The definitions that some names need, each after those that it needs itself."""
    ordered: dict[str, Statement] = {}

    def define(name: str) -> None:
        if name in definitions and name not in ordered:
            statement, needed = definitions[name]
            for other in definitions:
                if other in needed:
                    define(other)
            ordered[name] = statement

    for name in definitions:
        if name in names:
            define(name)
    return tuple(ordered.values())


def _names_of(statements: tuple[Statement, ...]) -> set[str]:
    found: set[str] = set()
    for statement in statements:
        match statement:
            case Define() | Assign():
                found |= free_names(statement.value)
            case DefineUse():
                found |= {name for _, expr in statement.key for name in free_names(expr)}
            case If():
                for condition, body in statement.branches:
                    found |= free_names(condition) | _names_of(body)
            case While():
                found |= free_names(statement.condition) | _names_of(statement.body)
            case _:
                pass
    return found
