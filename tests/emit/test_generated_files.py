"""The generated files: checked in and current, the same on any machine, clean, and readable by compilers and Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compilers import WARNINGS
from compilers import default_compiler
from interpreters import find_python310
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "generated"
INCLUDE = GENERATED / "include"


def files(folder: Path) -> list[Path]:
    """The files of a folder, without what importing the tables leaves there."""
    return sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def policygen(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "policygen.cli.main", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_the_generated_files_are_what_the_specs_say() -> None:
    done = policygen("check", "--project", str(ROOT))
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nrun `policygen build --all` and commit what it writes"


def build(folder: Path, reverse: bool, **environment: str) -> dict[str, bytes]:
    """Builds a copy of the project under an environment; the spec files are created in another order if asked."""
    project = folder / "project"
    project.mkdir(parents=True)
    shutil.copy(ROOT / "policygen.toml", project)
    for path in sorted((ROOT / "specs").rglob("*.toml"), reverse=reverse):
        copy = project / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    done = policygen("build", "--all", "--project", str(project), **environment)
    assert done.returncode == 0, done.stderr
    output = project / "generated"
    return {str(p.relative_to(output)): p.read_bytes() for p in files(output)}


def test_the_output_is_the_same_on_any_machine(tmp_path: Path) -> None:
    one = build(tmp_path / "one", False, PYTHONHASHSEED="1", LC_ALL="C", TZ="UTC", COLUMNS="40")
    other = build(tmp_path / "other", True, PYTHONHASHSEED="2", LC_ALL="C.UTF-8", TZ="Asia/Tokyo", COLUMNS="200")
    assert one == other
    assert one == {str(p.relative_to(GENERATED)): p.read_bytes() for p in files(GENERATED)}


def test_no_file_says_where_or_when_it_was_made() -> None:
    for path in files(GENERATED):
        text = path.read_text(encoding="utf-8")
        assert str(ROOT) not in text
        assert "\r" not in text
        assert text.endswith("\n") or not text


def test_the_manifest_lists_exactly_the_generated_files() -> None:
    listed = set(json.loads((GENERATED / "manifest.json").read_text())["files"])
    there = {p.relative_to(GENERATED).as_posix() for p in files(GENERATED)}
    assert listed == there - {"manifest.json"}


TWO_TARGETS = """
#include <policygen/bi100/tuning.cuh>
#include <policygen/sm_90/tuning.cuh>
#include <policygen/bi100/tuning_reduce.cuh>

using policygen::type_t;
namespace bi100 = policygen::bi100;

static_assert(bi100::reduce::select_for<float, int, policygen::plus>().multi_tile.items_per_thread == 24);
static_assert(bi100::reduce::select_for<double, long long, policygen::minimum>().multi_tile.vec_size == 1);
// plus promotes small integers, so that the accumulator has 4 bytes
static_assert(bi100::scan::select_for<signed char, int, policygen::plus>().lookback.items_per_thread == 22);
static_assert(bi100::scan::select_for<signed char, int, policygen::maximum>().lookback.threads_per_block == 128);
// CUB takes unsigned long long for an int64
static_assert(policygen::element_type<unsigned long long>::value == type_t::int64);
static_assert(policygen::element_type<unsigned long>::value == type_t::uint64);
struct triple { float x, y, z; };
static_assert(bi100::reduce::select_for<triple, int, triple>().multi_tile.items_per_thread == 5);
using sm_90_transform = policygen::TransformAlgorithm;
static_assert(policygen::sm_90::transform::select_for<float, float, float>().algorithm == sm_90_transform::ublkcp);
static_assert(policygen::sm_90::transform::select_for<float>().algorithm == sm_90_transform::vectorized);
int main() {}
"""


def test_headers_of_two_targets_live_in_one_translation_unit(tmp_path: Path) -> None:
    compiler = default_compiler()
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    source = tmp_path / "main.cpp"
    source.write_text(TWO_TARGETS)
    command = [str(compiler.path), "-std=c++17", *WARNINGS, f"-I{INCLUDE}", "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_key_outside_the_domains_does_not_compile(tmp_path: Path) -> None:
    compiler = default_compiler()
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    source = tmp_path / "main.cpp"
    source.write_text(
        "#include <policygen/bi100/tuning_reduce.cuh>\n"
        "using namespace policygen;\n"
        "constexpr auto p = bi100::reduce::select({type_t::float32, op_kind_t::plus, 3, 4});\n"
    )
    command = [str(compiler.path), "-std=c++17", f"-I{INCLUDE}", "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "the key is outside the declared domains" in done.stderr


DEVICE_CODE = """
#include <policygen/sm_90/tuning.cuh>
__global__ void kernel(policygen::sm_90::reduce::policy* out, const char** id, int size)
{
  const policygen::sm_90::reduce::key k{policygen::type_t::other, policygen::op_kind_t::plus, 4, size};
  *out = policygen::sm_90::reduce::select(k);
  *id = policygen::sm_90::reduce::point(k);
  static_assert(policygen::sm_90::scan::select_for<float, int, policygen::plus>().lookback.items_per_thread == 24);
}
"""


@pytest.mark.cuda
def test_headers_compile_in_device_code(tmp_path: Path) -> None:
    try:
        toolchain = find_toolchain()
    except ToolchainMissing as error:
        pytest.skip(str(error))
    source = tmp_path / "kernel.cu"
    source.write_text(DEVICE_CODE)
    command = [str(toolchain.nvcc), "-std=c++17", "-arch=sm_90", "-Werror", "all-warnings", f"-I{INCLUDE}", "-cubin"]
    done = subprocess.run(
        [*command, str(source), "-o", str(tmp_path / "kernel.cubin")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


USE_TABLES = """
import sys
from policygen_tables.bi100 import reduce, scan, transform
import policygen_tables.bi100 as bi100
import policygen_tables.sm_90 as sm_90

