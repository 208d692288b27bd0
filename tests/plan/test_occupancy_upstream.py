"""Occupancy against NVIDIA's own calculator, the header cuda_occupancy.h, compiled and run on the host."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from compilers import default_compiler
from plan.cuda_limits import limits_of
from policygen.model.capabilities import KNOWN_CAPABILITIES
from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.limits import Limits
from policygen.plan.occupancy import Resource
from policygen.plan.occupancy import occupancy

pytestmark = pytest.mark.cuda

CONFIGURATIONS = 1500
"""On each architecture."""

# A line in: capability, threads, registers, static and dynamic bytes, then the limits that a device states. A line out:
# blocks, bits of what limits them, and the blocks that threads, blocks, registers and shared memory allow.
PROGRAM = r"""
#include <climits>
#include <cstdio>
#include <cuda_occupancy.h>

int main() {
  int cc, threads, registers;
  size_t fixed, dynamic;
  cudaOccDeviceProp device;
  device.numSms = 1;
  while (std::scanf("%d %d %d %zu %zu %d %d %d %d %d %zu %zu %zu %zu", &cc, &threads, &registers, &fixed, &dynamic,
                    &device.warpSize, &device.maxThreadsPerBlock, &device.maxThreadsPerMultiprocessor,
                    &device.regsPerBlock, &device.regsPerMultiprocessor, &device.sharedMemPerBlock,
                    &device.sharedMemPerBlockOptin, &device.sharedMemPerMultiprocessor,
                    &device.reservedSharedMemPerBlock) == 14) {
    device.computeMajor = cc / 10;
    device.computeMinor = cc % 10;
    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = INT_MAX;
    kernel.numRegs = registers;
    kernel.sharedSizeBytes = fixed;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = dynamic;
    kernel.numBlockBarriers = 0;  // one a block never limits more than the number of blocks does
    cudaOccResult result;
    cudaOccDeviceState state;
    const int error =
      cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, dynamic);
    if (error != CUDA_OCC_SUCCESS) {
      std::printf("error %d\n", error);
      continue;
    }
    std::printf("%d %u %d %d %d %d\n", result.activeBlocksPerMultiprocessor, result.limitingFactors,
                result.blockLimitWarps, result.blockLimitBlocks, result.blockLimitRegs, result.blockLimitSharedMem);
  }
}
"""
BITS = {Resource.THREADS: 1, Resource.REGISTERS: 2, Resource.SHARED_MEMORY: 4, Resource.BLOCKS: 8}
NO_LIMIT = 2**31 - 1


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        found = find_toolchain()
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    if not found.nvcc_version.startswith("13."):
        pytest.skip(f"the calculator of CUDA 13 knows every architecture; found {found.nvcc_version}")
    return found


@pytest.fixture(scope="module")
def calculator(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = default_compiler()
    assert compiler is not None
    folders = (toolchain.include, toolchain.include.parent)
    include = next(folder for folder in folders if (folder / "cuda_occupancy.h").is_file())
    folder = tmp_path_factory.mktemp("calculator")
    (folder / "calculator.cpp").write_text(PROGRAM)
    subprocess.run(
        [str(compiler.path), "-O1", f"-I{include}", "calculator.cpp", "-o", "calculator"], cwd=folder, check=True
    )
    return folder / "calculator"


def kernels(limits: Limits, seed: int) -> Iterator[KernelResources]:
    """Random kernels, many of them at the edge of a limit."""
    random_ = random.Random(seed)
    optin, static = limits.max_smem_per_block_optin, limits.max_smem_per_block
    assert optin is not None
    assert static is not None
    sizes = [0, 1, 127, 128, 129, 255, 256, 257, 1024, 3071, 3072, 3073, 6144, 16384, 32768, static - 1024, static - 1]
    for number in range(CONFIGURATIONS):
        declared = random_.choice([random_.choice([*sizes, static]), random_.randrange(static + 1), 0])
        room = optin - declared
        edge = random_.choice([room - 1, room, room + 1, room + 1024])
        dynamic = random_.choice([0, random_.choice(sizes), random_.randrange(optin), max(edge, 0)])
        yield KernelResources(
            kernel=str(number),
            threads=random_.choice([random_.randint(1, 1100), random_.randint(1, 33) * 32]),
            registers=random_.choice([random_.randint(0, 255), random_.randint(0, 31) * 8, 255]),
            static_smem=declared,
            dynamic_smem=dynamic,
        )


def test_every_configuration_has_the_calculator_s_blocks_and_limits(calculator: Path) -> None:
    asked: list[tuple[int, Limits, KernelResources]] = []
    for cc in KNOWN_CAPABILITIES:
        limits = limits_of(f"sm_{cc}")
        asked += [(cc, limits, kernel) for kernel in kernels(limits, cc)]
    lines = []
    for cc, of, kernel in asked:
        own = (kernel.threads, kernel.registers, kernel.static_smem, kernel.dynamic_smem)
        device = (of.warp_size, of.max_threads_per_block, of.max_threads_per_sm, of.max_registers_per_block)
        memory = (of.max_smem_per_block, of.max_smem_per_block_optin, of.smem_per_sm, of.reserved_smem_per_block)
        lines.append(" ".join(map(str, (cc, *own, *device, of.registers_per_sm, *memory))))
    result = subprocess.run([calculator], input="\n".join(lines), capture_output=True, text=True, check=True)
    answers = result.stdout.splitlines()
    assert len(answers) == len(asked) == CONFIGURATIONS * len(KNOWN_CAPABILITIES)
    seen: set[int] = set()
    for (cc, limits, kernel), answer in zip(asked, answers, strict=True):
        found = occupancy(limits, kernel)
        allowed = [NO_LIMIT if (b := found.bounds[r].blocks) is None else b for r in Resource]
        factors = sum(BITS[resource] for resource in found.limited_by)
        assert " ".join(map(str, (found.blocks, factors, *allowed))) == answer, (cc, kernel)
        assert not found.at_most
        seen.add(factors)
    assert seen >= {1, 2, 4, 8}
