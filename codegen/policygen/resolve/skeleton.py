"""A rule set reduced to what decides which point answers, specialised for the situations that its rules tell apart."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve
from attrs import frozen

from policygen.lang.simplify import substitute
from policygen.lang.tree import TRUE
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Member
from policygen.lang.tree import free_names
from policygen.lang.tree import walk
from policygen.loading.targets import present
from policygen.model.facts import effective
from policygen.model.types import COMPUTE_CAPABILITY
from policygen.model.types import TOOLKIT
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
    """One rule set of an algorithm on a target, alone: what other rule sets would answer is left to `REST`.

    `instances` is shared by the rule sets of one target.
    """

    def __init__(
        self, spec: Spec, target: Target, rule_set: RuleSet, instances: dict[tuple[int, str], TargetInstance]
    ) -> None:
        self.target = target
        self.rule_set = rule_set
        algorithm = spec.described(rule_set.algorithm)
        self._ladders = tuple(_bare(ladder) for ladder in rule_set.ladders)
        bare = evolve(algorithm, constraints=(), alternatives=(), neutrals=())
        self._spec = evolve(spec.with_described(bare), targets={target.name: target})
        self._expressions = tuple(_expressions(rule_set, [let.expr for let in algorithm.lets]))
        self._apart = bool(algorithm.uses) or any("target" in free_names(expr) for expr in self._expressions)
        self._instances = instances
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
        instance = self._instance(situation.cc, situation.assumed)
        ladders = [*self._ladders, _rest(self._ladders[0])] if self._ladders else []
        if activated is not None:
            active = evolve(activated, status=Status.ACTIVE)
            ladders = [evolve(ladder, points=tuple(_as(p, active) for p in ladder.points)) for ladder in ladders]
        rules = {**instance.target.rules, self.rule_set.algorithm: evolve(self.rule_set, ladders=tuple(ladders))}
        instance = evolve(instance, target=evolve(instance.target, rules=rules))
        return rules_for(self._spec, instance, self.rule_set.algorithm)

    def _instance(self, cc: int, assumed: tuple[tuple[str, str], ...]) -> TargetInstance:
        key = (cc, str(assumed))
        if key not in self._instances:
            name = f"sm_{cc}" if self.target.is_family else self.target.name
            self._instances[key] = target_instance(self._spec, name, dict(assumed))
        return self._instances[key]

    def _situations(self) -> tuple[Situation, ...]:
        """What the rules tell apart: capabilities and compilers for which they are the same share one situation."""
        target = self.target
        capabilities = sorted(target.capabilities) if target.reference_cc is None else [target.reference_cc]
        versioned = [e for e in self._expressions if not free_names(e).isdisjoint(("cc", "nvcc"))]
        groups: dict[object, list[int]] = {}
        found: list[tuple[list[int], tuple[tuple[str, str], ...]]] = []
        for assumed in ((), *((("nvcc", text),) for text in self._toolkits())):
            for cc in capabilities:
                signature = self._signature(versioned, cc, assumed)
                if signature not in groups:
                    groups[signature] = []
                    found.append((groups[signature], assumed))
                groups[signature].append(cc)
        return tuple(Situation(tuple(dict.fromkeys(group)), assumed) for group, assumed in found)

    def _signature(self, versioned: list[Expr], cc: int, assumed: tuple[tuple[str, str], ...]) -> object:
        constants: dict[str, Expr] = {"cc": Const(cc, COMPUTE_CAPABILITY)}
        if assumed:
            constants["nvcc"] = Const(TOOLKIT.version.pack(assumed[0][1]), TOOLKIT)
        elif "nvcc" in self.target.facts and (nvcc := effective(self.target.facts["nvcc"], cc).value) is not None:
            constants["nvcc"] = Const(nvcc, TOOLKIT)
        ladders = self.rule_set.ladders
        return (
            # facts and used policies may differ from one capability to the next
            cc if self._apart else None,
            tuple(substitute(expr, constants) for expr in versioned),
            tuple(p.cc is None or p.cc.low <= cc <= p.cc.high for ladder in ladders for p in ladder.points),
            tuple(self.lacking(ladder, cc) for ladder in ladders),
        )

    def _toolkits(self) -> list[str]:
        if "nvcc" not in self.target.facts:
            return []
        values = {near for value in _compared_toolkits(self._expressions) for near in (value, value - 1)}
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


def _compared_toolkits(expressions: tuple[Expr, ...]) -> Iterator[int]:
    for node in (node for expr in expressions for node in walk(expr)):
        match node:
            case Const(value=int() as value) if node.type == TOOLKIT:
                yield value
            case Member(operand=operand) if operand.type == TOOLKIT:
                yield from (int(value) for value in node.values)
