"""Figures as data: what a chart shows, in which words, and what a filter finds its marks by. Nothing is drawn here."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
from enum import Enum
from math import ceil
from math import floor
from math import log2
from typing import TypeAlias

from attrs import evolve
from attrs import frozen

Tick: TypeAlias = tuple[float, str]
"""A place on an axis and its label."""


class Look(Enum):
    """How a series is drawn."""

    DOTS = "dots"
    RINGS = "rings"
    LINE = "line"
    LIMIT = "limit"
    """A line that nothing may pass."""


@frozen
class Mark:
    """A point of a series.

    Attributes:
        x: in places of the axis.
        y: likewise.
        text: what it is, for people.
        words: what a filter finds it by; none for what holds for everything.
    """

    x: float
    y: float
    text: str
    words: tuple[str, ...] = ()


@frozen
class Series:
    """Marks that belong together.

    Attributes:
        colour: which of the page's colours, from 0.
    """

    name: str
    look: Look
    colour: int
    marks: tuple[Mark, ...]


@frozen
class Plot:
    """Marks over two axes.

    Attributes:
        id: of the chart in its section.
        title: what it shows.
        summary: what it says, in a sentence: its text alternative.
        x_title: what the horizontal axis counts.
        y_title: what the vertical one does.
        x_ticks: of the horizontal axis.
        y_ticks: of the vertical one; the first and the last are its ends.
        series: what is drawn, the last on top.
        shares_legend: whether its series are the kernels, which one legend explains for all charts of an algorithm.
    """

    id: str
    title: str
    summary: str
    x_title: str
    y_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    series: tuple[Series, ...]
    shares_legend: bool = False


@frozen
class Bars:
    """Bars of parts, each as long as all others.

    Attributes:
        id, title, summary: as of `Plot`.
        parts: what bars consist of, in order.
        bars: a name, and a count for each part.
    """

    id: str
    title: str
    summary: str
    parts: tuple[str, ...]
    bars: tuple[tuple[str, tuple[int, ...]], ...]


Figure: TypeAlias = Plot | Bars


def merged(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Marks in one place are one mark, which a filter finds by the words of each; the first says what it is."""
    found: dict[tuple[float, float], Mark] = {}
    for mark in marks:
        place = mark.x, mark.y
        if place in found:
            known = found[place]
            # what has no words holds for everything
            words = tuple(dict.fromkeys((*known.words, *mark.words))) if known.words and mark.words else ()
            found[place] = evolve(known, words=words)
        else:
            found[place] = mark
    return tuple(found.values())


def beside(number: int, of: int) -> float:
    """How far a series stands beside a place of a category axis, so that none hides another.

    Args:
        number: which series, from 0.
        of: how many there are.
    """
    return (number - (of - 1) / 2) * min(0.14, 0.6 / max(of, 1))


def linear_ticks(most: int) -> tuple[Tick, ...]:
    """Five round numbers or so from 0 to the first that is not below `most`."""
    rough = max(most, 1) / 4
    unit: float = 2 ** floor(log2(rough)) if most >= 1024 else 10 ** floor(len(str(int(rough))) - 1)
    step = int(next(unit * factor for factor in (1, 1.5, 2, 2.5, 3, 4, 5, 10) if unit * factor * 4 >= most) or 1)
    return tuple((float(at), compact(at)) for at in range(0, step * ceil(max(most, 1) / step) + 1, max(step, 1)))


def power_ticks(values: Sequence[int]) -> tuple[Tick, ...]:
    """Powers of two around some positive values, at the places of their logarithms: seven at the most."""
    low, high = floor(log2(min(values))), ceil(log2(max(values)))
    if low == high:
        low, high = max(0, low - 1), high + 1
    step = max(1, ceil((high - low) / 6))
    return tuple((float(power), compact(2**power)) for power in range(low, high + step, step))


def category_ticks(labels: Sequence[str], most: int = 8) -> tuple[Tick, ...]:
    """Labels at 0, 1, 2 and so on; every other one, or fewer, where there are many."""
    step = max(1, ceil(len(labels) / most))
    return tuple((float(at), label if at % step == 0 else "") for at, label in enumerate(labels))


def compact(number: int) -> str:
    """A number as an axis has it: 512, 48K, 1M; thousands as powers of two only where they are whole."""
    for unit, name in ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")):
        if number >= unit and number * 2 % unit == 0:
            return f"{number / unit:g}{name}"
    for unit, name in ((10**9, "G"), (10**6, "M"), (10**4, "k")):
        if number >= unit:
            return f"{number / (unit if name != 'k' else 1000):.3g}{name}"
    return str(number)


def percent(value: int, of: int) -> str:
    """A share for people: what is something is never told as nothing."""
    return "under 1%" if 0 < value / of < 0.01 else f"{value / of:.0%}"
