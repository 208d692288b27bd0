"""What a table of the engine answers, and what it needs of a limit, by the first field of its keys."""

from __future__ import annotations

from collections.abc import Iterator
from math import log2
from typing import Final

from policygen.model.types import IntType
from policygen.model.types import StructField
from policygen.resolve.trace import Held
from policygen.resolve.trace import Reported
from policygen.resolve.trace import Shrunk
from policygen.review.figure import Look
from policygen.review.figure import Mark
from policygen.review.figure import Plot
from policygen.review.figure import Series
from policygen.review.figure import beside
from policygen.review.figure import category_ticks
from policygen.review.figure import compact
from policygen.review.figure import merged
from policygen.review.figure import power_ticks
from policygen.review.report import AlgorithmReport
from policygen.review.report import Entry

_MOST_FIELDS: Final = 6
"""Fields of a chart that people still tell apart."""


def engine_figures(found: AlgorithmReport) -> tuple[Plot, ...]:
    """The charts of a table of the engine; none of an algorithm."""
    if not found.is_engine_table or not found.algorithm.common:
        return ()
    made = (_answers(found), _needs(found))
    return tuple(plot for plot in made if plot is not None)


def _values(found: AlgorithmReport) -> list[int]:
    return sorted({value for entry in found.entries for value in entry.first_values})


def _answers(found: AlgorithmReport) -> Plot | None:
    """The integers of the policy that are not the same for all keys; zeros, which no logarithm has, are left out."""
    values = _values(found)
    fields = [f for f in found.algorithm.policy.fields if isinstance(f.type, IntType)]
    varying = [f for f in fields if len({entry.resolution.policy[f.name] for entry in found.entries}) > 1]
    shown = varying[:_MOST_FIELDS]
    series = tuple(
        Series(f.name, Look.DOTS, number, merged(_marks(found, f, values, beside(number, len(shown)))))
        for number, f in enumerate(shown)
    )
    known = [int(entry.resolution.policy[f.name]) for f in shown for entry in found.entries]
    if not values or not any(known):
        return None
    fewer = f"; {len(shown)} of {len(varying)} fields, all in the table" if len(shown) < len(varying) else ""
    first = found.algorithm.key_field(found.algorithm.common[0][0])
    return Plot(
        id="answers",
        title=f"What it answers by {found.algorithm.common[0][0]}",
        summary=f"{', '.join(f.name for f in shown)}{fewer}",
        x_title=found.algorithm.common[0][0] if first is None or not first.unit else f"{first.name}, {first.unit}",
        y_title="",
        x_ticks=category_ticks([compact(value) for value in values], 7),
        y_ticks=power_ticks([value for value in known if value > 0]),
        series=tuple(one for one in series if one.marks),
    )


def _marks(found: AlgorithmReport, field: StructField, values: list[int], beside_by: float) -> Iterator[Mark]:
    for entry in found.entries:
        number = entry.resolution.policy[field.name]
        if number > 0:
            for value in entry.first_values:
                text = f"{field.name} {number:,}{' ' if field.unit else ''}{field.unit} at {value:,}"
                yield Mark(values.index(value) + beside_by, round(log2(number), 4), text, entry.words)


def _needs(found: AlgorithmReport) -> Plot | None:
    """Constraints that say how much of how much: in hundredths of the limit."""
    values = _values(found)
    marks: dict[str, list[Mark]] = {}
    for entry in found.entries:
        for name, need, limit in _constraints(entry):
            for value in entry.first_values:
                text = f"{name}: {need:,} of {limit:,} at {value:,}"
                marks.setdefault(name, []).append(
                    Mark(values.index(value), round(100 * need / limit, 2), text, entry.words)
                )
    if not marks:
        return None
    most = max(mark.y for found_marks in marks.values() for mark in found_marks)
    ends = (-0.4, len(values) - 0.6)
    limit_line = Series("limit", Look.LIMIT, 0, tuple(Mark(x, 100, "the limit") for x in ends))
    top = 100 if most <= 100 else 25 * -(-int(most) // 25)
    return Plot(
        id="needs",
        title="What is needed of what there is",
        summary=f"{most:.0f} % at most: {', '.join(marks)}",
        x_title=found.algorithm.common[0][0],
        y_title="% of the limit",
        x_ticks=category_ticks([compact(value) for value in values], 7),
        y_ticks=tuple((float(at), f"{at}%") for at in range(0, top + 1, 25 if top <= 200 else top // 4)),
        series=(
            limit_line,
            *(Series(name, Look.DOTS, number, merged(one)) for number, (name, one) in enumerate(marks.items())),
        ),
    )


def _constraints(entry: Entry) -> Iterator[tuple[str, int, int]]:
    for step in entry.resolution.trace:
        if isinstance(step, Held | Shrunk | Reported) and step.need is not None and step.limit:
            yield step.constraint.id, step.need, step.limit
