"""Targets that are one device of the NVIDIA family: its architecture's policies, and facts of its own."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from policygen.cli.main import cli
from policygen.fold.table import policy_table
from policygen.loading.package_data import data_dir
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.model.dimensions import format_value
from policygen.model.facts import EvidenceKind
from policygen.model.problems import SpecError
from policygen.project import load
from policygen.resolve.instance import TargetInstance
from policygen.resolve.instance import UnknownTarget
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.resolve.witness import Witness
from policygen.resolve.witness import reachability
from policygen.spec import Spec

# device: its architecture, multiprocessors, bandwidth, cache, memory
DEVICES = {
    "a100": ("sm_80", 108, "2.039 TB/s", "40 MiB", "80 GiB"),
    "b200": ("sm_100", 148, "8 TB/s", "129536 KiB", "180 GiB"),
    "h100": ("sm_90", 132, "3.35 TB/s", "50 MiB", "80 GiB"),
    "h200": ("sm_90", 132, "4.8 TB/s", "60 MiB", "146591680 KiB"),
    "rtx_4090": ("sm_89", 128, "1.008 TB/s", "72 MiB", "24 GiB"),
    "rtx_5090": ("sm_120", 170, "1.792 TB/s", "96 MiB", "32 GiB"),
    "t4": ("sm_75", 40, "320 GB/s", "4 MiB", "16 GiB"),
    "v100": ("sm_70", 80, "900 GB/s", "6 MiB", "32 GiB"),
}
OWN_FACTS = ("sm_count", "memory_bandwidth", "l2_size", "memory_size", "compute_capability")


@cache
def packaged() -> Spec:
    return load_spec(spec_files([(data_dir("specs"), "specs/")]))


def instance(name: str) -> TargetInstance:
    return target_instance(packaged(), name)


def command(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == 0, result.stderr
    return result.stdout


def project(folder: Path, targets: dict[str, str] | None = None, listed: str = '"h200"') -> Path:
    (folder / "policygen.toml").write_text(f"[project]\ntargets = [{listed}]\n")
    for name, text in (targets or {}).items():
        path = folder / "specs" / "targets" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@cache
def policies(target: str, algorithm: str) -> list[tuple[dict[str, Any], object]]:
    table = policy_table(Resolver(rules_for(packaged(), instance(target), algorithm)))
    return [(dict(row.given), row.policy) for row in table.rows] + [(dict(k), why) for k, why in table.refused]


@pytest.mark.parametrize("name", DEVICES)
def test_policies_are_those_of_the_architecture(name: str) -> None:
    for algorithm in packaged().algorithms:
        assert policies(name, algorithm), algorithm
        # refused keys have the same reason, which names no target
        assert policies(name, algorithm) == policies(DEVICES[name][0], algorithm), algorithm


@pytest.mark.parametrize("name", DEVICES)
def test_facts_of_the_device(name: str) -> None:
    device = instance(name)
    architecture, sm_count, *sizes = DEVICES[name]
    facts = device.facts
    assert device.name == name
    assert facts["sm_count"].value == sm_count
    shown = [facts[fact] for fact in ("memory_bandwidth", "l2_size", "memory_size")]
    assert [format_value(fact.dimension, fact.value or 0) for fact in shown] == sizes
    assert f"sm_{facts['compute_capability'].value}" == architecture
    bandwidth = facts["memory_bandwidth"].value
    assert bandwidth is not None
    assert facts["bandwidth_per_sm"].value == bandwidth // sm_count


@pytest.mark.parametrize("name", DEVICES)
def test_every_reading_says_where_it_comes_from(name: str) -> None:
    path = data_dir("specs") / "targets" / f"{name}.toml"
    facts = packaged().targets[name].facts
    own = [r for fact in facts.values() for r in fact.readings if Path(r.location.file).name == path.name]
    assert {r.kind for r in own} <= {EvidenceKind.DOCUMENTED, EvidenceKind.MEASURED, EvidenceKind.DERIVED}
    assert all(r.source and r.date is not None and date(2017, 1, 1) < r.date < date(2027, 1, 1) for r in own)
    assert all(r.method for r in own if r.kind is EvidenceKind.MEASURED)
    for fact in OWN_FACTS:
        assert instance(name).facts[fact].kind in (EvidenceKind.DOCUMENTED, EvidenceKind.MEASURED)


@pytest.mark.parametrize("name", DEVICES)
def test_limits_are_those_of_the_family_at_this_capability(name: str) -> None:
    ours, theirs = instance(name), instance(DEVICES[name][0])
    assert ours.cc == theirs.cc
    assert "constrain" not in ours.target.passes
    assert all(ours.facts[fact] == theirs.facts[fact] for fact in theirs.facts)
    assert ours.target.features == theirs.target.features


@pytest.mark.parametrize(
    ("name", "conflicts"),
    [
        ("h100", ["bytes_in_flight_per_sm: 32 KiB", "fp64_throughput: 34", "memory_bandwidth: 3.35", "sm_count: 132"]),
        ("h200", ["memory_size: 146591680 KiB"]),
        ("b200", ["l2_size: 129536 KiB", "memory_bandwidth: 8 TB/s", "memory_size: 180 GiB"]),
        ("a100", ["memory_bandwidth: 2.039 TB/s"]),
        ("v100", ["fp64_throughput: 7.8 TFLOP/s", "memory_size: 32 GiB"]),
        ("rtx_5090", []),
        ("rtx_4090", []),
        ("t4", []),
    ],
)
def test_documents_that_differ_are_reported(name: str, conflicts: list[str]) -> None:
    told = [str(conflict) for fact in instance(name).facts.values() for conflict in fact.conflicts]
    assert len(told) == len(conflicts)
    assert all(line.startswith(start) and " is used, not " in line for line, start in zip(told, conflicts, strict=True))


@pytest.mark.parametrize("name", ["rtx_5090", "rtx_4090", "t4"])
def test_what_no_source_states_stays_unknown(name: str) -> None:
    fact = instance(name).facts["bytes_in_flight_per_sm"]
    assert fact.value is None
    assert fact.unknown is not None
    assert fact.unknown.endswith("no source speaks of this device")


def test_explain_says_why_a_fact_is_unknown(tmp_path: Path) -> None:
    text = """
        name = "mychip"
        extends = "rtx_5090"
        [fact.max_smem_per_block]
        unknown = "this board was never asked"
        withdraw = [{ value = "48 KiB", reason = "not of this board" }]
    """
    folder = project(tmp_path, {"mychip": text})
    key = ("input_type=float32", "operation_t=plus", "offset_size=4")
    asked = ["--algorithm", "scan", *(part for field in key for part in ("--key", field))]
    told = command("explain", "--project", str(folder), "--target", "mychip", *asked)
    assert "fact: max_smem_per_block is not known: this board was never asked" in told
    assert "max_smem_per_block is not known" in "".join(s for s in told.splitlines(True) if s.startswith("constrain:"))
    known = command("explain", "--project", str(folder), "--target", "rtx_5090", *asked)
    (fact,) = (line for line in known.splitlines() if "max_smem_per_block = 48 KiB" in line)
    assert fact.endswith("documented 2026-11-30 (programming guide; CCCL)")
    assert [s for s in told.splitlines() if s.startswith("policy")] == [
        s for s in known.splitlines() if s.startswith("policy")
    ]


def test_list_targets_names_devices_and_architectures(tmp_path: Path) -> None:
    rows = dict(
        line.split(maxsplit=1) for line in command("list", "targets", "--project", str(project(tmp_path))).splitlines()
    )
    assert {"bi100", *DEVICES, *(architecture for architecture, *_ in DEVICES.values())} <= rows.keys()
    assert rows["h200"] == "NVIDIA H200 SXM, 141 GB"
    assert rows["h100"] == "NVIDIA H100 SXM5, 80 GB"
    # a device is one row, not one for each capability of the family
    assert sum("H200" in title for title in rows.values()) == 1
    assert not any(row.startswith(f"{name}_") for name in DEVICES for row in rows)


def test_a_device_is_no_family() -> None:
    spec = packaged()
    assert spec.targets["sm"].is_family
    assert not any(spec.targets[name].is_family or spec.targets[name].capabilities for name in DEVICES)
    for spelling in ("sm_90", "90", "9.0", "sm_90a", "compute_90"):
        assert target_instance(spec, spelling).name == "sm_90"
    with pytest.raises(UnknownTarget, match='unknown target "h20"; did you mean "h200"'):
        target_instance(spec, "h20")


def test_one_chip_has_no_list_of_capabilities(tmp_path: Path) -> None:
    text = """
        name = "mychip"
        extends = "sm"
        capabilities = ["9.0"]
        reference = { name = "cccl-3.5", cc = "9.0" }
    """
    with pytest.raises(SpecError) as error:
        _ = load(project(tmp_path, {"mychip": text})).spec
    (problem,) = error.value.problems
    assert problem.key == "capabilities"
    assert problem.line == 4
    assert problem.reason.endswith("drop one of the two")


FAMILY_WITH_A_POINT = """
    name = "fam"
    title = "A family"
    extends = "sm"
    capabilities = ["8.0", "9.0"]
    reference = { name = "cccl-3.5" }
    [[rules.reduce.ladder]]
    id = "own"
    [rules.reduce.ladder.base]
    multi_tile = { vec_size = 1, reduce_algorithm = "BLOCK_REDUCE_RAKING", load_modifier = "LOAD_DEFAULT" }
    [[rules.reduce.ladder.point]]
    id = "only-on-8.0"
    cc = "==8.0"
    match = { accum_size = 4 }
    multi_tile = { literal = { threads_per_block = 384, items_per_thread = 16 } }
    single_tile = { copy = "multi_tile" }
    reason = "to see where it answers"
