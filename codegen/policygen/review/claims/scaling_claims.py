"""A: what the notes say of the scaling rules."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from policygen.lang.tree import Expr
from policygen.lang.tree import Field
from policygen.lang.tree import walk
from policygen.review.claims.claim import Answers
from policygen.review.claims.claim import Claim
from policygen.review.scaling_parity_section import NOTED_TILES
from policygen.review.scaling_parity_section import recomputed
from policygen.review.upstream import Upstream
from policygen.scaling import TILE_BYTES
from policygen.scaling import WARP_THREADS
from policygen.scaling import scale_mem_bound
from policygen.scaling import scale_reg_bound
from policygen.spec import SubPolicy

_THREADS: Final = range(32, 1025, 96)
_ITEMS: Final = range(1, 33)
_SIZES: Final = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 40, 64, 100, 128, 256)

_DIFFER: Final = "cases that differ"


def _cases() -> Iterator[tuple[int, int, int]]:
    return product(_THREADS, _ITEMS, _SIZES)


def _mem_bound_items(_: Upstream) -> Answers:
    wrong = [i for t, i, s in _cases() if scale_mem_bound(t, i, s)[0] != min(max(i * 4 // s, 1), 2 * i)]
    return {_DIFFER: len(wrong)}


def _mem_bound_threads(_: Upstream) -> Answers:
    wrong = largest = 0
    for threads, items, size in _cases():
        scaled = scale_mem_bound(threads, items, size)
        rounded = -(-(TILE_BYTES // (size * scaled.items_per_thread)) // WARP_THREADS) * WARP_THREADS
        wrong += scaled.threads_per_block != min(threads, rounded)
        largest = max(largest, scaled.threads_per_block * scaled.items_per_thread * size)
    return {_DIFFER: wrong, f"the largest tile is at most {TILE_BYTES:,} bytes": largest <= TILE_BYTES}


def _reg_bound_items(_: Upstream) -> Answers:
    wrong = [i for t, i, s in _cases() if scale_reg_bound(t, i, s)[0] != max(1, i * 4 // max(4, s))]
    return {_DIFFER: len(wrong)}


def _rules_differ_in_threads(_: Upstream) -> Answers:
    """Whether the two rules give other threads for the same items: their roundings would then differ."""
    both = [(scale_mem_bound(*case), scale_reg_bound(*case)) for case in _cases()]
    return {"threads differ where items are equal": any(m[0] == r[0] and m[1] != r[1] for m, r in both)}


def scaling_rules(upstream: Upstream, architecture: str, algorithm: str) -> str:
    """The rules by which the points of an algorithm are scaled, `mem_bound and reg_bound`; `none` for none."""
    found: dict[str, None] = {}
    for point in upstream.rules(architecture, algorithm).points:
        found.update(dict.fromkeys(_scales(point.policy)))
    return " and ".join(sorted(found)) or "none"


def _scales(policy: SubPolicy) -> Iterator[str]:
    if policy.scale is not None:
        yield policy.scale.rule.value
    for _, value in policy.fields:
        if isinstance(value, SubPolicy):
            yield from _scales(value)


def _scan_is_reg_bound(upstream: Upstream) -> Answers:
    return {"scan is scaled by": scaling_rules(upstream, "10.0", "scan")}


def _users_of_mem_bound(upstream: Upstream) -> Answers:
    return {name: scaling_rules(upstream, "10.0", name) for name in ("reduce", "transform")}


def tile_is_in_shared_memory(upstream: Upstream, algorithm: str) -> bool:
    """Whether the shared memory of an algorithm grows with the items of a thread."""
    rules = upstream.rules("10.0", algorithm)
    needs = [c.need for c in rules.fit if c.id.startswith("shared-memory") and c.need is not None]
    return any(_reads_items(need) for need in needs)


def _reads_items(expr: Expr) -> bool:
    return any(isinstance(node, Field) and node.name == "items_per_thread" for node in walk(expr))


def _what_the_cap_limits(upstream: Upstream) -> Answers:
    return {
        f"{name} keeps its tile in": "shared memory" if tile_is_in_shared_memory(upstream, name) else "registers"
        for name in ("reduce", "scan")
    }


def _noted_tiles(upstream: Upstream) -> Answers:
    found: dict[str, str] = {}
    for noted in NOTED_TILES:
        _, _, _, counts = recomputed(upstream, noted)
        found[noted.name] = f"{counts.threads_per_block} x {counts.items_per_thread}"
    return found


_RULE: Final = "the rules of `policygen.scaling`, over a grid of counts and sizes"

SCALING_CLAIMS: Final = (
    Claim(
        "A1",
        "N0",
        "",
        "memory-bound items are clamp(nominal x 4 / size, 1, 2 x nominal)",
        {_DIFFER: 0},
        _mem_bound_items,
        _RULE,
    ),
    Claim(
        "A2",
        "N0",
        "",
        "memory-bound threads are min(nominal, 48 KiB / (size x items) rounded up to 32), which caps the tile",
        {_DIFFER: 0, f"the largest tile is at most {TILE_BYTES:,} bytes": True},
        _mem_bound_threads,
        _RULE,
    ),
    Claim(
        "A3",
        "N0",
        "",
        "register-bound items are max(1, nominal x 4 / max(4, size))",
        {_DIFFER: 0},
        _reg_bound_items,
        _RULE,
    ),
    Claim(
        "A4",
        "N0",
        "",
        "the register-bound rule rounds threads in another way: a key difference",
        {"threads differ where items are equal": True},
        _rules_differ_in_threads,
        _RULE,
    ),
    Claim(
        "A5",
        "N0",
        "scan",
        "scan, with its complex state, is scaled by the register-bound rule",
        {"scan is scaled by": "reg_bound"},
        _scan_is_reg_bound,
        "the points of scan",
    ),
    Claim(
        "A6",
        "N0",
        "",
        "reduce and transform are scaled by the memory-bound rule",
        {"reduce": "mem_bound", "transform": "mem_bound"},
        _users_of_mem_bound,
        "the points of both",
    ),
    Claim(
        "A7",
        "N0",
        "",
        "the 48 KiB of the rule limit registers, not shared memory",
        {"reduce keeps its tile in": "registers", "scan keeps its tile in": "registers"},
        _what_the_cap_limits,
        "whether the constraint on shared memory reads items_per_thread",
    ),
    Claim(
        "A9",
        "N4",
        "",
        "eleven tiles after scaling are as the parity table has them",
        {noted.name: f"{noted.threads} x {noted.items}" for noted in NOTED_TILES},
        _noted_tiles,
        "section scaling_parity",
    ),
)
