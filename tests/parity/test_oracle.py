"""What CCCL's own selectors answer, against facts about them that are known from reading and from measuring."""

from __future__ import annotations

import attrs
import pytest

from parity.shapes import REDUCE
from parity.shapes import SHAPES
from parity.shapes import iterator
from parity.shapes import reduce_key
from parity.shapes import scan_key
from parity.shapes import transform_key
from policygen.parity import oracle as oracle_module
from policygen.parity.oracle import Oracle
from policygen.parity.oracle import UndefinedAnswerError
from policygen.parity.shape import ScalarField
from policygen.parity.shape import Value
from policygen.parity.toolchain import CompilationError
from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain

pytestmark = pytest.mark.cuda

CAPABILITIES = [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121]


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        return find_toolchain()
    except ToolchainMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def oracle(toolchain: Toolchain, pytestconfig: pytest.Config) -> Oracle:
    if not toolchain.cccl_version.startswith("3.5."):
        pytest.skip(f"the facts are those of CCCL 3.5; found {toolchain.cccl_version}")
    assert pytestconfig.cache is not None
    return Oracle.build(SHAPES, toolchain, pytestconfig.cache.mkdir("host-programs"))


def only(oracle: Oracle, algorithm: str, key: dict[str, Value], cc: int) -> dict[str, Value]:
    ((policy,),) = oracle.evaluate(algorithm, [key], [cc])
    return policy


def record(policy: dict[str, Value], name: str) -> dict[str, Value]:
    found = policy[name]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("key", "cc", "threads", "items", "vec"),
    [
        (reduce_key("float32", 4), 100, 512, 16, 2),
        (reduce_key("float64", 8), 100, 640, 8, 1),
        (reduce_key("int64", 8), 100, 512, 7, 2),
        (reduce_key("int64", 8, offset_size=8), 120, 512, 7, 1),
        (reduce_key("float32", 4, operation_t="min"), 100, 256, 16, 4),
        (reduce_key("int8", 1), 90, 256, 32, 4),
        (reduce_key("int32", 4), 52, 256, 20, 4),
        (reduce_key("other", 12), 80, 256, 5, 4),
        (reduce_key("float32", 4, determinism="gpu_to_gpu"), 90, 224, 13, 1),
        (reduce_key("float64", 8, determinism="gpu_to_gpu"), 90, 128, 5, 1),
        (reduce_key("float64", 8, determinism="gpu_to_gpu"), 80, 256, 8, 1),
        (reduce_key("other", 49153), 90, 0, 1, 4),
    ],
)
def test_reduce(oracle: Oracle, key: dict[str, Value], cc: int, threads: int, items: int, vec: int) -> None:
    multi_tile = record(only(oracle, "reduce", key, cc), "multi_tile")
    assert (multi_tile["threads_per_block"], multi_tile["items_per_thread"], multi_tile["vec_size"]) == (
        threads,
        items,
        vec,
    )


def test_a_reduction_without_guarantee_changes_the_first_pass_alone(oracle: Oracle) -> None:
    policy = only(oracle, "reduce", reduce_key("float32", 4, determinism="not_guaranteed"), 90)
    assert policy == {
        "multi_tile": {
            "threads_per_block": 256,
            "items_per_thread": 16,
            "vec_size": 4,
            "reduce_algorithm": "BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC",
            "load_modifier": "LOAD_LDG",
        },
        "single_tile": {
            "threads_per_block": 256,
            "items_per_thread": 16,
            "vec_size": 4,
            "reduce_algorithm": "BLOCK_REDUCE_WARP_REDUCTIONS",
            "load_modifier": "LOAD_LDG",
        },
    }


def test_the_host_pass_sees_a_ptx_isa_that_allows_lookahead(oracle: Oracle) -> None:
    assert oracle.ptx_isa >= 860


def test_scan_looks_ahead_where_upstream_does(oracle: Oracle) -> None:
    (policies,) = oracle.evaluate("scan", [scan_key("float32", 4)], CAPABILITIES)
    ahead = [cc for cc, policy in zip(CAPABILITIES, policies, strict=True) if policy["algorithm"] == "lookahead"]
    # nvcc before 13.4 miscompiles the lookahead scan for 12.0, and for 12.0 alone.
    release = tuple(int(part) for part in oracle.toolchain.nvcc_version.split("."))
    assert ahead == [100, 103, 110, *([] if release < (13, 4) else [120]), 121]


