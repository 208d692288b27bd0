"""Triton kernels launched with the tables' blocks: interpreted, held against float64, and compiled for a GPU."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.conftest import EXAMPLES
from exact_attention import INTERPRETED
from exact_attention import attention_bound
from exact_attention import exact_attention
from exact_rows import ExactRows
from exact_rows import exact_rms_norm
from exact_rows import exact_silu_and_multiply
from paged_attention import decode
from paged_sequences import sequences
from policygen.build import build
from policygen.model.problems import SpecError
from policygen.project import load
from triton_kernels import rms_norm
from triton_kernels import silu_and_multiply
from triton_kernels import split_k_decode

ROOT = Path(__file__).parents[2]
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def assert_within(got: Tensor, exact: ExactRows) -> None:
    assert got.shape == exact.values.shape
    assert torch.all((got.double() - exact.values).abs() <= exact.bound)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row_size", [1, 46, 64, 2048, 3584, 4097, 7168])
def test_rms_norm(target: ModuleType, row_size: int, dtype: torch.dtype) -> None:
    random = torch.Generator().manual_seed(row_size)
    rows = torch.randint(-8, 9, (3, row_size), generator=random).to(dtype)
    weight = (1 + torch.rand(row_size, generator=random)).to(dtype)
    # zeros but for one element: it is seen wherever it lies
    rows[1:] = 0
    rows[1, -1] = 5
    assert_within(rms_norm(target.norm, rows, weight, 1e-6), exact_rms_norm(rows, weight, 1e-6, INTERPRETED))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row_size", [1, 46, 128, 4097])
def test_silu_and_multiply(target: ModuleType, row_size: int, dtype: torch.dtype) -> None:
    random = torch.Generator().manual_seed(row_size)
    gates = torch.randn(3, 2 * row_size, generator=random).to(dtype)
    gates[1, :row_size] *= 16
    gates[2, 0], gates[2, row_size - 1] = 80.0, -80.0
    assert_within(silu_and_multiply(target.norm, gates), exact_silu_and_multiply(gates, INTERPRETED))


@pytest.mark.parametrize(
    ("lengths", "window", "dtype"),
    [
        ([0, 1, 512, 513], None, torch.float32),
        ([700, 33], None, torch.float16),
        ([513, 0, 5], 1, torch.float32),
        ([1100], 600, torch.bfloat16),
    ],
)
def test_split_k_decode(target: ModuleType, lengths: list[int], window: int | None, dtype: torch.dtype) -> None:
    made = sequences(lengths, num_heads=2, dtype=dtype)
    got = split_k_decode(target.attention, target.kv_cache, made.query, made.cache, window=window)
    plan = target.attention.split_k(seq_len=max(lengths), num_seqs=len(lengths), num_heads=2, head_size=16)
    steps = math.ceil(plan.tokens_per_split / plan.block_n)
    other = decode(target.attention, made.query, made.cache, window=window)
    for row, length in enumerate(lengths):
        begin = 0 if window is None else max(0, length - window)
        exact = exact_attention(made.query[row], made.keys[row][begin:], made.values[row][begin:])
        counts = {"steps": steps, "block": plan.block_n, "merges": plan.num_splits}
        bound = attention_bound(exact, **counts, dtype=dtype, roundoff=INTERPRETED)
        assert torch.all((got[row].double() - exact.outputs).abs() <= bound)
        if length <= 1 or window == 1:
            # nothing is summed: zeros, or the value of the one token
            assert torch.equal(got[row], other[row])


def test_no_sequence_has_a_token(target: ModuleType) -> None:
    made = sequences([0, 0])
    assert not split_k_decode(target.attention, target.kv_cache, made.query, made.cache).any()


def test_a_hidden_state_of_7168_takes_a_block_of_8192_and_a_mask(target: ModuleType) -> None:
    for table in (target.norm.rms, target.norm.silu, target.norm.rope):
        plan = table(row_size=7168)
        assert (plan.block_size, plan.masked) == (8192, True)
        plan = table(row_size=8192)
        assert (plan.block_size, plan.masked) == (8192, False)


def test_a_row_longer_than_a_block_of_tritons_is_refused(target: ModuleType) -> None:
    assert target.norm.rms(row_size=2**20).block_size == 2**20
    for row_size in (2**20 + 1, 2**21):
        rows = torch.zeros(1, row_size)
        with pytest.raises(ValueError, match=f"row_size: expected an integer from 1 to 1048576, not {row_size}"):
            rms_norm(target.norm, rows, rows[0], 1e-6)
    with pytest.raises(ValueError, match="row_size: expected an integer from 1 to 1048576, not 2097152"):
        silu_and_multiply(target.norm, torch.zeros(1, 2**22))


@pytest.mark.parametrize(
    ("table", "written", "reason"),
    [
        (
            "attention.split_k",
            "block_n = 32\n",
            "split-block does not hold, whatever is lowered: a block of Triton's is a power of two",
        ),
        (
            "attention.prefill",
            "block_n = 32\n",
            "prefill-blocks does not hold, whatever is lowered: a block of Triton's is a power of two",
        ),
    ],
)
def test_a_spec_with_a_block_of_48_is_not_built(tmp_path: Path, table: str, written: str, reason: str) -> None:
    path = Path("specs", "engine", *table.split(".")).with_suffix(".toml")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert written in text
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(text.replace(written, written.replace("32", "48")), encoding="utf-8")
    (tmp_path / "policygen.toml").write_text(f'[project]\ntargets = ["h200"]\nalgorithms = ["{table}"]\n')
    with pytest.raises(SpecError) as raised:
        build(load(tmp_path), ["h200"], jobs=1)
    assert reason in str(raised.value)


def test_the_kernels_compile_for_a_gpu(device_tables: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["PYTHONPATH"] = os.pathsep.join([str(EXAMPLES), str(device_tables)])
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    script = Path(__file__).with_name("triton_compiles.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    smem = {name: int(number) for name, number in (line.split() for line in done.stdout.splitlines())}
    assert set(smem) == {"_rms_norm", "_silu_and_multiply", "_split", "_merge_splits"}
    assert max(smem.values()) <= 48 * 1024


def run_checks(tables: Path, *arguments: str, **environment: str) -> list[dict[str, Any]]:
    """Runs the script that checks everything with the tables of h200; every check has to be right."""
    inherited = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-W", "error", str(EXAMPLES / "run_on_gpu.py"), *arguments]
    env = {**inherited, "PYTHONPATH": str(tables), "OMP_NUM_THREADS": "1", **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    lines: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    return lines


def test_the_checks_of_a_gpu_run_without_one(device_tables: Path) -> None:
    lines = run_checks(device_tables, "--device", "cpu", TRITON_INTERPRET="1")
    kinds = {line["check"].split()[0] for line in lines}
    assert kinds == {"paged_attention", "split_k", "rms_norm", "silu", "refused:"}
    assert all(line["ok"] and line["error_of_bound"] <= 1 for line in lines)


@pytest.mark.gpu
@pytest.mark.slow
def test_the_checks_run_on_a_gpu(device_tables: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU that torch can use")
    lines = run_checks(device_tables)
    # on another device than the tables are for, the numbers are not the best, and the results are right
    assert all(line["ok"] for line in lines if line["check"] != "device")