"""
CHIP_OF_IT = """
    name = "chip"
    extends = "fam"
    reference = { name = "cccl-3.5", cc = "9.0" }
"""


def test_points_of_the_family_are_judged_on_the_family(tmp_path: Path) -> None:
    made = load(project(tmp_path, {"fam": FAMILY_WITH_A_POINT, "chip": CHIP_OF_IT}))
    spec = made.spec
    (found,) = reachability(spec, spec.targets["fam"])
    assert isinstance(found, Witness)
    assert reachability(spec, spec.targets["chip"]) == ()
    key = {"accum_t": "float32", "operation_t": "plus", "offset_size": 4}
    assert made.resolve("fam_80", "reduce", **key).point == "only-on-8.0"
    assert made.resolve("chip", "reduce", **key).policy == made.resolve("sm_90", "reduce", **key).policy
    # other families leave the names of the architectures alone
    assert made.target("sm_80").target.name == "sm"
    assert made.target("fam_90").name == "fam_90"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = project(tmp_path_factory.mktemp("devices"), listed='"rtx_5090", "h100"')
    told = CliRunner().invoke(cli, ["build", "--all", "--jobs", "1", "--project", str(folder)])
    assert told.exit_code == 0, told.stderr
    # said once, though every algorithm of the target could say it
    assert (told.stdout + told.stderr).count("conflict: sm_count: 132 (documented") == 1
    return folder / "generated"


def test_files_carry_the_name_of_the_device(built: Path) -> None:
    assert sorted(p.name for p in (built / "include" / "policygen").iterdir()) == ["h100", "rtx_5090"]
    header = (built / "include/policygen/rtx_5090/tuning_reduce.cuh").read_text()
    assert "Generated by policygen for rtx_5090" in header
    assert "policygen::rtx_5090" in header or "namespace rtx_5090" in header
    umbrella = (built / "include/policygen/h100/tuning.cuh").read_text()
    assert "conflict: memory_bandwidth: 3.35 TB/s" in umbrella


RUN_TABLES = """
import warnings
from types import SimpleNamespace
from policygen_tables import rtx_5090, h100
hardware = rtx_5090.HARDWARE
assert rtx_5090.TARGET == "rtx_5090"
assert (hardware.sm_count, hardware.l2_size, hardware.memory_size) == (170, 96 << 20, 32 << 30), hardware
assert hardware.memory_bandwidth == 1792 * 10**9 and hardware.bandwidth_per_sm == 1792 * 10**9 // 170
assert hardware.max_smem_per_block_optin == 99 << 10 and hardware.bytes_in_flight_per_sm is None
assert h100.HARDWARE.sm_count == 132 and h100.HARDWARE.smem_per_sm == 228 << 10
device = SimpleNamespace(
    name="NVIDIA GeForce RTX 5090", multi_processor_count=170, warp_size=32, L2_cache_size=96 << 20,
    max_threads_per_multi_processor=1536, regs_per_multiprocessor=65536, shared_memory_per_block=48 << 10,
    shared_memory_per_block_optin=99 << 10, shared_memory_per_multiprocessor=100 << 10)
assert rtx_5090.verify(device)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert not h100.verify(device)
told = str(caught[0].message)
assert "policies of h100 on NVIDIA GeForce RTX 5090" in told and "sm_count is 170, not 132" in told, told
"""


def test_tables_carry_the_facts_and_know_their_device(built: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN_TABLES],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(built / "python")},
    )
    assert done.returncode == 0, done.stderr
