"""`policygen audit`: what is known of a target and of the kernels on it, table by table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from policygen.cli.session import ASSUME
from policygen.cli.session import TARGET
from policygen.cli.session import Session
from policygen.cli.session import assumptions
from policygen.cli.session import command as make_command
from policygen.cli.session import refuse
from policygen.cli.tables import columns
from policygen.cli.tables import markdown_table

if TYPE_CHECKING:
    from policygen.review.section import Section


@TARGET
@click.option(
    "--algorithm",
    "algorithms",
    multiple=True,
    metavar="NAME",
    help="Audit this algorithm, or table of the engine; give the option once for each. All by default.",
)
@ASSUME
def audit(session: Session, target: str, algorithms: tuple[str, ...], assumed: tuple[str, ...]) -> None:
    """Show what a target has, what the kernels of its common policies take of it, and how many run at once.

    The limits, each with its reserve and its evidence, are those that constraints are held against. For each kernel
    of each distinct policy of the common keys: threads, registers and shared memory of a block, resident blocks a
    multiprocessor, what limits them, and how much more the kernel may use before a block is lost.
    """
    from policygen.review.audit import audit as sections_of
    from policygen.review.subject import subject

    facts = assumptions(assumed)
    names = _known(session, target, algorithms, facts)
    sections = sections_of(subject(session.project, target, names, facts))
    if session.as_json:
        name = session.project.target(target, facts).name
        session.answer({"target": name, "sections": {section.id: section.as_dict() for section in sections}})
        return
    for number, section in enumerate(sections):
        if number:
            click.echo()
        for line in _markdown(section) if session.as_markdown else _text(section):
            click.echo(line)


def _known(session: Session, target: str, asked: tuple[str, ...], facts: dict[str, str]) -> list[str]:
    """The algorithms and tables to audit. Ends with status 2 for names that are none."""
    from policygen.project import UnknownAlgorithm

    project = session.project
    problems: list[str] = []
    try:
        project.target(target, facts)
    except ValueError as error:
        problems.append(str(error))
    for name in asked:
        try:
            project.algorithm(name)
        except UnknownAlgorithm as error:
            problems.append(str(error))
    if problems:
        refuse(problems)
    return [name for name in (*project.spec.algorithms, *project.spec.engine) if name in asked or not asked]


def _text(section: Section) -> Iterator[str]:
    yield section.title
    if section.rows:
        heads = [column.name for column in section.columns]
        right = [column.right for column in section.columns]
        yield from columns([heads, *(row.cells for row in section.rows)], right)
    yield from (f"note: {note}" for note in section.notes)


def _markdown(section: Section) -> Iterator[str]:
    yield f"### {section.title}"
    if section.rows:
        heads = [column.name for column in section.columns]
        right = [column.right for column in section.columns]
        yield ""
        yield from markdown_table(heads, [row.cells for row in section.rows], right)
    if section.notes:
        yield ""
        yield from (f"- {note}" for note in section.notes)


command = make_command(audit, ("text", "json", "markdown"))
