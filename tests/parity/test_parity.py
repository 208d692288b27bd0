"""The reference points of the specs against CCCL's own selectors, over keys of the domains on every architecture."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from policygen.loading.package_data import data_dir
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.model.capabilities import KNOWN_CAPABILITIES
from policygen.parity.compare import compare
from policygen.parity.declared_keys import declared_keys
from policygen.parity.oracle import Oracle
from policygen.parity.random_keys import random_keys
from policygen.parity.spec_shapes import oracle_key
from policygen.parity.spec_shapes import selector_shape
from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.spec import Spec

pytestmark = pytest.mark.cuda

REFERENCE = "cccl-3.5"
ALGORITHMS = tuple(sorted(path.stem for path in (data_dir("specs") / "references" / REFERENCE).glob("*.toml")))
KEYS = {"reduce": 10_000, "scan": 10_000, "transform": 10_000}
FEWER_KEYS = 2_000


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_spec(spec_files([(data_dir("specs"), "specs/")]))


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        return find_toolchain()
    except ToolchainMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def oracle(spec: Spec, toolchain: Toolchain, pytestconfig: pytest.Config) -> Oracle:
    if not toolchain.cccl_version.startswith("3.5."):
        pytest.skip(f"the reference is CCCL 3.5; found {toolchain.cccl_version}")
    assert pytestconfig.cache is not None
    shapes = [selector_shape(algorithm) for algorithm in spec.algorithms.values()]
    return Oracle.build(shapes, toolchain, pytestconfig.cache.mkdir("host-programs"))


def keys_of(spec: Spec, algorithm: str, count: int, seed: int = 1) -> list[dict[str, Any]]:
    return random_keys(spec.algorithms[algorithm], count, seed, [spec.references[REFERENCE][algorithm]])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_reference_equals_cccl(spec: Spec, oracle: Oracle, algorithm: str) -> None:
    keys = keys_of(spec, algorithm, KEYS.get(algorithm, FEWER_KEYS))
    report = compare(spec, algorithm, KNOWN_CAPABILITIES, keys, oracle, oracle.toolchain.nvcc_version)
    assert [str(point) for point in report.by_point()] == []
    assert report.compared == len(keys) * 20
    assert (report.nvcc, report.cccl) == (oracle.toolchain.nvcc_version, oracle.toolchain.cccl_version)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_resolve_answers_on_an_architecture_equals_cccl(spec: Spec, oracle: Oracle, algorithm: str) -> None:
    """With all passes: what does not fit on an NVIDIA architecture is told of, not changed."""
    described = spec.algorithms[algorithm]
    keys = keys_of(spec, algorithm, 200, seed=2)
    theirs = oracle.evaluate(algorithm, [oracle_key(described, key) for key in keys], KNOWN_CAPABILITIES)
    for position, cc in enumerate(KNOWN_CAPABILITIES):
        instance = target_instance(spec, f"sm_{cc}", {"nvcc": oracle.toolchain.nvcc_version})
        resolver = Resolver(rules_for(spec, instance, algorithm))
        for key, answers in zip(keys, theirs, strict=True):
            assert resolver.resolve(key).policy == answers[position], (cc, key)


@pytest.mark.parametrize("algorithm", ["merge", "radix_sort", "reduce", "topk"])
def test_the_reference_equals_cccl_over_the_declared_domains(spec: Spec, oracle: Oracle, algorithm: str) -> None:
    keys = declared_keys(spec, algorithm, spec.targets["sm"])
    report = compare(spec, algorithm, KNOWN_CAPABILITIES, keys, oracle, oracle.toolchain.nvcc_version)
    assert [str(point) for point in report.by_point()] == []


def test_a_fault_in_a_policy_that_another_algorithm_uses_is_told_of(oracle: Oracle, tmp_path: Path) -> None:
    broken = with_fault(tmp_path, "reduce", "sm60", "items_per_thread = 16", "items_per_thread = 15")
    keys = keys_of(broken, "segmented_reduce", 200)
    report = compare(broken, "segmented_reduce", KNOWN_CAPABILITIES, keys, oracle, oracle.toolchain.nvcc_version)
    (found,) = report.by_point()
    assert {m.field for m in found.first} >= {"large_reduce.items_per_thread"}
    assert min(found.capabilities) == 60


def test_the_assumed_compiler_matters_on_twelve_zero_alone(spec: Spec, oracle: Oracle) -> None:
    other = "13.0" if tuple(map(int, oracle.toolchain.nvcc_version.split("."))) >= (13, 4) else "13.4"
    report = compare(spec, "scan", KNOWN_CAPABILITIES, keys_of(spec, "scan", 2000), oracle, other)
    assert {cc for mismatch in report.mismatches for cc in mismatch.capabilities} == {120}


def with_fault(folder: Path, algorithm: str, point: str, right: str, wrong: str) -> Spec:
    """The packaged specs with something else written in a point."""
    shutil.copytree(data_dir("specs"), folder / "specs")
    file = folder / "specs" / "references" / REFERENCE / f"{algorithm}.toml"
    before, header, after = re.split(rf'(\[\[ladder\.point\]\]\nid = "{point}"\n)', file.read_text(encoding="utf-8"))
    assert right in after.split("[[ladder")[0]
    file.write_text(before + header + after.replace(right, wrong, 1), encoding="utf-8")
    return load_spec(spec_files([(folder / "specs", "specs/")]))


# A point, what stands in it, and what is written instead.
FAULTS = [
    ("reduce", "sm100-plus-f64-o4", "threads_per_block = 640", "threads_per_block = 608"),
    ("reduce", "sm100-plus-8B-o8", "vec_size = 1", "vec_size = 2"),
    ("reduce", "gpu-to-gpu-sm86-f64", 'cc = ">=8.6"', 'cc = ">=8.0"'),
    ("reduce", "sm50", "items_per_thread = 20", "items_per_thread = 21"),
    ("scan", "lookahead-sm100-16B", "lookahead_items_per_thread = 8", "lookahead_items_per_thread = 7"),
    ("scan", "lookahead-sm100-f32", "items_per_thread = 87", "items_per_thread = 86"),
    ("scan", "sm100-plus-4B-o8", "l2_write_latency = 550", "l2_write_latency = 551"),
    ("scan", "sm75-plus-4B-o8", "items_per_thread = 7", "items_per_thread = 8"),
    ("scan", "sm80-int128", "BLOCK_STORE_DIRECT", "BLOCK_STORE_WARP_TRANSPOSE"),
    ("transform", "sm90", "49152", "32768"),
    # conditions: another point answers instead, or this one in another's place
    ("reduce", "sm100-plus-f64-o4", 'cc = ">=10.0"', 'cc = ">=10.3"'),
    ("reduce", "sm100-plus-8B-o4", "accum_size = 8", "accum_size = 16"),
    ("reduce", "sm60", 'cc = ">=6.0"', 'cc = ">=5.3"'),
    ("scan", "sm86", 'cc = ">=8.6"', 'cc = ">=9.0"'),
    ("scan", "sm80-f64", 'cc = ">=8.0"', 'cc = ">=7.5"'),
    ("scan", "lookahead-sm100-16B", "reduce_and_scan_warps = 5", "reduce_and_scan_warps = 9"),
    ("scan", "lookahead-sm120-other-4B-8B", 'cc = ">=12.0"', 'cc = ">=11.0"'),
    ("transform", "sm80", "output_size, 1)", "output_size, 2)"),
    ("transform", "sm50", "items_per_thread = 8", "items_per_thread = 4"),
]


@pytest.mark.parametrize(("algorithm", "point", "right", "wrong"), FAULTS, ids=[f"{f[1]}: {f[3]}" for f in FAULTS])
def test_a_planted_fault_is_found_at_its_point(
    tmp_path: Path, oracle: Oracle, algorithm: str, point: str, right: str, wrong: str
) -> None:
    broken = with_fault(tmp_path, algorithm, point, right, wrong)
    file = tmp_path / "specs" / "references" / REFERENCE / f"{algorithm}.toml"
    line = file.read_text(encoding="utf-8").split(f'[[ladder.point]]\nid = "{point}"\n')[0].count("\n") + 1

    keys = keys_of(broken, algorithm, 1000)
    report = compare(broken, algorithm, KNOWN_CAPABILITIES, keys, oracle, oracle.toolchain.nvcc_version)

    (found,) = report.by_point()
    assert found.point == point
    assert str(found.location) == f"specs/references/{REFERENCE}/{algorithm}.toml:{line}"
    assert str(found).startswith(f"{found.location}: {point}: {found.count:,} policies differ: ")
    first = found.first[0]
    assert first.ours != first.theirs
    assert first in report.mismatches
    assert f"{first.field} {first.ours}, CCCL {first.theirs}" in str(found)
