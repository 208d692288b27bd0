"""Sorting the pairs of a token and an expert by expert, each expert's pairs padded to whole blocks.

Input: experts of each token [tokens, k]; pair p is the token p // k with its choice p % k. Output: `pairs`, places for
blocks of BLOCK_M pairs, those of an expert one after the other in their order, places that are left over holding the
number of pairs; `experts`, the expert of each block, -1 past the last block; and how many places there are. There is
memory for as many places as there may be, pairs + experts x (BLOCK_M - 1) in whole blocks. Counts are pairs; `threads`
and `items` are the policy's.

Its structure is that of a radix sort by one digit, the expert (policy_of `radix_sort`, of int32 keys with int32 values;
so experts are at most as many as a digit has values), where digits begin at multiples of BLOCK_M:

1. Blocks count experts, tile by tile, with the policy of the histogram.
2. One block pads the counts, and sums them up (`collectives.expert_blocks`), with that of the exclusive sum.
3. A pass of onesweep (`collectives.onesweep`) ranks the pairs of a tile, looks back for what is before it, and scatters
   their numbers. Which predecessors have published what is up to timing, which an adversary decides.

It models `DeviceRadixSortHistogramKernel`, `DeviceRadixSortExclusiveSumKernel` and `DeviceRadixSortOnesweepKernel`.

It runs with the policies of onesweep whatever sort the policy prefers. Order: stable, so the same in every run; engines
that draw places by atomics instead promise none within an expert. Exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import cycle
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.expert_blocks import expert_blocks
from policygen.reference.collectives.expert_blocks import expert_counts
from policygen.reference.collectives.onesweep import ADVERSARIES
from policygen.reference.collectives.onesweep import MOST_PORTION_ITEMS
from policygen.reference.collectives.onesweep import SortOrder
from policygen.reference.collectives.onesweep import kernel_name
from policygen.reference.collectives.onesweep import onesweep
from policygen.reference.collectives.onesweep import portions
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.radix_passes import tile_items
from policygen.reference.contract.case import FEW_BLOCKS
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Given
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.radix_keys import RadixKeys

COUNTS: Final = "moe_align counts"
SWEEP: Final = kernel_name(0)
EXPERTS: Final = (8, 256, 1, 60, 3)
BLOCKS_M: Final = (16, 64, 128, 256)
PATTERNS: Final = ("random", "one", "few", "in-turn", "descending", "last")
NO_EXPERT: Final = -1

_KEYS: Final = RadixKeys(ELEMENTS["int32"])
_UNUSED: Final = "pairs are sorted by a pass of onesweep"


@frozen
class MoeAlignProblem(Problem):
    """A sort of pairs.

    Attributes:
        pairs: of a token and an expert.
        experts: how many there are.
        block_m: pairs of a block.
        pattern: which experts are chosen, one of `PATTERNS`.
        blocks: of the kernel that counts.
        portion: pairs of one launch of onesweep, at most.
        adversary: who decides what a tile finds of its predecessors.
        has_data: False for index arithmetic alone.
    """

    pairs: int
    experts: int
    block_m: int
    pattern: str
    blocks: int
    portion: int
    adversary: str
    has_data: bool = True

    @property
    def places(self) -> int:
        """Places that there is memory for, in whole blocks."""
        return ceil_div(self.pairs + self.experts * (self.block_m - 1), self.block_m) * self.block_m


@frozen(eq=False)
class MoeAlignInputs:
    """Experts, [pairs], and the seed of the adversary."""

    experts: Tensor
    seed: int


class MoeAlignKernel(ReferenceKernel[MoeAlignProblem, MoeAlignInputs]):
    """See the module."""

    policy_of = "radix_sort"

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:  # noqa: ARG002 - one sort
        """int32 experts with int32 numbers of pairs."""
        yield {"key_type": "int32", "value_size": 4, "offset_size": 4}

    def problems(self, case: Case, *, quick: bool) -> Iterator[MoeAlignProblem]:
        """See ReferenceKernel."""
        own, digits = case.policy.onesweep, 1 << case.policy.onesweep.radix_bits
        tile, counted = tile_items(own), tile_items(case.policy.histogram)
        experts = tuple(dict.fromkeys(min(count, digits) for count in EXPERTS))
        edges = sorted({*sizes(tile, blocks=1, quick=quick), counted - 1, counted, counted + 1})
        found = combinations(edges, experts, lambda _: PATTERNS, tile + 5, alike=lambda _: 0, quick=quick)
        turns = zip(cycle(BLOCKS_M), cycle(ADVERSARIES), cycle((4, 1, 2, 5)))
        for (n, count, pattern), (block_m, adversary, tiles) in zip(found, turns, strict=False):
            yield MoeAlignProblem(n, count, block_m, pattern, FEW_BLOCKS.max_blocks, tiles * tile, adversary)
        blocks = case.residency.max_blocks
        yield MoeAlignProblem(BEYOND_INT32, experts[0], 16, "random", blocks, MOST_PORTION_ITEMS, "all", has_data=False)

    def inputs(self, case: Case, problem: MoeAlignProblem, random: torch.Generator) -> MoeAlignInputs:
        """See ReferenceKernel."""
        n, experts = problem.pairs if problem.has_data else 0, problem.experts
        chosen = torch.randint(experts, (n,), generator=random)
        match problem.pattern:
            case "one":
                chosen[:] = experts // 2
            case "few":
                chosen = chosen // 3 * 3
            case "in-turn":
                chosen = torch.arange(n) % experts
            case "descending":
                chosen = chosen.sort(descending=True).values
            case "last":
                chosen[:] = experts - 1
        return MoeAlignInputs(chosen.to(case.device), int(torch.randint(1 << 31, (1,), generator=random)))

    def run(self, case: Case, problem: MoeAlignProblem, inputs: MoeAlignInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        policy, experts, warp = case.policy, problem.experts, case.warp_size
        digits = 1 << policy.onesweep.radix_bits
        if experts > digits:
            raise ValueError(f"{experts} experts are more than the {digits} values of a digit")
        if not problem.has_data:
            for tiles in portions(problem.pairs, tile_items(policy.onesweep), problem.portion):
                tiles.record(SWEEP, log)
            return {}
        counts = expert_counts(inputs.experts, experts, policy.histogram, problem.blocks, COUNTS, log)
        blocks = expert_blocks(counts, problem.block_m, policy.exclusive_sum.threads_per_block, warp)
        total = blocks.ends[-1]
        begins = total.repeat(digits)
        begins[:experts] = blocks.begins
        random = torch.Generator()
        random.manual_seed(inputs.seed)
        numbers = torch.arange(problem.pairs, device=case.device)
        places = torch.full((problem.places,), problem.pairs, device=case.device)
        out = Pairs(torch.zeros_like(places), places)
        order = SortOrder(_KEYS, 0, policy.onesweep.radix_bits, descending=False)
        onesweep(
            Pairs(_KEYS.raw(inputs.experts), numbers),
            order,
            policy.onesweep,
            warp,
            0,
            begins,
            problem.portion,
            problem.adversary,
            random,
            log,
            out,
        )
        block = torch.arange(problem.places // problem.block_m, device=case.device)
        of_block = torch.where(block * problem.block_m < total, blocks.expert_of(block), NO_EXPERT)
        return {"pairs": places, "experts": of_block, "places": total}

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: MoeAlignProblem,
        inputs: MoeAlignInputs,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        chosen, size = inputs.experts.cpu(), problem.block_m
        pairs = torch.full((problem.places,), problem.pairs)
        of_block = torch.full((problem.places // size,), NO_EXPERT)
        at = 0
        for expert in range(problem.experts):
            own = torch.nonzero(chosen == expert).squeeze(-1)
            pairs[at : at + own.shape[0]] = own
            end = at + ceil_div(own.shape[0], size) * size
            of_block[at // size : end // size] = expert
            at = end
        return {"pairs": Exact(pairs), "experts": Exact(of_block), "places": Exact(torch.tensor(at))}

    def coverage(self, case: Case, problem: MoeAlignProblem) -> Mapping[str, int]:  # noqa: ARG002
        """See ReferenceKernel."""
        return {SWEEP: problem.pairs, **({COUNTS: problem.pairs} if problem.has_data else {})}

    def unbound(self, case: Case) -> Mapping[str, str]:  # noqa: ARG002 - the same for all
        """See ReferenceKernel."""
        others = ("scan", "downsweep", "alt_downsweep", "upsweep", "alt_upsweep", "single_tile")
        return {
            **dict.fromkeys(others, _UNUSED),
            "exclusive_sum.threads_per_block": "a block sums up all experts, however many threads it has",
        }


KERNEL: Final = MoeAlignKernel()
