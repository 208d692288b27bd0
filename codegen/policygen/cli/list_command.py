"""`policygen list`: what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import click

from policygen.cli.session import Session
from policygen.cli.session import command as make_command
from policygen.cli.session import refuse
from policygen.cli.tables import columns
from policygen.model.capabilities import KNOWN_CAPABILITIES

if TYPE_CHECKING:
    from policygen.spec import RuleSet
    from policygen.spec import Spec

_WHAT = ("targets", "algorithms", "engine", "points", "folds", "include-dir")


@make_command
@click.argument("what", type=click.Choice(_WHAT))
@click.option("--algorithm", metavar="NAME", help="With points and folds: this algorithm alone.")
@click.option("--archs", metavar="LIST", help="With folds: architectures, such as 75,80,86,90,100,120.")
def list_things(session: Session, what: str, algorithm: str | None, archs: str | None) -> None:
    """List targets, algorithms, points, folding figures, or the folder of the generated headers.

    \b
    targets      what can be built and resolved for
    algorithms   with the fields of their keys
    engine       tables of an inference engine, with the fields of their keys
    points       of every reference and target: id, state, capabilities that they are for, place, benchmark
    folds        kernels that the common keys of an algorithm need on architectures, by C++17's and C++20's rule
    include-dir  the folder that a C++ compiler takes with -I
    """  # noqa: D301 - click's mark for lines that are not to be joined
    if algorithm is not None and what not in ("points", "folds"):
        refuse([f"--algorithm goes with `list points` and `list folds`, not with `list {what}`"])
    if (archs is not None) != (what == "folds"):
        refuse(["`list folds` takes --archs with a list such as 75,80,86,90,100,120; nothing else does"])
    if what == "include-dir":
        _include_dir(session)
        return
    if algorithm is not None:
        from policygen.project import UnknownAlgorithm

        try:
            session.project.algorithm(algorithm)
        except UnknownAlgorithm as error:
            refuse([str(error)])
    if archs is not None:
        rows = _folds(session, archs, algorithm)
    else:
        told = {"targets": _targets, "algorithms": _algorithms, "engine": _engine, "points": _points}
        rows = told[what](session.project.spec, algorithm)
    if session.as_json:
        session.answer(rows)
        return
    for line in columns([[_shown(value) for value in row.values()] for row in rows]):
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
        if target.reference_cc is not None or target.architectures:
            rows.append({"name": target.name, "title": target.title})
        else:
            rows += [
                {"name": f"{target.name}_{cc}", "title": f"{target.title}, {_version(cc)}"}
                for cc in target.capabilities
            ]
    return rows


def _algorithms(spec: Spec, _: str | None) -> list[dict[str, Any]]:
    return [
        {"name": a.name, "title": a.title, "key": ", ".join(f.name for f in a.key)} for a in spec.algorithms.values()
    ]


def _engine(spec: Spec, _: str | None) -> list[dict[str, Any]]:
    return [
        {
            "name": table.name,
            "title": table.title,
            "key": ", ".join(f.name for f in table.key if f.name != "num_items"),
        }
        for table in spec.engine.values()
    ]


def _points(spec: Spec, algorithm: str | None) -> list[dict[str, Any]]:
    from policygen.resolve.coverage import capabilities_of

    sets: list[RuleSet] = [r for rules in spec.references.values() for r in rules.values()]
    sets += [table.rules for table in spec.engine.values() if table.rules is not None]
    sets += [r for target in spec.targets.values() for r in target.rules.values()]
    return [
        {
            "point": f"{rule_set.origin}/{rule_set.algorithm}/{point.id}",
            "status": point.status.value,
            "capabilities": [_version(cc) for cc in capabilities],
            "location": str(point.location),
            "benchmark": point.benchmark,
        }
        for rule_set in sets
        if algorithm in (None, rule_set.algorithm)
        for _, point, capabilities in capabilities_of(spec, rule_set)
    ]


def _folds(session: Session, archs: str, algorithm: str | None) -> list[dict[str, Any]]:
    from policygen.fold.figures import kernels_needed
    from policygen.loading.quantities import QuantityError
    from policygen.loading.quantities import parse_compute_capability

    listed: list[int] = []
    problems: list[str] = []
    for text in archs.split(","):
        try:
            listed.append(parse_compute_capability(text.strip()))
        except QuantityError as error:
            problems.append(f"--archs: {error}")
    if problems:
        refuse(problems)
    names = [algorithm] if algorithm is not None else list(session.project.spec.algorithms)
    counted = {"keys": "keys", "unfolded": "unfolded", "contiguous": "C++17", "by_value": "C++20"}
    return [
        {"algorithm": figures.algorithm}
        | {
            name: getattr(figures, name) if session.as_json else f"{getattr(figures, name):>6,} {label}"
            for name, label in counted.items()
        }
        for figures in kernels_needed(session.project, listed, names)
    ]


def _version(cc: int) -> str:
    return f"{cc // 10}.{cc % 10}"


def _shown(value: Any) -> str:
    """A value in a column; capabilities that follow each other by the first and the last of them."""
    if not isinstance(value, list):
        return str(value)
    known = [_version(cc) for cc in KNOWN_CAPABILITIES]
    runs: list[list[str]] = []
    for version in value:
        if runs and known.index(version) == known.index(runs[-1][-1]) + 1:
            runs[-1].append(version)
        else:
            runs.append([version])
    return ",".join(run[0] if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in runs)


command = list_things