def test_a_stable_scan_looks_ahead_from_nine_zero(oracle: Oracle) -> None:
    key = scan_key("float32", 4, require_stable_reduction_order=True)
    (policies,) = oracle.evaluate("scan", [key], [80, 89, 90])
    assert [policy["algorithm"] for policy in policies] == ["lookback", "lookback", "lookahead"]


def test_lookahead_leaves_the_lookback_policy_empty(oracle: Oracle) -> None:
    assert only(oracle, "scan", scan_key("float32", 4), 100) == {
        "algorithm": "lookahead",
        "lookback": {
            "threads_per_block": 0,
            "items_per_thread": 0,
            "load_algorithm": "BLOCK_LOAD_DIRECT",
            "load_modifier": "LOAD_DEFAULT",
            "store_algorithm": "BLOCK_STORE_DIRECT",
            "scan_algorithm": "BLOCK_SCAN_RAKING",
            "lookback_delay": {"kind": "no_delay", "delay": 0, "l2_write_latency": 0},
        },
        "lookahead": {
            "reduce_and_scan_warps": 4,
            "items_per_thread": 87,
            "lookahead_items_per_thread": 3,
            "lookahead_stages": 2,
            "block_idx_stages": -1,
        },
    }


@pytest.mark.parametrize(
    ("kind", "size", "cc", "threads", "items", "kind_of_delay"),
    [
        ("float32", 4, 100, 384, 22, "exponential_backon_jitter"),
        ("int64", 8, 100, 416, 11, "exponential_backon_jitter_window"),
        ("int8", 1, 100, 512, 36, "exponential_backon"),
        ("float32", 4, 90, 128, 24, "fixed_delay"),
        ("int128", 16, 90, 576, 5, "fixed_delay"),
        ("int128", 16, 80, 512, 6, "no_delay"),
        ("float32", 4, 86, 128, 15, "fixed_delay"),
        ("float32", 4, 50, 128, 12, "fixed_delay"),
    ],
)
def test_lookback_scan(
    oracle: Oracle, kind: str, size: int, cc: int, threads: int, items: int, kind_of_delay: str
) -> None:
    policy = only(oracle, "scan", scan_key(kind, size, input_contiguous=False), cc)
    lookback = record(policy, "lookback")
    assert policy["algorithm"] == "lookback"
    assert (lookback["threads_per_block"], lookback["items_per_thread"]) == (threads, items)
    assert record(lookback, "lookback_delay")["kind"] == kind_of_delay


def test_transform_bytes_in_flight(oracle: Oracle) -> None:
    key = transform_key([iterator(4)], iterator(4))
    (policies,) = oracle.evaluate("transform", [key], [75, 80, 90, 100])
    assert [policy["min_bytes_in_flight"] for policy in policies] == [12288, 16384, 49152, 65536]
    assert [policy["algorithm"] for policy in policies] == ["vectorized", "ldgsts", "ublkcp", "ublkcp"]


@pytest.mark.parametrize(
    ("size", "cc", "expected"),
    [
        (1, 75, (256, 8, 4)),
        (8, 75, (256, 8, 4)),
        (1, 80, (256, 8, 8)),
        (8, 89, (256, 8, 1)),
        (4, 90, (256, 16, 2)),
        (8, 120, (128, 16, 1)),
    ],
)
def test_fill(oracle: Oracle, size: int, cc: int, expected: tuple[int, int, int]) -> None:
    policy = only(oracle, "transform", transform_key([], iterator(size)), cc)
    assert policy["algorithm"] == "vectorized"
    assert tuple(record(policy, "vectorized").values()) == expected


def test_the_row_for_triad_is_for_eight_zero_exactly(oracle: Oracle) -> None:
    triad = transform_key([iterator(8), iterator(8)], iterator(8))
    (policies,) = oracle.evaluate("transform", [triad], [75, 80, 86])
    assert [tuple(record(policy, "vectorized").values()) for policy in policies] == [
        (256, 8, 4),
        (128, 16, 4),
        (256, 8, 4),
    ]


