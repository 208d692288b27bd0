"""The tile of a tile-based transform: rows worked out by hand, and CCCL's own function where a compiler is there."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import compile_program
from policygen.parity.toolchain import find_toolchain
from policygen.plan.tile_size import tile_size

KIB = 1024
BYTES_IN_FLIGHT = {(5, 0): 12, (7, 5): 12, (8, 0): 16, (8, 9): 16, (9, 0): 48, (10, 0): 64, (12, 1): 64}
"""KiB a multiprocessor, as CCCL 3.5 has them for a compute capability."""

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 17, 32, 48, 1000)
SIGNATURES = [
    *((output, ()) for output in SIZES),
    *((output, (size,)) for output, size in product(SIZES[:8], SIZES)),
    *((output, (a, b)) for output, a, b in product((1, 4, 16), (1, 2, 8), (1, 3, 8, 40))),
    *((output, (4,) * count) for output, count in product((2, 4), range(3, 9))),
]

# The macro that keeps the function out is set over CCCL's own header, which says 0 whatever the compiler.
PROGRAM = """
#include <cub/device/dispatch/dispatch_transform_tile_config.cuh>
#undef _CCCL_CUB_HAS_TILE_TRANSFORM
#define _CCCL_CUB_HAS_TILE_TRANSFORM() 1
#include <cub/device/dispatch/tuning/tuning_transform_tile.cuh>
#include <cstdio>
template <int Size> struct bytes { char all[Size]; };
template <int Output, int... Inputs> void answer()
{
  for (int heavy = 0; heavy < 2; ++heavy)
  {
    for (::cuda::compute_capability cc : {CAPABILITIES})
    {
      const int size = cub::detail::transform::tile::pick_tile_size<bytes<Output>, bytes<Inputs>...>(heavy == 1, cc);
      std::printf("%d\\n", size);
    }
  }
}
int main()
{
CALLS
}
"""


@pytest.mark.parametrize(
    ("kib", "output", "inputs", "mufu_heavy", "items_per_thread"),
    [
        (64, 4, (4,), False, 8),  # 65,536 / (2,048 x 4) = 8, a load brings 4
        (64, 4, (4, 4), False, 4),  # bytes in flight ask for 4, as a load does
        (64, 1, (1,), False, 32),  # 32 for the bytes in flight, 16 for a load
        (64, 1, (1,), True, 16),  # no more than a load brings
        (64, 2, (2,), True, 8),
        (64, 4, (4,), True, 8),  # 4 bytes are not packed
        (48, 4, (4,), False, 8),  # 6, up to a power of two
        (48, 1, (1,), False, 32),  # 24, up to a power of two
        (16, 8, (8,), False, 2),  # bytes in flight ask for 1, a load brings 2
        (12, 3, (3,), False, 8),  # a load spans 6 elements
        (12, 3, (3,), True, 5),  # 16 // 3 is no power of two, and is the answer all the same
        (64, 4, (), False, 8),  # what is written counts where nothing is read
        (64, 1, (16, 16), False, 16),  # the smallest element decides what a load brings
        (64, 1000, (1000,), False, 1),
        (0, 16, (16,), False, 1),
        (1024, 1, (1,), False, 32),  # never more than 32
    ],
)
def test_items_a_thread(kib: int, output: int, inputs: Sequence[int], mufu_heavy: bool, items_per_thread: int) -> None:
    size = tile_size(kib * KIB, output_bytes=output, input_bytes=inputs, mufu_heavy=mufu_heavy)
    assert size == 128 * items_per_thread


@given(
    bytes_in_flight=st.integers(0, 1 << 24),
    output=st.integers(1, 1 << 16),
    inputs=st.lists(st.integers(1, 1 << 16), max_size=8),
)
def test_a_tile_is_a_power_of_two_and_grows_with_the_bytes_in_flight(
    bytes_in_flight: int, output: int, inputs: list[int]
) -> None:
    size = tile_size(bytes_in_flight, output_bytes=output, input_bytes=inputs)
    assert size in (128, 256, 512, 1024, 2048, 4096)
    assert tile_size(2 * bytes_in_flight, output_bytes=output, input_bytes=inputs) >= size
    assert tile_size(bytes_in_flight, output_bytes=output, input_bytes=inputs, mufu_heavy=True) <= size
    assert tile_size(bytes_in_flight, output_bytes=output, input_bytes=inputs[::-1]) == size


@pytest.mark.parametrize(
    ("bytes_in_flight", "output", "inputs", "message"),
    [
        (-1, 4, [4], "min_bytes_in_flight is -1"),
        (64 * KIB, 0, [4], "output_bytes is 0"),
        (64 * KIB, 4, [4, 0], "input_bytes is 0"),
        (64 * KIB, 4, [65_537], "input_bytes is 65537"),
    ],
)
def test_what_is_out_of_bounds_is_refused(bytes_in_flight: int, output: int, inputs: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tile_size(bytes_in_flight, output_bytes=output, input_bytes=inputs)


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        found = find_toolchain()
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    if not found.cccl_version.startswith("3.5."):
        pytest.skip(f"the rule is that of CCCL 3.5; found {found.cccl_version}")
    return found


@pytest.mark.cuda
def test_cccls_own_function_gives_the_same(toolchain: Toolchain, pytestconfig: pytest.Config) -> None:
    calls = "\n".join(f"  answer<{', '.join(map(str, (output, *inputs)))}>();" for output, inputs in SIGNATURES)
    capabilities = ", ".join(f"::cuda::compute_capability{{{major}, {minor}}}" for major, minor in BYTES_IN_FLIGHT)
    source = PROGRAM.replace("CAPABILITIES", capabilities).replace("CALLS", calls)
    assert pytestconfig.cache is not None
    program = compile_program(source, toolchain, pytestconfig.cache.mkdir("host-programs"))
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    ours = [
        tile_size(kib * KIB, output_bytes=output, input_bytes=inputs, mufu_heavy=heavy)
        for (output, inputs), heavy, kib in product(SIGNATURES, (False, True), BYTES_IN_FLIGHT.values())
    ]
    assert [int(size) for size in said] == ours
