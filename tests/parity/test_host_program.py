"""The program's text and the integers that it speaks, without a compiler."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import attrs
import pytest

from parity.shapes import BATCHED_TOPK
from parity.shapes import REDUCE
from parity.shapes import SCAN
from parity.shapes import SHAPES
from parity.shapes import TRANSFORM
from parity.shapes import iterator
from parity.shapes import reduce_key
from parity.shapes import transform_key
from policygen.parity.host_program import host_program
from policygen.parity.protocol import KeyEncoder
from policygen.parity.protocol import decode_policy
from policygen.parity.protocol import instances_of
from policygen.parity.shape import ListField
from policygen.parity.shape import RecordField
from policygen.parity.shape import ScalarField
from policygen.parity.shape import Value


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_text_does_not_depend_on_the_hash_seed(seed: str) -> None:
    script = (
        "import sys\n"
        "from parity.shapes import SHAPES\n"
        "from policygen.parity.host_program import host_program\n"
        "sys.stdout.write(host_program(SHAPES))\n"
    )
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout == host_program(SHAPES)


def test_only_what_the_shapes_name_is_included() -> None:
    headers = re.findall(r"^#include <(cub/device/.*)>$", host_program([SCAN, REDUCE]), re.MULTILINE)
    assert headers == [
        "cub/device/dispatch/tuning/tuning_reduce.cuh",
        "cub/device/dispatch/tuning/tuning_scan.cuh",
    ]


def test_a_list_is_one_instance_for_each_length() -> None:
    assert [instance.cpp_type for instance in instances_of([REDUCE, TRANSFORM])] == [
        "::cub::detail::reduce::policy_selector",
        *(f"::cub::detail::transform::policy_selector<{length}>" for length in range(9)),
    ]


def test_a_member_may_be_spelled_otherwise_than_its_field() -> None:
    text = host_program([BATCHED_TOPK])
    assert "policy.worker_per_segment_policies[5].epilogue.items_per_thread" in text
    assert "policy.workers" not in text


def test_the_length_of_the_list_chooses_the_instance() -> None:
    encoder = KeyEncoder(TRANSFORM, 1)
    key = transform_key([iterator(4), iterator(2)], iterator(8))
    assert encoder.encode(key, [90, 100]) == [3, 2, 90, 100, 0, 1, 4, 4, 1, 1, 2, 2, 1, 1, 8, 8, 1, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"accum_t": "float31"}, r"^reduce\.accum_t: expected one of boolean, .*; got 'float31'$"),
        ({"accum_t": 3}, r"^reduce\.accum_t: expected one of boolean, "),
        ({"accum_size": "4"}, r"^reduce\.accum_size: expected int from -2147483648 to 2147483647; got '4'$"),
        ({"accum_size": 2**31}, r"^reduce\.accum_size: expected int from "),
        ({"size": 4}, r"^reduce: the fields are accum_t, .*; unknown size$"),
    ],
)
def test_a_key_that_does_not_fit(changes: dict[str, Value], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KeyEncoder(REDUCE, 0).encode(reduce_key("float32", 4) | changes, [90])


def test_a_missing_field() -> None:
    key = reduce_key("float32", 4)
    del key["accum_t"]
    with pytest.raises(ValueError, match=r"^reduce: the fields are accum_t, .*; missing accum_t$"):
        KeyEncoder(REDUCE, 0).encode(key, [90])


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([iterator(4)] * 9, r"^transform\.inputs: expected a list of at most 8 records"),
        ("none", r"^transform\.inputs: expected a list of at most 8 records; got 'none'$"),
        ([4], r"^transform\.inputs\[\]: expected a record with value_type_size, .*; got 4$"),
        ([iterator(4, is_contiguous=2)], r"^transform\.inputs\[\]\.is_contiguous: expected bool from 0 to 1; got 2$"),
    ],
)
def test_inputs_that_do_not_fit(inputs: Value, message: str) -> None:
    key = transform_key([], iterator(4)) | {"inputs": inputs}
    with pytest.raises(ValueError, match=message):
        KeyEncoder(TRANSFORM, 0).encode(key, [90])


def test_a_policy_is_read_back_by_name() -> None:
    assert decode_policy(REDUCE, "512 16 2 2 5 256 16 4 1 0") == {
        "multi_tile": {
            "threads_per_block": 512,
            "items_per_thread": 16,
            "vec_size": 2,
            "reduce_algorithm": "BLOCK_REDUCE_WARP_REDUCTIONS",
            "load_modifier": "LOAD_LDG",
        },
        "single_tile": {
            "threads_per_block": 256,
            "items_per_thread": 16,
            "vec_size": 4,
            "reduce_algorithm": "BLOCK_REDUCE_RAKING",
            "load_modifier": "LOAD_DEFAULT",
        },
    }


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("512 16 2 -1 5 256 16 4 1 0", r"^reduce\.multi_tile\.reduce_algorithm: CCCL answered a ::cub::Block"),
        ("512 16 2 2 5", "too few numbers"),
        ("512 16 2 2 5 256 16 4 1 0 0", "too many numbers"),
    ],
)
def test_an_answer_that_does_not_fit(answer: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode_policy(REDUCE, answer)


def test_a_program_needs_distinct_selectors() -> None:
    with pytest.raises(ValueError, match="repeated: reduce"):
        host_program([REDUCE, REDUCE])
    with pytest.raises(ValueError, match="at least one selector"):
        host_program([])


def test_a_key_has_at_most_one_list_and_at_its_top() -> None:
    element = (ScalarField("size", "int"),)
    lists = (ListField("a", element, 2), ListField("b", element, 2))
    with pytest.raises(ValueError, match=r"it has a, b$"):
        attrs.evolve(REDUCE, key=lists)
    with pytest.raises(ValueError, match=r"it has r\.a$"):
        attrs.evolve(REDUCE, key=(RecordField("r", lists[:1]),))
