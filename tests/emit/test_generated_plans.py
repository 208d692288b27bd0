"""The generated plan modules: the library's answers, on their own, quickly."""

from __future__ import annotations

import compileall
import csv
import json
import random
import shutil
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from attrs import asdict
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from mypy import api

import policygen.project
from interpreters import find_python310
from policygen.cli.main import cli
from policygen.emit.python.expressions import identifier
from policygen.emit.python.plan_source import plan_source
from policygen.parity.random_keys import random_keys
from policygen.plan.even_share import even_share
from policygen.plan.planners import PLANNERS
from policygen.plan.target_device import device_from_facts
from policygen.resolve.candidate import NoPolicy

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "generated" / "python"
TARGETS = ("bi100", "sm_90")
PLANNED = sorted(name for name, planner in PLANNERS.items() if planner.algorithm is not None)

OWN_ARGUMENTS: dict[str, dict[str, list[Any]]] = {
    "transform": {"aligned": [True, False]},
    "scan": {"static_smem": [0, 1024]},
    "radix_sort": {
        "begin_bit": [0, 3],
        "end_bit": [None, 5, 8],
        "can_overwrite": [True, False],
        "histogram_occupancy": [None, 3],
        "alternate_occupancy": [None, 4],
    },
    "topk": {"k": [0, 1, 2**20], "value_size": [0, 4], "k_size": [None, 4], "last_filter_occupancy": [None, 1]},
    "batch_memcpy": {"size_bytes": [4, 8], "large_occupancy": [None, 3]},
    "segmented_reduce": {"max_segment_size": [0, 1, 100, 10**6]},
}


@cache
def project() -> policygen.project.Project:
    return policygen.project.load(ROOT)


@cache
def generated_plan() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PYTHON))
        return import_module("policygen_tables.bi100.plan")


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    monkeypatch.syspath_prepend(str(PYTHON))
    return {target: import_module(f"policygen_tables.{target}.plan") for target in TARGETS}


def spelled(value: Any) -> Any:
    if isinstance(value, dict):
        return {identifier(name): spelled(inner) for name, inner in value.items()}
    return [spelled(inner) for inner in value] if isinstance(value, list | tuple) else value


def outcome(function: Any, *arguments: Any, **named: Any) -> Any:
    """An answer as plain data, or what was refused."""
    try:
        found = function(*arguments, **named)
    except ValueError as error:
        return str(error)
    return json.loads(json.dumps(found.as_dict() if hasattr(found, "as_dict") else asdict(found)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PLANNED)
def test_library_and_generated_module_answer_alike(name: str, target: str, tables: dict[str, ModuleType]) -> None:
    planner = PLANNERS[name]
    assert planner.algorithm is not None
    resolver = project().resolver(target, planner.algorithm)
    instance = project().target(target)
    source = random.Random(7)
    refused = 0
    for drawn in random_keys(resolver.rules.algorithm, 300, seed=11, rules=[]):
        size = source.randint(0, 2 ** source.randint(0, 40))
        key = {**resolver.whole_key(drawn), "num_items": size}
        try:
            resolution = resolver.resolve(key)
        except NoPolicy:
            continue
        facts = {fact_name: fact.value for fact_name, fact in instance.facts.items()}
        facts["sm_count"] = source.randint(1, 200)
        occupancy = source.randint(1, 16)
        own = {argument: source.choice(values) for argument, values in OWN_ARGUMENTS.get(name, {}).items()}
        device = device_from_facts(facts, capability=instance.capability, occupancy=occupancy)
        own["num_items"] = size
        library = outcome(planner.launch, resolution.policy, resolution.key, device=device, **own)
        fields = {field: value for field, value in spelled(key).items() if field != "num_items"}
        own |= {"sm_count": facts["sm_count"], "occupancy": occupancy}
        generated = outcome(getattr(tables[target], name), **fields, **own)
        assert generated == library, (key, own)
        refused += isinstance(library, str)
    assert refused < 250


def test_every_own_argument_is_tried() -> None:
    optional = {"key_bits", "histogram_occupancy", "sizes"}
    for name in PLANNED:
        known = {argument.name for argument in PLANNERS[name].arguments}
        assert set(OWN_ARGUMENTS.get(name, {})) <= known
        assert known - set(OWN_ARGUMENTS.get(name, {})) <= optional, name


def test_numbers_of_plans_without_a_policy(tables: dict[str, ModuleType]) -> None:
    plan = tables["bi100"]
    device = plan.Device(residency=plan.Residency(sm_count=16, occupancy=2))
    launch = plan.even_share_launch(num_items=200 * 12_288, device=device, tile_items=12_288)
    assert (launch.share.grid, launch.share.tiles_per_block, launch.share.big_shares) == (160, 1, 40)
    cut = plan.partitions_launch(num_items=100_000, device=device, partition_items=1024).partitions
    assert (cut.num_partitions, cut.last_items) == (98, 672)


def test_generated_grid_sizes_are_upstream_s(tables: dict[str, ModuleType]) -> None:
    with (ROOT / "tests" / "data" / "grid-even-share-cccl-3.5.csv").open(newline="") as file:
        rows = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(file)]
    assert len(rows) == 1008
    for row in rows:
        grid = row.pop("grid_size")
        assert tables["bi100"].even_share(**row).grid == grid, row


