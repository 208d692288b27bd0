"""Typical edits of the specs, as reviewers see them: each changes one thing of a copy of the repository's specs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

BI100 = "targets/bi100.toml"
WARP = 'method = "kernel that reads warpSize; shuffle reduction over 64 lanes"\n'


def edit(revision: Path, file: str, old: str, new: str) -> None:
    """Replaces a text that occurs once in a spec file."""
    path = revision / "specs" / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file} has {text.count(old)} times: {old}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def withdraw_warp_size(revision: Path) -> None:
    edit(revision, BI100, WARP, f'{WARP}withdrawn = "the kernel had been compiled for another chip"\n')


def fewer_items(revision: Path) -> None:
    counts = "literal = {{ threads_per_block = 512, items_per_thread = {} }}"
    rest = ', vec_size = "2 if narrow_offset else 1" }'
    edit(revision, BI100, *(counts.format(items) + rest for items in (24, 16)))


def another_reference_point(revision: Path) -> None:
    path = revision / "specs" / "references" / "cccl-3.5" / "topk.toml"
    text = path.read_text(encoding="utf-8")
    assert text.count("threads_per_block = 512") >= 1
    path.write_text(text.replace("threads_per_block = 512", "threads_per_block = 256", 1), encoding="utf-8")


def new_type(revision: Path) -> None:
    edit(revision, "algorithms/reduce.toml", '"int128", "uint8"', '"int128", "uint128", "uint8"')


def more_multiprocessors(revision: Path) -> None:
    path = revision / "specs" / BI100
    text = path.read_text(encoding="utf-8")
    assert text.count("value = 16\n") == 2
    path.write_text(text.replace("value = 16\n", "value = 50\n"), encoding="utf-8")


EDITS: dict[str, Callable[[Path], None]] = {
    "warp-size-withdrawn": withdraw_warp_size,
    "reduce-items": fewer_items,
    "reference-point": another_reference_point,
    "new-type": new_type,
    "sm-count": more_multiprocessors,
}
