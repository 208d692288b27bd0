"""`policygen build`: specs to generated files."""

from __future__ import annotations

from typing import Any

import click

from policygen.cli.session import BAD_INPUT
from policygen.cli.session import FAILED
from policygen.cli.session import Session
from policygen.cli.session import command as make_command
from policygen.cli.session import refuse


@make_command
@click.option("--target", "targets", multiple=True, metavar="NAME", help="A target to build; give it once a target.")
@click.option("--all", "all_targets", is_flag=True, help="Build every target that policygen.toml lists.")
@click.option("--strict", is_flag=True, help="Exit with status 1 if there is a warning.")
def build(session: Session, targets: tuple[str, ...], all_targets: bool, strict: bool) -> None:
    """Write headers and Python tables for targets.

    Prints for each algorithm how many common keys there are and how many distinct policies they have, then what was
    written. Files that are not generated are never touched.
    """
    if bool(targets) == all_targets:
        refuse(["say what to build: --target NAME, or --all for the targets of policygen.toml"])
    from policygen.emit.build_state import BuildState
    from policygen.emit.build_state import compiler_files
    from policygen.emit.build_state import digest_of
    from policygen.load.package_data import data_dir
    from policygen.load.project_root import find_project

    root = find_project(session.project_dir)
    names = root.settings.targets if all_targets else targets
    templates = sorted(p for p in data_dir("templates").rglob("*") if p.is_file())
    folders = {data_dir("specs"), root.specs}
    specs = sorted(p for folder in folders if folder.is_dir() for p in folder.rglob("*.toml"))
    inputs = digest_of([*specs, *templates, *compiler_files()], repr(root.settings), *names)
    state = BuildState(root.folder, names)
    report = state.unchanged(inputs, root.output)
    if report is not None:
        report = {**report, "unchanged": report["written"] + report["unchanged"], "written": 0, "removed": 0}
        _print(session, report)
    else:
        report = _made(session, names, state, inputs)
    if strict and _warnings(report):
        raise SystemExit(FAILED)


def _made(session: Session, names: tuple[str, ...], state: Any, inputs: str) -> dict[str, Any]:
    from policygen.build import build as make
    from policygen.cli.progress import progress
    from policygen.emit.writer import OutputError
    from policygen.emit.writer import apply
    from policygen.emit.writer import plan
    from policygen.emit.writer import recover

    output = session.project.root.output
    try:
        recovered = recover(output)
        if recovered.paths:
            session.say(f"an interrupted build was {recovered.outcome.value.replace('_', ' ')}")
        with progress(session, "building", len(names)) as advance:
            made = make(session.project, names, advance)
        written = apply(plan(output, made.artifacts, made.owners))
    except ValueError as error:
        refuse([str(error)])
    except OutputError as error:
        click.echo(str(error), err=True)
        raise SystemExit(BAD_INPUT) from None
    report = {
        "targets": [r.as_dict() for r in made.reports],
        "written": len(written.written),
        "unchanged": len(written.unchanged),
        "removed": len(written.removed),
        "files": sorted(str(path) for path in written.written),
    }
    for path in written.edited:
        session.say(f"warning: {path} had been edited by hand; it was written anew")
    _print(session, report)
    outputs = {str(artifact.path): artifact.digest for artifact in made.artifacts}
    state.keep(inputs, output, outputs, {**report, "files": []})
    return report


def _print(session: Session, report: dict[str, Any]) -> None:
    if session.as_json:
        session.answer(report)
    for target in report["targets"]:
        for line in target["warnings"]:
            session.say(f"warning: {target['target']}: {line}")
        for algorithm in target["algorithms"]:
            if not session.as_json:
                click.echo(
                    f"{target['target']}  {algorithm['algorithm']:<12} {algorithm['keys']:>4} keys, "
                    f"{algorithm['distinct']:>3} distinct policies"
                )
            for line in algorithm["warnings"]:
                session.say(f"warning: {target['target']}: {algorithm['algorithm']}: {line}")
    if not session.as_json:
        if session.verbose:
            for path in report.get("files", []):
                click.echo(f"wrote {path}")
        removed = f", {report['removed']} removed" if report["removed"] else ""
        click.echo(f"{report['written']} files written, {report['unchanged']} unchanged{removed}")


def _warnings(report: dict[str, Any]) -> bool:
    return any(t["warnings"] or any(a["warnings"] for a in t["algorithms"]) for t in report["targets"])


command = build