policy = reduce.policy(accum_t="float32", operation_t="plus", offset_size=4)
assert policy.multi_tile.threads_per_block == 512 and policy.multi_tile.items_per_thread == 24
assert policy == reduce.for_types(accum="float32", op="plus", offset=4)
assert hash(policy) == hash(reduce.for_types(accum="float", op="sum", offset="int32"))
assert scan.for_types(input="int8", op="plus", offset=4).lookback.items_per_thread == 22
same = transform.for_types(output="float32", inputs=["float32", "float32"])
assert transform.policy(output={"value_type_size": 4}, inputs=[{"value_type_size": 4}] * 2) == same
assert bi100.HARDWARE.sm_count == 16 and bi100.HARDWARE.smem_per_sm is None
assert bi100.reduce is reduce and len(bi100.SPEC_HASH) > 8 and bi100.SPEC_HASH != sm_90.SPEC_HASH
for wrong, message in [
    (dict(accum_t="float23", operation_t="plus", offset_size=4), "accum_t: expected one of boolean, int8"),
    (dict(accum_t="other", operation_t="plus", offset_size=4), "accum_size: expected an integer from 1 to 65536"),
    (dict(accum_t="int32", operation_t="plus", offset_size=5), "offset_size: expected one of 4, 8, not 5"),
]:
    try:
        reduce.policy(**wrong)
    except ValueError as error:
        assert message in str(error), error
    else:
        raise AssertionError(wrong)
try:
    policy.multi_tile = None
except AttributeError:
    pass
else:
    raise AssertionError("a record could be changed")
heavy = {"typing", "enum", "dataclasses", "inspect", "re", "json", "policygen"} & set(sys.modules)
assert not heavy, heavy
"""


@pytest.mark.parametrize("python", [sys.executable, find_python310()], ids=["this-python", "python-3.10"])
def test_tables_need_nothing_but_the_standard_library(python: str | Path | None) -> None:
    if python is None:
        pytest.skip("no Python 3.10 was found")
    code = f"import sys; sys.path.insert(0, {str(GENERATED / 'python')!r})\n{USE_TABLES}"
    done = subprocess.run(
        [str(python), "-I", "-S", "-B", "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_tables_take_torch_and_numpy_types_without_importing_them() -> None:
    torch = pytest.importorskip("torch")
    import numpy as np

    sys.path.insert(0, str(GENERATED / "python"))
    try:
        from policygen_tables.bi100 import reduce

        expected = reduce.policy(accum_t="float32", operation_t="plus", offset_size=4)
        assert reduce.for_types(accum=torch.float32, op=torch.add, offset=torch.int32) == expected
        assert reduce.for_types(accum=np.float32, op=np.add, offset=np.dtype("int32")) == expected
        assert reduce.for_types(accum=torch.bfloat16, op="max", offset=torch.int64).multi_tile.items_per_thread == 24
    finally:
        sys.path.remove(str(GENERATED / "python"))


class Device:
    name = "some device"
    multi_processor_count = 50
    warp_size = 64


def test_verify_warns_once_with_what_to_do() -> None:
    sys.path.insert(0, str(GENERATED / "python"))
    try:
        import policygen_tables.bi100 as bi100

        with pytest.warns(UserWarning, match="policies of bi100 on some device: sm_count is 50, not 16") as caught:
            assert not bi100.verify(Device())
        assert len(caught) == 1
        Device.multi_processor_count = 16
        assert bi100.verify(Device())
    finally:
        sys.path.remove(str(GENERATED / "python"))
