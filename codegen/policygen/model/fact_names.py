"""The closed vocabulary of hardware facts."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from policygen.model.dimensions import Dimension


@frozen
class FactName:
    """A fact that a target may state.

    Attributes:
        name: The name in specs and expressions.
        dimension: What its value counts.
        description: What it means, for people.
        may_be_zero: True where zero is a value; elsewhere it is a mistake, for unknown is never zero.
    """

    name: str
    dimension: Dimension
    description: str
    may_be_zero: bool = False


_COUNT, _BYTES = Dimension.COUNT, Dimension.BYTES

FACT_NAMES: Final[dict[str, FactName]] = {
    fact.name: fact
    for fact in (
        FactName("sm_count", _COUNT, "multiprocessors of a device"),
        FactName("device_count", _COUNT, "devices of the machine that the target describes"),
        FactName("warp_size", _COUNT, "threads that execute in step"),
        FactName("max_threads_per_block", _COUNT, "threads of a block, at most"),
        FactName("max_threads_per_sm", _COUNT, "resident threads of a multiprocessor, at most"),
        FactName("max_blocks_per_sm", _COUNT, "resident blocks of a multiprocessor, at most"),
        FactName("registers_per_sm", _COUNT, "32-bit registers of a multiprocessor"),
        FactName("max_registers_per_block", _COUNT, "32-bit registers of a block, at most"),
        FactName("max_registers_per_thread", _COUNT, "32-bit registers of a thread, at most"),
        FactName("register_allocation_unit", _COUNT, "registers, of which a warp gets a whole multiple"),
        FactName("warp_allocation_unit", _COUNT, "warps, to whose multiple a block's count when its registers do"),
        FactName("sm_partitions", _COUNT, "parts of a multiprocessor, each with its share of the registers"),
        FactName("max_smem_per_block", _BYTES, "shared memory that a block may declare statically"),
        FactName(
            "max_smem_per_block_optin", _BYTES, "shared memory of a block when the kernel opts in, without the reserve"
        ),
        FactName("reserved_smem_per_block", _BYTES, "shared memory that the driver takes from every block", True),
        FactName("smem_allocation_unit", _BYTES, "shared memory, of which a block gets a whole multiple"),
        FactName("smem_per_sm", _BYTES, "shared memory of a multiprocessor, the reserve of every block included"),
        FactName("max_grid_x", _COUNT, "blocks of a grid along x, at most"),
        FactName("max_grid_y", _COUNT, "blocks of a grid along y, at most"),
        FactName("max_grid_z", _COUNT, "blocks of a grid along z, at most"),
        FactName("l2_size", _BYTES, "second-level cache"),
        FactName("memory_size", _BYTES, "device memory"),
        FactName("memory_bandwidth", Dimension.BYTES_PER_SECOND, "device memory bandwidth, nominal"),
        FactName("achieved_bandwidth", Dimension.BYTES_PER_SECOND, "device memory bandwidth that a copy achieves"),
        FactName("bandwidth_per_sm", Dimension.BYTES_PER_SECOND, "nominal bandwidth over multiprocessors"),
        FactName("achieved_bandwidth_per_sm", Dimension.BYTES_PER_SECOND, "achieved bandwidth over multiprocessors"),
        FactName("bytes_in_flight_per_sm", _BYTES, "bytes that a multiprocessor must have under way to hide latency"),
        FactName("compute_capability", Dimension.COMPUTE_CAPABILITY, "CUDA compute capability"),
        FactName("nvcc", Dimension.TOOLKIT, "CUDA compiler that builds the kernels"),
        FactName("launch_latency", Dimension.NANOSECONDS, "time of a kernel launch"),
        FactName("blocks_per_sm", _COUNT, "resident blocks of a multiprocessor that a plan assumes"),
        FactName("subscription_factor", _COUNT, "waves of blocks that an even-share grid may ask for"),
        FactName("fp64_throughput", Dimension.FLOPS, "double-precision operations of a device"),
    )
}
"""Every fact by name; a name that is not here is an error in a spec."""