@pytest.mark.parametrize("count", range(9))
def test_transform_takes_every_number_of_inputs(oracle: Oracle, count: int) -> None:
    policy = only(oracle, "transform", transform_key([iterator(4)] * count, iterator(16)), 100)
    assert policy["algorithm"] == ("ublkcp" if count else "vectorized")
    assert record(policy, "async_copy")["store_vec_size"] == 1


def test_each_input_is_seen(oracle: Oracle) -> None:
    inputs = [iterator(4) for _ in range(4)]
    for position in range(4):
        unmovable = [*inputs]
        unmovable[position] = iterator(4, value_type_is_trivially_relocatable=False)
        policy = only(oracle, "transform", transform_key(unmovable, iterator(4)), 100)
        assert policy["algorithm"] == "prefetch"


@pytest.mark.parametrize("size", [0, 3, 12])
def test_an_output_that_is_no_power_of_two_is_never_vectorized(oracle: Oracle, size: int) -> None:
    (policies,) = oracle.evaluate("transform", [transform_key([], iterator(size))], CAPABILITIES)
    assert {policy["algorithm"] for policy in policies} == {"prefetch"}


def test_a_list_in_the_policy(oracle: Oracle) -> None:
    workers = only(oracle, "batched_topk", {}, 90)["workers"]
    assert isinstance(workers, tuple)
    assert [(worker["threads_per_block"], worker["items_per_thread"]) for worker in workers] == [
        (256, 64),
        (256, 32),
        (256, 16),
        (256, 8),
        (256, 4),
        (128, 2),
    ]


def test_answers_come_in_the_order_of_the_keys(oracle: Oracle, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [scan_key("int32", 4, accum_size=size) for size in range(1, 200)]
    together = oracle.evaluate("scan", keys, CAPABILITIES)
    monkeypatch.setattr(oracle_module, "_ANSWERS_PER_RUN", 7 * len(CAPABILITIES))
    assert oracle.evaluate("scan", iter(keys), CAPABILITIES) == together
    assert together[-1][5] == only(oracle, "scan", keys[-1], CAPABILITIES[5])


def test_no_keys_and_no_capabilities(oracle: Oracle) -> None:
    assert oracle.evaluate("reduce", [], [90]) == []
    assert oracle.evaluate("reduce", [reduce_key("float32", 4)], []) == [[]]


@pytest.mark.parametrize(
    ("algorithm", "key"),
    [
        ("reduce", reduce_key("other", 0)),
        ("scan", scan_key("other", 1, input_value_size=65793)),
    ],
    ids=["division by zero", "overflow"],
)
def test_a_key_without_a_defined_answer_is_an_error(oracle: Oracle, algorithm: str, key: dict[str, Value]) -> None:
    with pytest.raises(UndefinedAnswerError, match=rf"^{algorithm}: .* on 10\.0 for"):
        oracle.evaluate(algorithm, [key], [100])


@pytest.mark.parametrize("alignment", [0, 3, 65536])
def test_odd_alignments_are_answered(oracle: Oracle, alignment: int) -> None:
    key = scan_key("other", 12, input_value_alignment=alignment, accum_alignment=alignment)
    assert len(oracle.evaluate("scan", [key], CAPABILITIES)[0]) == len(CAPABILITIES)


def test_an_unknown_algorithm_names_the_known_ones(oracle: Oracle) -> None:
    with pytest.raises(ValueError, match="unknown algorithm 'sort': this oracle has reduce, scan, transform"):
        oracle.evaluate("sort", [], [90])


def test_a_program_is_compiled_once(oracle: Oracle, toolchain: Toolchain) -> None:
    before = oracle.program.stat().st_mtime_ns
    assert Oracle.build(SHAPES, toolchain, oracle.program.parent).program == oracle.program
    assert oracle.program.stat().st_mtime_ns == before


@pytest.mark.slow
def test_a_field_that_cccl_lacks_is_named(toolchain: Toolchain, pytestconfig: pytest.Config) -> None:
    assert pytestconfig.cache is not None
    shape = attrs.evolve(REDUCE, key=(ScalarField("accumulator", "int"),))
    with pytest.raises(CompilationError, match="accumulator"):
        Oracle.build([shape], toolchain, pytestconfig.cache.mkdir("host-programs"))
