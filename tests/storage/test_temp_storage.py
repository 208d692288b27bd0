"""The shared memory that specs say kernels need: the size of CUB's own TempStorage, to the byte."""

from __future__ import annotations

import random

import pytest

from policygen.loading.package_data import data_dir
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain
from policygen.spec import Spec
from storage.groups import GROUPS
from storage.groups import Group
from storage.probe import need
from storage.probe import sizes

pytestmark = [pytest.mark.cuda, pytest.mark.slow]


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_spec(spec_files([(data_dir("specs"), "specs/")]))


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        found = find_toolchain()
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    if not found.cccl_version.startswith("3.5."):
        pytest.skip(f"the models are those of CCCL 3.5; found {found.cccl_version}")
    return found


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_a_spec_says_the_size_of_the_storage(
    spec: Spec, toolchain: Toolchain, group: Group, pytestconfig: pytest.Config
) -> None:
    assert pytestconfig.cache is not None
    storages = group.storages(random.Random(f"storages of {group.name}"))
    cache = pytestconfig.cache.mkdir("host-programs")
    said = sizes(group.headers, group.declarations, storages, toolchain, cache)
    modelled = [need(spec, storage) for storage in storages]
    wrong = [
        f"{storage.cpp}: {ours}, CUB {theirs}"
        for storage, ours, theirs in zip(storages, modelled, said, strict=True)
        if ours != theirs
    ]
    assert wrong == []
