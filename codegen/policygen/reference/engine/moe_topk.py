"""Routing of a mixture of experts: the k experts of each token with the greatest logits, and their softmax weights.

Input: logits [tokens, experts], float16, bfloat16 or float32. Output: experts [tokens, k], by descending logit, equal
ones by their numbers; weights [tokens, k], float32: softmax over all experts, or, renormalised, over the chosen ones.
Arithmetic in float32. Counts are experts; `threads` and `items` are the policy's.

Its structure is that of a batched top-k (policy_of `batched_topk`, whose workers it runs with): a block for each token,
which holds all its logits in registers, blocked. Of the workers, from the largest tile to the smallest, the last one is
taken whose tile covers the experts. (CUB asks whether it fits shared memory, too; registers are exchanged in none
here.) Engines differ from CUB in how k are chosen: CUB's digits leave a set, in no order, and ties open; here the block
takes k times the greatest that is left, its logit and number in one word, so that ties are settled. More experts than
the largest tile holds are refused; CUB queues such segments for several blocks, and has no kernel for them.

1. The greatest logit: each thread, then the block, as in BLOCK_REDUCE_WARP_REDUCTIONS.
2. The sum of exp(logit - greatest), in the same order.
3. k times the greatest of what is left.
4. Weights exp(logit - greatest) / sum, and their sum, first to last, if they are renormalised.

-infinity is masked: it weighs 0, and comes last, before NaN; all masked weigh 0. NaN makes all weights of its token
NaN.

Error: exponentials as in `values.softmax_reference`, one rounding for each addition and division: of the sum over all
experts, and of the sum over k, which makes up for the first one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import cycle
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.model.record import Record
from policygen.reference.collectives.arrangement import blocked
from policygen.reference.collectives.block_reduce import WARP_REDUCTIONS
from policygen.reference.collectives.block_reduce import block_additions
from policygen.reference.collectives.block_reduce import block_reduce
from policygen.reference.collectives.softmax_state import rescaling
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Close
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.error_bounds import UNIT_ROUNDOFF
from policygen.reference.contract.error_bounds import relative_bound
from policygen.reference.contract.function_errors import DIVISION_ROUNDINGS
from policygen.reference.contract.function_errors import EXP_ROUNDINGS
from policygen.reference.contract.function_errors import SMALLEST
from policygen.reference.contract.kernel import Given
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import LAST_TILES
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import maximum
from policygen.reference.values.operators import plus
from policygen.reference.values.radix_keys import RadixKeys
from policygen.reference.values.scores import SCORE_PATTERNS
from policygen.reference.values.scores import make_scores

KERNEL_NAME: Final = "moe_topk"
WORKERS: Final = 6
DTYPES: Final = {2: ("float16", "bfloat16"), 4: ("float32",)}
EXPERTS: Final = (1, 2, 8, 46, 64, 128)

_MOST_CHOSEN: Final = 8
_NUMBER_BITS: Final = 20
_LAST_NUMBER: Final = (1 << _NUMBER_BITS) - 1
_MANY: Final = 2048
_FLOAT: Final = ELEMENTS["float32"]


@frozen
class MoeTopkProblem(Problem):
    """A routing.

    Attributes:
        tokens: rows of logits.
        experts: logits of a row.
        chosen: experts of a token, at most all of them.
        dtype: of the logits.
        renormalised: whether weights add up to 1.
        pattern: of the logits; `coarse` ones are equal in many places.
        has_data: False for index arithmetic alone.
    """

    tokens: int
    experts: int
    chosen: int
    dtype: str
    renormalised: bool
    pattern: str
    has_data: bool = True


class MoeTopkKernel(ReferenceKernel[MoeTopkProblem, Tensor]):
    """See the module."""

    policy_of = "batched_topk"

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:  # noqa: ARG002 - sizes are its own
        """Logits of a size, with numbers of experts."""
        for size in DTYPES:
            yield {"key_size": size, "value_size": 4}

    def problems(self, case: Case, *, quick: bool) -> Iterator[MoeTopkProblem]:
        """See ReferenceKernel."""
        dtypes = DTYPES[case.key.key_size]
        turns = zip(cycle(dtypes), cycle((True, False)), cycle((3, 1, 6)))
        found: dict[MoeTopkProblem, None] = {}

        def add(experts: int, pattern: str, chosen: int = _MOST_CHOSEN) -> None:
            dtype, renormalised, tokens = next(turns)
            few = min(chosen, experts)
            found[MoeTopkProblem(tokens if experts < _MANY else 1, experts, few, dtype, renormalised, pattern)] = None

        for experts in EXPERTS:
            add(experts, "random")
            if not quick:
                add(experts, "coarse", experts // 2 or 1)
        for number in range(WORKERS):
            tile = _tile_items(_worker(case, number))
            for experts in (tile, tile + 1) if number else (tile,):
                add(experts, "random", 2 if experts >= _MANY else _MOST_CHOSEN)
        for number, pattern in enumerate((*SCORE_PATTERNS[1:], "coarse")):
            for experts in (EXPERTS[3 + number % 3],) if quick else (46, 64, 128, 256):
                for _ in dtypes:
                    add(experts, pattern)
        add(46, "coarse", 46)
        found[MoeTopkProblem(0, 256, 8, dtypes[0], True, "random")] = None
        yield from found
        yield MoeTopkProblem(BEYOND_INT32 // 256 + 1, 256, 8, dtypes[0], True, "random", has_data=False)

    def inputs(self, case: Case, problem: MoeTopkProblem, random: torch.Generator) -> Tensor:
        """See ReferenceKernel."""
        tokens, coarse = problem.tokens if problem.has_data else 0, problem.pattern == "coarse"
        rows = [make_scores("random" if coarse else problem.pattern, problem.experts, random) for _ in range(tokens)]
        logits = torch.stack(rows) if rows else torch.empty(0, problem.experts)
        if coarse:
            logits = torch.round(logits / 4)
        dtype: torch.dtype = getattr(torch, problem.dtype)
        return logits.to(dtype).to(case.device)

    def run(self, case: Case, problem: MoeTopkProblem, inputs: Tensor, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        number = _worker_of(case, problem.experts)
        worker, experts = _worker(case, number), problem.experts
        first = _first_token(problem)
        begins = torch.arange(first, problem.tokens) * experts
        log.record_all(_name(number), range(first, problem.tokens), begins, begins + experts)
        if not problem.has_data:
            return {}
        threads = worker.threads_per_block
        index = blocked(threads, worker.items_per_thread).to(case.device)
        exists = index < experts
        # [items, tokens, threads]
        logits = inputs[:, torch.where(exists, index, 0)].movedim(1, 0)
        logits = torch.where(exists.unsqueeze(1), logits, float("-inf")).to(torch.float32)
        greatest = _of_block(logits, maximum(_FLOAT), case.warp_size)
        terms = torch.where(logits == float("-inf"), 0.0, rescaling(logits, greatest.unsqueeze(-1)))
        total = _of_block(terms, plus(_FLOAT), case.warp_size)
        left = torch.where(exists.unsqueeze(1), _words(logits, index.unsqueeze(1)), -1)
        chosen: list[Tensor] = []
        for _ in range(problem.chosen):
            best = _of_block(left, maximum(ELEMENTS["int64"]), case.warp_size)
            chosen.append(_LAST_NUMBER - (best & _LAST_NUMBER))
            left = torch.where(left == best.unsqueeze(-1), -1, left)
        ids = torch.stack(chosen, dim=1)
        selected = inputs.gather(1, ids).to(torch.float32)
        weights = torch.where(selected == float("-inf"), 0.0, rescaling(selected, greatest.unsqueeze(-1)))
        weights = _divided(weights, total)
        if problem.renormalised:
            of_chosen = torch.zeros_like(total)
            for place in range(problem.chosen):
                of_chosen = of_chosen + weights[:, place]
            weights = _divided(weights, of_chosen)
        return {"experts": ids, "weights": weights}

    def expected(self, case: Case, problem: MoeTopkProblem, inputs: Tensor) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        logits = inputs.to("cpu", torch.float64)
        numbers = torch.where(torch.isnan(logits), -math.inf, logits)
        order = torch.sort(numbers, dim=1, descending=True, stable=True).indices
        nan_last = torch.sort(torch.isnan(logits).gather(1, order).to(torch.int64), dim=1, stable=True).indices
        ids = order.gather(1, nan_last)[:, : problem.chosen]
        greatest = numbers.amax(1, keepdim=True)
        below = torch.where(logits == greatest, 0.0, logits - greatest)
        terms = torch.where(logits == -math.inf, 0.0, torch.exp(below))
        worker = _worker(case, _worker_of(case, problem.experts))
        additions = worker.items_per_thread + block_additions(worker.threads_per_block, WARP_REDUCTIONS, case.warp_size)
        u = UNIT_ROUNDOFF[torch.float32]
        distance = torch.where(torch.isfinite(below), below.abs(), 0.0)
        off = torch.expm1(u * distance + math.log1p(u) * EXP_ROUNDINGS) + problem.experts * 2.0**-53
        chosen, off_chosen = terms.gather(1, ids), off.gather(1, ids)
        own_sum, own_off, added = terms, off, additions
        if problem.renormalised:
            own_sum, own_off, added = chosen, off_chosen, problem.chosen + DIVISION_ROUNDINGS
        divisor = own_sum.sum(1, keepdim=True)
        exact = torch.where(divisor == 0, 0.0, chosen / torch.where(divisor == 0, 1.0, divisor))
        # a sum over all experts that is NaN makes up for nothing
        exact = torch.where(torch.isnan(terms.sum(1, keepdim=True)), torch.nan, exact)
        of_sum = (own_sum * own_off).sum(1, keepdim=True) / torch.where(divisor == 0, 1.0, divisor)
        of_sum = (1 + of_sum) * (1 + relative_bound(added, torch.float32)) - 1
        divisions = DIVISION_ROUNDINGS * (2 if problem.renormalised else 1)
        relative = (1 + off_chosen) * (1 + relative_bound(divisions, torch.float32)) / (1 - of_sum) - 1
        # what underflows: exponentials, and what they are divided by is 1 at least
        bound = exact * relative + torch.where(divisor == 0, 0.0, 4 * problem.experts * SMALLEST[torch.float32])
        return {"experts": Exact(ids), "weights": Close(exact, bound)}

    def coverage(self, case: Case, problem: MoeTopkProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        rows = range(_first_token(problem) * problem.experts, problem.tokens * problem.experts)
        return {_name(_worker_of(case, problem.experts)): rows}

    def unbound(self, case: Case) -> Mapping[str, str]:  # noqa: ARG002 - the same for all
        """See ReferenceKernel."""
        workers = "worker_per_segment_policies"
        epilogues = {f"{workers}.worker_{number}.epilogue": "no segment is queued" for number in range(WORKERS)}
        return {
            **epilogues,
            "multi_worker_per_segment_policy": "no segment is queued",
            f"{workers}.worker_0": "the largest tile: there is no other worker for what it does not hold",
        }


def _words(logits: Tensor, numbers: Tensor) -> Tensor:
    """A logit and its expert's number in one word: greater logits, then lower numbers, are greater; NaN is least."""
    # zeros of both signs are equal
    ordered = RadixKeys(_FLOAT).twiddled(RadixKeys(_FLOAT).raw((logits + 0.0).contiguous()))
    image = torch.where(torch.isnan(logits), 0, ordered)
    return (image << _NUMBER_BITS) | (_LAST_NUMBER - numbers)


