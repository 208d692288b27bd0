"""Waves against problem size: a line for all policies whose launches take as many."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from math import log2
from typing import Final

from attrs import frozen

from policygen.review.figure import Look
from policygen.review.figure import Mark
from policygen.review.figure import Plot
from policygen.review.figure import Series
from policygen.review.figure import category_ticks
from policygen.review.figure import compact
from policygen.review.figure import power_ticks
from policygen.review.launch_waves import PROBLEM_SIZES
from policygen.review.report import AlgorithmReport
from policygen.review.report import Entry

_MOST_LINES: Final = 5
"""Lines of a chart that people still tell apart."""


@frozen
class WaveLine:
    """Policies whose launches take equally many waves.

    Attributes:
        name: what they have in common, for people.
        waves: for each of PROBLEM_SIZES; None where the dispatcher refuses the size.
        words: what a filter by type finds them by.
        keys: how many common keys these are.
    """

    name: str
    waves: tuple[int | None, ...]
    words: tuple[str, ...]
    keys: int


def wave_lines(found: AlgorithmReport) -> tuple[WaveLine, ...]:
    """The lines of an algorithm, those with the fewest waves first."""
    groups: dict[tuple[int | None, ...], list[Entry]] = {}
    for entry in found.entries:
        if entry.waves is not None:
            groups.setdefault(entry.waves.waves, []).append(entry)
    lines = [_line(found, waves, entries) for waves, entries in groups.items()]
    return tuple(sorted(lines, key=lambda line: [wave or 0 for wave in reversed(line.waves)]))


def _line(found: AlgorithmReport, waves: tuple[int | None, ...], entries: Sequence[Entry]) -> WaveLine:
    parts = [f"{name} of {', '.join(map(str, sizes))} B" for name, sizes in _sizes(entries).items()]
    # without a plan the first tile is what a block takes; with one, which tile it is depends on the size
    counts = [[items for _, items in entry.tiles] for entry in entries if entry.tiles]
    tiles = sorted({max(items) if found.planned else items[0] for items in counts})
    if tiles:
        of = "up to" if found.planned else "of"
        parts.append(f"tiles {of} {tiles[0]:,}" if len(tiles) == 1 else f"tiles {of} {tiles[0]:,} to {tiles[-1]:,}")
    words = tuple(dict.fromkeys(word for entry in entries for word in entry.words))
    return WaveLine(
        name=", ".join(parts) or "any type",
        waves=waves,
        words=words if all(entry.words for entry in entries) else (),
        keys=sum(entry.keys for entry in entries),
    )


def _sizes(entries: Sequence[Entry]) -> dict[str, list[int]]:
    """The sizes of each element type; of two with the same sizes, such as input and output, the first."""
    found: dict[str, list[int]] = {}
    for element in (element for entry in entries for element in entry.elements):
        found.setdefault(element.parameter, []).append(element.size)
    distinct: dict[str, list[int]] = {}
    for name, sizes in found.items():
        if (ordered := sorted(set(sizes))) not in distinct.values() and any(ordered):
            distinct[name] = ordered
    return distinct


def waves_figure(found: AlgorithmReport) -> Plot | None:
    """The chart; None where no launch is known. Of many lines it has the lowest, the highest and some between them."""
    lines = wave_lines(found)
    known = [wave for line in lines for wave in line.waves if wave]
    if not known:
        return None
    shown = _spread(lines)
    waves = [entry.waves for entry in found.entries if entry.waves is not None]
    per_sm = sorted({one.per_sm for one in waves})
    basis = ", ".join(dict.fromkeys(one.basis for one in waves))
    launch = "as the dispatcher launches them" if found.planned else "if each block takes one tile"
    resident = f"{per_sm[0]}" if len(per_sm) == 1 else f"{per_sm[0]} to {per_sm[-1]}"
    fewer = f"; {len(shown)} of {len(lines)} lines, all in the table" if len(shown) < len(lines) else ""
    return Plot(
        id="waves",
        title="Waves by problem size",
        summary=f"{launch}, with {resident} blocks a SM ({basis}){fewer}",
        x_title=found.counted,
        y_title="waves",
        x_ticks=category_ticks([compact(size) for size in PROBLEM_SIZES], 6),
        y_ticks=power_ticks(known),
        series=tuple(
            Series(line.name, Look.LINE, number, tuple(_marks(line, found.counted)))
            for number, line in enumerate(shown)
        ),
    )


def _spread(lines: tuple[WaveLine, ...]) -> tuple[WaveLine, ...]:
    if len(lines) <= _MOST_LINES:
        return lines
    last = len(lines) - 1
    return tuple(lines[round(number * last / (_MOST_LINES - 1))] for number in range(_MOST_LINES))


def _marks(line: WaveLine, counted: str) -> Iterator[Mark]:
    for at, (size, wave) in enumerate(zip(PROBLEM_SIZES, line.waves, strict=True)):
        if wave:
            noun = "wave" if wave == 1 else "waves"
            yield Mark(at, round(log2(wave), 4), f"{line.name}: {size:,} {counted} in {wave:,} {noun}", line.words)
