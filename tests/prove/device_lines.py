"""Lines as the programs print them on a GPU, made up for tests."""

from __future__ import annotations

import json
from typing import Any

DEVICE = {
    "line": "program",
    "target": "h200",
    "algorithm": "reduce",
    "brief": False,
    "quick": False,
    "date": "2026-11-30",
    "device": "NVIDIA H200",
    "compute_capability": "9.0",
    "multiprocessors": 132,
    "memory": 150109880320,
    "driver": "580.159.04",
    "cuda_driver": "13.0",
    "cuda_runtime": "13.0",
    "nvcc": "13.0.88",
    "cccl": "3.5.0",
}


def launch(kernel: str = "DeviceReduceKernel", threads: int = 256, **other: Any) -> dict[str, Any]:
    # what an H200 holds of it: 8 blocks by threads
    return {
        "kernel": kernel,
        "grid": [1, 1, 1],
        "block": [threads, 1, 1],
        "dynamic_smem": 0,
        "static_smem": 44,
        "registers": 32,
        "local_bytes": 0,
        "blocks_per_sm": 8,
        **other,
    }


def case(same_as_cub: bool = True, threads: int = 256) -> str:
    kernels = [{"name": "DeviceReduceKernel", "threads": threads}]
    return json.dumps(
        {
            "line": "case",
            "call": "DeviceReduce::Sum",
            "type": "int32",
            "policy": "ReducePolicy { }",
            "same_as_cub": same_as_cub,
            "counts": "items",
            "tile": 4096,
            "tile_of": "single_tile",
            "kernels": kernels,
        }
    )


def run(status: str = "passed", items: int = 4097, **other: Any) -> str:
    return json.dumps(
        {
            "line": "run",
            "call": "DeviceReduce::Sum",
            "type": "int32",
            "size": "a tile + 1",
            "items": items,
            "recorded": True,
            "launches": [launch()],
            "seen": [],
            "status": status,
            "milliseconds": 1,
            **other,
        }
    )


def failed(expected: str = "96", got: str = "128") -> str:
    what = "threads of a block of DeviceReduceKernel"
    return run("failed", what=what, index=-1, expected=expected, got=got)


def program(name: str, *lines: str, status: int = 0, ended: bool = True) -> list[str]:
    end = [json.dumps({"line": "end", "passed": 1, "failed": 0, "skipped": 0})] if ended else []
    return [json.dumps(DEVICE), *lines, *end, json.dumps({"line": "exit", "program": name, "status": status})]
