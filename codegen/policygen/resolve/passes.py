"""The five passes, each a function from candidate to candidate that appends to the trace.

`select -> scale -> adapt -> constrain -> canonicalise`. Select and scale give upstream's policy; the others are the
target's.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import TypeAlias

from attrs import evolve

from policygen.lang.evaluate import Evaluator
from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.lang.evaluate import evaluate
from policygen.model.types import Role
from policygen.resolve.candidate import Candidate
from policygen.resolve.candidate import NoPolicy
from policygen.resolve.candidate import replaced
from policygen.resolve.candidate import value_at
from policygen.resolve.specialise import Granule
from policygen.resolve.specialise import Rules
from policygen.resolve.specialise import roles_of
from policygen.resolve.specialise import thread_counts
from policygen.resolve.trace import Changed
from policygen.resolve.trace import Held
from policygen.resolve.trace import Kept
from policygen.resolve.trace import Left
from policygen.resolve.trace import Matched
from policygen.resolve.trace import Neutralised
from policygen.resolve.trace import NotEntered
from policygen.resolve.trace import Reported
from policygen.resolve.trace import Scaled
from policygen.resolve.trace import Shrunk
from policygen.resolve.trace import Step
from policygen.resolve.trace import Unknown
from policygen.scaling import Literal
from policygen.scaling import Nominal
from policygen.scaling import Resolved
from policygen.scaling import keep
from policygen.scaling import scale as scale_counts
from policygen.spec import Constraint
from policygen.spec import Counts
from policygen.spec import Ladder
from policygen.spec import Otherwise
from policygen.spec import Path
from policygen.spec import Point
from policygen.spec import SubPolicy

Pass: TypeAlias = Callable[[Candidate], Candidate]

UNKNOWN_ITEMS = -1


def matches(point: Point, names: LazyNames) -> bool:
    """Whether a point answers a key."""
    if point.num_items is not None:
        items = names["num_items"]
        # an unknown size lies in no range
        if items == UNKNOWN_ITEMS or not point.num_items.low <= items <= point.num_items.high:
            return False
    return bool(evaluate(point.when, names))


def select(rules: Rules, names: LazyNames) -> Candidate:
    """The first point whose scaled candidate its ladder accepts, scaled."""
    steps: list[Step] = []
    for ladder in rules.ladders:
        point = _first(ladder, names)
        if point is None:
            steps.append(NotEntered(ladder))
            continue
        candidate = scale(Candidate(names, ladder, point, {}, (*steps, Matched(ladder, point))))
        if ladder.accept is None or evaluate(ladder.accept, candidate.visible()):
            return candidate
        steps.append(Left(ladder, point))
    raise NoPolicy("no point answers this key")


def _first(ladder: Ladder, names: LazyNames) -> Point | None:
    if not evaluate(ladder.when, names):
        return None
    return next((point for point in ladder.points if matches(point, names)), None)


def scale(candidate: Candidate) -> Candidate:
    """Evaluates the fields of a point and scales nominal counts. Root fields see the root fields before them."""
    steps: list[Step] = []
    policy: dict[str, Any] = {}
    names = candidate.visible(policy)
    for name, value in candidate.point.policy.fields:
        names[name] = policy[name] = (
            _filled(value, names, (name,), steps) if isinstance(value, SubPolicy) else evaluate(value, names)
        )
    root = candidate.point.policy
    if root.counts in (Counts.NOMINAL, Counts.LITERAL):
        policy = _counted(root, policy, names, (), steps)
    return evolve(candidate, policy=policy).with_steps(*steps)


def _filled(policy: SubPolicy, names: Mapping[str, Any], path: Path, steps: list[Step]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in policy.fields:
        values[name] = (
            _filled(value, names, (*path, name), steps) if isinstance(value, SubPolicy) else evaluate(value, names)
        )
    if policy.counts in (Counts.NOMINAL, Counts.LITERAL):
        values = _counted(policy, values, names, path, steps)
    return values


def _counted(
    policy: SubPolicy, values: dict[str, Any], names: Mapping[str, Any], path: Path, steps: list[Step]
) -> dict[str, Any]:
    roles = roles_of(policy.struct)
    threads, items = roles.get(Role.THREADS), roles.get(Role.ITEMS)
    where = ".".join(path) or policy.struct.name
    if policy.counts is Counts.LITERAL:
        kept = keep(Literal(values.get(threads or "", 0), values.get(items or "", 0)))
        steps.append(Kept(where, kept.threads_per_block if threads else None, kept.items_per_thread if items else None))
        return values
    assert policy.scale is not None
    nominal = Nominal(values.get(threads or "", 1), values.get(items or "", 1))
    size = evaluate(policy.scale.by, names)
    resolved: Resolved = scale_counts(nominal, policy.scale.rule, size)
    steps.append(Scaled(where, policy.scale.rule, size, nominal, resolved))
    counts = {threads: resolved.threads_per_block, items: resolved.items_per_thread}
    return {name: counts.get(name, value) for name, value in values.items()}


def adapt(rules: Rules) -> Pass:
    """Replaces what the target lacks, then brings every block to the target's granule."""

    def run(candidate: Candidate) -> Candidate:
        for alternative in rules.alternatives:
            before = value_at(candidate.policy, alternative.path)
            if before != alternative.value:
                continue
            after = evaluate(alternative.otherwise, candidate.visible())
            reason = rules.instance.target.withheld.get(alternative.requires, "not there")
            step = Changed("adapt", ".".join(alternative.path), before, after, f"{alternative.requires}: {reason}")
            candidate = evolve(candidate, policy=replaced(candidate.policy, alternative.path, after)).with_steps(step)
        if rules.granule is not None:
            for threads, items, nominal in thread_counts(candidate.point.policy):
                candidate = _to_granule(rules, rules.granule, candidate, threads, items, nominal)
        return candidate

    return run


