"""`policygen list`: what there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Any

import click

from policygen.cli.session import Session
from policygen.cli.session import command as make_command
from policygen.cli.session import refuse

if TYPE_CHECKING:
    from policygen.spec import RuleSet
    from policygen.spec import Spec

_WHAT = ("targets", "algorithms", "points", "include-dir")


@make_command
@click.argument("what", type=click.Choice(_WHAT))
@click.option("--algorithm", metavar="NAME", help="With points: those of this algorithm alone.")
def list_things(session: Session, what: str, algorithm: str | None) -> None:
    """List targets, algorithms, points, or the folder of the generated headers.

    \b
    targets      what can be built and resolved for
    algorithms   with the fields of their keys
    points       of every reference and target: id, state, place, benchmark
    include-dir  the folder that a C++ compiler takes with -I
    """  # noqa: D301 - click's mark for lines that are not to be joined
    if algorithm is not None and what != "points":
        refuse([f"--algorithm goes with `list points`, not with `list {what}`"])
    if what == "include-dir":
        _include_dir(session)
        return
    if algorithm is not None:
        from policygen.project import UnknownAlgorithm

        try:
            session.project.algorithm(algorithm)
        except UnknownAlgorithm as error:
            refuse([str(error)])
    rows = {"targets": _targets, "algorithms": _algorithms, "points": _points}[what](session.project.spec, algorithm)
    if session.as_json:
        session.answer(rows)
        return
    for line in _columns([[str(value) for value in row.values()] for row in rows]):
        click.echo(line)


def _include_dir(session: Session) -> None:
    folder = session.project.root.output / "include"
    if not folder.is_dir():
        session.say("nothing is built yet; run `policygen build --all`")
    if session.as_json:
        session.answer({"include_dir": str(folder)})
    else:
        click.echo(str(folder))


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


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines, each column as wide as its widest value."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip() for row in rows]


command = list_things
