"""A-12: what a port may lose: dimensions of a key, and which row is for which type; and what it may make up."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from cases.small_specs import COPY
from cases.small_specs import SmallSpecs
from policygen.fold.table import policy_table
from policygen.parity.oracle import Oracle
from policygen.parity.spec_shapes import oracle_key
from policygen.parity.spec_shapes import selector_shape
from policygen.parity.toolchain import find_toolchain
from policygen.project import Project

ROWS = {
    "int8": """
[[ladder.point]]
id = "int8"
match = { element_t = "int8" }
literal = { threads_per_block = 512, items_per_thread = 32 }
""",
    "float32": """
[[ladder.point]]
id = "float32"
match = { element_t = "float32" }
literal = { threads_per_block = 256, items_per_thread = 12 }
""",
    "float64": """
[[ladder.point]]
id = "float64"
match = { element_t = "float64" }
literal = { threads_per_block = 128, items_per_thread = 9 }
""",
}
REST = """
[[ladder.point]]
id = "rest"
literal = { threads_per_block = 64, items_per_thread = 1 }
"""


@pytest.mark.parametrize("order", list(permutations(ROWS)), ids="-".join)
def test_the_row_of_a_type_answers_for_it_whatever_the_order_of_rows(specs: SmallSpecs, order: tuple[str, ...]) -> None:
    specs.algorithm(COPY.replace('"int64"]', '"int64", "float32", "float64"]'))
    specs.ladder("".join(ROWS[name] for name in order) + REST)
    assert specs.policy("sm_90", element_t="float32").items_per_thread == 12
    header = specs.files("sm_90")["include/policygen/sm_90/tuning_copy.cuh"]
    table = specs.files("sm_90")["python/tables/sm_90/copy.py"]
    assert [text.count("float32") > 0 for text in (header, table)] == [True, True]
    assert specs.resolve("sm_90", element_t="float32").point == "float32"
    assert specs.resolve("sm_90", element_t="int8").point == "int8"


def test_a_field_that_upstream_does_not_have_is_an_error(specs: SmallSpecs) -> None:
    specs.algorithm(COPY)
    specs.ladder(REST + "prefetch_distance = 4\n")
    (problem,) = specs.problems()
    assert "prefetch_distance: CopyPolicy has no such field" in problem


@pytest.mark.cuda
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["select_if", "reduce_by_key", "histogram"])
def test_as_many_policies_differ_as_in_the_header_that_they_come_from(
    packaged: Project, algorithm: str, pytestconfig: pytest.Config
) -> None:
    assert pytestconfig.cache is not None
    cache = pytestconfig.cache.mkdir("host-programs")
    spec = packaged.spec.algorithms[algorithm]
    oracle = Oracle.build([selector_shape(spec)], find_toolchain(), Path(cache))
    rows = policy_table(packaged.resolver("sm_100", algorithm)).rows
    keys = [oracle_key(spec, row.resolution.key.as_dict()) for row in rows]
    theirs = [repr(answers[0]) for answers in oracle.evaluate(algorithm, keys, [100])]
    ours = [row.policy for row in rows]
    assert len(set(ours)) == len(set(theirs)) > 1
    # and the same keys share one
    assert [ours.index(policy) for policy in ours] == [theirs.index(policy) for policy in theirs]
