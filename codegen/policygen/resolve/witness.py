"""Witnesses: for each point of a rule set a key that it answers, or why there is none."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
from typing import TypeAlias

from attrs import evolve
from attrs import field
from attrs import frozen

from policygen.lang.tree import TRUE
from policygen.model.problems import Problem
from policygen.model.types import COMPUTE_CAPABILITY
from policygen.resolve.conditions import covering
from policygen.resolve.instance import TargetInstance
from policygen.resolve.key_search import Found
from policygen.resolve.key_search import KeySearch
from policygen.resolve.skeleton import REST
from policygen.resolve.skeleton import Situation
from policygen.resolve.skeleton import Skeleton
from policygen.resolve.specialise import Rules
from policygen.resolve.unreachable import covered_by
from policygen.resolve.unreachable import proof_of
from policygen.spec import Ladder
from policygen.spec import Point
from policygen.spec import RuleSet
from policygen.spec import Spec
from policygen.spec import Status
from policygen.spec import Target

BUDGET = 2000
"""Values that a search tries, and steps that a proof takes, for one point at one capability."""

_NEAR_DEFAULTS = 400


@frozen
class Witness:
    """A key that a point answers.

    Attributes:
        point: its status may be `unreachable`; then it would answer if it were active.
        target_name: the target on which it answers.
        cc: the packed capability at which it answers.
        key: the whole key, as `Resolver` takes it.
        answered: False where the ladder's `accept` turns the point down, for every key that was tried: then it decides
            that the ladder is left.
        assumed: facts that must be set for it, such as ("nvcc", "13.4").
    """

    point: Point
    target_name: str
    cc: int
    key: Mapping[str, Any] = field(hash=False)
    answered: bool = True
    assumed: tuple[tuple[str, str], ...] = ()


@frozen
class Unreachable:
    """A point that provably answers no key, at no capability of the target."""

    point: Point
    reason: str


@frozen
class Unproven:
    """A point for which neither a witness nor a proof was found.

    Attributes:
        budget: how many values were tried.
    """

    point: Point
    budget: int


Finding: TypeAlias = Witness | Unreachable | Unproven


def reachability(spec: Spec, target: Target, algorithms: Collection[str] | None = None) -> tuple[Finding, ...]:
    """Looks for a witness of each of a target's own points (of some algorithms, or all), in the order of the specs.

    Points of a target that it extends are judged there, not here: one chip of a family reaches only some of them.
    Disabled points need none. Facts are taken as they are effective; only the compiler's version is varied where rules
    compare it.

    Raises:
        SpecError: a rule needs a fact that the target does not know.
    """
    return tuple(
        finding
        for finding in _findings(spec, target, _of(target.rules, algorithms))
        if finding.point.location.file == target.location.file
    )


def reference_reachability(
    spec: Spec, reference: str, target: Target, algorithms: Collection[str] | None = None
) -> tuple[Finding, ...]:
    """Looks for a witness of each point of a reference (of some algorithms, or all), at some capability of a family.

    Raises:
        SpecError: a rule needs a fact that the family does not know.
    """
    rules = _of(spec.references.get(reference, {}), algorithms)
    return _findings(spec, evolve(target, reference=reference), rules)


def rule_set_reachability(spec: Spec, target: Target, rules: RuleSet) -> tuple[Finding, ...]:
    """Looks for a witness of each point of one rule set, as `reachability` does for all of a target.

    Raises:
        SpecError: a rule needs a fact that the target does not know.
    """
    return tuple(_RuleSetSearch(spec, target, rules, {}).findings())


def _of(rules: Mapping[str, RuleSet], algorithms: Collection[str] | None) -> Mapping[str, RuleSet]:
    return {name: own for name, own in rules.items() if algorithms is None or name in algorithms}


def _findings(spec: Spec, target: Target, rules: Mapping[str, RuleSet]) -> tuple[Finding, ...]:
    instances: dict[tuple[int, str], TargetInstance] = {}
    return tuple(
        finding for name in sorted(rules) for finding in _RuleSetSearch(spec, target, rules[name], instances).findings()
    )


def problems_of(findings: Iterable[Finding]) -> list[Problem]:
    """Active points that nothing selects, and points said to be unreachable that are not."""
    problems: list[Problem] = []
    for finding in findings:
        point = finding.point
        if isinstance(finding, Unreachable) and point.status is Status.ACTIVE:
            reason = f'never selected: {finding.reason}; remove it, or say status = "unreachable" with a reason'
            problems.append(Problem.at(point.location, point.id, reason))
        elif isinstance(finding, Witness) and point.status is Status.UNREACHABLE:
            reason = (
                f'status = "unreachable", but on {_where(finding)} it would answer {_key_text(finding.key)}; '
                'say "active", or "disabled" with a reason'
            )
            problems.append(Problem.at(point.location, point.id, reason))
    return problems


def warnings_of(findings: Iterable[Finding]) -> list[str]:
    """One line for each point that is neither reached nor proven unreachable."""
    lines: list[str] = []
    for finding in findings:
        if isinstance(finding, Unproven):
            point = finding.point
            said = "said to be unreachable, which is unproven" if point.status is Status.UNREACHABLE else "unproven"
            reason = f"{said}: none of {finding.budget:,} values tried leads to a key that selects it"
            lines.append(str(Problem.at(point.location, point.id, reason)))
    return lines


def _where(witness: Witness) -> str:
    return " ".join([witness.target_name, *(f"with {fact} {value}" for fact, value in witness.assumed)])


def _key_text(key: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in key.items() if (name, value) != ("num_items", -1))


class _RuleSetSearch:
    def __init__(
        self, spec: Spec, target: Target, rule_set: RuleSet, instances: dict[tuple[int, str], TargetInstance]
    ) -> None:
        self._algorithm = spec.described(rule_set.algorithm)
        self._rule_set = rule_set
        self._skeleton = Skeleton(spec, target, rule_set, instances)
        self._searches: dict[int, KeySearch] = {}

    def findings(self) -> Iterable[Finding]:
        for position, ladder in enumerate(self._rule_set.ladders):
            for point in ladder.points:
                if point.status is not Status.DISABLED:
                    yield self._finding(position, ladder, point)

    def _finding(self, position: int, ladder: Ladder, point: Point) -> Finding:
        reasons: dict[str, list[Situation]] = {}
        tried = 0
        unproven = False
        within = [s for s in self._skeleton.situations if _answers_at(point, s)]
        if not within:
            return Unreachable(point, self._no_capability())
        earlier = covering(ladder, point)
        if earlier is not None:
            return Unreachable(point, covered_by(earlier))
        for situation in within:
            found = self._at(position, ladder, point, situation)
            if isinstance(found, Witness):
                return found
            if isinstance(found, Unproven):
                unproven, tried = True, tried + found.budget
            else:
                reasons.setdefault(found.reason, []).append(situation)
        return Unproven(point, tried) if unproven else Unreachable(point, _joined(reasons))

    def _no_capability(self) -> str:
        target = self._skeleton.target
        if target.reference_cc is None:
            return f"no capability of {target.name} lies in its cc range"
        return f"{target.name} counts as {_version(target.reference_cc)}, which is outside its cc range"

    def _at(self, position: int, ladder: Ladder, point: Point, situation: Situation) -> Finding:
        rules = self._skeleton.rules(situation, None if point.status is Status.ACTIVE else point)
        if all(p.id != point.id for p in rules.points):
            return Unreachable(point, self._why_absent(rules, position, ladder, point))
        search = self._search(rules)
        result = self._searched(search, point, accepted=True)
        if isinstance(result, Found) or ladder.accept is None:
            answers = result
        else:
            # it may still decide: where it is not accepted, no later point of the ladder is asked
            considered = self._searched(search, point, accepted=False)
            answers = considered if isinstance(considered, Found) else result
        if isinstance(answers, Found):
            assert answers.key is not None
            return Witness(point, rules.target, situation.cc, answers.key, answers.answered, situation.assumed)
        return answers

    def _searched(self, search: KeySearch, point: Point, *, accepted: bool) -> Found | Unreachable | Unproven:
        clauses = search.conditions.clauses(point.id, accepted=accepted)
        assert clauses is not None
        tried = 0
        for deviations, budget in ((0, _NEAR_DEFAULTS), (1, _NEAR_DEFAULTS), (len(self._algorithm.key), BUDGET)):
            found = search.find(clauses, point.id, deviations, budget)
            tried += found.tried
            if found.key is not None:
                return found
            if deviations == 1 and (reason := proof_of(self._algorithm, clauses, BUDGET)) is not None:
                return Unreachable(point, reason)
        return Unproven(point, tried)

    def _search(self, rules: Rules) -> KeySearch:
        if id(rules) not in self._searches:
            self._searches[id(rules)] = KeySearch(rules)
        return self._searches[id(rules)]

    def _why_absent(self, rules: Rules, position: int, ladder: Ladder, point: Point) -> str:
        kept = next((found for found in rules.ladders if found.id == ladder.id), None)
        if kept is None:
            last = rules.ladders[-1]
            if last.id != REST and [found.id for found in self._rule_set.ladders].index(last.id) < position:
                return f"the ladder {last.id} ends with {_told(last.points[-1])}, which answers every key"
            lacking = self._skeleton.lacking(ladder, rules.instance.cc)
            if lacking is not None:
                return f"the ladder {ladder.id} needs {lacking}, which {self._skeleton.target.name} lacks"
            return f"the condition of the ladder {ladder.id} never holds, or none of its points can match"
        ids = [found.id for found in ladder.points]
        last_point = kept.points[-1]
        if ids.index(last_point.id) < ids.index(point.id) and _always(last_point):
            return f"{_told(last_point)} comes first and answers every key"
        return "its condition never holds"


def _answers_at(point: Point, situation: Situation) -> bool:
    return point.cc is None or point.cc.low <= situation.cc <= point.cc.high


def _always(point: Point) -> bool:
    return point.when == TRUE and point.num_items is None


def _told(point: Point) -> str:
    return f"{point.id} ({point.location})"


def _version(cc: int) -> str:
    return COMPUTE_CAPABILITY.version.unpack(cc)


def _joined(reasons: Mapping[str, list[Situation]]) -> str:
    # what holds with the target's own facts is told, unless only others bring the point into play
    own = {reason: kept for reason, found in reasons.items() if (kept := [s for s in found if not s.assumed])}
    reasons = own or reasons
    if len(reasons) == 1:
        return next(iter(reasons))
    told = []
    for reason, situations in reasons.items():
        capabilities = sorted({cc for s in situations for cc in s.capabilities})
        told.append(f"on {', '.join(map(_version, capabilities))}: {reason}")
    return "; ".join(told)
