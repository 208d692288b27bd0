"""Faults planted in the kernels of an inference engine: see `reference.faults`."""

from __future__ import annotations

from reference.faults import Fault

ENGINE_FAULTS = (
    Fault(
        kernel="online_softmax",
        what="sums are not rescaled when a greater maximum comes",
        module="collectives.softmax_state",
        text="return state[..., 1:] * rescaling(state[..., 0], greater).unsqueeze(-1)",
        instead="return state[..., 1:]",
    ),
    Fault(
        kernel="online_softmax",
        what="sums are rescaled twice",
        module="collectives.softmax_state",
        text="return state[..., 1:] * rescaling(state[..., 0], greater).unsqueeze(-1)",
        instead="return state[..., 1:] * rescaling(state[..., 0], greater).unsqueeze(-1) ** 2",
    ),
    Fault(
        kernel="online_softmax",
        what="what is masked counts as an item",
        module="collectives.softmax_state",
        text="torch.where(masked, 0.0, sums)",
        instead="sums",
    ),
    Fault(
        kernel="online_softmax",
        what="-infinity is taken from -infinity",
        module="collectives.softmax_state",
        text="torch.where(own == greater, 1.0, torch.exp(own - greater))",
        instead="torch.exp(own - greater)",
    ),
    Fault(
        kernel="online_softmax",
        what="averages of nothing are divided by nothing",
        module="collectives.softmax_state",
        text="return torch.where(total == 0, 0.0, states[..., 2:] / torch.where(total == 0, 1.0, total))",
        instead="return states[..., 2:] / total",
    ),
    Fault(
        kernel="online_softmax",
        what="what came before is forgotten",
        module="collectives.grid_reduce",
        text="return self.operator.combine(initial, aggregate)",
        instead="return aggregate",
    ),
    Fault(
        kernel="online_softmax",
        what="the second pass leaves out the last block",
        module="collectives.grid_reduce",
        text="return self._one_block(partials, initial, SECOND_PASS, log)",
        instead="return self._one_block(partials[:-1], initial, SECOND_PASS, log)",
    ),
    Fault(
        kernel="moments",
        what="the difference of means is taken the other way round",
        module="collectives.moments_state",
        text="difference = mean_b - mean_a",
        instead="difference = mean_a - mean_b",
    ),
    Fault(
        kernel="moments",
        what="the parts' M2 are swapped in M3",
        module="collectives.moments_state",
        text="(na * m2b - nb * m2a)",
        instead="(na * m2a - nb * m2b)",
        given={"accum_size": 40},
    ),
    Fault(
        kernel="moments",
        what="M3 is scaled twice in M4",
        module="collectives.moments_state",
        text="+ 4 * s * (na * m3b - nb * m3a)",
        instead="+ 8 * s * (na * m3b - nb * m3a)",
        given={"accum_size": 40},
    ),
    Fault(
        kernel="moments",
        what="items are not counted",
        module="collectives.moments_state",
        text="states[..., 0] = 1.0",
        instead="states[..., 0] = 0.0",
    ),
    Fault(
        kernel="moments",
        what="what is merged with nothing becomes nothing",
        module="collectives.moments_state",
        text="self.element.select(na == 0, later, result)",
        instead="self.element.select(na == 0, earlier, result)",
    ),
    Fault(
        kernel="partition_merge",
        what="partitions weigh the same, however many tokens they have",
        module="collectives.partition_merge",
        text="weights = partitions.sums * rescaling(",
        instead="weights = rescaling(",
    ),
    Fault(
        kernel="partition_merge",
        what="outputs are not divided by the total",
        module="collectives.partition_merge",
        text="shares = weights / total.unsqueeze(-1)",
        instead="shares = weights",
    ),
    Fault(
        kernel="partition_merge",
        what="the tail of the last tile is lost",
        module="collectives.partition_merge",
        text="[: ceil_div(longest - begin, self.threads)]",
        instead="[: max(1, (longest - begin) // self.threads)]",
    ),
    Fault(
        kernel="partition_merge",
        what="the output of a partition that is masked is looked at",
        module="collectives.partition_merge",
        text="(exists & (partitions.sums[:, at] != 0))",
        instead="exists",
    ),
    Fault(
        kernel="partition_merge",
        what="threads without partitions hold zero for a maximum",
        module="collectives.partition_merge",
        text='held = torch.full((counts.shape[0], self.threads), float("-inf"), device=counts.device)',
        instead="held = torch.zeros(counts.shape[0], self.threads, device=counts.device)",
    ),
)
