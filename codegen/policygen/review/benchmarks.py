"""Benchmark strings beside points: whether their scores can be evidence at all."""

from __future__ import annotations

import re
from collections.abc import Iterable

from policygen.model.problems import Problem
from policygen.spec import RuleSet

_SCORE = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")

_WHY = "scores 1 throughout: it ignored its parameters, or timed something else; leave it out"


def scores(benchmark: str) -> tuple[float, ...]:
    """The scores of a benchmark string: its numbers with a decimal point, speed-ups over the default."""
    return tuple(float(text) for text in _SCORE.findall(benchmark))


def without_effect(rule_sets: Iterable[RuleSet]) -> list[str]:
    """One line for each point whose every score is exactly 1.

    No two different kernels take exactly equally long: such a benchmark has timed the same kernel whatever its
    parameters said, and is no evidence for the point.
    """
    return [
        str(Problem.at(point.location, point.id, f'the benchmark "{point.benchmark}" {_WHY}'))
        for rules in rule_sets
        for ladder in rules.ladders
        for point in ladder.points
        if set(scores(point.benchmark)) == {1.0}
    ]
