"""The plans that the source notes give for `bi100`, from its facts and its resolved policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from policygen.load.package_data import data_dir
from policygen.load.spec_files import load_spec
from policygen.load.spec_files import spec_files
from policygen.plan.even_share import even_share
from policygen.plan.lookback_delay import DelayEffect
from policygen.plan.lookback_delay import delay_activity
from policygen.plan.lookback_delay import first_ungated_items
from policygen.plan.partitions import is_unpartitioned
from policygen.plan.partitions import partition_plan
from policygen.plan.reduce_plan import Determinism
from policygen.plan.reduce_plan import ReducePlan
from policygen.plan.reduce_plan import fits_single_tile
from policygen.plan.reduce_plan import reduce_plan
from policygen.plan.residency import Residency
from policygen.plan.residency import residency_from_facts
from policygen.plan.scan_plan import LookbackPlan
from policygen.plan.scan_plan import lookback_plan
from policygen.plan.transform_plan import tiles_of_row
from policygen.plan.transform_plan import vectorized_plan
from policygen.resolve.instance import TargetInstance
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.spec import Spec


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_spec(spec_files([(data_dir("specs"), "specs/")]))


@pytest.fixture(scope="module")
def bi100(spec: Spec) -> TargetInstance:
    return target_instance(spec, "bi100")


@pytest.fixture(scope="module")
def facts(bi100: TargetInstance) -> Mapping[str, int | None]:
    return {name: fact.value for name, fact in bi100.facts.items()}


def policy(spec: Spec, target: TargetInstance, algorithm: str, **key: Any) -> Any:
    return Resolver(rules_for(spec, target, algorithm)).resolve(key).policy


def tile(counts: Any) -> int:
    return int(counts.threads_per_block * counts.items_per_thread)


@pytest.fixture(scope="module")
def reduce_policy(spec: Spec, bi100: TargetInstance) -> Any:
    return policy(spec, bi100, "reduce", accum_t="float32", operation_t="plus", offset_size=4)


@pytest.fixture(scope="module")
def lookback(spec: Spec, bi100: TargetInstance) -> Any:
    key = {
        "input_type": "float32",
        "input_value_size": 4,
        "input_value_alignment": 4,
        "output_value_size": 4,
        "output_value_alignment": 4,
        "accum_type": "float32",
        "accum_size": 4,
        "accum_alignment": 4,
        "offset_size": 4,
        "operation_t": "plus",
    }
    return policy(spec, bi100, "scan", **key).lookback


@pytest.fixture(scope="module")
def vectorized(spec: Spec, bi100: TargetInstance) -> Any:
    inputs = [{"type": "float32", "value_type_size": 4}]
    return inputs and policy(spec, bi100, "transform", inputs=inputs).vectorized


def planned(reduce_policy: Any, num_items: int, residency: Residency) -> ReducePlan:
    return reduce_plan(
        num_items,
        determinism=Determinism.RUN_TO_RUN,
        single_tile_items=tile(reduce_policy.single_tile),
        multi_tile_items=tile(reduce_policy.multi_tile),
        accum_size=4,
        residency=residency,
    )


def scanned(lookback: Any, num_items: int, residency: Residency) -> LookbackPlan:
    return lookback_plan(num_items, tile_items=tile(lookback), accum_size=4, single_word=True, residency=residency)
