"""A rule set reduced to what decides which point answers, specialised for the situations that its rules tell apart."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from attrs import evolve
from attrs import field
from attrs import frozen

from policygen.lang.tree import TRUE
from policygen.lang.tree import Compare
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Member
from policygen.lang.tree import free_names
from policygen.lang.tree import walk
from policygen.load.targets import present
from policygen.model.types import TOOLKIT
from policygen.model.types import VersionType
from policygen.resolve.instance import TargetInstance
from policygen.resolve.instance import target_instance
from policygen.resolve.specialise import Rules
from policygen.resolve.specialise import policy_expressions
from policygen.resolve.specialise import rules_for
from policygen.spec import Counts
from policygen.spec import Ladder
from policygen.spec import Point
from policygen.spec import RuleSet
from policygen.spec import Spec
from policygen.spec import Status
from policygen.spec import SubPolicy
from policygen.spec import Target

REST = "(any other key)"
"""The ladder and the point that answer where the rule set does not."""


@frozen
class Situation:
    """What rules are specialised for.

    Attributes:
        capabilities: those for which the rules are the same, ascending; the first stands for them.
        assumed: facts that differ from the target's own.
    """

    capabilities: tuple[int, ...]
    assumed: tuple[tuple[str, str], ...] = ()

    @property
    def cc(self) -> int:
        """The capability that stands for all."""
        return self.capabilities[0]


class Skeleton:
    """One rule set of an algorithm on a target, alone: what other rule sets would answer is left to `REST`."""

    def __init__(self, spec: Spec, target: Target, rule_set: RuleSet) -> None:
        self.target = target
        self.rule_set = rule_set
        algorithm = spec.algorithms[rule_set.algorithm]
        self._ladders = tuple(_bare(ladder) for ladder in rule_set.ladders)
        bare = evolve(algorithm, constraints=(), alternatives=(), neutrals=())
        self._spec = evolve(spec, algorithms={**spec.algorithms, algorithm.name: bare}, targets={target.name: target})
        self._expressions = tuple(_expressions(rule_set, [let.expr for let in algorithm.lets]))
        self._apart = bool(algorithm.uses) or any("target" in free_names(expr) for expr in self._expressions)
        self._instances: dict[Situation, TargetInstance] = {}
        self._rules: dict[tuple[Situation, str], Rules] = {}
        self.situations = self._situations()

    def rules(self, situation: Situation, activated: Point | None = None) -> Rules:
        """The specialised rules; with `activated` as they would be if that point were active."""
        key = (situation, "" if activated is None else activated.id)
        if key not in self._rules:
            self._rules[key] = self._specialised(situation, activated)
        return self._rules[key]

    def lacking(self, ladder: Ladder, cc: int) -> str | None:
        """A feature that a ladder requires and the target lacks at a capability."""
        return next((feature for feature in ladder.requires if not present(self.target, feature, cc)), None)

    def _specialised(self, situation: Situation, activated: Point | None) -> Rules:
        if situation not in self._instances:
            name = self.target.name if self.target.reference_cc is not None else f"sm_{situation.cc}"
            self._instances[situation] = target_instance(self._spec, name, dict(situation.assumed))
        instance = self._instances[situation]
        ladders = [*self._ladders, _rest(self._ladders[0])] if self._ladders else []
        if activated is not None:
            active = evolve(activated, status=Status.ACTIVE)
            ladders = [
                evolve(ladder, points=tuple(_as(p, active) for p in ladder.points)) for ladder in ladders
            ]
        rules = {**instance.target.rules, self.rule_set.algorithm: evolve(self.rule_set, ladders=tuple(ladders))}
        instance = evolve(instance, target=evolve(instance.target, rules=rules))
        return rules_for(self._spec, instance, self.rule_set.algorithm)

    def _situations(self) -> tuple[Situation, ...]:
        target = self.target
        capabilities = sorted(target.capabilities) if target.reference_cc is None else [target.reference_cc]
        cuts = sorted(self._cuts())
        classes: dict[int, list[int]] = {}
        for cc in capabilities:
            # facts and used policies may differ from one capability to the next
            position = cc if self._apart else bisect_right(cuts, cc)
            classes.setdefault(position, []).append(cc)
        plain = [Situation(tuple(group)) for group in classes.values()]
        return (*plain, *(evolve(s, assumed=(("nvcc", text),)) for text in self._toolkits() for s in plain))

    def _cuts(self) -> Iterator[int]:
        for value in _versions(self._expressions, toolkit=False):
            yield from (value, value + 1)
        for ladder in self.rule_set.ladders:
            ranges = [point.cc for point in ladder.points]
            ranges += [self.target.features.get(feature) for feature in ladder.requires]
            for interval in ranges:
                if interval is not None:
                    yield from (interval.low, interval.high + 1)

    def _toolkits(self) -> list[str]:
        if "nvcc" not in self.target.facts:
            return []
        values = {near for value in _versions(self._expressions, toolkit=True) for near in (value, value - 1)}
        return [TOOLKIT.version.unpack(value) for value in sorted(values, reverse=True)]


def _as(point: Point, active: Point) -> Point:
    return evolve(point, status=active.status) if point.id == active.id else point


def _bare(ladder: Ladder) -> Ladder:
    """The ladder without policies, unless `accept` judges them."""
    if ladder.accept is not None:
        return ladder
    return evolve(ladder, points=tuple(evolve(p, policy=_nothing(p.policy)) for p in ladder.points))


def _nothing(policy: SubPolicy) -> SubPolicy:
    return SubPolicy(policy.struct, Counts.NONE, None, ())


def _rest(like: Ladder) -> Ladder:
    point = evolve(
        like.points[0],
        id=REST,
        cc=None,
        num_items=None,
        when=TRUE,
        policy=_nothing(like.points[0].policy),
        status=Status.ACTIVE,
    )
    return evolve(like, id=REST, when=TRUE, requires=(), accept=None, points=(point,))


def _expressions(rule_set: RuleSet, lets: list[Expr]) -> Iterator[Expr]:
    yield from lets
    for let in rule_set.lets:
        yield let.expr
    for ladder in rule_set.ladders:
        yield ladder.when
        if ladder.accept is not None:
            yield ladder.accept
        for point in ladder.points:
            yield point.when
            if ladder.accept is not None:
                yield from policy_expressions(point.policy)


def _versions(expressions: tuple[Expr, ...], *, toolkit: bool) -> Iterator[int]:
    for expr in expressions:
        for node in walk(expr):
            operands = (node.left, node.right) if isinstance(node, Compare) else ()
            for operand in operands:
                if isinstance(operand, Const) and isinstance(operand.type, VersionType):
                    if (operand.type == TOOLKIT) is toolkit:
                        yield int(operand.value)
            if isinstance(node, Member) and isinstance(node.operand.type, VersionType):
                if (node.operand.type == TOOLKIT) is toolkit:
                    yield from (int(value) for value in node.values)
