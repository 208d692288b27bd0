"""The steps of a resolution as a proof: each with its numbers, as a line for people and as data for programs."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from attrs import Factory
from attrs import frozen

from policygen.lang.evaluate import evaluate
from policygen.lang.text import shown
from policygen.lang.text import text_of
from policygen.lang.text import worked
from policygen.lang.tree import TRUE
from policygen.resolve.arithmetic import Term
from policygen.resolve.arithmetic import scaling_formulas
from policygen.resolve.arithmetic import terms_of
from policygen.resolve.arithmetic import terms_text
from policygen.resolve.candidate import Candidate
from policygen.resolve.candidate import Overlay
from policygen.resolve.candidate import replaced
from policygen.resolve.specialise import Rules
from policygen.resolve.trace import Changed
from policygen.resolve.trace import Follows
from policygen.resolve.trace import Held
from policygen.resolve.trace import Judged
from policygen.resolve.trace import Kept
from policygen.resolve.trace import Left
from policygen.resolve.trace import Matched
from policygen.resolve.trace import Neutralised
from policygen.resolve.trace import NotEntered
from policygen.resolve.trace import Reported
from policygen.resolve.trace import Scaled
from policygen.resolve.trace import Shrunk
from policygen.resolve.trace import Step
from policygen.resolve.trace import Tried
from policygen.resolve.trace import Unknown
from policygen.resolve.trace import Used
from policygen.resolve.tried import tried
from policygen.spec import Constraint
from policygen.spec import Spec


@frozen
class Told:
    """One step of a proof.

    Attributes:
        stage: the pass that it belongs to.
        text: for people, one line.
        data: the same for programs.
    """

    stage: str
    text: str
    data: Mapping[str, Any] = Factory(dict)

    def __str__(self) -> str:
        return f"{self.stage}: {self.text}"

    def as_dict(self) -> dict[str, Any]:
        """The step as data."""
        return {"stage": self.stage, "text": self.text, **self.data}


def proof(
    spec: Spec, rules: Rules, selected: Candidate, policy: Mapping[str, Any], trace: Sequence[Step]
) -> list[Told]:
    """Tells a resolution step by step, with the points that were tried before the one that answered.

    Args:
        spec: where the ladders are as they were written.
        rules: those that were resolved by.
        selected: the candidate of the key after select and scale.
        policy: the resolved policy.
        trace: the steps that led to it.
    """
    found = [told for step in trace if isinstance(step, Used) for told in _used(step)]
    found += [_selection(step) for step in tried(spec, rules, selected)]
    steps = [step for step in trace if not isinstance(step, Used | NotEntered | Matched | Left)]
    # a step is told with the policy that it saw: what later steps changed is undone, from the last to the first
    states: list[Mapping[str, Any]] = []
    for step in reversed(steps):
        policy = _before(step, policy)
        states.append(policy)
    for step, state in zip(steps, reversed(states), strict=True):
        found.append(_numbers(step, rules, Overlay(selected.names, state)))
    return [*found, *_passed_over(rules, steps)]


def _before(step: Step, policy: Mapping[str, Any]) -> Mapping[str, Any]:
    """The policy before a step of it; constraints see it before they lower anything."""
    match step:
        case Changed(path=path, before=before):
            return replaced(policy, tuple(path.split(".")), before)
        case Neutralised(neutral=neutral, before=before):
            return replaced(policy, neutral.path, before)
        case Shrunk(changes=changes):
            for path, value, _ in changes:
                policy = replaced(policy, tuple(path.split(".")), value)
    return policy


def _used(step: Used) -> Iterator[Told]:
    """The policy of another algorithm, and the steps that decided its numbers."""
    data = {"use": step.name, "algorithm": step.algorithm, "point": step.point.id, "location": str(step.point.location)}
    yield _told(step, data)
    for inner in step.steps:
        if isinstance(inner, Used):
            yield from _used(inner)
        elif isinstance(inner, Scaled | Kept | Changed | Shrunk | Neutralised | Reported):
            stage, _, text = str(inner).partition(": ")
            yield Told("select", f"{step.name}: {stage}: {text}", {"use": step.name})


def _selection(step: Step) -> Told:
    match step:
        case Tried():
            return _told(step, _tried_data(step))
        case Judged():
            data = {**_point_data(step.ladder.origin, step.ladder.id, step.point.id), "accept": step.accept}
            return _told(step, {**data, "unmet": [unmet.as_dict() for unmet in step.unmet]})
        case Matched():
            return _answers(step)
        case _:
            return _told(step)


def _answers(step: Matched) -> Told:
    point, condition = step.point, text_of(step.point.when)
    asked = "every key that is left" if point.when == TRUE else condition
    text = f"{step.ladder.origin}/{point.id} ({point.location}) answers {asked}"
    data = _point_data(step.ladder.origin, step.ladder.id, point.id)
    data |= {"location": str(point.location), "condition": condition, "reason": point.reason}
    return Told("select", f"{text}: {point.reason}" if point.reason else text, data)


def _tried_data(step: Tried) -> dict[str, Any]:
    return {
        "ladder": f"{step.ladder.origin}/{step.ladder.id}",
        "lacks": step.lacks,
        "entry": [unmet.as_dict() for unmet in step.entry],
        "tried": [
            {
                "point": missed.point.id,
                "location": str(missed.point.location),
                "unmet": [unmet.as_dict() for unmet in missed.unmet],
                "other": missed.other,
            }
            for missed in step.points
        ],
    }


def _point_data(origin: str, ladder: str, point: str) -> dict[str, Any]:
    return {"ladder": f"{origin}/{ladder}", "point": point}


def _numbers(step: Step, rules: Rules, names: Overlay) -> Told:
    match step:
        case Scaled():
            return _scaled(step)
        case Kept():
            counts = " x ".join(str(count) for count in (step.threads, step.items) if count is not None)
            return _told(step, {"field": step.path, "literal": counts})
        case Held(constraint=constraint) | Reported(constraint=constraint):
            return _constrained(step, constraint, terms_of(constraint, names), step.need, step.limit)
        case Shrunk(constraint=constraint):
            told = _constrained(step, constraint, terms_of(constraint, names), step.needed, step.limit)
            changes = [{"field": path, "before": before, "after": after} for path, before, after in step.changes]
            return Told(told.stage, told.text, {**told.data, "changes": changes, "need_after": step.need})
        case Changed():
            return _told(step, {"field": step.path, "before": step.before, "after": step.after, "reason": step.reason})
        case Neutralised(neutral=neutral):
            data = {"field": ".".join(neutral.path), "before": step.before, "after": step.after, "proof": neutral.proof}
            return _told(step, {**data, "when": text_of(neutral.when)})
        case Follows():
            return _derived(step, rules, names)
        case Unknown(constraint=constraint):
            return _told(step, {"constraint": constraint.id, "unknown": step.reason})
        case _:
            return _told(step)


def _scaled(step: Scaled) -> Told:
    formulas, to = scaling_formulas(step), step.resolved
    nominal = step.nominal
    given = (
        f"{step.rule.value} of nominal {nominal.threads_per_block} x {nominal.items_per_thread} at {step.size} bytes"
    )
    items = f"{formulas.items} = {to.items_per_thread} items"
    threads = f"{formulas.threads} = {to.threads_per_block} threads"
    text = f"{step.path}: {given}: {items}; {threads}"
    return Told(
        "scale",
        text,
        {
            "field": step.path,
            "rule": step.rule.value,
            "size": step.size,
            "nominal": {"threads_per_block": nominal.threads_per_block, "items_per_thread": nominal.items_per_thread},
            "resolved": {"threads_per_block": to.threads_per_block, "items_per_thread": to.items_per_thread},
            "formulas": {"threads_per_block": formulas.threads, "items_per_thread": formulas.items},
        },
    )


def _constrained(
    step: Step, constraint: Constraint, terms: tuple[Term, ...], need: int | None, limit: int | None
) -> Told:
    data: dict[str, Any] = {"constraint": constraint.id, "location": str(constraint.location)}
    if need is None or limit is None:
        data["check"] = "" if constraint.check is None else text_of(constraint.check)
        told = _told(step, {**data, "holds": isinstance(step, Held)})
        return Told(told.stage, f"{told.text}: {data['check']}" if isinstance(step, Held) else told.text, told.data)
    data |= {"need": need, "limit": limit, "margin": limit - need, "unit": constraint.unit}
    made_of = terms_text(constraint, terms)
    stage, _, text = str(step).partition(": ")
    return Told(stage, f"{text} ({made_of})" if made_of else text, {**data, "terms": [t.as_dict() for t in terms]})


def _derived(step: Follows, rules: Rules, names: Overlay) -> Told:
    formulas = {derived.name: derived.value for derived in rules.derived}
    parts: list[str] = []
    data: list[dict[str, Any]] = []
    for name, value in step.values:
        formula = worked(formulas[name], names)
        told = shown(value, formulas[name].type)
        parts.append(f"{name} = {told}" if formula == told else f"{name} = {formula} = {told}")
        data.append({"field": name, "value": value, "formula": text_of(formulas[name]), "worked": formula})
        # a later one may look at it
        names[name] = evaluate(formulas[name], names)
    return Told("derive", "; ".join(parts), {"derived": data})


def _passed_over(rules: Rules, steps: Sequence[Step]) -> Iterator[Told]:
    """The constraints that say nothing of such a policy."""
    told = {step.constraint.id for step in steps if isinstance(step, Held | Shrunk | Reported | Unknown)}
    ids = [c.id for c in (*rules.constraints, *rules.fit) if c.id not in told]
    if ids:
        yield Told("constrain", f"do not apply: {', '.join(ids)}", {"passed_over": ids})


def _told(step: Step, data: Mapping[str, Any] | None = None) -> Told:
    stage, _, text = str(step).partition(": ")
    return Told(stage, text, data or {})
