"""The report as one HTML file: charts, the tables behind them, and the policies as data. It loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import Final

from attrs import frozen

from policygen import __version__
from policygen.emit.templates import template
from policygen.model.dimensions import format_value
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.occupancy import Occupancy
from policygen.resolve.occupancy import blocks_text
from policygen.resolve.occupancy import limiting_text
from policygen.resolve.occupancy import registers_text
from policygen.review.evidence_figure import facts_figure
from policygen.review.evidence_figure import kind_of
from policygen.review.figure import Bars
from policygen.review.figure import Figure
from policygen.review.figure import Look
from policygen.review.figure import compact
from policygen.review.figure import percent
from policygen.review.launch_waves import PROBLEM_SIZES
from policygen.review.policy_tiles import Tiles
from policygen.review.report import AlgorithmReport
from policygen.review.report import Entry
from policygen.review.report import Report
from policygen.review.report import embedded
from policygen.review.report_charts import COLOURS
from policygen.review.report_charts import svg
from policygen.review.report_figures import figures
from policygen.review.report_figures import kernel_names
from policygen.review.waves_figure import wave_lines
from policygen.review.weights import PHASES

OTHERS: Final = "Beside the engine's path"
"""The heading of what no phase of the engine waits for."""


@frozen
class TypeChoice:
    """A type that the page can be filtered by.

    Attributes:
        word: what marks and rows are found by.
        size_word: what those are found by that stand for every type of its size.
        label: for people.
    """

    word: str
    size_word: str
    label: str


def html(report: Report) -> str:
    """The whole page. Raises NoChartLibrary if pygal is not installed."""
    script = template("report/filter.js").render()
    data = json.dumps(embedded(report), separators=(",", ":"))
    sizes, names = _type_choices(report)
    return template("report/page.html.j2").render(
        version=__version__,
        report=report,
        # in a script element, nothing may look like its end
        data=data.replace("<", "\\u003c"),
        style=template("report/page.css").render(),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        sizes=sizes,
        types=names,
        facts=_facts(report),
        facts_chart=_chart(facts_figure(report.limits.values()), report.target),
        phases=[_phase(report, heading, found) for heading, found in _by_phase(report)],
        keys=sum(len(found.rows) for found in report.algorithms),
        policies=sum(found.distinct for found in report.algorithms),
    )


def _by_phase(report: Report) -> Iterator[tuple[str, list[AlgorithmReport]]]:
    for phase in PHASES:
        heading = f"{phase.name.capitalize()}: {phase.share:.0%} of the engine's weight"
        yield heading, [found for found in report.algorithms if found.phase is phase]
    yield OTHERS, [found for found in report.algorithms if found.phase is None]


def _phase(report: Report, heading: str, found: Sequence[AlgorithmReport]) -> dict[str, Any]:
    return {"heading": heading, "sections": [_section(report, one) for one in found]}


def _section(report: Report, found: AlgorithmReport) -> dict[str, Any]:
    shown = figures(report, found)
    return {
        "name": found.name,
        "title": found.algorithm.title,
        "found": found,
        "kernels": [(f"c{number % COLOURS}", name) for number, name in enumerate(kernel_names(found))],
        "charts": [_chart(figure, found.name) for figure in shown],
        "overview": _overview(report, found),
        "policy_fields": _policy_fields(found),
        "entries": [_row(report, found, entry) for entry in found.entries],
        "waves": [
            {"name": line.name, "words": " ".join(line.words), "waves": [_number(wave) for wave in line.waves]}
            for line in wave_lines(found)
        ],
        "sizes": [compact(size) for size in PROBLEM_SIZES],
        "facts": [
            (fact.name, "unknown" if fact.value is None else format_value(fact.dimension, fact.value), kind_of(fact))
            for fact in found.facts
        ],
    }


def _chart(figure: Figure, name: str) -> dict[str, Any]:
    return {
        "id": f"{name}--{figure.id}",
        "title": figure.title,
        "summary": figure.summary,
        "svg": svg(figure, f"{figure.title}, {name}: {figure.summary}"),
        "legend": list(_legend(figure)),
    }


def _legend(figure: Figure) -> Iterator[tuple[str, str]]:
    """Class and name of each series; the kernels' are in one legend above the charts, and all rings are one."""
    if isinstance(figure, Bars):
        used = [any(counts[number] for _, counts in figure.bars) for number in range(len(figure.parts))]
        yield from ((f"part k{number}", part) for number, part in enumerate(figure.parts) if used[number])
        return
    if any(series.look is Look.RINGS for series in figure.series):
        yield Look.RINGS.value, "the reference"
    for series in figure.series:
        if series.look is Look.LIMIT or not (figure.shares_legend or series.look is Look.RINGS):
            yield f"{series.look.value} c{series.colour % COLOURS}", series.name


