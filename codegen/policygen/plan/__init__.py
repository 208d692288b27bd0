"""Launch plans: what a dispatcher does on the host for a problem size, as pure functions of integers.

Tiles, grids, shares, temporary bytes and waves, exactly as CCCL 3.5 computes them, the engine's own partitions, and the
occupancy of a kernel as NVIDIA's calculator has it. A plan reads no spec and no device: tile sizes come from a resolved
policy, multiprocessors and limits from facts or from the caller. Integers have no width here, so where upstream's own
would wrap, a plan raises ValueError.
"""
