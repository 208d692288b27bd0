"""Parity of the scaling rules: eleven tiles that the source notes give for CUB, recomputed from the points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Final

from attrs import field
from attrs import frozen

from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject
from policygen.review.upstream import NOT_CONTIGUOUS
from policygen.review.upstream import Upstream
from policygen.scaling import TILE_BYTES
from policygen.scaling import WARP_THREADS
from policygen.scaling import Nominal
from policygen.scaling import Resolved
from policygen.scaling import ScalingRule
from policygen.scaling import scale


@frozen
class NotedTile:
    """A tile as the source notes give it.

    Attributes:
        name: what they call it.
        nominal: nominal threads and items.
        size: bytes of an element.
        items: what they say that scaling gives.
        threads: likewise.
        tile_bytes: likewise.
        architecture: where a point of CUB's has these counts; empty where the rule alone is tried.
        algorithm: of the point.
        part: the part of the policy that has the counts.
        key: a key that the point answers.
    """

    name: str
    nominal: tuple[int, int]
    size: int
    items: int
    threads: int
    tile_bytes: int
    architecture: str = ""
    algorithm: str = ""
    part: str = ""
    key: Mapping[str, Any] = field(factory=dict, hash=False)


def _reduce(accum: str, **more: Any) -> dict[str, Any]:
    return {"accum_t": accum, "operation_t": "plus", "offset_size": 4, **more}


def _scan(element: str) -> dict[str, Any]:
    return {"input_type": element, "operation_t": "plus", "offset_size": 4, **NOT_CONTIGUOUS}


_EXACT: Final = {"determinism": "gpu_to_gpu"}

NOTED_TILES: Final = (
    NotedTile(
        "float32 reduce", (512, 16), 4, 16, 512, 32_768, "10.0", "reduce", "multi_tile", _reduce("float32")
    ),
    NotedTile("float64 reduce", (640, 16), 8, 8, 640, 40_960, "10.0", "reduce", "multi_tile", _reduce("float64")),
    NotedTile("8-byte reduce", (512, 15), 8, 7, 512, 28_672, "10.0", "reduce", "multi_tile", _reduce("int64")),
    NotedTile("4-byte scan", (384, 22), 4, 22, 384, 33_792, "10.0", "scan", "lookback", _scan("int32")),
    NotedTile("8-byte scan", (416, 23), 8, 11, 416, 36_608, "10.0", "scan", "lookback", _scan("int64")),
    NotedTile(
        "gpu_to_gpu float32 reduce, 9.0",
        (224, 13), 4, 13, 224, 11_648,
        "9.0", "reduce", "multi_tile", _reduce("float32", **_EXACT),
    ),
    NotedTile(
        "gpu_to_gpu float64 reduce, 8.6",
        (128, 11), 8, 5, 128, 5_120,
        "8.6", "reduce", "multi_tile", _reduce("float64", **_EXACT),
    ),
    NotedTile("1 byte", (256, 16), 1, 32, 256, 8_192),
    NotedTile("2 bytes", (256, 16), 2, 32, 256, 16_384),
    NotedTile("16 bytes", (256, 16), 16, 4, 256, 16_384),
    NotedTile("cap", (1024, 16), 8, 8, 768, 49_152),
)  # fmt: skip
"""The eleven rows of the notes' scaling parity; of the last they give the result alone, which this input has."""

COLUMNS: Final = (
    Column("tile"),
    Column("point"),
    Column("nominal", right=True),
    Column("bytes", right=True),
    Column("notes", right=True),
    Column("notes' tile", right=True),
    Column("recomputed", right=True),
    Column("tile bytes", right=True),
    Column("verdict"),
)


def scaling_parity_section(subject: Subject) -> Section | None:
    """A row for each tile; those of algorithms that are not under review are left out."""
    asked = [noted for noted in NOTED_TILES if not noted.algorithm or noted.algorithm in subject.rules]
    if not any(noted.algorithm for noted in asked):
        return None
    rows = tuple(_row(subject.upstream, noted) for noted in asked)
    notes = [f"{sum(row.data['equal'] for row in rows)} of {len(rows)} rows equal"]
    if not any(_tells_rounding(noted) for noted in asked):
        notes.append(
            f"weak evidence alone: no row tells rounding up to {WARP_THREADS} threads from rounding down, and no tile "
            f"exceeds {TILE_BYTES:,} bytes; `policygen parity` compares with CCCL's own selectors"
        )
    return Section("scaling_parity", "Parity of the scaling rules", COLUMNS, rows, tuple(notes))


def recomputed(upstream: Upstream, noted: NotedTile) -> tuple[str, str, Nominal, Resolved]:
    """Where a tile's nominal counts come from now (point and place), what they are, and what they are scaled to."""
    if noted.algorithm:
        found = upstream.counts(noted.architecture, noted.algorithm, noted.part, **noted.key)
        return found.point, found.place, found.nominal, found.resolved
    nominal = Nominal(*noted.nominal)
    return "", "", nominal, scale(nominal, ScalingRule.MEM_BOUND, noted.size)


def _row(upstream: Upstream, noted: NotedTile) -> Row:
    point, place, nominal, found = recomputed(upstream, noted)
    tile_bytes = found.threads_per_block * found.items_per_thread * noted.size
    stated = (noted.nominal, noted.threads, noted.items, noted.tile_bytes)
    nominal_counts = (nominal.threads_per_block, nominal.items_per_thread)
    equal = stated == (nominal_counts, found.threads_per_block, found.items_per_thread, tile_bytes)
    cells = (
        noted.name,
        point or "the rule alone",
        f"{nominal.threads_per_block} x {nominal.items_per_thread}",
        str(noted.size),
        f"{noted.threads} x {noted.items}",
        f"{noted.tile_bytes:,}",
        f"{found.threads_per_block} x {found.items_per_thread}",
        f"{tile_bytes:,}",
        "equal" if equal else "DIFFERS",
    )
    data = {
        "tile": noted.name,
        "point": point,
        "place": place,
        "nominal_threads": nominal.threads_per_block,
        "nominal_items": nominal.items_per_thread,
        "size": noted.size,
        "noted": {"threads": noted.threads, "items": noted.items, "tile_bytes": noted.tile_bytes},
        "threads": found.threads_per_block,
        "items": found.items_per_thread,
        "tile_bytes": tile_bytes,
        "equal": equal,
    }
    return Row(cells, data)


def _tells_rounding(noted: NotedTile) -> bool:
    """Whether the block would have other threads if they were rounded down to whole warps."""
    most = TILE_BYTES // (noted.items * noted.size)
    return most < noted.nominal[0] and most % WARP_THREADS != 0
