"""What the charts of a report show of an algorithm: memory, registers, occupancy and tiles by the size of a type."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from math import log2
from typing import Final

from policygen.model.facts import EvidenceKind
from policygen.plan.occupancy import Occupancy
from policygen.resolve.occupancy import blocks_text
from policygen.resolve.occupancy import registers_text
from policygen.resolve.occupancy import shared_memory_text
from policygen.review.engine_figures import engine_figures
from policygen.review.evidence_figure import evidence_figure
from policygen.review.figure import Figure
from policygen.review.figure import Look
from policygen.review.figure import Mark
from policygen.review.figure import Plot
from policygen.review.figure import Series
from policygen.review.figure import Tick
from policygen.review.figure import beside
from policygen.review.figure import category_ticks
from policygen.review.figure import linear_ticks
from policygen.review.figure import merged
from policygen.review.figure import percent
from policygen.review.figure import power_ticks
from policygen.review.report import AlgorithmReport
from policygen.review.report import Entry
from policygen.review.report import Report
from policygen.review.waves_figure import waves_figure

_REGISTER_TICKS: Final = tuple((float(at), str(at)) for at in range(0, 257, 64))
"""No kernel has more than 255."""


def figures(report: Report, found: AlgorithmReport) -> tuple[Figure, ...]:
    """The charts of an algorithm, those left out that have nothing to show."""
    axis = _SizeAxis(found.entries)
    made = (
        _shared_memory(report, found, axis),
        _registers(report, found, axis),
        _occupancy(found, axis),
        _tiles(report, found, axis),
        waves_figure(found),
        *engine_figures(found),
        evidence_figure(found),
    )
    return tuple(figure for figure in made if figure is not None)


class _SizeAxis:
    """The horizontal axis of most charts: bytes of the leading element type, each size in a place of its own."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._sizes = sorted({0 if entry.leading is None else entry.leading.size for entry in entries})
        parameter = next((entry.leading.parameter for entry in entries if entry.leading is not None), "")
        self.title = f"bytes of {parameter}" if parameter else "for any type"
        self.ticks: tuple[Tick, ...] = category_ticks(
            [str(size) if size or len(self._sizes) > 1 else "any" for size in self._sizes]
        )

    def at(self, entry: Entry, number: int, of: int) -> float:
        """The place of an entry in a series; series stand beside one another, so that none hides another."""
        place = self._sizes.index(0 if entry.leading is None else entry.leading.size)
        return round(place + beside(number, of), 3)


def _kernel_series(
    found: AlgorithmReport,
    axis: _SizeAxis,
    value: Callable[[Occupancy], float | None],
    text: Callable[[Occupancy], str],
) -> tuple[Series, ...]:
    """One series a kernel, with a mark wherever the value is known."""
    names = kernel_names(found)
    marks: dict[str, list[Mark]] = {name: [] for name in names}
    for entry in found.entries:
        for kernel in entry.kernels:
            y = value(kernel)
            if y is not None:
                name = kernel.kernel.kernel
                x = axis.at(entry, names.index(name), len(names))
                size = "" if entry.leading is None else f" at {entry.leading.size} B"
                marks[name].append(Mark(x, y, f"{name}{size}: {text(kernel)}", entry.words))
    return tuple(
        Series(name, Look.DOTS, number, merged(marks[name])) for number, name in enumerate(names) if marks[name]
    )


def kernel_names(found: AlgorithmReport) -> tuple[str, ...]:
    """The kernels of an algorithm, in the order of the spec."""
    launched = {kernel.kernel.kernel for entry in found.entries for kernel in entry.kernels}
    return tuple(kernel.name for kernel in found.algorithm.kernels if kernel.name in launched)


def _limit_line(name: str, colour: int, value: int, axis: _SizeAxis) -> Series:
    ends = (axis.ticks[0][0] - 0.4, axis.ticks[-1][0] + 0.4)
    return Series(name, Look.LIMIT, colour, tuple(Mark(x, value, f"{name}: {value:,}") for x in ends))


def _all_values(series: Iterable[Series]) -> list[float]:
    return [mark.y for one in series for mark in one.marks]


def _shared_memory(report: Report, found: AlgorithmReport, axis: _SizeAxis) -> Plot | None:
    def told(one: Occupancy) -> str:
        return shared_memory_text(one.kernel)

    series = _kernel_series(found, axis, lambda one: one.kernel.shared_memory, told)
    if not series:
        return None
    values = [int(value) for value in _all_values(series)]
    opts_in = any(kernel.kernel.dynamic_smem for entry in found.entries for kernel in entry.kernels)
    names = ("max_smem_per_block", *(("max_smem_per_block_optin",) if opts_in else ()))
    limits = tuple(
        _limit_line(name, number, limit, axis)
        for number, name in enumerate(names)
        if (limit := report.limit(name)) is not None
    )
    most = int(max([*values, *_all_values(limits)]))
    unknown = "" if limits else "; the limit is not known"
    return Plot(
        id="shared-memory",
        title="Shared memory of a block",
        summary=f"{_span(values)} bytes{_of_limit(max(values), limits)}{unknown}",
        x_title=axis.title,
        y_title="bytes",
        x_ticks=axis.ticks,
        y_ticks=linear_ticks(most),
        series=(*limits, *series),
        shares_legend=True,
    )


