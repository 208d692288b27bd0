"""Cases of the reference kernels, and what they answer to one problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from policygen.project import Project
from policygen.reference.contract.case import Case
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.reduce import KERNEL as REDUCE
from policygen.reference.reduce import ReduceInputs
from policygen.reference.reduce import ReduceProblem
from policygen.reference.scan import KERNEL as SCAN
from policygen.reference.scan import ScanInputs
from policygen.reference.scan import ScanProblem
from policygen.reference.values.operators import Operator
from policygen.validate.cases import plan


def case_of(project: Project, kernel: str, target: str = "bi100", **given: Any) -> Case:
    """The case of one key."""
    return plan(project, target, [kernel], quick=True, given=given, warp_size=32).cases[0]


def reduced(case: Case, operator: Operator, values: Tensor, initial: Tensor, blocks: int = 3) -> Tensor:
    """What the reduction of some values is."""
    problem = ReduceProblem(values.shape[0], operator, "given", max_blocks=blocks)
    made = REDUCE.inputs(case, ReduceProblem(0, operator, "random", max_blocks=blocks), torch.Generator())
    arrival = torch.arange(blocks).flip(0)
    total: Mapping[str, Tensor] = REDUCE.run(
        case, problem, ReduceInputs(values, initial, arrival, made.warp_arrival), TileLog()
    )
    return total["total"]


def scanned(case: Case, problem: ScanProblem, values: Tensor, initial: Tensor, seed: int = 0) -> Mapping[str, Tensor]:
    """What the scan of some values is."""
    return SCAN.run(case, problem, ScanInputs(values, initial, (seed, seed + 1)), TileLog())
