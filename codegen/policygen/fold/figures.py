"""Folding figures of a project: how many kernels the common keys of each algorithm need on a list of architectures."""

from __future__ import annotations

from collections.abc import Sequence

from policygen.fold.arch_list import FoldFigures
from policygen.fold.arch_list import architecture_list
from policygen.fold.arch_list import fold_figures
from policygen.fold.table import policy_table
from policygen.model.record import Record
from policygen.project import Project


def kernels_needed(project: Project, architectures: Sequence[int], algorithms: Sequence[str]) -> list[FoldFigures]:
    """Counts kernels under the C++17 and the C++20 rule, over the common keys that every architecture answers.

    Args:
        project: where the specs are.
        architectures: packed capabilities in any order.
        algorithms: names.

    Raises:
        ValueError: the list of architectures is empty.
        SpecError: the specs are wrong.
    """
    listed = architecture_list(architectures)
    found: list[FoldFigures] = []
    for algorithm in algorithms:
        policies: dict[str, dict[int, Record]] = {}
        for cc in listed:
            for row in policy_table(project.resolver(str(cc), algorithm)).rows:
                policies.setdefault(repr(sorted(row.given.items())), {})[cc] = row.policy
        answered = [by_capability for by_capability in policies.values() if len(by_capability) == len(listed)]
        found.append(fold_figures(algorithm, listed, answered))
    return found