def _of_block(items: Tensor, operator: Operator, warp_size: int) -> Tensor:
    """A block's reduction of [items, tokens, threads]: the items of a thread one after the other."""
    held = items[0]
    for item in items[1:]:
        held = operator.combine(held, item)
    valid = torch.full((items.shape[1],), items.shape[2], device=items.device)
    return block_reduce(held, operator, WARP_REDUCTIONS, warp_size, valid)


def _divided(weights: Tensor, total: Tensor) -> Tensor:
    """Weights of each row over its total; zeros where everything was masked."""
    nothing = (total == 0).unsqueeze(-1)
    return torch.where(nothing, 0.0, weights / torch.where(nothing, 1.0, total.unsqueeze(-1)))


def _name(worker: int) -> str:
    return f"{KERNEL_NAME} by worker {worker}"


def _worker(case: Case, number: int) -> Record:
    worker: Record = case.policy.worker_per_segment_policies[f"worker_{number}"]
    return worker


def _worker_of(case: Case, experts: int) -> int:
    """The last worker whose tile covers the experts of a token. Raises ValueError if none does."""
    for number in reversed(range(WORKERS)):
        if _tile_items(_worker(case, number)) >= experts:
            return number
    raise ValueError(f"{experts} experts are more than the largest tile of a block holds")


def _tile_items(worker: Record) -> int:
    return int(worker.threads_per_block * worker.items_per_thread)


def _first_token(problem: MoeTopkProblem) -> int:
    """The token from which tiles are noted: where nothing is loaded, the last ones."""
    return 0 if problem.has_data else problem.tokens - LAST_TILES


KERNEL: Final = MoeTopkKernel()
