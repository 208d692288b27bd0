"""The plan of a transform from a resolved policy, its whole key and a device."""

from __future__ import annotations

from policygen.plan.async_copy_smem import bulk_copy_alignment
from policygen.plan.async_copy_smem import bulk_copy_smem_bytes
from policygen.plan.async_copy_smem import cp_async_smem_bytes
from policygen.plan.device import Device
from policygen.plan.policies import TransformKey
from policygen.plan.policies import TransformTiles
from policygen.plan.transform_plan import PREFETCH
from policygen.plan.transform_plan import VECTORIZED
from policygen.plan.transform_plan import ItemBounds
from policygen.plan.transform_plan import TransformPlan
from policygen.plan.transform_plan import async_plan
from policygen.plan.transform_plan import prefetch_plan
from policygen.plan.transform_plan import vectorized_plan


def transform_launch(
    policy: TransformTiles, key: TransformKey, *, num_items: int, device: Device, aligned: bool = True
) -> TransformPlan:
    """Plans a transform; see `prefetch_plan`, `vectorized_plan` and `async_plan`.

    Args:
        policy: of `transform`.
        key: its whole key.
        num_items: items to transform, 0 to 2^62.
        device: with the residency of the kernel; of one that copies asynchronously, as it is without shared memory.
        aligned: whether every pointer is aligned to vectors. If not, what is vectorised prefetches.

    Raises:
        ValueError: an argument is out of bounds; or of a transform that copies asynchronously, the fewest items do not
            fit or a limit of shared memory is not known.
    """
    loaded_bytes = sum(one.value_type_size for one in key.inputs)
    if policy.algorithm == VECTORIZED and aligned:
        return vectorized_plan(
            num_items,
            threads_per_block=policy.vectorized.threads_per_block,
            items_per_thread=policy.vectorized.items_per_thread,
            residency=device.residency,
        )
    if policy.algorithm in (PREFETCH, VECTORIZED):
        # a kernel that was compiled for vectors keeps their block
        own = policy.vectorized if policy.algorithm == VECTORIZED else policy.prefetch
        return prefetch_plan(
            num_items,
            threads_per_block=own.threads_per_block,
            min_bytes_in_flight=policy.min_bytes_in_flight,
            loaded_bytes=loaded_bytes,
            residency=device.residency,
            bounds=ItemBounds(policy.prefetch.min_items_per_thread, policy.prefetch.max_items_per_thread),
            items_without_input=policy.prefetch.items_per_thread_no_input,
        )
    elements = [(one.value_type_size, one.value_type_alignment) for one in key.inputs]

    def smem_at(tile_items: int) -> int:
        if policy.algorithm == "ldgsts":
            return cp_async_smem_bytes(elements, tile_items)
        alignment = bulk_copy_alignment(device.compute_capability)
        return bulk_copy_smem_bytes(elements, tile_items, alignment=alignment)

    return async_plan(
        num_items,
        algorithm=policy.algorithm,
        threads_per_block=policy.async_copy.threads_per_block,
        min_bytes_in_flight=policy.min_bytes_in_flight,
        loaded_bytes=loaded_bytes,
        bounds=ItemBounds(policy.async_copy.min_items_per_thread, policy.async_copy.max_items_per_thread),
        smem_at=smem_at,
        residency_at=device.residency_with,
    )
