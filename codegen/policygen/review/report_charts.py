"""Figures as SVG, drawn by pygal: for a page that brings its own style, so that light and dark are the page's.

Of pygal's drawing only the geometry is kept, and text: its style sheets, scripts, dates and links stay out, so that the
same figure is the same text everywhere and loads nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from collections.abc import Mapping
from html import escape
from typing import Any
from typing import Final

from policygen.review.figure import Bars
from policygen.review.figure import Figure
from policygen.review.figure import Look
from policygen.review.figure import Mark
from policygen.review.figure import Plot
from policygen.review.figure import Series

WIDTH, HEIGHT = 400, 260
"""Of a plot, in the units of its text: a chart is as readable on a phone as on a desk."""

COLOURS: Final = 8
"""Colours that the page tells series apart by."""

_BAR_HEIGHT: Final = 34
_NUMBER: Final = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_SERIES: Final = re.compile(r"\bserie-(\d+)")
_KEPT: Final = ("x", "y", "d", "cx", "cy", "r", "width", "height", "transform")
_LEFT_OUT: Final = ("background", "tooltip-overlay", "text-overlay", "legends", "dot-wrapper")
_COMMON: Final[Mapping[str, Any]] = {
    "css": [],
    "js": [],
    "no_prefix": True,
    "show_legend": False,
    "margin": 6,
    "margin_right": 16,
    "spacing": 6,
    "truncate_label": -1,
    "disable_xml_declaration": True,
}


class NoChartLibrary(Exception):  # noqa: N818 - it says what is missing
    """pygal is not installed."""

    def __init__(self) -> None:
        super().__init__("charts need pygal: pip install 'policygen[report]'")


def svg(figure: Figure, label: str) -> str:
    """A figure as an SVG element.

    Args:
        figure: what to draw.
        label: what it is, for those who do not see it.

    Raises:
        NoChartLibrary: pygal is not installed.
    """
    pygal = chart_library()
    tree, series = _plot(pygal, figure) if isinstance(figure, Plot) else _bars(pygal, figure)
    width, height = tree.get("viewBox").split()[2:]
    inside = "".join(_Drawing(series).of(tree))
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">{inside}</svg>'


def chart_library() -> Any:
    """Pygal. Raises NoChartLibrary if it is not installed."""
    try:
        import pygal
    except ImportError:
        raise NoChartLibrary from None
    # what pygal adds for its map packages is of a protocol that Python 3.11 warns about at every import that fails
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != "pygal"]
    return pygal


def _plot(pygal: Any, figure: Plot) -> tuple[Any, list[str]]:
    chart = pygal.XY(
        width=WIDTH,
        height=HEIGHT,
        x_title=figure.x_title,
        y_title=figure.y_title,
        x_labels=[{"value": at, "label": label} for at, label in figure.x_ticks],
        y_labels=[{"value": at, "label": label} for at, label in figure.y_ticks],
        range=(figure.y_ticks[0][0], figure.y_ticks[-1][0]),
        xrange=(figure.x_ticks[0][0] - 0.5, figure.x_ticks[-1][0] + 0.5),
        **_COMMON,
    )
    for series in figure.series:
        is_line = series.look in (Look.LINE, Look.LIMIT)
        chart.add(
            series.name,
            [
                {"value": (mark.x, mark.y), "label": mark.text, "node": {"data-t": "" if is_line else _words(mark)}}
                for mark in series.marks
            ],
            stroke=is_line,
            show_dots=series.look is not Look.LIMIT,
            dots_size={Look.RINGS: 5.5, Look.LINE: 2.5}.get(series.look, 3.5),
        )
    return chart.render_tree(), [_attributes_of(series) for series in figure.series]


def _attributes_of(series: Series) -> str:
    """Of the groups that a series becomes; a line is found by a filter as a whole."""
    words = _words(series.marks[0]) if series.look is Look.LINE else ""
    return f' class="{series.look.value} c{series.colour % COLOURS}"' + (f' data-t="{escape(words)}"' if words else "")


def _words(mark: Mark) -> str:
    return " ".join(mark.words)


def _bars(pygal: Any, figure: Bars) -> tuple[Any, list[str]]:
    chart = pygal.HorizontalStackedBar(
        width=WIDTH,
        height=30 + _BAR_HEIGHT * len(figure.bars),
        # from top to bottom
        x_labels=[name for name, _ in reversed(figure.bars)],
        y_labels=[{"value": at, "label": f"{at}%"} for at in range(0, 101, 25)],
        range=(0, 100),
        **_COMMON,
    )
    for number, part in enumerate(figure.parts):
        shares = []
        for name, counts in reversed(figure.bars):
            share = round(100 * counts[number] / sum(counts), 3)
            text = f"{name}: {counts[number]} of {sum(counts)} {part}"
            shares.append({"value": share, "label": text} if share else None)
        chart.add(part, shares)
    return chart.render_tree(), [f' class="part k{number}"' for number in range(len(figure.parts))]


class _Drawing:
    """Rewrites pygal's tree.

    Attributes are kept in one order and numbers in tenths: they differ by no pixel, and are the same on every machine.
    """

    def __init__(self, series: list[str]) -> None:
        self._series = series

    def of(self, element: Any) -> Iterator[str]:
        """What is inside an element."""
        for child in element:
            yield from self._one(child)

    def _one(self, element: Any) -> Iterator[str]:
        tag, classes = _tag(element), element.get("class", "").split()
        if any(name in _LEFT_OUT for name in classes):
            return
        described = next((child.text for child in element if child.get("class") == "label"), None)
        if tag == "g" and described is not None:
            yield from _mark(element, described)
        elif tag == "g":
            inside = "".join(self.of(element))
            own = self._group(classes) + _geometry(element)
            if inside:
                yield f"<g{own}>{inside}</g>" if own else inside
        elif tag == "text" and element.text:
            title = ' class="title"' if "title" in classes else ""
            yield f"<text{title}{_geometry(element)}>{escape(element.text)}</text>"
        elif tag == "path":
            yield f"<path{_geometry(element)}/>"

    def _group(self, classes: list[str]) -> str:
        found = _SERIES.search(" ".join(classes))
        if found is not None:
            return self._series[int(found[1])]
        own = [name for name in ("axis", "x", "y") if name in classes]
        return f' class="{" ".join(own)}"' if own else ""


def _mark(element: Any, text: str) -> Iterator[str]:
    """A mark of a series, with what it is as its title."""
    for child in element:
        tag = _tag(child)
        if tag == "circle" or (tag == "rect" and child.get("width")):
            words = child.get("data-t", "")
            data = f' data-t="{escape(words)}"' if words else ""
            yield f"<{tag}{_geometry(child)}{data}><title>{escape(text)}</title></{tag}>"


def _tag(element: Any) -> str:
    # a comment's tag is no text
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _geometry(element: Any) -> str:
    values = ((name, element.get(name)) for name in _KEPT)
    return "".join(f' {name}="{_NUMBER.sub(_tenths, value)}"' for name, value in values if value is not None)


def _tenths(number: re.Match[str]) -> str:
    return f"{round(float(number[0]), 1) + 0.0:g}"
