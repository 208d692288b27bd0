"""Header, Python module and resolver answer alike, for any key."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import vermin
from attrs import frozen

import policygen.project
from compilers import WARNINGS
from compilers import HostCompiler
from compilers import host_compilers
from emit.host_main import encoded_key
from emit.host_main import encoded_policy
from emit.host_main import host_main
from interpreters import find_python310
from policygen.emit.python.expressions import identifier
from policygen.parity.random_keys import random_keys
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain
from policygen.resolve.candidate import NoPolicy
from policygen.resolve.resolver import Resolver

ROOT = Path(__file__).parents[2]
TARGETS = ("bi100", "sm_90")
KEYS = {"reduce": 10_000, "scan": 10_000, "transform": 10_000}
FEWER_KEYS = 1_000
"""For the algorithms that are built of the same parts."""


@frozen
class Answers:
    """Random keys of one algorithm with what the resolver says of them."""

    resolver: Resolver
    answered: tuple[tuple[dict[str, Any], Any, str], ...]
    refused: tuple[dict[str, Any], ...]


@cache
def answers(target: str, algorithm: str) -> Answers:
    resolver = policygen.project.load(ROOT).resolver(target, algorithm)
    answered, refused = [], []
    for key in _keys(resolver):
        whole = resolver.whole_key(key)
        try:
            candidate = resolver.candidate(whole)
        except NoPolicy:
            refused.append(whole)
        else:
            answered.append((whole, candidate.policy, candidate.point.id))
    return Answers(resolver, tuple(answered), tuple(refused))


def _keys(resolver: Resolver) -> list[dict[str, Any]]:
    algorithm = resolver.rules.algorithm
    count = KEYS.get(algorithm.name, FEWER_KEYS)
    rules = [r for r in (resolver.rules.instance.target.rules.get(algorithm.name),) if r is not None]
    keys = random_keys(algorithm, count, seed=20261130, rules=rules)
    # odd sizes of the range where an engine's accumulators lie
    small = random_keys(algorithm, 400 if count > FEWER_KEYS else 0, seed=1)
    for size, key in enumerate(small, start=1):
        if "accum_size" in key:
            key["accum_size"] = size
    return [*keys, *small]


def algorithms() -> list[str]:
    return list(policygen.project.load(ROOT).spec.algorithms)


def run_header(compiler: list[str], target: str, folder: Path) -> list[str]:
    """Compiles the program around the checked-in headers and gives it all keys."""
    names = algorithms()
    sets = [answers(target, name) for name in names]
    source = folder / f"main.{'cu' if 'nvcc' in compiler[0] else 'cpp'}"
    source.write_text(host_main(target, [s.resolver.rules.algorithm for s in sets]))
    program = folder / "main"
    command = [*compiler, f"-I{ROOT / 'generated' / 'include'}", str(source), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    lines = [
        encoded_key(number, s.resolver.rules.algorithm, key)
        for number, s in enumerate(sets)
        for key, _, _ in s.answered
    ]
    output = subprocess.run([str(program)], input="\n".join(lines), capture_output=True, text=True, check=True).stdout
    return output.splitlines()


def expected(target: str) -> list[str]:
    return [
        encoded_policy(s.resolver.rules.algorithm, policy, point)
        for s in (answers(target, name) for name in algorithms())
        for _, policy, point in s.answered
    ]


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
@pytest.mark.parametrize("compiler", host_compilers(), ids=lambda compiler: compiler.name)
def test_header_answers_as_the_resolver(compiler: HostCompiler, standard: str, target: str, tmp_path: Path) -> None:
    output = run_header([str(compiler.path), f"-std={standard}", *WARNINGS], target, tmp_path)
    assert output == expected(target)


@pytest.mark.slow
@pytest.mark.cuda
@pytest.mark.parametrize("target", TARGETS)
def test_header_answers_as_the_resolver_under_nvcc(target: str, tmp_path: Path) -> None:
    try:
        toolchain = find_toolchain()
    except ToolchainMissing as error:
        pytest.skip(str(error))
    flags = ["-std=c++17", "-arch=sm_90", "-Werror", "all-warnings", f"-Xcompiler={','.join(WARNINGS)}"]
    library = [f"-L{toolchain.library}"] if toolchain.library is not None else []
    output = run_header([str(toolchain.nvcc), *flags, *library], target, tmp_path)
    assert output == expected(target)


def tables(target: str) -> list[str]:
    """The tables of the engine that a target has; some have keys that are refused alone."""
    return list(policygen.project.load(ROOT).engine_tables(target))


RUN_MODULE = """
import json, sys
from importlib import import_module
for line in sys.stdin:
    target, algorithm, key = json.loads(line)
    algorithm, _, table = algorithm.partition(".")
    module = import_module("policygen_tables." + target + "." + algorithm)
    policy = getattr(module, table or "policy")
    point = getattr(module, table + "_point" if table else "point")
    try:
        print(json.dumps([policy(**key).as_dict(), point(**key)]))
    except ValueError as error:
        print(json.dumps([None, str(error)]))
