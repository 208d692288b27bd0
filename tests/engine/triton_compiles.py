"""Compiles the Triton kernels for sm_90 with the blocks of tables; needs no GPU. Run with the tables on the path.

Prints a line for each kernel: its name, and the bytes of shared memory that its block takes.
"""

from __future__ import annotations

import sys
from typing import Any

import triton
from policygen_tables.h200 import attention
from policygen_tables.h200 import norm
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import triton_kernels

TYPES = {"table": "*i64", "lengths": "*i64", "maxima": "*fp32", "sums": "*fp32", "epsilon": "fp32", "scale": "fp32"}
TENSORS = ("rows", "weight", "out", "gates", "query", "keys", "values", "outputs")


def compiled(kernel: Any, num_warps: int, **constants: object) -> None:
    """Compiles a kernel of float16 tensors and int32 numbers; constants have upper-case names."""
    signature = {}
    for name in kernel.arg_names:
        pointer = "*fp16" if name in TENSORS else "i32"
        signature[name] = "constexpr" if name.isupper() else TYPES.get(name, pointer)
    source = ASTSource(kernel, signature, constants)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": num_warps})
    assert made.asm["cubin"]
    sys.stdout.write(f"{kernel.__name__} {made.metadata.shared}\n")


rms, silu = norm.rms(row_size=7168), norm.silu()
compiled(triton_kernels._rms_norm, rms.num_warps, BLOCK=rms.block_size, MASKED=rms.masked)
compiled(triton_kernels._silu_and_multiply, silu.num_warps, BLOCK=silu.block_size, MASKED=silu.masked)
splits = attention.split_k(seq_len=100_000)
block = attention.decode(seq_len=100_000).kv_block_size
for wide in (False, True):
    sizes = {"KV_BLOCK": block, "BLOCK_N": splits.block_n, "BLOCK_D": splits.block_d, "WIDE": wide}
    compiled(triton_kernels._split, splits.num_warps, **sizes)
compiled(triton_kernels._merge_splits, splits.num_warps, BLOCK_D=splits.block_d)
