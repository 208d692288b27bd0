"""`policygen report`: a target to look at, as one HTML file."""

from __future__ import annotations

import json
from pathlib import Path

import click

from policygen.cli.session import ASSUME
from policygen.cli.session import NOT_RUN
from policygen.cli.session import TARGET
from policygen.cli.session import Session
from policygen.cli.session import assumptions
from policygen.cli.session import command as make_command
from policygen.cli.session import refuse
from policygen.cli.session import stop


@TARGET
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the answer to this file; to standard output by default.",
)
@ASSUME
def report(session: Session, target: str, output: Path | None, assumed: tuple[str, ...]) -> None:
    """Write one HTML file that shows a target: charts for each algorithm, the tables behind them, and all policies.

    Shared memory and registers stand against the limits, tiles against the reference, waves against the problem size;
    kinds of evidence are told apart. The file loads nothing, filters by algorithm and type, and is the same for the
    same specs to the byte. Needs pygal: pip install 'policygen[report]'. With --format json the answer is all policies,
    as the page has them in its data.
    """
    from policygen.review.report import embedded
    from policygen.review.report import reference_target
    from policygen.review.report import report as report_of
    from policygen.review.report_charts import NoChartLibrary
    from policygen.review.report_charts import chart_library
    from policygen.review.report_page import html
    from policygen.review.subject import subject

    project, facts = session.project, assumptions(assumed)
    try:
        if not session.as_json:
            chart_library()
    except NoChartLibrary as error:
        stop([str(error)], NOT_RUN)
    try:
        name = project.target(target, facts).name
    except ValueError as error:
        refuse([str(error)])
    shown = subject(project, target, (*project.built_algorithms, *project.engine_tables(name)), facts)
    architecture = reference_target(shown)
    reference = None if architecture is None else subject(project, architecture, project.built_algorithms)
    found = report_of(shown, reference)
    page = json.dumps(embedded(found), indent=2) + "\n" if session.as_json else html(found)
    if output is None:
        click.echo(page, nl=False)
        return
    try:
        output.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        refuse([f"{output}: cannot be written: {error.strerror}"])
    session.say(f"{output}: {len(page.encode()):,} bytes")


command = make_command(report, ("html", "json"))
