"""Runs the paged attention and the Triton kernels on a GPU, with a target's tables, against float64.

    policygen build --target h200
    PYTHONPATH=../../generated/python python run_on_gpu.py --target h200

Needs torch, Triton and the tables, and nothing else of policygen. Prints a line of JSON for each check: what was
checked, on which device, whether it is right, and how much of the bound the largest error takes. The exit status is 1
if one is wrong. With `--device cpu` and TRITON_INTERPRET=1 in the environment it needs no GPU, and takes fewer sizes.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from types import ModuleType

import torch
from torch import Tensor

from exact_attention import INTERPRETED
from exact_attention import ROUNDOFF
from exact_attention import attention_bound
from exact_attention import exact_attention
from exact_rows import ExactRows
from exact_rows import exact_rms_norm
from exact_rows import exact_silu_and_multiply
from paged_attention import decode
from paged_sequences import Sequences
from paged_sequences import sequences
from triton_kernels import rms_norm
from triton_kernels import silu_and_multiply
from triton_kernels import split_k_decode

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
BATCHES = ((0, 1, 512, 513), (1100, 0, 700))
LONG_BATCHES = ((8193, 4000), (32_768,), (100_000,))
WINDOWS = (None, 1, 600)
ROWS = (46, 3584, 4097, 7168)
LONG_ROWS = (2**16, 2**18)

Check = tuple[str, Callable[[], float]]
"""What is checked, and the share of the bound that the largest error takes: more than 1 is wrong, and so is NaN."""


class Checks:
    """The checks of one target's tables on one device."""

    def __init__(self, target: ModuleType, device: str) -> None:
        self._attention = import_module(f"{target.__name__}.attention")
        self._norm = import_module(f"{target.__name__}.norm")
        self._kv_cache = import_module(f"{target.__name__}.kv_cache")
        self._device = device
        self._on_gpu = device != "cpu"
        self._roundoff = ROUNDOFF if self._on_gpu else INTERPRETED

    def all(self) -> Iterator[Check]:
        """Every check, by name."""
        # the served model's heads on a GPU
        shape = {"num_heads": 4, "head_size": 256} if self._on_gpu else {"num_heads": 2, "head_size": 16}
        for lengths in BATCHES + (LONG_BATCHES if self._on_gpu else ()):
            for dtype in DTYPES if self._on_gpu else DTYPES[:1]:
                for window in WINDOWS:
                    made = sequences(lengths, dtype=dtype, device=self._device, **shape)
                    name = f"lengths={lengths} dtype={dtype} window={window}"
                    yield from self._attention_checks(name, made, window)
        made = sequences((524_289,), num_heads=2, device=self._device)
        yield "paged_attention v2 lengths=(524289,)", partial(self._paged, made, "v2", None)
        if self._on_gpu:
            yield "split_k lengths=(524289,)", partial(self._split_k, made, None)
        for row_size in ROWS + (LONG_ROWS if self._on_gpu else ()):
            for dtype in DTYPES:
                yield f"rms_norm row_size={row_size} dtype={dtype}", partial(self._rms, row_size, dtype)
                yield f"silu row_size={row_size} dtype={dtype}", partial(self._silu, row_size, dtype)
        yield "refused: a row of 2^21 elements", self._long_row
        yield "refused: a sequence of 2^31 tokens", self._long_sequence

    def _attention_checks(self, name: str, made: Sequences, window: int | None) -> Iterator[Check]:
        longest = int(made.cache.lengths.max())
        for choice in ("v1", "v2"):
            if choice == "v2" or longest <= 32_768:
                yield f"paged_attention {choice} {name}", partial(self._paged, made, choice, window)
        yield f"split_k {name}", partial(self._split_k, made, window)

    def _paged(self, made: Sequences, choice: str, window: int | None) -> float:
        got = decode(self._attention, made.query, made.cache, choice=choice, window=window)
        num_seqs, num_heads, head_size = made.query.shape
        shape = {"num_seqs": num_seqs, "num_heads": num_heads, "head_size": head_size, "choice": choice}
        plan = self._attention.decode(seq_len=int(made.cache.lengths.max()), **shape)
        merges, steps = 0, plan.table_blocks
        if plan.kernel == "v2":
            steps = plan.partition_size // plan.kv_block_size
            threads = self._attention.merge(num_partitions=plan.num_partitions).threads_per_block
            merges = math.ceil(plan.num_partitions / threads) + math.ceil(math.log2(threads))
        return self._share(got, made, window, ROUNDOFF, steps=steps, block=plan.kv_block_size, merges=merges)

    def _split_k(self, made: Sequences, window: int | None) -> float:
        got = split_k_decode(self._attention, self._kv_cache, made.query, made.cache, window=window)
        num_seqs, num_heads, head_size = made.query.shape
        plan = self._attention.split_k(
            seq_len=int(made.cache.lengths.max()), num_seqs=num_seqs, num_heads=num_heads, head_size=head_size
        )
        steps = math.ceil(plan.tokens_per_split / plan.block_n)
        return self._share(got, made, window, self._roundoff, steps=steps, block=plan.block_n, merges=plan.num_splits)

    def _share(
        self, got: Tensor, made: Sequences, window: int | None, roundoff: dict[torch.dtype, float], **counts: int
    ) -> float:
        shares = []
        for row, length in enumerate(made.cache.lengths.tolist()):
            begin = 0 if window is None else max(0, length - window)
            exact = exact_attention(made.query[row], made.keys[row][begin:], made.values[row][begin:])
            bound = attention_bound(exact, dtype=got.dtype, roundoff=roundoff, **counts)
            shares.append(_largest(got[row], ExactRows(exact.outputs, bound)))
        return max(shares, key=lambda share: (math.isnan(share), share))

    def _rms(self, row_size: int, dtype: torch.dtype) -> float:
        # the squares of a row add up to less than 2^24
        most = max(1, min(8, math.isqrt((2**24 - 1) // row_size)))
        rows = torch.randint(-most, most + 1, (3, row_size), generator=self._random()).to(dtype)
        rows[1:] = 0
        rows[1, -1] = 5
        rows, weight = rows.to(self._device), (rows[0].abs() / 8 + 1).to(self._device)
        exact = exact_rms_norm(rows, weight, 1e-6, self._roundoff)
        return _largest(rms_norm(self._norm, rows, weight, 1e-6), exact)

    def _silu(self, row_size: int, dtype: torch.dtype) -> float:
        gates = torch.randn(3, 2 * row_size, generator=self._random()).to(dtype)
        gates[2, 0], gates[2, row_size - 1] = 80.0, -80.0
        gates = gates.to(self._device)
        exact = exact_silu_and_multiply(gates, self._roundoff)
        return _largest(silu_and_multiply(self._norm, gates), exact)

    def _long_row(self) -> float:
        rows = torch.zeros(1, 2**21, device=self._device)
        return _refused(lambda: rms_norm(self._norm, rows, rows[0], 1e-6))

    def _long_sequence(self) -> float:
        return _refused(lambda: self._attention.decode(seq_len=2**31))

    @staticmethod
    def _random() -> torch.Generator:
        return torch.Generator().manual_seed(1)


def _largest(got: Tensor, exact: ExactRows) -> float:
    return float(((got.double() - exact.values).abs() / exact.bound).max())


def _refused(call: Callable[[], object]) -> float:
    try:
        call()
    except ValueError:
        return 0.0
    return math.inf


def main() -> None:
    """Reads the command line, runs every check, prints a line for each."""
    parser = argparse.ArgumentParser(description="Runs the engine's examples with a target's tables against float64.")
    parser.add_argument("--target", default="h200", help="whose tables: a package of policygen_tables on the path")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu needs TRITON_INTERPRET=1")
    arguments = parser.parse_args()
    target = import_module(f"policygen_tables.{arguments.target}")
    device = "cpu"
    if arguments.device == "cuda":
        properties = torch.cuda.get_device_properties(0)
        device = properties.name
        _line(check="device", device=device, ok=target.verify(properties), tables=target.BANNER)
    failed = 0
    for name, check in Checks(target, arguments.device).all():
        share = check()
        failed += not share <= 1
        _line(check=name, device=device, ok=share <= 1, error_of_bound=float(f"{share:.3g}"))
    sys.exit(1 if failed else 0)


def _line(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
