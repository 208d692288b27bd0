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
    """Show what is known of a target and of its policies, table by table, decode's algorithms first.

    Evidence in conflict, policies against the reference with the reason, scaling and tiles, lookback delays, benchmark
    strings, limits, what kernels take and how many blocks are resident, knobs without effect, points never reached,
    the claims of the source notes recomputed, and what is still open. `--format html` is one page for a browser.
    """
    from policygen.review.audit import audit as sections_of
    from policygen.review.subject import subject

    facts = assumptions(assumed)
    names = _known(session, target, algorithms, facts)
    reviewed = subject(session.project, target, names, facts)
    sections = sections_of(reviewed)
    if session.as_json:
        shown = {section.id: section.as_dict() for section in sections}
        session.answer({"target": reviewed.instance.name, "sections": shown})
        return
    if session.output_format == "html":
        from policygen.review.audit_page import audit_page

        click.echo(audit_page(reviewed, sections), nl=False)
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


command = make_command(audit, ("text", "json", "markdown", "html"))