@given(
    num_items=st.integers(0, 2**40),
    max_grid=st.integers(1, 10**6),
    tile_items=st.integers(1, 2**16),
    place=st.floats(0, 1, exclude_max=True),
)
def test_generated_shares_are_the_library_s(num_items: int, max_grid: int, tile_items: int, place: float) -> None:
    found = generated_plan().even_share(num_items, max_grid, tile_items)
    share = even_share(num_items, max_grid, tile_items)
    assert found.as_dict() == asdict(share)
    if share.grid and share.total_tiles * tile_items >= num_items:
        block = int(place * share.grid)
        assert found.rake(block).as_dict() == asdict(share.rake(block))
        assert found.strip_mine(block).num_items == share.strip_mine(block).num_items


COMMANDS: list[tuple[str, int, dict[str, Any], dict[str, Any]]] = [
    ("reduce", 10**6, {"accum_t": "float32", "operation_t": "plus", "offset_size": 4}, {}),
    ("reduce", 12_288, {"accum_t": "float32", "operation_t": "plus", "offset_size": 4}, {}),
    ("scan", 4_215_553, {"input_type": "float32", "operation_t": "plus", "offset_size": 4}, {}),
    ("transform", 3584, {"inputs": [{"value_type_size": 4}], "output": {"value_type_size": 4}}, {}),
    ("radix_sort", 2**20, {"key_type": "uint32", "offset_size": 4}, {"end_bit": 16, "can_overwrite": True}),
    ("topk", 2**20, {"key_size": 4}, {"k": 64}),
    ("batch_memcpy", 3, {}, {"sizes": [10, 1000, 10**7]}),
    ("segmented_reduce", 1000, {"accum_t": "float32", "operation_t": "plus", "offset_size": 4}, {}),
]


@pytest.mark.parametrize("occupancy", [1, 2])
@pytest.mark.parametrize(("name", "num_items", "key", "own"), COMMANDS)
def test_the_command_answers_alike(
    name: str, num_items: int, key: dict[str, Any], own: dict[str, Any], occupancy: int, tables: dict[str, ModuleType]
) -> None:
    def text(value: Any) -> str:
        if isinstance(value, list) and value and isinstance(value[0], int):
            return ",".join(map(str, value))
        return value if isinstance(value, str) else json.dumps(value)

    arguments = ["plan", name, "--project", str(ROOT), "--target", "bi100", "--num-items", str(num_items)]
    arguments += [part for field, value in key.items() for part in ("--key", f"{field}={text(value)}")]
    arguments += [part for field, value in own.items() for part in ("--with", f"{field}={text(value)}")]
    result = CliRunner().invoke(cli, [*arguments, "--occupancy", str(occupancy), "--format", "json"])
    assert result.exit_code == 0, result.output
    answer = getattr(tables["bi100"], name)(num_items, **key, **own, occupancy=occupancy)
    assert json.loads(result.stdout)["plan"] == answer.as_dict()


ALONE = """
import sys
before = set(sys.modules)
import policygen_tables.bi100 as bi100
from policygen_tables.bi100 import plan
assert bi100.plan is plan and "plan" in dir(bi100)

share = plan.reduce(1_000_000, accum_t="float32", operation_t="plus", offset_size=4)
assert (share.grid, share.waves.waves, share.waves.tail_blocks, share.share.big_shares) == (82, 3, 18, 0)
share = plan.reduce(1_000_000, accum_t="float32", operation_t="plus", offset_size=4, occupancy=1)
assert (share.grid, share.waves.waves, share.share.big_shares) == (80, 5, 2)
for items, single in [(100, 1), (500, 1), (1024, 1), (5000, 1), (12_288, 1), (50_000, 0)]:
    assert plan.reduce(items, accum_t="float32", operation_t="plus", offset_size=4).single_tile == single
for items, tiles in [(1000, 1), (8192, 1), (32_768, 3), (100_000, 9), (1_000_000, 82)]:
    assert plan.even_share(items, 160, 12_288).total_tiles == tiles
scan = plan.scan(100_000, input_type="float32", operation_t="plus", offset_size=4)
assert (scan.lookback.num_tiles, scan.lookback.tile_state_bytes, scan.first_ungated_items) == (12, 767, 4_215_553)
gate = dict(delay_ns=350, l2_write_latency_ns=450, compute_capability=None)
gated, ungated = ("no_delay", "fixed_delay"), ("exponential_backon", "exponential_backoff_jitter")
for kind, effects in [*((kind, "fence sleep") for kind in gated), *((kind, "sleep sleep") for kind in ungated)]:
    assert [plan.delay_activity(kind, grid=grid, **gate).before for grid in (499, 500)] == effects.split()
norm = plan.transform(3584, inputs=[{"value_type_size": 4}], output={"value_type_size": 4})
assert (norm.grid, norm.items_per_wave, norm.waves.resident_blocks) == (2, 65_536, 32)
assert bi100.HARDWARE.max_smem_per_block == 49_152
cut = plan.partition_plan(100_000, 1024)
assert (cut.num_partitions, cut.last_items) == (98, 672)

import policygen_tables.sm_90.plan as sm_90
for wrong, message in [
    (dict(), "know sm_count, which a plan needs: give sm_count"),
    (dict(sm_count=132), "know blocks_per_sm, which a plan needs: give occupancy"),
    (dict(sm_count=132, occupancy=1, offset_size=3), "offset_size: expected one of"),
    (dict(sm_count=132, occupancy=1, determinism="always"), "determinism: expected one of not_guaranteed, run_to_run"),
    (dict(sm_count=0, occupancy=1), "sm_count is 0"),
]:
    try:
        sm_90.reduce(10, **{"accum_t": "float32", "operation_t": "plus", "offset_size": 4, **wrong})
    except ValueError as error:
        assert message in str(error), error
    else:
        raise AssertionError(wrong)
try:
    sm_90.Residency(sm_count=1)
except TypeError as error:
    assert "Residency has the fields sm_count, occupancy, subscription_factor" in str(error)
else:
    raise AssertionError("a field was left out")
new = {name for name in sys.modules if name not in before and not name.startswith("policygen_tables")}
built_in = {"__future__", "_operator", "importlib._bootstrap", "importlib._bootstrap_external", "math"}
assert new <= built_in | {"importlib", "operator", "warnings"}, new
"""


