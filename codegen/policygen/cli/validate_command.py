"""`policygen validate`: the policies of a target executed by reference kernels."""

from __future__ import annotations

import click

from policygen.cli.session import FAILED
from policygen.cli.session import NOT_RUN
from policygen.cli.session import TARGET
from policygen.cli.session import Session
from policygen.cli.session import command as make_command
from policygen.cli.session import refuse
from policygen.cli.session import stop


@TARGET
@click.option(
    "--algorithm",
    "algorithms",
    multiple=True,
    metavar="NAME",
    help="Validate this algorithm or kernel of the engine; give the option once for each. All by default.",
)
@click.option(
    "--key",
    "key_parts",
    multiple=True,
    metavar="NAME=VALUE",
    help="Validate the policy for this key alone; give the option once for each field. Lists and records are JSON.",
)
@click.option("--warp-size", type=click.IntRange(min=1), metavar="N", help="Lanes of a warp; by default the target's.")
@click.option("--problem", default="", metavar="ID", help="Run this problem of each policy alone.")
@click.option("--device", default="cpu", show_default=True, metavar="NAME", help="Where to run, as torch names it.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the inputs.")
@click.option("--quick", is_flag=True, help="Fewer problems a policy, and one of the plausible warp sizes for each.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes that work; two by default.",
)
def validate(
    session: Session,
    target: str,
    algorithms: tuple[str, ...],
    key_parts: tuple[str, ...],
    warp_size: int | None,
    problem: str,
    device: str,
    seed: int,
    quick: bool,
    jobs: int | None,
) -> None:
    """Execute a target's policies with reference kernels.

    Runs each distinct policy of the common keys, with each class of keys that it is for, tile by tile as CUB's kernel
    would, on sizes around the edges of its tiles and on inputs that are hard on it. Results are held against exact
    ones, or against bounds that follow from the number of additions, and the tiles have to cover their input once.

    Exit status 1 if a policy fails: with the first difference and the command that reproduces it alone. 3 if there is
    no torch, or it has no such device.
    """
    from policygen.cli.progress import progress
    from policygen.emit.build_state import validation_folder
    from policygen.resolve.candidate import NoPolicy
    from policygen.resolve.instance import UnknownTarget
    from policygen.resolve.key import InvalidKey
    from policygen.workers import WorkerLost

    _check_torch(device)
    from policygen.validate import report
    from policygen.validate.cases import plan
    from policygen.validate.validation import keep_records
    from policygen.validate.validation import validate as make

    names = _names(session, algorithms)
    try:
        session.project.target(target)
        given = _key(session, algorithms, key_parts)
        made = plan(session.project, target, names, quick=quick, device=device, given=given, warp_size=warp_size)
    except UnknownTarget as error:
        refuse([str(error)])
    except InvalidKey as error:
        refuse(error.reasons)
    except NoPolicy as error:
        stop([str(error)], FAILED)
    with progress(session, "validating", len(made.cases)) as advance:
        try:
            found = make(made, quick=quick, seed=seed, only=problem, jobs=jobs, progress=advance)
        except WorkerLost as error:
            stop([str(error)], NOT_RUN)
    keep_records(found, validation_folder(session.project.root.folder), quick=quick, seed=seed, only=problem)
    match session.output_format:
        case "json":
            session.answer(report.as_dict(found))
        case "junit":
            click.echo(report.as_junit(found), nl=False)
        case _:
            for line in report.as_text(found):
                click.echo(line)
    for name in made.without_kernel:
        session.say(f"warning: {name} has no reference kernel")
    raise SystemExit(FAILED if found.failed else 0)


def _check_torch(device: str) -> None:
    """Ends with status 3 where torch is missing or does not have the device, with 2 where that is none."""
    import os

    # asks the driver without starting CUDA in this process: workers are forked from it
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    try:
        import torch
    except ImportError:
        stop(["reference kernels need torch: pip install 'policygen[torch]'"], NOT_RUN)
    try:
        kind = torch.device(device).type
    except RuntimeError:
        refuse([f"--device {device}: expected cpu or cuda"])
    if kind == "cuda" and not torch.cuda.is_available():
        stop([f"--device {device}: torch finds no such device here"], NOT_RUN)


def _names(session: Session, asked: tuple[str, ...]) -> list[str]:
    """What to validate, in its order. Ends with status 2 for a name that is none, with 3 for one without a kernel."""
    from policygen.model.problems import did_you_mean
    from policygen.reference.catalogue import has_kernel
    from policygen.validate.cases import kernel_names

    known = kernel_names(session.project)
    wrong = [f'unknown algorithm "{name}"{did_you_mean(name, known)}' for name in asked if name not in known]
    if wrong:
        refuse(wrong)
    missing = [f"{name} has no reference kernel" for name in asked if not has_kernel(name)]
    if missing:
        stop(missing, NOT_RUN)
    return [name for name in known if name in asked or not asked]


def _key(session: Session, algorithms: tuple[str, ...], parts: tuple[str, ...]) -> dict[str, object] | None:
    from policygen.cli.key_options import read_key
    from policygen.reference.catalogue import kernel_of

    if not parts:
        return None
    if len(algorithms) != 1:
        refuse(["--key needs one --algorithm, whose key it is"])
    name = kernel_of(algorithms[0]).policy_of or algorithms[0]
    return read_key(session.project.algorithm(name), parts)


command = make_command(validate, formats=("text", "json", "junit"))