"""


def spelled(value: Any) -> Any:
    """A key or a policy as JSON, its fields as Python spells them (without leading underscores)."""
    if isinstance(value, dict):
        return {identifier(name): spelled(inner) for name, inner in value.items()}
    return [spelled(inner) for inner in value] if isinstance(value, list | tuple) else value


def run_module(python: Path, target: str) -> list[Any]:
    lines = []
    for name in [*algorithms(), *tables(target)]:
        s = answers(target, name)
        module = name if "." in name else identifier(name)
        for key in [*(key for key, _, _ in s.answered), *s.refused]:
            # a table of the engine takes no problem size: its keys have sizes of their own
            given = {field: value for field, value in key.items() if "." not in name or field != "num_items"}
            lines.append(json.dumps([target, module, spelled(given)]))
    done = subprocess.run(
        [str(python), "-W", "error", "-S", "-c", RUN_MODULE],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "generated" / "python")},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("target", TARGETS)
def test_module_answers_as_the_resolver_on_python_3_10(target: str) -> None:
    # Without a Python 3.10 the answers are this Python's, and the next test alone says that 3.10 reads the modules.
    found = iter(run_module(find_python310() or Path(sys.executable), target))
    for name in [*algorithms(), *tables(target)]:
        s = answers(target, name)
        for key, policy, point in s.answered:
            assert next(found) == [spelled(policy), point], (name, key)
        for key in s.refused:
            assert next(found)[0] is None, (name, key)
    assert next(found, None) is None


def test_modules_use_nothing_newer_than_python_3_10() -> None:
    paths = sorted((ROOT / "generated" / "python").rglob("*.py"))
    assert len(paths) > len(TARGETS)
    for path in paths:
        visited = vermin.visit(path.read_text(encoding="utf-8"))
        assert isinstance(visited, vermin.SourceVisitor), f"{path} does not parse"
        assert visited.minimum_versions()[1] <= (3, 10), path
    if find_python310() is None:
        pytest.skip("no Python 3.10 was found: only vermin says that it reads the modules")


def test_blocks_of_bi100_are_whole_warps_whichever_warp_size_is_true() -> None:
    def threads(policy: Any) -> list[int]:
        found = [value for name, value in policy.items() if name == "threads_per_block"]
        return found + [t for value in policy.values() if isinstance(value, dict) for t in threads(value)]

    for name in algorithms():
        for key, policy, _ in answers("bi100", name).answered:
            assert all(t % 64 == 0 for t in threads(policy)), (name, key, policy)


@pytest.mark.parametrize("name", ["reduce", "scan"])
def test_a_key_without_a_policy_stops_the_program_that_asks(name: str, tmp_path: Path) -> None:
    s = answers("bi100", name)
    algorithm = s.resolver.rules.algorithm
    source, program = tmp_path / "main.cpp", tmp_path / "main"
    source.write_text(host_main("bi100", [algorithm]))
    include = f"-I{ROOT / 'generated' / 'include'}"
    subprocess.run(["g++", "-std=c++17", include, str(source), "-o", str(program)], check=True)
    refused = s.refused[:5]
    assert refused
    for key in refused:
        done = subprocess.run([str(program)], input=encoded_key(0, algorithm, key), text=True, check=False)
        assert done.returncode != 0
