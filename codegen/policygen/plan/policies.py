"""What the plan of a launch reads of a policy and of its whole key, by the names that CUB's structs have.

A resolved policy has these attributes in the compiler and in a generated package, and more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class BlockTile(Protocol):
    """The tile of a block."""

    threads_per_block: int
    items_per_thread: int


def tile_of(counts: BlockTile) -> int:
    """Items of a block's tile."""
    return counts.threads_per_block * counts.items_per_thread


class ReduceTiles(Protocol):
    """Of a reduction's policy."""

    @property
    def multi_tile(self) -> BlockTile:
        """The tile of the first pass."""

    @property
    def single_tile(self) -> BlockTile:
        """The tile of the second pass, and of a problem of one tile."""


class ReduceKey(Protocol):
    """Of a reduction's key."""

    accum_size: int
    determinism: str


class Delay(Protocol):
    """How a block waits for its predecessors' states, in nanoseconds."""

    kind: str
    delay: int
    l2_write_latency: int


class LookbackTile(BlockTile, Protocol):
    """Of the policy of a lookback scan."""

    @property
    def lookback_delay(self) -> Delay:
        """How a block waits."""


class LookaheadTile(Protocol):
    """Of the policy of a lookahead scan."""

    reduce_and_scan_warps: int
    items_per_thread: int
    lookahead_stages: int
    block_idx_stages: int


class ScanTiles(Protocol):
    """Of a scan's policy: one of the two is selected, the other all zero."""

    algorithm: str

    @property
    def lookback(self) -> LookbackTile:
        """Of the lookback scan."""

    @property
    def lookahead(self) -> LookaheadTile:
        """Of the lookahead scan."""


class ScanKey(Protocol):
    """Of a scan's key: bytes and alignments."""

    input_value_size: int
    input_value_alignment: int
    output_value_alignment: int
    accum_size: int
    accum_alignment: int
    accum_is_primitive_or_trivially_copy_constructible: bool


class PrefetchTile(Protocol):
    """Of the policy of a transform that prefetches."""

    threads_per_block: int
    items_per_thread_no_input: int
    min_items_per_thread: int
    max_items_per_thread: int


class AsyncCopyTile(Protocol):
    """Of the policy of a transform that copies asynchronously."""

    threads_per_block: int
    min_items_per_thread: int
    max_items_per_thread: int


class TransformTiles(Protocol):
    """Of a transform's policy: what is selected reads its own part."""

    min_bytes_in_flight: int
    algorithm: str

    @property
    def prefetch(self) -> PrefetchTile:
        """Of a transform that prefetches."""

    @property
    def vectorized(self) -> BlockTile:
        """Of a transform with vectorised loads."""

    @property
    def async_copy(self) -> AsyncCopyTile:
        """Of a transform that copies asynchronously."""


class Input(Protocol):
    """Of an input of a transform: bytes."""

    value_type_size: int
    value_type_alignment: int


class TransformKey(Protocol):
    """Of a transform's key."""

    @property
    def inputs(self) -> Sequence[Input]:
        """The inputs, in order."""


class DigitTile(BlockTile, Protocol):
    """Of the policy of a kernel that sorts by a digit."""

    radix_bits: int


class ScanCounts(Protocol):
    """Of the policy of the kernel that scans counts."""

    @property
    def lookback(self) -> BlockTile:
        """Its tile."""


class RadixSortTiles(Protocol):
    """Of a radix sort's policy."""

    algorithm: str

    @property
    def onesweep(self) -> DigitTile:
        """Of onesweep."""

    @property
    def scan(self) -> ScanCounts:
        """Of several passes: the scan of the counts."""

    @property
    def downsweep(self) -> DigitTile:
        """Of several passes: the scatter by a digit."""

    @property
    def alt_downsweep(self) -> DigitTile:
        """The same for the narrower digit."""

    @property
    def upsweep(self) -> BlockTile:
        """Of several passes: the count of a digit."""

    @property
    def alt_upsweep(self) -> BlockTile:
        """The same for the narrower digit."""

    @property
    def single_tile(self) -> DigitTile:
        """Of a problem of one tile."""


class RadixSortKey(Protocol):
    """Of a radix sort's key: bytes."""

    key_size: int
    value_size: int
    offset_size: int


class TopkTile(BlockTile, Protocol):
    """Of a selection's policy."""

    bits_per_pass: int


class TopkKey(Protocol):
    """Of a selection's key: bytes."""

    key_size: int
    offset_size: int


class SmallBuffers(Protocol):
    """Of the policy of a batched copy's first kernel."""

    threads_per_block: int
    buffers_per_thread: int
    block_level_tile_size: int
    warp_level_threshold: int
    block_level_threshold: int


class LargeBuffers(Protocol):
    """Of the policy of a batched copy's second kernel."""

    threads_per_block: int
    bytes_per_thread: int


class BothBuffers(Protocol):
    """Of the policy of a batched copy: its two kernels."""

    @property
    def small_buffer(self) -> SmallBuffers:
        """Of the first kernel."""

    @property
    def large_buffer(self) -> LargeBuffers:
        """Of the second kernel."""


class BatchMemcpyTiles(Protocol):
    """Of a batched copy's policy."""

    @property
    def lookback(self) -> BothBuffers:
        """Its two kernels."""


class WarpTile(BlockTile, Protocol):
    """Of the policy of segments that a warp, or a part of one, works on."""

    threads_per_warp: int


class SegmentedReduceTiles(Protocol):
    """Of a segmented reduction's policy."""

    @property
    def medium_reduce(self) -> WarpTile:
        """Of segments for a warp."""

    @property
    def small_reduce(self) -> WarpTile:
        """Of segments for a part of a warp."""