def _registers(report: Report, found: AlgorithmReport, axis: _SizeAxis) -> Plot | None:
    series = _kernel_series(found, axis, lambda one: one.kernel.registers, lambda one: registers_text(one.kernel))
    kernels = [kernel for entry in found.entries for kernel in entry.kernels]
    if not series:
        return None
    values = [int(value) for value in _all_values(series)]
    limit = report.limit("max_registers_per_thread")
    limits = () if limit is None else (_limit_line("max_registers_per_thread", 0, limit, axis),)
    notes = [f"{_span(values)} registers{_of_limit(max(values), limits)}"]
    if any(kernel.kernel.registers_are is EvidenceKind.DERIVED for kernel in kernels):
        notes.append("a model's upper bound")
    missing = sum(kernel.kernel.registers is None for kernel in kernels)
    if missing:
        notes.append(f"unknown for {missing} of {len(kernels)} kernels")
    return Plot(
        id="registers",
        title="Registers of a thread",
        summary="; ".join(notes),
        x_title=axis.title,
        y_title="registers",
        x_ticks=axis.ticks,
        y_ticks=_REGISTER_TICKS,
        series=(*limits, *series),
        shares_legend=True,
    )


def _of_limit(value: int, limits: Sequence[Series]) -> str:
    if not limits:
        return ""
    limit = int(limits[-1].marks[0].y)
    if value > limit:
        return f", more than the {limit:,} that there are"
    return f" of {limit:,}, {percent(value, limit)} at most"


def _span(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _tiles(report: Report, found: AlgorithmReport, axis: _SizeAxis) -> Plot | None:
    """Rings are the reference, dots the target: where they agree, a dot sits in its ring."""
    paths = tuple(dict.fromkeys(path for e in found.entries for path, _ in (*e.tiles, *e.reference_tiles)))
    if not paths:
        return None
    own: dict[str, list[Mark]] = {path: [] for path in paths}
    theirs: dict[str, list[Mark]] = {path: [] for path in paths}
    for entry in found.entries:
        for tiles, marks, whose in (
            (entry.reference_tiles, theirs, report.reference),
            (entry.tiles, own, report.target),
        ):
            for path, items in tiles:
                x = axis.at(entry, paths.index(path), len(paths))
                size = "" if entry.leading is None else f" at {entry.leading.size} B"
                text = f"{whose}: {path or 'tile'}{size}: {items:,} items"
                marks[path].append(Mark(x, round(log2(items), 4), text, entry.words))
    series = [
        Series(path or "tile", look, number, merged(marks[path]))
        for look, marks in ((Look.RINGS, theirs), (Look.DOTS, own))
        for number, path in enumerate(paths)
        if marks[path]
    ]
    every = [items for entry in found.entries for _, items in (*entry.tiles, *entry.reference_tiles)]
    targets = [items for entry in found.entries for _, items in entry.tiles]
    notes = [f"{_span(targets)} items"] if targets else []
    if report.reference and not found.is_engine_table:
        notes.append(_against_reference(report, found))
    return Plot(
        id="tiles",
        title="Tile by type size, target and reference" if found.compared else "Tile by type size",
        summary="; ".join(notes),
        x_title=axis.title,
        y_title="items",
        x_ticks=axis.ticks,
        y_ticks=power_ticks(every),
        series=tuple(series),
    )


def _against_reference(report: Report, found: AlgorithmReport) -> str:
    if not any(entry.reference_tiles for entry in found.entries):
        return f"{report.reference} launches kernels of another kind for these keys"
    tiles = sum(e.keys for e in found.entries if e.reference is not None and e.tiles != e.reference_tiles)
    return f"tiles of {tiles:,} of {found.compared:,} keys differ from {report.reference}"


def _occupancy(found: AlgorithmReport, axis: _SizeAxis) -> Plot | None:
    def share(one: Occupancy) -> float | None:
        return None if one.fraction is None else round(100 * one.fraction, 2)

    def told(one: Occupancy) -> str:
        limited = " and ".join(resource.value for resource in one.limited_by)
        by = f", limited by {limited}" if limited else ""
        return f"{blocks_text(one)} a SM, {one.warps} of {one.max_warps} warps{by}"

    series = _kernel_series(found, axis, share, told)
    if not series:
        return None
    values = _all_values(series)
    kernels = [kernel for entry in found.entries for kernel in entry.kernels]
    above, below = any(one.at_most for one in kernels), any(one.at_least for one in kernels)
    bound = {(True, True): "; approximate", (True, False): "; upper bounds", (False, True): "; lower bounds"}
    return Plot(
        id="occupancy",
        title="Occupancy: resident warps of a SM",
        summary=f"{_span([round(value) for value in values])} % of the warps{bound.get((above, below), '')}",
        x_title=axis.title,
        y_title="% of warps",
        x_ticks=axis.ticks,
        y_ticks=tuple((float(at), f"{at}%") for at in range(0, 101, 25)),
        series=series,
        shares_legend=True,
    )