def _overview(report: Report, found: AlgorithmReport) -> dict[str, Any]:
    """What one line of the overview says; hundredths of a limit only where both are known."""
    kernels = [one.kernel for entry in found.entries for one in entry.kernels]
    most_registers = report.limit("max_registers_per_thread")
    return {
        "shared_memory": _most((kernel.shared_memory, _memory_limit(report, kernel)) for kernel in kernels),
        "registers": _most((kernel.registers, most_registers) for kernel in kernels),
        "words": " ".join(_words(found)),
    }


def _most(values: Iterable[tuple[int | None, int | None]]) -> tuple[int, str] | None:
    """The value that takes most of its limit: hundredths of it, 100 at the most, and both as text."""
    known = [(value, limit) for value, limit in values if value is not None and limit]
    if not known:
        return None
    value, limit = max(known, key=lambda pair: pair[0] / pair[1])
    return min(100, round(100 * value / limit)), f"{value:,} of {limit:,}"


def _memory_limit(report: Report, kernel: KernelResources) -> int | None:
    """What a block of a kernel may have: one with dynamic shared memory opts in to more, where that is known."""
    more = report.limit("max_smem_per_block_optin") if kernel.dynamic_smem else None
    return report.limit("max_smem_per_block") if more is None else more


def _words(found: AlgorithmReport) -> tuple[str, ...]:
    if not all(entry.words for entry in found.entries):
        return ()
    return tuple(dict.fromkeys(word for entry in found.entries for word in entry.words))


def _policy_fields(found: AlgorithmReport) -> tuple[str, ...]:
    """The fields that a table of the engine shows: all that are no record."""
    return tuple(field.name for field in found.algorithm.policy.fields) if found.is_engine_table else ()


def _row(report: Report, found: AlgorithmReport, entry: Entry) -> dict[str, Any]:
    policy = entry.resolution.policy
    return {
        "words": " ".join(entry.words),
        "keys": entry.keys,
        "ranges": [str(one) for one in entry.ranges],
        "point": entry.point,
        "values": [_value(policy[name]) for name in _policy_fields(found)],
        "tiles": _tiles(entry.tiles),
        "reference": "no policy" if entry.reference is None else _tiles(entry.reference_tiles) or "of other kernels",
        "other_tiles": entry.tiles != entry.reference_tiles,
        "kernels": [_kernel(report, one) for one in entry.kernels],
    }


def _tiles(tiles: Tiles) -> str:
    return ", ".join(f"{path} {items:,}".strip() for path, items in tiles)


def _value(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _kernel(report: Report, found: Occupancy) -> dict[str, str]:
    kernel = found.kernel
    memory = kernel.shared_memory
    limit = _memory_limit(report, kernel)
    return {
        "name": kernel.kernel,
        "threads": _number(kernel.threads),
        "registers": registers_text(kernel),
        "memory": _number(memory),
        "share": percent(memory, limit) if memory is not None and limit else "unknown",
        "blocks": blocks_text(found),
        "warps": "unknown" if found.warps is None else f"{found.warps} of {found.max_warps}",
        "limited": limiting_text(found),
    }


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _facts(report: Report) -> list[tuple[str, ...]]:
    """The limits: name, value, reserve, evidence, source."""
    return [row.cells for row in report.limits_table.rows]


def _type_choices(report: Report) -> tuple[list[TypeChoice], list[TypeChoice]]:
    """Sizes and types that any key has, in their order."""
    words = {word for found in report.algorithms for entry in found.entries for word in entry.words}
    sizes = sorted(int(word[:-1]) for word in words if word[:-1].isdecimal() and word.endswith("B"))
    named = {
        (element.size, element.type)
        for found in report.algorithms
        for entry in found.entries
        for element in entry.elements
        if element.type is not None
    }
    return (
        [TypeChoice(f"{size}B", f"{size}B", f"{size} {'byte' if size == 1 else 'bytes'}") for size in sizes],
        [TypeChoice(name, f"any{size}B", f"{name} ({size} B)") for size, name in sorted(named)],
    )
