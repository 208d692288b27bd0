"""`policygen list`: what there is."""

from __future__ import annotations

from typing import Any

import click

from policygen.cli.session import Session
from policygen.cli.session import command as make_command
from policygen.cli.session import refuse
from policygen.spec import RuleSet
from policygen.spec import Spec

_WHAT = ("targets", "algorithms", "points", "include-dir")


@make_command
@click.argument("what", type=click.Choice(_WHAT))
@click.option("--algorithm", metavar="NAME", help="Points of this algorithm alone.")
def list_things(session: Session, what: str, algorithm: str | None) -> None:
    """List targets, algorithms, points, or the folder to give to a C++ compiler with -I."""
    if what == "include-dir":
        folder = session.project.root.output / "include"
        session.answer({"include_dir": str(folder)}) if session.as_json else click.echo(str(folder))
        return
    spec = session.project.spec
    if algorithm is not None and algorithm not in spec.algorithms:
        refuse([f'unknown algorithm "{algorithm}"; the algorithms are {", ".join(spec.algorithms)}'])
    rows = {"targets": _targets, "algorithms": _algorithms, "points": _points}[what](spec, algorithm)
    if session.as_json:
        session.answer(rows)
        return
    for row in rows:
        click.echo("  ".join(str(value) for value in row.values() if value not in ("", None)))


def _targets(spec: Spec, _: str | None) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for target in spec.targets.values():
        if target.reference_cc is not None:
            rows.append({"name": target.name, "title": target.title})
        else:
            rows += [
                {"name": f"{target.name}_{cc}", "title": f"{target.title}, {cc // 10}.{cc % 10}"}
                for cc in target.capabilities
            ]
    return rows


def _algorithms(spec: Spec, _: str | None) -> list[dict[str, Any]]:
    return [
        {"name": a.name, "title": a.title, "key": ", ".join(f.name for f in a.key)} for a in spec.algorithms.values()
    ]


def _points(spec: Spec, algorithm: str | None) -> list[dict[str, Any]]:
    sets: list[RuleSet] = [r for rules in spec.references.values() for r in rules.values()]
    sets += [r for target in spec.targets.values() for r in target.rules.values()]
    return [
        {
            "point": f"{rule_set.origin}/{rule_set.algorithm}/{point.id}",
            "status": point.status.value,
            "location": str(point.location),
            "benchmark": point.benchmark,
        }
        for rule_set in sets
        if algorithm in (None, rule_set.algorithm)
        for ladder in rule_set.ladders
        for point in ladder.points
    ]


command = list_things
