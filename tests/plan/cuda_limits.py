"""The limits of the NVIDIA architectures, from the packaged specs."""

from __future__ import annotations

from functools import cache

from policygen.loading.package_data import data_dir
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.plan.limits import Limits
from policygen.plan.limits import limits_from_facts
from policygen.resolve.instance import target_instance
from policygen.spec import Spec


@cache
def packaged() -> Spec:
    return load_spec(spec_files([(data_dir("specs"), "specs/")]))


@cache
def limits_of(target: str) -> Limits:
    facts = target_instance(packaged(), target).facts
    return limits_from_facts({name: fact.value for name, fact in facts.items()})
