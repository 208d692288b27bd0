"""Folding over architectures: which of them can share a kernel because their policies are equal.

CUB compiles a kernel for each architecture of a list, but instantiates it once for architectures that share a policy:
in C++17 those that follow each other in the list (`lowest_cc_resolver`), in C++20 all with the same policy value.
"""

from __future__ import annotations

from collections.abc import Hashable
from collections.abc import Mapping
from collections.abc import Sequence

from attrs import frozen

from policygen.model.capabilities import KNOWN_CAPABILITIES


def architecture_list(capabilities: Sequence[int]) -> tuple[int, ...]:
    """An architecture list as CUB sees it: ascending, each once.

    Raises:
        ValueError: the list is empty.
    """
    if not capabilities:
        raise ValueError(f"expected at least one architecture, such as {KNOWN_CAPABILITIES[-5]}")
    return tuple(sorted(set(capabilities)))


def fold_contiguous(policies: Sequence[Hashable]) -> tuple[int, ...]:
    """The C++17 rule: each architecture is represented by the first of the run of equal policies that it ends.

    Args:
        policies: one for each architecture, ascending.

    Returns:
        For each architecture the position of its representative.
    """
    found: list[int] = []
    for position, policy in enumerate(policies):
        same = position > 0 and policy == policies[position - 1]
        found.append(found[-1] if same else position)
    return tuple(found)


def fold_by_value(policies: Sequence[Hashable]) -> tuple[int, ...]:
    """The C++20 rule: each architecture is represented by the first with an equal policy, wherever it is."""
    first: dict[Hashable, int] = {}
    return tuple(first.setdefault(policy, position) for position, policy in enumerate(policies))


@frozen
class FoldFigures:
    """How many kernels the keys of an algorithm need on a list of architectures.

    Attributes:
        keys: how many keys were looked at.
        unfolded: a kernel for each key and architecture.
        contiguous: kernels under the C++17 rule.
        by_value: kernels under the C++20 rule.
    """

    algorithm: str
    architectures: tuple[int, ...]
    keys: int
    unfolded: int
    contiguous: int
    by_value: int


def fold_figures(
    algorithm: str, architectures: Sequence[int], policies: Sequence[Mapping[int, Hashable]]
) -> FoldFigures:
    """Counts kernels.

    Args:
        algorithm: its name.
        architectures: packed capabilities in any order.
        policies: for each key its policy on every architecture.
    """
    listed = architecture_list(architectures)
    rows = [[by_capability[cc] for cc in listed] for by_capability in policies]
    return FoldFigures(
        algorithm=algorithm,
        architectures=listed,
        keys=len(rows),
        unfolded=len(rows) * len(listed),
        contiguous=sum(len(set(fold_contiguous(row))) for row in rows),
        by_value=sum(len(set(fold_by_value(row))) for row in rows),
    )