@pytest.mark.parametrize("python", [sys.executable, find_python310()], ids=["this-python", "python-3.10"])
def test_plans_need_nothing_but_built_in_modules(python: str | Path | None) -> None:
    if python is None:
        pytest.skip("no Python 3.10 was found")
    code = f"import sys; sys.path.insert(0, {str(PYTHON)!r})\n{ALONE}"
    command = [str(python), "-I", "-S", "-B", "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


IMPORT_TIME = """
import sys, time
from importlib import import_module
sys.path.insert(0, sys.argv[1])
import policygen_tables.bi100
best = 1.0
for _ in range(50):
    sys.modules.pop("policygen_tables.bi100.plan", None)
    start = time.perf_counter()
    module = import_module("policygen_tables.bi100.plan")
    best = min(best, time.perf_counter() - start)
    assert module.__cached__ and module.__cached__.endswith(".pyc")
print(best)
"""


@pytest.mark.parametrize("python", [sys.executable, find_python310()], ids=["this-python", "python-3.10"])
def test_the_import_takes_a_millisecond_at_most(python: str | Path | None, tmp_path: Path) -> None:
    if python is None:
        pytest.skip("no Python 3.10 was found")
    folder = tmp_path / "policygen_tables" / "bi100"
    folder.mkdir(parents=True)
    for name in ("__init__.py", "_runtime.py", "plan.py"):
        shutil.copy(PYTHON / "policygen_tables" / "bi100" / name, folder)
    subprocess.run([str(python), "-I", "-S", "-m", "compileall", "-q", str(folder)], check=True)
    command = [str(python), "-I", "-S", "-c", IMPORT_TIME, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # the shortest of many: whatever else runs on the machine only adds to it
    assert float(done.stdout) <= 1e-3


@pytest.mark.parametrize("target", TARGETS)
def test_the_module_is_clean_under_strict_mypy(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYPYPATH", str(PYTHON))
    options = ["--strict", "--config-file", "", "--python-version", "3.10", "--follow-imports", "silent"]
    output, errors, status = api.run([*options, "--cache-dir", str(tmp_path), "-p", f"policygen_tables.{target}.plan"])
    assert (status, errors) == (0, ""), output


@pytest.mark.parametrize("target", TARGETS)
def test_the_module_has_the_sources_text(target: str) -> None:
    text = (PYTHON / "policygen_tables" / target / "plan.py").read_text(encoding="utf-8")
    for modules in (["reduce_launch"], ["even_share"], ["sort_launches"]):
        for line in plan_source(modules).runtime:
            assert line in text


def test_a_family_plans_by_capability(tmp_path: Path) -> None:
    (tmp_path / "policygen.toml").write_text('[project]\ntargets = ["cuda"]\nalgorithms = ["reduce", "radix_sort"]\n')
    done = CliRunner().invoke(cli, ["build", "--all", "--quiet", "--project", str(tmp_path), "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert compileall.compile_dir(tmp_path / "generated" / "python", quiet=1)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'generated' / 'python')!r})\n"
        "from policygen_tables.cuda import plan\n"
        "key = dict(key_type='uint32', offset_size=4, sm_count=100, occupancy=2)\n"
        "print([plan.radix_sort(10**6, cc=cc, **key).dependent_launch for cc in (80, '9.0', 'sm_100')])\n"
        "print(hasattr(plan, 'scan'), hasattr(plan, 'reduce'))\n"
    )
    done_ = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done_.stdout.splitlines() == ["[False, True, True]", "False True"], done_.stderr
