"""`policygen prove`: what the compiler says the policies cost, and CUB running with them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import click

from policygen.cli.device_run import RunOptions
from policygen.cli.device_run import run as run_on_gpu
from policygen.cli.session import FAILED
from policygen.cli.session import NOT_RUN
from policygen.cli.session import TARGET
from policygen.cli.session import Session
from policygen.cli.session import command as make_command
from policygen.cli.session import refuse
from policygen.cli.session import stop

if TYPE_CHECKING:
    from policygen.prove.compiled import Compiler
    from policygen.prove.proof import Plan
    from policygen.prove.proof import Proof
    from policygen.prove.verdicts import Verdict


@TARGET
@click.option(
    "--algorithm",
    "algorithms",
    multiple=True,
    metavar="NAME",
    help="Compile the kernels of this algorithm; give the option once for each. All by default.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Compile the kernels of N policies only, the same ones each time; no evidence is written.",
)
@click.option("--accept-spills", is_flag=True, help="Record kernels that spill instead of failing for them.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes that compile; by default as many as there are processors.",
)
@click.option("--run", "run_there", is_flag=True, help="Run CUB with the policies on the GPU of this machine instead.")
@click.option(
    "--sizes",
    type=click.Choice(["quick", "full"]),
    default="full",
    show_default=True,
    help="With --run: quick leaves out the sizes above a million.",
)
@click.option(
    "--cccl",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="With --run: a CUDA toolkit, CCCL's headers or a checkout of CCCL.",
)
@click.option(
    "--prepare",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="With --run: only write the programs into DIR, with scripts for the machine that has the GPU.",
)
@click.option(
    "--build-only",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="With --run: write the programs into DIR and compile them there.",
)
@click.option(
    "--lines",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="With --run: run nothing, and report on what the programs printed elsewhere.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="With --run: write the report there, as TARGET.md and TARGET.json.",
)
def prove(
    session: Session,
    target: str,
    algorithms: tuple[str, ...],
    sample: int | None,
    accept_spills: bool,
    jobs: int | None,
    run_there: bool,
    sizes: str,
    cccl: Path | None,
    prepare: Path | None,
    build_only: Path | None,
    lines: tuple[Path, ...],
    report: Path | None,
) -> None:
    """Compile CUB's kernels with a target's policies.

    Instantiates CUB's own kernels for each distinct policy of the common keys, with types that represent them, and
    compiles them for the target's architecture. Registers, shared memory, stack and spills are held against the
    models of the specs and kept as evidence under specs/evidence/, where all policies of an algorithm were compiled.

    Exit status 1 if a kernel does not fit, spills and the evidence does not say so, or contradicts its model: with the
    policy, the need, the limit and the nearest policy that fits. 3 if there is no nvcc or no CCCL.

    With --run, CUB's algorithms run on a GPU with the generated selectors, on sizes from nothing to 2^28 items; results
    are checked against references of their own, and the block of each kernel against the policy. Exit status 1 if
    something was wrong, 3 if there is no GPU.
    """
    options = RunOptions(sizes == "quick", jobs, cccl, prepare, build_only, lines, report)
    if run_there:
        if sample is not None or accept_spills:
            refuse(["--sample and --accept-spills are of the compiler's figures: leave them out with --run"])
        run_on_gpu(session, target, algorithms, options)
        return
    if options.given:
        refuse([f"{', '.join(options.given)}: expected --run with it"])
    from policygen.parity.toolchain import ToolchainMissing
    from policygen.parity.toolchain import find_toolchain
    from policygen.prove.compiled import Compiler
    from policygen.prove.proof import NotProvable
    from policygen.prove.proof import plan
    from policygen.resolve.instance import UnknownTarget

    names = _names(session, algorithms)
    try:
        made = plan(session.project, target, names)
        toolchain = find_toolchain()
    except UnknownTarget as error:
        refuse([str(error)])
    except NotProvable as error:
        stop([str(error)], NOT_RUN)
    except ToolchainMissing as error:
        stop([str(error)], NOT_RUN)
    session.detail(f"CCCL {toolchain.cccl_version} in {toolchain.include}, nvcc {toolchain.nvcc_version}")
    if made.proxy:
        session.say(f"note: {made.proxy}")
    compiler = Compiler(toolchain, made.architecture, session.project.root.folder / ".policygen" / "prove")
    proof = _proved(session, made, compiler, sample, accept_spills, jobs)
    written = [] if sample is not None else _written(session, proof, compiler)
    answer = _answer(proof, compiler, written)
    if session.as_json:
        session.answer(answer)
    else:
        for line in _markdown(answer) if session.as_markdown else _text(answer):
            click.echo(line)
    for fault in answer["faults"]:
        click.echo(f"error: {fault}", err=True)
    raise SystemExit(FAILED if answer["faults"] else 0)


def _names(session: Session, asked: tuple[str, ...]) -> list[str]:
    """The algorithms to compile. Ends with status 2 if one is none, or its spec names no kernels."""
    from policygen.project import UnknownAlgorithm

    problems: list[str] = []
    for name in asked:
        try:
            if not session.project.algorithm(name).kernels:
                problems.append(f"{name} names no kernels in its spec")
        except UnknownAlgorithm as error:
            problems.append(str(error))
    if problems:
        refuse(problems)
    found = session.project.spec.algorithms
    return [name for name in session.project.built_algorithms if found[name].kernels and (name in asked or not asked)]


def _proved(
    session: Session, made: Plan, compiler: Compiler, sample: int | None, accept_spills: bool, jobs: int | None
) -> Proof:
    from policygen.cli.progress import progress
    from policygen.prove.compiled import instances_of
    from policygen.prove.compiled import pieces_of_work
    from policygen.prove.proof import prove as make
    from policygen.prove.proof import sample as sampled
    from policygen.workers import WorkerLost

    policies = made.policies if sample is None else sampled(made.policies, sample)
    known = {name: found for name in made.cases if (found := session.project.evidence(made.target, name)) is not None}
    with progress(session, "compiling", pieces_of_work(tuple(instances_of(policies)), compiler)) as advance:
        try:
            return make(made, policies, compiler, known, accept_spills=accept_spills, jobs=jobs, progress=advance)
        except WorkerLost as error:
            stop([str(error)], NOT_RUN)


def _written(session: Session, proof: Proof, compiler: Compiler) -> list[str]:
    """Writes the evidence that has changed, and says which files those are."""
    from policygen.prove.evidence import evidence_path
    from policygen.prove.evidence import evidence_text
    from policygen.prove.proof import evidence_of

    specs = session.project.root.specs
    written: list[str] = []
    for name in proof.plan.cases:
        known = session.project.evidence(proof.plan.target, name)
        found = evidence_of(proof, name, compiler, known, datetime.datetime.now(tz=datetime.UTC).date())
        path = evidence_path(specs, proof.plan.target, name)
        text = evidence_text(found)
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        staged = path.with_suffix(".toml.new")
        staged.write_text(text, encoding="utf-8")
        staged.replace(path)
        written.append(path.relative_to(session.project.root.folder).as_posix())
    return written


def _answer(proof: Proof, compiler: Compiler, written: list[str]) -> dict[str, Any]:
    from attrs import asdict

    from policygen.prove.verdicts import by_algorithm
    from policygen.prove.verdicts import tally

    plan = proof.plan
    return {
        "target": plan.target,
        "architecture": plan.architecture,
        "proxy": plan.proxy,
        "nvcc": compiler.toolchain.nvcc_version,
        "cccl": compiler.toolchain.cccl_version,
        "algorithms": {name: asdict(tally(own)) for name, own in by_algorithm(proof.verdicts).items()},
        "all": asdict(tally(proof.verdicts)),
        "from_cache": proof.from_cache,
        "left_out_by_sample": proof.sampled,
        "unproved": [f"{one.algorithm}: {_key(one.given)}: {one.reason}" for one in plan.unproved],
        "spilling": [_spill(verdict) for verdict in proof.verdicts if verdict.known_spills],
        "faults": [line for n, verdict in enumerate(proof.verdicts) for line in _faults(verdict, proof.fits.get(n))],
        "evidence_written": written,
    }


def _faults(verdict: Verdict, fit: str | None) -> Iterator[str]:
    for _, said in verdict.faults:
        hint = f"; nearest that fits: {fit}" if fit is not None and not verdict.fits else ""
        yield f"{verdict.instance.policy}: {verdict.instance.kernel.kernel.name} {said}{hint}"


def _spill(verdict: Verdict) -> str:
    from policygen.prove.compiler_report import Resources

    assert isinstance(verdict.outcome, Resources)
    kernel = verdict.instance.kernel.kernel.name
    return f"{verdict.instance.policy}: {kernel} spills {verdict.outcome.spill_stores} bytes a thread"


def _key(given: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in given.items())


_HEADINGS = ("algorithm", "policies", "kernels", "shared memory", "register bound", "spill", "faults")


def _rows(answer: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, found in (*answer["algorithms"].items(), ("all", answer["all"])):
        known = found["kernels"] - found["shared_unknown"]
        bounded = found["kernels"] - found["bounds_unknown"]
        shared = f"{found['shared_equal']} of {known} equal" if known else "no model"
        bound = f"{found['bounds_close']} of {bounded} close" if bounded else "unknown"
        yield (
            name,
            str(found["policies"]),
            str(found["kernels"]),
            shared + (f", {found['shared_unknown']} unknown" if known and found["shared_unknown"] else ""),
            bound + (f", {found['bounds_unknown']} unknown" if bounded and found["bounds_unknown"] else ""),
            str(found["spilling"]),
            str(found["faulty"]),
        )


def _text(answer: dict[str, Any]) -> Iterator[str]:
    rows = [_HEADINGS, *_rows(answer)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    yield from _remarks(answer)


def _markdown(answer: dict[str, Any]) -> Iterator[str]:
    yield f"| {' | '.join(_HEADINGS)} |"
    yield f"|{'---|' * len(_HEADINGS)}"
    for row in _rows(answer):
        yield f"| {' | '.join(row)} |"
    yield ""
    for remark in _remarks(answer):
        yield f"- {remark}"


def _remarks(answer: dict[str, Any]) -> Iterator[str]:
    yield (
        f"compiled for {answer['architecture']} with nvcc {answer['nvcc']} and CCCL {answer['cccl']}; "
        f"{answer['from_cache']} of {answer['all']['kernels']} kernels were compiled before"
    )
    if answer["proxy"]:
        yield answer["proxy"]
    if answer["left_out_by_sample"]:
        yield f"a sample: {answer['left_out_by_sample']} policies are left out"
    for line in answer["spilling"]:
        yield f"known: {line}"
    for line in answer["unproved"]:
        yield f"not proved: {line}"
    for path in answer["evidence_written"]:
        yield f"written: {path}"


command = make_command(prove, formats=("text", "json", "markdown"))