def _to_granule(
    rules: Rules, granule: Granule, candidate: Candidate, threads: Path, items: Path | None, nominal: bool
) -> Candidate:
    before = value_at(candidate.policy, threads)
    if before == 0 and nominal:
        empty = rules.algorithm.empty_block
        if empty is None:
            raise NoPolicy(
                f"{'.'.join(threads)}: scaling gives a block of no threads, since one item exceeds 48 KiB, "
                "and the tile lives in shared memory"
            )
        policy = replaced(candidate.policy, threads, granule.threads)
        if items is not None:
            policy = replaced(policy, items, empty.items_per_thread)
        reason = f"scaling gives no threads for an item beyond 48 KiB; {empty.reason}"
        return evolve(candidate, policy=policy).with_steps(
            Changed("adapt", ".".join(threads), 0, granule.threads, reason)
        )
    after = max(before // granule.threads, 1) * granule.threads
    if before in (0, after):
        return candidate
    reason = f"a multiple of {granule.threads}: {granule.reason}"
    step = Changed("adapt", ".".join(threads), before, after, reason)
    return evolve(candidate, policy=replaced(candidate.policy, threads, after)).with_steps(step)


def constrain(rules: Rules) -> Pass:
    """Holds the policy against the target's limits: lowers what a constraint names, or refuses the key."""

    def run(candidate: Candidate) -> Candidate:
        for constraint in rules.constraints:
            candidate = _constrained(rules, constraint, candidate)
        return candidate.with_steps(*(Unknown(c, f"{fact} is not known") for c, fact in rules.unknown))

    return run


def judge(rules: Rules) -> Pass:
    """Says what would not fit and changes nothing: what a target does that takes upstream's policies as they are."""

    def run(candidate: Candidate) -> Candidate:
        steps: list[Step] = []
        for constraint in rules.fit:
            judged = _Judged(constraint, candidate)
            if not judged.applies:
                continue
            if judged.unknown:
                steps.append(Unknown(constraint, constraint.unknown_reason))
            elif judged.holds:
                steps.append(Held(constraint, judged.need, judged.limit))
            else:
                steps.append(Reported(constraint, judged.need, judged.limit))
        return candidate.with_steps(*steps, *(Unknown(c, f"{fact} is not known") for c, fact in rules.unknown))

    return run


class _Judged:
    """A constraint, evaluated on a candidate."""

    def __init__(self, constraint: Constraint, candidate: Candidate, policy: Mapping[str, Any] | None = None) -> None:
        names = candidate.visible(policy)
        self.applies = bool(evaluate(constraint.when, names))
        self.unknown = self.applies and constraint.unknown is not None and bool(evaluate(constraint.unknown, names))
        self.need: int | None = None
        self.limit: int | None = None
        self.holds = True
        if not self.applies or self.unknown:
            return
        if constraint.need is not None and constraint.limit is not None:
            self.need, self.limit = evaluate(constraint.need, names), evaluate(constraint.limit, names)
            self.holds = self.need <= self.limit
        elif constraint.check is not None:
            self.holds = bool(evaluate(constraint.check, names))


def _constrained(rules: Rules, constraint: Constraint, candidate: Candidate) -> Candidate:
    first = judged = _Judged(constraint, candidate)
    if not judged.applies:
        return candidate
    if judged.unknown:
        return candidate.with_steps(Unknown(constraint, constraint.unknown_reason))
    if judged.holds:
        return candidate.with_steps(Held(constraint, judged.need, judged.limit))
    policy: Mapping[str, Any] = candidate.policy
    changes: list[tuple[str, int, int]] = []
    for path in constraint.shrink:
        before = value = value_at(policy, path)
        step = shrink_step(rules, path)
        while not judged.holds and (lower := step(value)) is not None:
            value = lower
            policy = replaced(policy, path, value)
            judged = _Judged(constraint, candidate, policy)
        if value != before:
            changes.append((".".join(path), before, value))
    if not judged.holds and constraint.otherwise is Otherwise.ERROR:
        raise NoPolicy(_refusal(constraint, judged))
    candidate = evolve(candidate, policy=policy)
    if changes:
        candidate = candidate.with_steps(
            Shrunk(constraint, tuple(changes), first.need, judged.need, judged.limit)
        )
    return candidate if judged.holds else candidate.with_steps(Reported(constraint, judged.need, judged.limit))


def _refusal(constraint: Constraint, judged: _Judged) -> str:
    if judged.need is None:
        return f"{constraint.id} does not hold, whatever is lowered: {constraint.reason or constraint.source}"
    return (
        f"{constraint.id}: {judged.need:,} {constraint.unit} are needed at the least, "
        f"and the limit is {judged.limit:,}"
    )


def shrink_step(rules: Rules, path: Path) -> Callable[[int], int | None]:
    """How a count is lowered: items by one, threads by the target's granule, a vector by half. None at the end."""
    struct = rules.algorithm.policy
    for name in path[:-1]:
        struct = getattr(struct.by_name[name].type, "struct")  # noqa: B009 - the loader has checked the path
    match struct.by_name[path[-1]].role:
        case Role.THREADS:
            granule = rules.granule.threads if rules.granule is not None else 32
            return lambda value: value - granule if value > granule else None
        case Role.VECTOR:
            return lambda value: value // 2 if value > 1 else None
        case _:
            return lambda value: value - 1 if value > 1 else None


def canonicalise(rules: Rules) -> Pass:
    """Sets knobs that provably do nothing to their neutral value."""

    def run(candidate: Candidate) -> Candidate:
        for neutral in rules.neutrals:
            names = candidate.visible()
            if not evaluate(neutral.when, names):
                continue
            before, after = value_at(candidate.policy, neutral.path), evaluate(neutral.value, names)
            if before != after:
                policy = replaced(candidate.policy, neutral.path, after)
                candidate = evolve(candidate, policy=policy).with_steps(Neutralised(neutral, before, after))
        return candidate

    return run


def evaluators(rules: Rules) -> dict[str, Evaluator]:
    """The lets of some rules as closures."""
    return {let.name: compiled(let.expr) for let in rules.lets}
