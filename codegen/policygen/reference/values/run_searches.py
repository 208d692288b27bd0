"""What searches for runs of equal keys run on: problems and inputs of run-length encoding and of non-trivial runs."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from itertools import cycle
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.lookback import ADVERSARIES
from policygen.reference.collectives.whole_tile_launches import most_launched
from policygen.reference.contract.case import Case
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.sizes import sizes
from policygen.reference.values.elements import Element
from policygen.reference.values.key_runs import make_runs
from policygen.reference.values.key_runs import run_patterns_of

_LAUNCH_TILES: Final = (None, 2, 1, None, 3)
_MOST_ITEMS: Final = 1 << 21


@frozen
class RunSearch(Problem):
    """A search for runs.

    Attributes:
        num_items: keys.
        key: their type.
        pattern: of the keys (`values.key_runs`).
        launch_tiles: the most tiles of a launch; None for a single launch, where the number of items has 4 bytes.
        adversary: who decides what a tile finds of its predecessors, one of `ADVERSARIES`.
        has_data: False for index arithmetic alone: the last tiles.
    """

    num_items: int
    key: Element
    pattern: str
    launch_tiles: int | None
    adversary: str
    has_data: bool = True


@frozen(eq=False)
class RunSearchInputs:
    """What a search for runs is given.

    Attributes:
        keys: [num_items, *trailing].
        seed: of the adversary.
    """

    keys: Tensor
    seed: int


def run_searches(case: Case, tile: int, keys: Sequence[Element], *, quick: bool) -> Iterator[RunSearch]:
    """Searches for a policy.

    Args:
        case: says how wide a lookback window is.
        tile: items of a tile.
        keys: types of keys.
        quick: a few, else all.
    """
    found = combinations(
        sizes(tile, blocks=2, quick=quick),
        keys,
        run_patterns_of,
        3 * tile + 5,
        alike=lambda key: key.is_floating,
        quick=quick,
    )
    for (num_items, key, pattern), launch, adversary in zip(
        found, cycle(_LAUNCH_TILES), cycle(ADVERSARIES), strict=False
    ):
        yield RunSearch(num_items, key, pattern, launch, adversary)
    most = most_launched(tile)
    # so many tiles that one window does not reach back to the first
    many = min(((1 if quick else 2) * case.warp_size + 3) * tile - 2, _MOST_ITEMS)
    for key, adversary in zip(keys[: 1 if quick else None], cycle(ADVERSARIES), strict=False):
        yield RunSearch(many, key, "mixed", most, adversary)
    yield RunSearch(BEYOND_INT32, keys[0], "one", most, ADVERSARIES[0], has_data=False)


def run_search_inputs(case: Case, problem: RunSearch, tile: int, random: torch.Generator) -> RunSearchInputs:
    """The inputs of a search; none for index arithmetic alone."""
    n = problem.num_items if problem.has_data else 0
    return RunSearchInputs(
        keys=make_runs(problem.pattern, problem.key, n, tile, random, case.device),
        seed=int(torch.randint(1 << 31, (), generator=random)),
    )
