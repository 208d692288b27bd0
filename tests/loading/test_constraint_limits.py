"""Constraints read their limits from the table of limits: no number of their own, and none with a reserve in it."""

from __future__ import annotations

import pytest

from policygen.lang.tree import Expr
from policygen.lang.tree import Field
from policygen.lang.tree import Name
from policygen.loading.package_data import data_dir
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.model.capabilities import KNOWN_CAPABILITIES
from policygen.plan.limits import LIMIT_NAMES
from policygen.resolve.instance import target_instance
from policygen.spec import Spec

OF_A_BLOCK = {
    "bytes": {"max_smem_per_block", "max_smem_per_block_optin"},
    "registers": {"max_registers_per_thread", "max_registers_per_block"},
    "threads": {"max_threads_per_block"},
}
"""What a block or a thread may have; what a multiprocessor has (`registers_per_sm`) may be more."""


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_spec(spec_files([(data_dir("specs"), "specs/")]))


def fact_of(limit: Expr | None) -> str:
    """The fact that a limit is; a limit that is anything else is shown."""
    named = isinstance(limit, Field) and isinstance(limit.base, Name) and limit.base.id == "target"
    return limit.name if named and isinstance(limit, Field) else str(limit)


def test_every_limit_is_one_fact_of_the_table_and_of_its_unit(spec: Spec) -> None:
    looked_at = 0
    for algorithm in spec.algorithms.values():
        for constraint in algorithm.constraints:
            if constraint.need is not None:
                fact = fact_of(constraint.limit)
                assert fact in OF_A_BLOCK[constraint.unit], (algorithm.name, constraint.id)
                assert fact in LIMIT_NAMES
                looked_at += 1
    assert looked_at > 100


@pytest.mark.parametrize("cc", KNOWN_CAPABILITIES)
def test_limits_of_a_block_leave_the_reserve_out_and_fit_beside_it(spec: Spec, cc: int) -> None:
    facts = {name: fact.value or 0 for name, fact in target_instance(spec, f"sm_{cc}").facts.items()}
    reserve, has = facts["reserved_smem_per_block"], facts["smem_per_sm"]
    assert facts["max_smem_per_block"] == 48 * 1024 <= facts["max_smem_per_block_optin"]
    assert facts["max_smem_per_block_optin"] + reserve <= has
    if cc >= 70:
        # one block can have the whole multiprocessor but for its reserve
        assert facts["max_smem_per_block_optin"] + reserve == has
    assert facts["max_registers_per_block"] <= facts["registers_per_sm"]
    assert facts["max_threads_per_block"] <= facts["max_threads_per_sm"]
