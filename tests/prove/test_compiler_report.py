"""What ptxas prints is read kernel by kernel."""

from __future__ import annotations

from policygen.prove.compiler_report import Overflow
from policygen.prove.compiler_report import Resources
from policygen.prove.compiler_report import first_error
from policygen.prove.compiler_report import outcomes

NAME = "_ZN3cub6detail4scan16DeviceScanKernelI{}PfS5_EEvT_"
TWELVE = NAME.format("18policygen_case_12_")
THREE = NAME.format("17policygen_case_3_")
OTHER = "_ZN3cub11EmptyKernelIvEEvv"

WORKS = f"""\
ptxas info    : 51 bytes gmem
ptxas info    : Compiling entry function '{TWELVE}' for 'sm_90'
ptxas info    : Function properties for {TWELVE}
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Function properties for __internal_trig_reduction_slowpath
    40 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 46 registers, used 1 barriers, 192 bytes smem, 16 bytes cumulative stack size
ptxas info    : Compile time = 26.969 ms
ptxas info    : Compiling entry function '{THREE}' for 'sm_90'
ptxas info    : Function properties for {THREE}
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 0 barriers
ptxas info    : Compile time = 4.5 ms
ptxas info    : Compiling entry function '{OTHER}' for 'sm_90'
ptxas info    : Function properties for {OTHER}
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers
"""


def test_each_kernel_has_its_figures() -> None:
    assert outcomes(WORKS) == {
        12: Resources(registers=46, shared=192, stack=16, spill_stores=8, spill_loads=12),
        3: Resources(registers=14, shared=0, stack=0, spill_stores=0, spill_loads=0),
    }
    assert [found.milliseconds for found in outcomes(WORKS).values() if isinstance(found, Resources)] == [26.969, 4.5]


def test_a_kernel_that_does_not_fit_is_no_kernel_with_figures() -> None:
    said = (
        f"ptxas error   : Entry function '{TWELVE}' uses too much shared data (0xc010 bytes, 0xc000 max)\n"
        f"ptxas info    : Compiling entry function '{TWELVE}' for 'sm_90'\n"
        f"ptxas info    : Function properties for {TWELVE}\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 46 registers, used 1 barriers, 49168 bytes smem\n"
    )
    assert outcomes(said) == {12: Overflow(need=49_168, limit=49_152)}


def test_the_first_error_is_told_in_one_line() -> None:
    said = 'In file included from a.cuh:1,\n                 from b.cuh:2:\nc.cuh(7): error: no member named "x"\n'
    assert first_error(said) == 'c.cuh(7): error: no member named "x"'
    assert first_error("") == "nothing was said"
