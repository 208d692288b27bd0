"""`policygen parity`: the reference points against CCCL's own selectors."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import click

from policygen.cli.session import FAILED
from policygen.cli.session import NOT_RUN
from policygen.cli.session import Session
from policygen.cli.session import command as make_command
from policygen.cli.session import one_line
from policygen.cli.session import refuse
from policygen.cli.session import stop
from policygen.cli.tables import markdown_cell

if TYPE_CHECKING:
    from policygen.parity.compare import PointMismatches
    from policygen.parity.run import Compared
    from policygen.parity.survey import Survey
    from policygen.parity.toolchain import Toolchain
    from policygen.spec import Spec
    from policygen.spec import Target

_FAMILY = "sm"


@click.option(
    "--cccl",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A CUDA toolkit, CCCL's headers or a checkout of CCCL; by default what POLICYGEN_CCCL names, the `cuda` "
    "extra, or the toolkit of the nvcc on PATH.",
)
@click.option(
    "--algorithm",
    "algorithms",
    multiple=True,
    metavar="NAME",
    help="Compare this algorithm; give the option once for each. All by default.",
)
@click.option(
    "--keys",
    type=click.IntRange(min=0),
    default=20_000,
    show_default=True,
    metavar="N",
    help="Random keys an algorithm, beside those that cover the declared domains.",
)
@click.option(
    "--seed", type=int, default=1, show_default=True, metavar="S", help="The same seed gives the same random keys."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes that work; by default as many as there are processors.",
)
def parity(
    session: Session, cccl: Path | None, algorithms: tuple[str, ...], keys: int, seed: int, jobs: int | None
) -> None:
    """Compare the reference points with CCCL's own selectors.

    Compiles CCCL's selectors for the host and evaluates them over the declared domains and random keys, on every
    architecture. Each difference names the point to edit, with both values and a key that shows it. Exit status 1 if
    something differs, or cannot be compared since this CCCL has another shape; 3 if there is no nvcc or no CCCL, or if
    it does not compile at all.
    """
    from policygen.parity.oracle import OracleError
    from policygen.parity.survey import survey
    from policygen.parity.toolchain import CompilationError
    from policygen.parity.toolchain import ToolchainMissing
    from policygen.parity.toolchain import find_toolchain

    spec = session.project.spec
    target = spec.targets[_FAMILY]
    names = _names(session, algorithms, spec, target)
    try:
        toolchain = find_toolchain(cccl)
        session.detail(f"CCCL {toolchain.cccl_version} in {toolchain.include}, nvcc {toolchain.nvcc_version}")
        surveyed = survey(spec, names, toolchain, session.project.root.folder / ".policygen" / "parity")
    except (ToolchainMissing, OracleError) as error:
        stop([str(error)], NOT_RUN)
    except CompilationError as error:
        stop(str(error).splitlines(), NOT_RUN)
    results = _compared(session, spec, target, names, surveyed, keys, seed, jobs)
    answer = _answer(spec, toolchain, surveyed, results, keys, seed, whole=not algorithms)
    if session.as_json:
        session.answer(answer)
    else:
        for line in _markdown(answer) if session.as_markdown else _text(answer):
            click.echo(line)
    raise SystemExit(0 if answer["equal"] else FAILED)


def _names(session: Session, asked: tuple[str, ...], spec: Spec, target: Target) -> list[str]:
    """The algorithms to compare. Ends with status 2 if one is none, or has no selector in CUB."""
    from policygen.project import UnknownAlgorithm

    references = spec.references.get(target.reference, {})
    problems: list[str] = []
    for name in asked:
        try:
            found = session.project.algorithm(name)
        except UnknownAlgorithm as error:
            problems.append(str(error))
            continue
        if found.cub is None or name not in references:
            problems.append(f"{name} has no selector in CUB, or no reference points to compare")
    if problems:
        refuse(problems)
    comparable = [name for name, found in spec.algorithms.items() if found.cub is not None and name in references]
    return [name for name in comparable if name in asked or not asked]


def _compared(
    session: Session,
    spec: Spec,
    target: Target,
    names: list[str],
    surveyed: Survey,
    keys: int,
    seed: int,
    jobs: int | None,
) -> list[Compared]:
    """Results in the order of the names. Ends with status 3 if a process is lost."""
    from policygen.cli.progress import progress
    from policygen.parity.run import Compared
    from policygen.parity.run import Task
    from policygen.parity.run import compare_all
    from policygen.workers import WorkerLost

    found = {name: Compared(name, 0, 0, 0, (), reason) for name, reason in surveyed.not_comparable.items()}
    if surveyed.oracle is not None:
        left = [name for name in names if name not in found]
        task = Task(spec, target, surveyed.oracle, keys, seed)
        with progress(session, "comparing", len(left)) as advance:
            try:
                found |= compare_all(task, left, jobs, advance)
            except WorkerLost as error:
                stop([str(error)], NOT_RUN)
    return [found[name] for name in names]


def _answer(
    spec: Spec,
    toolchain: Toolchain,
    surveyed: Survey,
    results: list[Compared],
    keys: int,
    seed: int,
    *,
    whole: bool,
) -> dict[str, Any]:
    from policygen.model.capabilities import KNOWN_CAPABILITIES

    # who asks for some algorithms does not ask about others
    unknown = list(surveyed.unknown_headers) if whole else []
    return {
        "equal": all(result.equal for result in results) and not unknown,
        "cccl": toolchain.cccl_version,
        "nvcc": toolchain.nvcc_version,
        "ptx_isa": None if surveyed.oracle is None else surveyed.oracle.ptx_isa,
        "architectures": [_version(cc) for cc in KNOWN_CAPABILITIES],
        "keys": keys,
        "seed": seed,
        "policies": sum(result.policies for result in results),
        "algorithms": [
            {
                "algorithm": result.algorithm,
                "policies": result.policies,
                "declared_keys": result.declared,
                "random_keys": result.random,
                "not_comparable": result.not_comparable or None,
                "points": [_point(spec, result.algorithm, point) for point in result.points],
            }
            for result in results
        ],
        "unknown_headers": unknown,
    }


def _point(spec: Spec, algorithm: str, point: PointMismatches) -> dict[str, Any]:
    from policygen.parity.spec_shapes import told_key

    return {
        "point": point.point,
        "location": str(point.location),
        "or_edit": list(point.also),
        "policies": point.count,
        "architectures": [_version(cc) for cc in point.capabilities],
        "fields": [
            {
                "field": mismatch.field,
                "ours": mismatch.ours,
                "cccl": mismatch.theirs,
                "answered": mismatch.answered,
                "target": f"sm_{mismatch.cc}",
                "key": told_key(spec.algorithms[algorithm], mismatch.key),
            }
            for mismatch in point.first
        ],
    }


def _text(answer: Mapping[str, Any]) -> Iterator[str]:
    yield _heading(answer)
    width = max(len(row["algorithm"]) for row in answer["algorithms"])
    for row in answer["algorithms"]:
        name = row["algorithm"].ljust(width)
        if row["not_comparable"]:
            yield f"{name}  not comparable: {one_line(row['not_comparable'])}"
            continue
        differ = sum(point["policies"] for point in row["points"])
        keys = f"{row['declared_keys']:,} declared and {row['random_keys']:,} random keys"
        yield f"{name}  {row['policies']:>9,} policies compared ({keys}), {differ:,} differ"
        for point in row["points"]:
            on = _range(answer, point["architectures"])
            yield f"  {point['location']}: {point['point']}: {point['policies']:,} policies differ on {on}"
            for field in point["fields"]:
                yield f"    {field['field']}: {field['ours']} here, {field['cccl']} in CCCL"
            yield f"    for example {_example(point)}"
            yield from (f"    or edit {other}" for other in point["or_edit"])
    for header in answer["unknown_headers"]:
        yield f"no spec describes the selector of {header}"
    different = sum(len(row["points"]) for row in answer["algorithms"])
    lost = sum(row["not_comparable"] is not None for row in answer["algorithms"])
    yield f"{answer['policies']:,} policies compared; {_counted(different, 'point')} to edit; {lost} not comparable"


def _markdown(answer: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {_heading(answer)}"
    yield ""
    yield "| algorithm | policies compared | differ | points to edit |"
    yield "|---|---:|---:|---|"
    for row in answer["algorithms"]:
        if row["not_comparable"]:
            yield f"| {row['algorithm']} | - | - | not comparable: {markdown_cell(row['not_comparable'])} |"
            continue
        differ = sum(point["policies"] for point in row["points"])
        yield f"| {row['algorithm']} | {row['policies']:,} | {differ:,} | {len(row['points']) or ''} |"
    differ = sum(point["policies"] for row in answer["algorithms"] for point in row["points"])
    yield f"| all | {answer['policies']:,} | {differ:,} | |"
    for row in answer["algorithms"]:
        if not row["points"]:
            continue
        yield from ("", f"#### {row['algorithm']}", "")
        yield "| point | here -> CCCL | policies | on | for example |"
        yield "|---|---|---:|---|---|"
        for point in row["points"]:
            fields = [f"{field['field']}: {field['ours']} -> {field['cccl']}" for field in point["fields"]]
            places = " or ".join([f"{point['point']} ({point['location']})", *point["or_edit"]])
            yield (
                f"| {places} | {'<br>'.join(map(markdown_cell, fields))} | {point['policies']:,} "
                f"| {_range(answer, point['architectures'])} | `{markdown_cell(_example(point))}` |"
            )
    if answer["unknown_headers"]:
        yield ""
        yield from (f"- no spec describes the selector of `{header}`" for header in answer["unknown_headers"])


def _heading(answer: Mapping[str, Any]) -> str:
    isa = answer["ptx_isa"]
    read = "" if isa is None else f", PTX ISA {isa // 100}.{isa // 10 % 10} (__cccl_ptx_isa {isa})"
    count = len(answer["architectures"])
    return f"CCCL {answer['cccl']}, nvcc {answer['nvcc']}{read}, {count} architectures, seed {answer['seed']}"


def _example(point: Mapping[str, Any]) -> str:
    """Options of `policygen explain` that show a difference."""
    first = point["fields"][0]
    return " ".join([f"--target {first['target']}", *(f"--key {text}" for text in first["key"])])


def _range(answer: Mapping[str, Any], architectures: Iterable[str]) -> str:
    """Architectures with neighbours joined: "8.0 .. 9.0, 12.0"."""
    known = answer["architectures"]
    runs: list[list[int]] = []
    for position in (known.index(version) for version in architectures):
        if runs and runs[-1][1] == position - 1:
            runs[-1][1] = position
        else:
            runs.append([position, position])
    return ", ".join(known[a] if a == b else f"{known[a]} .. {known[b]}" for a, b in runs)


def _version(cc: int) -> str:
    return f"{cc // 10}.{cc % 10}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


command = make_command(parity, ("text", "json", "markdown"))
