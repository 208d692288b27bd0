"""The facts of the targets that the repository ships."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from policygen.loading.fact_documents import facts_from_document
from policygen.loading.toml_source import parse_toml
from policygen.model.capabilities import KNOWN_CAPABILITIES
from policygen.model.dimensions import format_value
from policygen.model.facts import EffectiveFact
from policygen.model.facts import EvidenceKind
from policygen.resolve.facts import effective_facts

TARGETS = Path(__file__).parents[2] / "specs" / "targets"


def evaluate(formula: str, values: Mapping[str, int | None]) -> int | None:
    if None in values.values():
        return None
    return int(eval(formula, {"__builtins__": {}}, dict(values)))


def effective(text: str, cc: int | None = None) -> dict[str, EffectiveFact]:
    source = parse_toml(text.encode(), "target.toml")
    facts, problems = facts_from_document(source, source.data["fact"])
    assert not problems, "\n".join(map(str, problems))
    return effective_facts(facts, evaluate, cc=cc)


BI100 = (TARGETS / "bi100.toml").read_text("utf-8")
SM = (TARGETS / "sm.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("sm_count", "16", "measured"),
        ("device_count", "4", "measured"),
        ("warp_size", "64", "measured"),
        ("max_smem_per_block", "48 KiB", "assumed"),
        ("max_threads_per_block", "1024", "assumed"),
        ("max_threads_per_sm", "8192", "measured"),
        ("registers_per_sm", "65536", "assumed"),
        ("max_registers_per_block", "65536", "assumed"),
        ("max_registers_per_thread", "255", "assumed"),
        ("l2_size", "6 MiB", "assumed"),
        ("memory_bandwidth", "900 GB/s", "documented"),
        ("achieved_bandwidth", "584.2 GB/s", "measured"),
        ("bandwidth_per_sm", "56.25 GB/s", "documented"),
        ("achieved_bandwidth_per_sm", "36.5125 GB/s", "measured"),
        ("bytes_in_flight_per_sm", "64 KiB", "assumed"),
        ("memory_size", "32 GiB", "measured"),
        ("launch_latency", "6.2 us", "measured"),
        ("blocks_per_sm", "2", "assumed"),
        ("subscription_factor", "5", "documented"),
    ],
)
def test_bi100_goes_by(name: str, value: str, kind: str) -> None:
    fact = effective(BI100)[name]
    assert fact.value is not None
    assert (format_value(fact.dimension, fact.value), fact.kind) == (value, EvidenceKind(kind))


def test_bi100_does_not_know() -> None:
    unknown = {name: fact.unknown for name, fact in effective(BI100).items() if fact.value is None}
    assert unknown == {
        "compute_capability": "no NVIDIA architecture: the reported capability is emulated",
        "fp64_throughput": "never measured",
        "max_blocks_per_sm": "no source states it",
        "max_smem_per_block_optin": "no source states whether a kernel may opt in to more",
        "register_allocation_unit": "no source states it",
        "reserved_smem_per_block": "no source states it",
        "sm_partitions": "no source states it",
        "smem_allocation_unit": "no source states it",
        "smem_per_sm": "no source states it and no device query was kept: occupancy by shared memory is unknown too",
        "warp_allocation_unit": "no source states it",
    }


def test_bi100_conflicts() -> None:
    pairs = {
        (name, format_value(fact.dimension, conflict.used.value or 0), format_value(fact.dimension, other))
        for name, fact in effective(BI100).items()
        for conflict in fact.conflicts
        if (other := conflict.other.value) is not None
    }
    assert pairs == {
        ("blocks_per_sm", "2", "1"),
        ("bytes_in_flight_per_sm", "64 KiB", "48 KiB"),
        ("max_smem_per_block", "48 KiB", "32 KiB"),
        ("sm_count", "16", "50"),
        ("warp_size", "64", "32"),
    }


def test_bi100_warp_size_is_open_until_the_reading_64_is_withdrawn() -> None:
    assert effective(BI100)["warp_size"].plausible == (32, 64)
    edited = BI100.replace("value = 64\nkind", 'value = 64\nwithdrawn = "not this device"\nkind')
    assert edited != BI100
    fact = effective(edited)["warp_size"]
    assert (fact.value, fact.plausible, fact.conflicts) == (32, (32,), ())


def test_family_has_every_limit_of_every_capability_without_a_conflict() -> None:
    for cc in KNOWN_CAPABILITIES:
        facts = effective(SM, cc)
        assert [name for name, fact in facts.items() if fact.value is None or fact.conflicts] == [], cc


# max_threads_per_sm, max_blocks_per_sm, smem_per_sm, max_smem_per_block_optin, reserved_smem_per_block (KiB):
# cuda/__device/arch_traits.h of CCCL 3.5, and the programming guide of CUDA 12 for 7.2.
LIMITS = {
    50: (2048, 32, 64, 48, 0),
    52: (2048, 32, 96, 48, 0),
    53: (2048, 32, 64, 48, 0),
    60: (2048, 32, 64, 48, 0),
    61: (2048, 32, 96, 48, 0),
    62: (2048, 32, 64, 48, 0),
    70: (2048, 32, 96, 96, 0),
    72: (2048, 32, 96, 96, 0),
    75: (1024, 16, 64, 64, 0),
    80: (2048, 32, 164, 163, 1),
    86: (1536, 16, 100, 99, 1),
    87: (1536, 16, 164, 163, 1),
    88: (1536, 16, 100, 99, 1),
    89: (1536, 24, 100, 99, 1),
    90: (2048, 32, 228, 227, 1),
    100: (2048, 32, 228, 227, 1),
    103: (2048, 32, 228, 227, 1),
    110: (1536, 24, 228, 227, 1),
    120: (1536, 24, 100, 99, 1),
    121: (1536, 24, 100, 99, 1),
}


@pytest.mark.parametrize("cc", KNOWN_CAPABILITIES)
def test_family_limits(cc: int) -> None:
    facts = effective(SM, cc)
    sizes = ("smem_per_sm", "max_smem_per_block_optin", "reserved_smem_per_block")
    values = {name: fact.value for name, fact in facts.items()}
    threads, blocks, *kibibytes = LIMITS[cc]
    assert (values["max_threads_per_sm"], values["max_blocks_per_sm"]) == (threads, blocks)
    assert [values[name] for name in sizes] == [size * 1024 for size in kibibytes]
    assert values["max_registers_per_block"] == (32768 if cc in (53, 62) else 65536)
    assert (values["warp_size"], values["max_threads_per_block"], values["max_smem_per_block"]) == (32, 1024, 49152)
    assert (values["registers_per_sm"], values["max_registers_per_thread"]) == (65536, 255)
    # cuda_occupancy.h of CUDA 13.0
    assert (values["register_allocation_unit"], values["warp_allocation_unit"]) == (256, 4)
    assert values["sm_partitions"] == (2 if cc == 60 else 4)
    assert values["smem_allocation_unit"] == (256 if cc < 80 else 128)
    assert (values["max_grid_x"], values["max_grid_y"], values["max_grid_z"]) == (2**31 - 1, 65535, 65535)
    assert (values["nvcc"], values["subscription_factor"]) == (1300, 5)
