"""`policygen plan`: the launch of an algorithm for a problem size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from typing import Any

import click

from policygen.cli.key_options import KEY
from policygen.cli.key_options import resolve_one
from policygen.cli.key_options import resolver_for
from policygen.cli.session import ASSUME
from policygen.cli.session import TARGET
from policygen.cli.session import Session
from policygen.cli.session import assumptions
from policygen.cli.session import command as make_command
from policygen.cli.session import refuse
from policygen.cli.tables import columns
from policygen.cli.tables import markdown_table

if TYPE_CHECKING:
    from attrs import AttrsInstance

    from policygen.plan.device import Device
    from policygen.plan.planners import Argument
    from policygen.plan.planners import Planner
    from policygen.resolve.resolver import Resolution

_COUNT = re.compile(r"[0-9_]{1,25}|2\^[0-9]{1,2}")
_TRUTH = {"true": True, "false": False}


@click.argument("name", metavar="PLAN")
@TARGET
@click.option("--num-items", metavar="N", help="The problem size of an algorithm, as 1000000, 1_000_000 or 2^20.")
@KEY
@click.option(
    "--with",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="An argument of the plan beside the key, such as k=64 of topk; give the option once for each.",
)
@click.option(
    "--occupancy",
    type=click.IntRange(min=1),
    metavar="N",
    help="Resident blocks of the kernel a multiprocessor; by default the target's blocks_per_sm, if it has one.",
)
@ASSUME
def plan(
    session: Session,
    name: str,
    target: str,
    num_items: str | None,
    key_parts: tuple[str, ...],
    given: tuple[str, ...],
    occupancy: int | None,
    assumed: tuple[str, ...],
) -> None:
    """Give the launch of an algorithm for a problem size, or what a table of the engine says.

    PLAN is batch_memcpy, even_share, partitions, radix_sort, reduce, scan, segmented_reduce, topk or transform. The
    policy is that for the key; multiprocessors and blocks of a grid are the target's, --set says otherwise. The answer
    is what a dispatcher would launch: tiles, grid, temporary bytes, and in how many waves the grid runs.
    `policygen_tables.<target>.plan` has the same functions for programs.

    PLAN may be a table of the engine, too (`policygen list engine`): its sizes are fields of its key, as in
    `policygen plan attention.decode --target bi100 --key seq_len=100000`.
    """
    if "." in name:
        if num_items is not None or given:
            refuse([f"{name} takes its sizes with --key; `policygen list engine` has its fields"])
        occupied = () if occupancy is None else (f"occupancy={occupancy}",)
        _show(session, *_table(session, name, target, (*key_parts, *occupied), assumed))
        return
    planner = _planner(name)
    if num_items is None:
        refuse([f"{name} needs --num-items N: the problem size"])
    size = _size(num_items)
    facts = assumptions(assumed)
    resolution: Resolution | None = None
    if planner.algorithm is not None:
        resolver = resolver_for(session, target, planner.algorithm, assumed)
        resolution = resolve_one(resolver, (*key_parts, f"num_items={size}"))
    elif key_parts:
        refuse([f"--key {part}: {name} has no key" for part in key_parts])
    device = _device(session, target, facts, occupancy)
    arguments = _arguments(name, planner.arguments, given)
    try:
        answer = planner.launch(
            *(() if resolution is None else (resolution.policy, resolution.key)),
            num_items=size,
            device=device,
            **arguments,
        )
    except ValueError as error:
        refuse([str(error)])
    rows = [*_origin(resolution), *_rows(device, "device."), *_rows(answer)]
    _show(session, _as_dict(name, resolution, device, answer), rows)


def _table(
    session: Session, name: str, target: str, key_parts: tuple[str, ...], assumed: tuple[str, ...]
) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    """What a table of the engine says, as data and as rows."""
    from policygen.resolve.backends import effect_of

    resolver = resolver_for(session, target, name, assumed)
    resolution = resolve_one(resolver, key_parts)
    policy = resolution.policy.as_dict()
    effect = effect_of(resolver.rules.algorithm, resolver.rules.instance).reason
    found = {"name": name, "plan": policy, "point": resolution.point, "not_in_effect": effect}
    rows = [
        *_origin(resolution),
        *(
            (field.name, _shown(policy[field.name]), f"{field.unit}: {field.doc}" if field.unit else field.doc)
            for field in resolver.rules.algorithm.policy.fields
        ),
        *((("not in effect", "", effect),) if effect else ()),
    ]
    return found, rows


def _show(session: Session, answer: dict[str, Any], rows: list[tuple[str, str, str]]) -> None:
    if session.as_json:
        session.answer(answer)
        return
    lines = markdown_table(("field", "value", "meaning"), rows, (False, True, False)) if session.as_markdown else None
    for line in columns(rows, (False, True, False)) if lines is None else lines:
        click.echo(line)


def _planner(name: str) -> Planner:
    from policygen.model.problems import did_you_mean
    from policygen.plan.planners import PLANNERS

    if name not in PLANNERS:
        refuse([f'no plan is called "{name}"{did_you_mean(name, tuple(PLANNERS))}'])
    return PLANNERS[name]


def _size(text: str) -> int:
    if _COUNT.fullmatch(text) is None or not text.strip("_"):
        refuse([f"--num-items {text}: expected a number, such as 1000000, 1_000_000 or 2^20"])
    base, caret, exponent = text.replace("_", "").partition("^")
    return int(base) ** int(exponent) if caret else int(base)


def _device(session: Session, target: str, facts: dict[str, str], occupancy: int | None) -> Device:
    from policygen.plan.target_device import device_from_facts

    try:
        instance = session.project.target(target, facts)
        values = {name: fact.value for name, fact in instance.facts.items()}
        return device_from_facts(values, capability=instance.capability, occupancy=occupancy)
    except ValueError as error:
        hint = "; say it with --occupancy or --set" if "which a plan needs" in str(error) else ""
        refuse([f"{error}{hint}"])


def _arguments(name: str, known: tuple[Argument, ...], given: tuple[str, ...]) -> dict[str, object]:
    """The values of `--with` options. Ends with status 2 for those that cannot be read, and for missing ones."""
    from policygen.model.problems import did_you_mean

    by_name = {argument.name: argument for argument in known}
    found: dict[str, object] = {}
    problems: list[str] = []
    for part in given:
        argument, equals, text = (piece.strip() for piece in part.partition("="))
        if not equals:
            problems.append(f"--with {part}: expected NAME=VALUE")
        elif argument not in by_name:
            near = did_you_mean(argument, tuple(by_name))
            has = f"; it has {', '.join(by_name)}" if by_name else ""
            problems.append(f"--with {part}: {name} has no argument {argument}{near or has}")
        elif argument in found:
            problems.append(f"--with {part}: {argument} is given twice")
        else:
            try:
                found[argument] = _value(by_name[argument].annotation, text)
            except ValueError as error:
                problems.append(f"--with {part}: {error}")
                found[argument] = None
    problems += [
        f"{name} needs --with {argument.name}=..: {argument.doc}"
        for argument in known
        if argument.is_required and argument.name not in found
    ]
    if problems:
        refuse(problems)
    return found


def _value(annotation: str, text: str) -> object:
    if annotation == "bool":
        if text.lower() not in _TRUTH:
            raise ValueError("expected true or false")
        return _TRUTH[text.lower()]
    if annotation == "Sequence[int]":
        return [_number(part) for part in text.split(",")]
    return _number(text)


def _number(text: str) -> int:
    if _COUNT.fullmatch(text.strip()) is None or not text.strip(" _"):
        raise ValueError("expected a number, such as 1000000, 1_000_000 or 2^20")
    return _size(text.strip())


def _as_dict(name: str, resolution: Resolution | None, device: Device, answer: AttrsInstance) -> dict[str, Any]:
    from attrs import asdict

    found: dict[str, Any] = {"name": name, "plan": asdict(answer), "device": asdict(device)}
    if resolution is not None:
        found |= {"policy": resolution.policy.as_dict(), "point": resolution.point}
    return found


def _origin(resolution: Resolution | None) -> Iterator[tuple[str, str, str]]:
    if resolution is not None:
        yield "point", f"{resolution.origin}/{resolution.point}", "the point that the policy comes from"


def _rows(record: AttrsInstance, at: str = "") -> Iterator[tuple[str, str, str]]:
    """The fields of a record that have a value, each with what it is."""
    from attrs import fields
    from attrs import has

    from policygen.plan.docstrings import described

    docs = described(type(record), "Attributes")
    for field in fields(type(record)):
        value = getattr(record, field.name)
        if has(type(value)):
            yield from _rows(value, f"{at}{field.name}.")
        elif value is not None:
            yield f"{at}{field.name}", _shown(value), _first_clause(docs[field.name])


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _first_clause(doc: str) -> str:
    return re.split(r"[.;:](?: |$)", doc, maxsplit=1)[0]


command = make_command(plan, ("text", "json", "markdown"))
