"""Benchmark strings beside points: whether their scores can be evidence at all."""

from __future__ import annotations

import re
from collections.abc import Iterable

from policygen.model.problems import Problem
from policygen.spec import RuleSet

_PARAMETER = re.compile(r"([a-z][a-z0-9]*)_(-?[0-9]+)")
_SCORE = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")

_WHY = "scores 1 throughout: it ignored its parameters, or timed something else; leave it out"


def scores(benchmark: str) -> tuple[float, ...]:
    """The scores of a benchmark string: its numbers with a decimal point, speed-ups over the default."""
    return tuple(float(text) for text in _SCORE.findall(benchmark))


def parameters(benchmark: str) -> tuple[tuple[str, int], ...]:
    """The parameters of a benchmark string in their order: `ipt_16.tpb_512` gives ("ipt", 16), ("tpb", 512).

    Raises:
        ValueError: the first word is no list of parameters.
    """
    label = benchmark.split(maxsplit=1)[0]
    found = [_PARAMETER.fullmatch(part) for part in label.split(".")]
    if None in found:
        raise ValueError(f'"{label}" is no list of parameters such as ipt_16.tpb_512')
    return tuple((match[1], int(match[2])) for match in found if match is not None)


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
