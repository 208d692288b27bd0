"""Points that a target never reaches, and why: disabled, proven unreachable, for other hardware, or behind others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policygen.lang.tree import FALSE
from policygen.loading.targets import present
from policygen.resolve.specialise import Rules
from policygen.resolve.witness import Finding
from policygen.resolve.witness import Unproven
from policygen.resolve.witness import Unreachable
from policygen.resolve.witness import reachability
from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject
from policygen.spec import Ladder
from policygen.spec import Point
from policygen.spec import RuleSet
from policygen.spec import Status

COLUMNS: Final = (
    Column("algorithm"),
    Column("of"),
    Column("points", right=True),
    Column("never"),
    Column("why"),
)


def unreachable_section(subject: Subject) -> Section | None:
    """A row for each reason, with the points of each algorithm that it keeps from answering."""
    if not subject.rules:
        return None
    target = subject.instance.target
    rows: list[Row] = []
    reached = total = 0
    for algorithm, rules in subject.rules.items():
        for rule_set in _sets(subject, algorithm):
            groups: dict[tuple[str, str], list[Point]] = {}
            for ladder in rule_set.ladders:
                for point in ladder.points:
                    total += 1
                    why = _why(subject, rules, rule_set, ladder, point)
                    if why is None:
                        reached += 1
                    else:
                        groups.setdefault(why, []).append(point)
            rows += [_row(algorithm, rule_set.origin, points, *why) for why, points in groups.items()]
    own = {name: rules for name, rules in target.rules.items() if name in subject.rules}
    notes = [f"{reached} of {total} points may answer a key on {subject.instance.name}"]
    notes += _witnesses(reachability(subject.spec, target, tuple(own))) if own else []
    notes.append(
        "that a point of the reference answers some key on some architecture, or provably none, is what "
        "`policygen build` shows"
    )
    return Section(
        "unreachable", f"Points never reached on {subject.instance.name}", COLUMNS, tuple(rows), tuple(notes)
    )


def _witnesses(findings: tuple[Finding, ...]) -> Iterator[str]:
    unproven = [f.point.id for f in findings if isinstance(f, Unproven)]
    never = [f"{f.point.id}: {f.reason}" for f in findings if isinstance(f, Unreachable)]
    answered = len(findings) - len(unproven) - len(never)
    yield f"{answered} of {len(findings)} points of its own answer a key that was found"
    yield from (f"never selected: {text}" for text in never)
    if unproven:
        yield f"neither reached nor proven unreachable: {', '.join(unproven)}"


def _sets(subject: Subject, algorithm: str) -> Iterator[RuleSet]:
    target = subject.instance.target
    for rule_set in (target.rules.get(algorithm), subject.spec.references.get(target.reference, {}).get(algorithm)):
        if rule_set is not None:
            yield rule_set


def _why(subject: Subject, rules: Rules, rule_set: RuleSet, ladder: Ladder, point: Point) -> tuple[str, str] | None:
    """Why a point answers no key of this target: kind and reason; None where it may."""
    instance = subject.instance
    if point.status is not Status.ACTIVE:
        return point.status.value, point.reason
    kept = next((k for k in rules.ladders if (k.origin, k.id) == (ladder.origin, ladder.id)), None)
    if kept is not None and any(p.id == point.id for p in kept.points):
        return None
    if point.cc is not None and not point.cc.low <= instance.cc <= point.cc.high:
        return "another capability", f"{instance.name} reads it as {instance.cc // 10}.{instance.cc % 10}"
    lacking = [feature for feature in ladder.requires if not present(instance.target, feature, instance.cc)]
    if lacking:
        why = instance.target.withheld.get(lacking[0], f"{instance.name} does not have it")
        return "a feature is missing", f"the ladder {ladder.id} needs {lacking[0]}: {why}"
    last = rules.ladders[-1]
    if kept is None and last.origin != rule_set.origin:
        return "behind the target's own", f"{last.origin}/{last.points[-1].id} answers every key before it"
    if kept is None:
        behind = ladder.when != FALSE and last.origin == rule_set.origin
        return "another ladder", (
            f"the ladder {last.id} answers every key before it, or the condition of {ladder.id} never holds"
            if behind
            else f"the condition of {ladder.id} never holds"
        )
    return "behind another", f"{kept.points[-1].id} answers every key before it, or its condition never holds here"


def _row(algorithm: str, origin: str, points: list[Point], kind: str, why: str) -> Row:
    named = [point.id for point in points]
    more = len(named) - _SHOWN
    shown = ", ".join(named[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    cells = (algorithm, origin, str(len(points)), f"{kind}: {shown}", why)
    data = {
        "algorithm": algorithm,
        "origin": origin,
        "kind": kind,
        "why": why,
        "points": named,
        "places": [str(point.location) for point in points],
    }
    return Row(cells, data)


_SHOWN: Final = 4
"""Points that are named in a cell; data has all."""
