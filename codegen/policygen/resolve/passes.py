"""The passes, each a function from candidate to candidate that appends to the trace.

`select -> scale -> adapt -> constrain -> canonicalise`. Select and scale give upstream's policy; the others are the
target's. Last, `derive` computes what a spec declares to follow from the rest; it runs wherever there is such a field.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import TypeAlias

from attrs import evolve
from attrs import frozen

from policygen.lang.evaluate import Evaluator
from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.model.types import Role
from policygen.resolve.candidate import Candidate
from policygen.resolve.candidate import NoPolicy
from policygen.resolve.candidate import replaced
from policygen.resolve.candidate import value_at
from policygen.resolve.selection import selection_of
from policygen.resolve.specialise import Granule
from policygen.resolve.specialise import Rules
from policygen.resolve.specialise import thread_counts
from policygen.resolve.trace import Changed
from policygen.resolve.trace import Follows
from policygen.resolve.trace import Held
from policygen.resolve.trace import Neutralised
from policygen.resolve.trace import Reported
from policygen.resolve.trace import Shrunk
from policygen.resolve.trace import Step
from policygen.resolve.trace import Unknown
from policygen.spec import Constraint
from policygen.spec import Otherwise
from policygen.spec import Path

Pass: TypeAlias = Callable[[Candidate], Candidate]


def select(rules: Rules, names: LazyNames) -> Candidate:
    """The first point whose scaled candidate its ladder accepts, scaled. Raises NoPolicy if there is none."""
    return selection_of(rules).candidate(names)


def adapt(rules: Rules) -> Pass:
    """Replaces what the target lacks, then brings every block to the target's granule."""
    alternatives = tuple((a, compiled(a.otherwise)) for a in rules.alternatives)
    # by identity: candidates hold the points of these rules
    threads_set = {id(point): thread_counts(point.policy) for point in rules.points}

    def run(candidate: Candidate) -> Candidate:
        for alternative, otherwise in alternatives:
            before = value_at(candidate.policy, alternative.path)
            if before != alternative.value:
                continue
            after = otherwise(candidate.visible())
            reason = rules.instance.target.withheld.get(alternative.requires, "not there")
            step = Changed("adapt", ".".join(alternative.path), before, after, f"{alternative.requires}: {reason}")
            candidate = evolve(candidate, policy=replaced(candidate.policy, alternative.path, after)).with_steps(step)
        if rules.granule is not None:
            for threads, items, nominal in threads_set[id(candidate.point)]:
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
    judges = tuple(_Judge(c) for c in rules.constraints)
    unknown = _unknown(rules)

    def run(candidate: Candidate) -> Candidate:
        for judge in judges:
            candidate = _constrained(rules, judge, candidate)
        return candidate.with_steps(*unknown)

    return run


def judge(rules: Rules) -> Pass:
    """Says what would not fit and changes nothing: what a target does that takes upstream's policies as they are."""
    judges = tuple(_Judge(c) for c in rules.fit)
    unknown = _unknown(rules)

    def run(candidate: Candidate) -> Candidate:
        names = candidate.visible()
        steps = [step for judge in judges if (step := judge.verdict(names).step) is not None]
        return candidate.with_steps(*steps, *unknown)

    return run


def _unknown(rules: Rules) -> tuple[Step, ...]:
    return tuple(Unknown(c, f"{fact} is not known") for c, fact in rules.unknown)


@frozen
class _Verdict:
    """What a constraint says of a policy. `step` tells it: None where the constraint does not apply."""

    holds: bool
    step: Held | Reported | Unknown | None
    need: int | None = None
    limit: int | None = None


_PASSED_OVER = _Verdict(True, None)


class _Judge:
    """A constraint, compiled."""

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self._when = compiled(constraint.when)
        self._unknown = None if constraint.unknown is None else compiled(constraint.unknown)
        self._need = None if constraint.need is None else compiled(constraint.need)
        self._limit = None if constraint.limit is None else compiled(constraint.limit)
        self._check = None if constraint.check is None else compiled(constraint.check)

    def verdict(self, names: Mapping[str, Any]) -> _Verdict:
        """Holds a policy against the constraint; names are those of key, lets and policy."""
        constraint = self.constraint
        if not self._when(names):
            return _PASSED_OVER
        if self._unknown is not None and self._unknown(names):
            return _Verdict(True, Unknown(constraint, constraint.unknown_reason))
        need = limit = None
        holds = True
        if self._need is not None and self._limit is not None:
            need, limit = self._need(names), self._limit(names)
            holds = need <= limit
        elif self._check is not None:
            holds = bool(self._check(names))
        step = Held(constraint, need, limit) if holds else Reported(constraint, need, limit)
        return _Verdict(holds, step, need, limit)


def _constrained(rules: Rules, judge: _Judge, candidate: Candidate) -> Candidate:
    constraint = judge.constraint
    first = verdict = judge.verdict(candidate.visible())
    if first.holds:
        return candidate if first.step is None else candidate.with_steps(first.step)
    policy: Mapping[str, Any] = candidate.policy
    changes: list[tuple[str, int, int]] = []
    for path in constraint.shrink:
        before = value = value_at(policy, path)
        step = shrink_step(rules, path)
        while not verdict.holds and (lower := step(value)) is not None:
            value = lower
            policy = replaced(policy, path, value)
            verdict = judge.verdict(candidate.visible(policy))
        if value != before:
            changes.append((".".join(path), before, value))
    if not verdict.holds and constraint.otherwise is Otherwise.ERROR:
        raise NoPolicy(_refusal(constraint, verdict))
    candidate = evolve(candidate, policy=policy)
    if changes:
        shrunk = Shrunk(constraint, tuple(changes), first.need, verdict.need, verdict.limit)
        candidate = candidate.with_steps(shrunk)
    if verdict.holds or verdict.step is None:
        return candidate
    return candidate.with_steps(verdict.step)


def _refusal(constraint: Constraint, verdict: _Verdict) -> str:
    if verdict.need is None:
        return f"{constraint.id} does not hold, whatever is lowered: {constraint.reason or constraint.source}"
    return (
        f"{constraint.id}: {verdict.need:,} {constraint.unit} are needed at the least, "
        f"and the limit is {verdict.limit:,}"
    )


def shrink_step(rules: Rules, path: Path) -> Callable[[int], int | None]:
    """How a count is lowered: threads by the target's granule, a vector by half, others by one. None at the end."""
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
    neutrals = tuple((n, compiled(n.when), compiled(n.value)) for n in rules.neutrals)

    def run(candidate: Candidate) -> Candidate:
        for neutral, when, value in neutrals:
            names = candidate.visible()
            if not when(names):
                continue
            before, after = value_at(candidate.policy, neutral.path), value(names)
            if before != after:
                policy = replaced(candidate.policy, neutral.path, after)
                candidate = evolve(candidate, policy=policy).with_steps(Neutralised(neutral, before, after))
        return candidate

    return run


def derive(rules: Rules) -> Pass:
    """Computes the fields that follow from the others, in the order of the spec."""
    derived = tuple((d.name, compiled(d.value)) for d in rules.derived)

    def run(candidate: Candidate) -> Candidate:
        values: list[tuple[str, Any]] = []
        for name, value in derived:
            found = value(candidate.visible())
            candidate = evolve(candidate, policy=replaced(candidate.policy, (name,), found))
            values.append((name, found))
        return candidate.with_steps(Follows(tuple(values)))

    return run


def evaluators(rules: Rules) -> dict[str, Evaluator]:
    """The lets of some rules as closures."""
    return {let.name: compiled(let.expr) for let in rules.lets}
