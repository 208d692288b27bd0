"""What the reference kernels of a mixture of experts do together: route, sort by expert, combine."""

from __future__ import annotations

import pytest
import torch

from policygen.project import Project
from policygen.reference.collectives.expert_blocks import expert_blocks
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Close
from policygen.reference.contract.error_bounds import sum_bound
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.engine.moe_align import KERNEL as ALIGN
from policygen.reference.engine.moe_align import MoeAlignInputs
from policygen.reference.engine.moe_align import MoeAlignProblem
from policygen.reference.engine.moe_combine import KERNEL as COMBINE
from policygen.reference.engine.moe_combine import MoeCombineInputs
from policygen.reference.engine.moe_combine import MoeCombineProblem
from policygen.reference.engine.moe_topk import KERNEL as TOPK
from policygen.reference.engine.moe_topk import MoeTopkProblem
from policygen.reference.values.rows import rows_of
from policygen.reference.values.rows import unwritten
from policygen.validate.cases import plan
from policygen.validate.run import fault


def case_of(project: Project, kernel: str) -> Case:
    return plan(project, "bi100", [kernel], quick=True).cases[-1]


@pytest.mark.parametrize("threads", [32, 64, 256])
@pytest.mark.parametrize("experts", [1, 8, 60, 256])
def test_experts_begin_at_whole_blocks_however_many_a_thread_has(threads: int, experts: int) -> None:
    counts = torch.randint(50, (experts,), generator=torch.Generator().manual_seed(experts))
    counts[experts // 2] = 0
    found = expert_blocks(counts, 16, threads, 32)
    at = 0
    for expert, count in enumerate(counts.tolist()):
        assert int(found.begins[expert]) == at
        blocks = torch.arange(at // 16, at // 16 + -(-count // 16))
        assert bool((found.expert_of(blocks) == expert).all())
        at += -(-count // 16) * 16
        assert int(found.ends[expert]) == at


def test_more_experts_than_a_digit_has_values_are_refused(packaged: Project) -> None:
    case = case_of(packaged, "moe_align")
    digits = 1 << case.policy.onesweep.radix_bits
    problem = MoeAlignProblem(100, digits + 1, 16, "random", 5, 1 << 20, "all")
    assert "more than the 256 values of a digit" in str(fault(ALIGN, case, problem, 0))


def test_tokens_come_back_as_the_weighted_sum_of_their_experts(packaged: Project) -> None:
    """Expert e multiplies by e + 1, which is exact: so a token comes back times the sum of its weights (e + 1)."""
    tokens, experts, k, hidden, block_m = 37, 60, 4, 46, 16
    topk, align, combine = (case_of(packaged, name) for name in ("moe_topk", "moe_align", "moe_combine"))
    random = torch.Generator().manual_seed(1)
    logits = torch.randn(tokens, experts, generator=random)
    routed = TOPK.run(topk, MoeTopkProblem(tokens, experts, k, "float32", True, "given"), logits, TileLog())
    chosen, weights = routed["experts"], routed["weights"]

    problem = MoeAlignProblem(tokens * k, experts, block_m, "given", 5, 1 << 20, "any")
    placed = ALIGN.run(align, problem, MoeAlignInputs(chosen.flatten(), 0), TileLog())
    pairs, of_block = placed["pairs"], placed["experts"]
    filled = torch.nonzero(pairs < tokens * k).squeeze(-1)
    places = torch.full((tokens * k,), -1)
    places[pairs[filled]] = filled

    x = torch.randint(-8, 8, (tokens, hidden), generator=random).to(torch.float32)
    results = torch.full((problem.places, hidden), float("nan"))
    results[filled] = x[pairs[filled] // k] * (of_block[filled // block_m] + 1).unsqueeze(-1)
    given = MoeCombineInputs(
        rows_of(results), places.view(tokens, k), weights, unwritten(tokens, hidden, torch.float32, device="cpu")
    )
    step = MoeCombineProblem(tokens, k, hidden, "float32", (0, 0), 0, 1, "given")
    written = given.output.copy()
    written.memory.copy_(COMBINE.run(combine, step, given, TileLog())["output"])
    terms = (weights.to(torch.float64) * (chosen + 1)).unsqueeze(-1) * x.to(torch.float64).unsqueeze(1)
    off = sum_bound(terms.abs().sum(1), k + 1, torch.float32, k)
    assert Close(terms.sum(1), off).difference(written.values) is None
