"""A-9 and A-10: builds for several architectures, and headers and tables that have to agree about a launch."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cases.small_specs import COPY
from cases.small_specs import SmallSpecs
from compilers import WARNINGS
from compilers import default_compiler
from emit.host_main import encoded_key
from emit.host_main import host_main
from policygen.emit.cpp.expressions import identifier as cpp_identifier
from policygen.emit.python.expressions import identifier as python_identifier
from policygen.fold.table import policy_table
from policygen.model.types import RecordType
from policygen.model.types import Role
from policygen.model.types import Struct
from policygen.project import Project
from policygen.spec import Algorithm

GENERATED = Path(__file__).parents[2] / "generated"
EMITTED = tuple(sorted(folder.name for folder in (GENERATED / "include" / "policygen").iterdir() if folder.is_dir()))

# The older rung does not use the vector, the newer one does not use a load modifier.
RUNGS = """
[[ladder.point]]
id = "sm100"
cc = ">=10.0"
literal = { threads_per_block = 512, items_per_thread = 8 }
vec_size = 4

[[ladder.point]]
id = "sm90"
cc = ">=9.0"
literal = { threads_per_block = 384, items_per_thread = 8 }

[[ladder.point]]
id = "sm80"
cc = ">=8.0"
literal = { threads_per_block = 256, items_per_thread = 8 }
load_modifier = "LOAD_LDG"

[[ladder.point]]
id = "sm50"
literal = { threads_per_block = 128, items_per_thread = 8 }
load_modifier = "LOAD_CA"
"""
FAMILY = 'name = "{name}"\nextends = "sm"\narchitectures = [{listed}]\n'


@pytest.fixture
def copy(specs: SmallSpecs) -> SmallSpecs:
    specs.algorithm(COPY)
    specs.ladder(RUNGS)
    return specs


def family(specs: SmallSpecs, name: str, *versions: str) -> None:
    specs.write(f"targets/{name}.toml", FAMILY.format(name=name, listed=", ".join(f'"{v}"' for v in versions)))


def check(folder: Path, include: Path, text: str) -> str:
    """What the compiler says of a program; nothing if it compiles."""
    compiler = default_compiler()
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    source = folder / "main.cpp"
    source.write_text(text, encoding="utf-8")
    command = [str(compiler.path), "-std=c++17", *WARNINGS, f"-I{include}", "-fsyntax-only", str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def fields(header: str, struct: str) -> list[tuple[str, str]]:
    """Type and name of the fields of a struct of a header; those of a used algorithm come before its own."""
    body = re.findall(rf"^struct {struct}\n\{{\n(.*?)^\}};", header, re.DOTALL | re.MULTILINE)[-1]
    return re.findall(r"^  ([\w:]+(?:<[\w:, ]+>)?) (\w+)(?: = [^;]+)?;", body, re.MULTILINE)


READS_EVERYTHING = """
namespace {name}_reads
{{
constexpr auto p = policygen::{name}::copy::select({{policygen::type_t::int32, 4, 4}}{cc});
static_assert(p.threads_per_block == {threads} && p.items_per_thread == 8);
static_assert(p.vec_size == {vec_size} && p.load_modifier == policygen::CacheLoadModifier::{modifier});
}}
"""
ALONE = {
    "sm_70": {"threads": 128, "vec_size": 1, "modifier": "LOAD_CA"},
    "sm_80": {"threads": 256, "vec_size": 1, "modifier": "LOAD_LDG"},
    "sm_90": {"threads": 384, "vec_size": 1, "modifier": "LOAD_DEFAULT"},
    "sm_100": {"threads": 512, "vec_size": 4, "modifier": "LOAD_DEFAULT"},
}


def test_headers_of_several_architectures_alone_and_together(copy: SmallSpecs, tmp_path: Path) -> None:
    """A-9: every field can be read on every architecture, used there or not, in any mixture of headers."""
    family(copy, "both", "7.0", "9.0")
    include = copy.generate(*ALONE, "both") / "include"
    head = "#include <policygen/{}/tuning_copy.cuh>\n"
    reads = {name: READS_EVERYTHING.format(name=name, cc="", **values) for name, values in ALONE.items()}
    for name, text in reads.items():
        assert check(tmp_path, include, head.format(name) + text) == ""
    mixed = "".join(
        READS_EVERYTHING.format(
            name="both", cc=f", policygen::compute_capability{{{cc}}}", **ALONE[f"sm_{cc}"]
        ).replace("both_reads", f"both_reads_{cc}")
        for cc in (70, 90)
    )
    together = "".join(head.format(name) for name in (*ALONE, "both"))
    assert check(tmp_path, include, together + "".join(reads.values()) + mixed) == ""


def test_keys_and_policies_have_the_same_fields_on_every_architecture(copy: SmallSpecs) -> None:
    """A-9: no field is left out because one architecture does not use it."""
    files = copy.files(*ALONE)
    headers = [files[f"include/policygen/{name}/tuning_copy.cuh"] for name in ALONE]
    for struct in ("key", "policy"):
        first = fields(headers[0], struct)
        assert len(first) == 4
        assert all(fields(header, struct) == first for header in headers)


@pytest.mark.parametrize(
    "path", sorted((GENERATED / "include/policygen" / EMITTED[0]).glob("tuning_*.cuh")), ids=lambda p: p.stem
)
def test_packaged_headers_have_the_same_fields_for_every_target(packaged: Project, path: Path) -> None:
    (algorithm,) = (a for a in packaged.spec.algorithms.values() if f"tuning_{cpp_identifier(a.name)}" == path.stem)
    for target in EMITTED:
        header = (GENERATED / "include" / "policygen" / target / path.name).read_text(encoding="utf-8")
        assert [name for _, name in fields(header, "key")] == [field.name for field in algorithm.key]
        assert [name for _, name in fields(header, "policy")] == [field.name for field in algorithm.policy.fields]


USE_TABLE = """
import sys
sys.path.insert(0, {folder!r})
from tables.two import copy
def threads(cc):
    return copy.policy(cc=cc, element_t="int32").threads_per_block
assert threads(80) == threads("8.6") == threads("sm_86") == threads(89) == 256
assert copy.architecture(86) == 80 and copy.point(cc=86, element_t="int32") == "sm80"
assert threads("sm_90a") == threads(100) == threads("12.1") == 384 and copy.architecture("sm_120") == 90
assert "80, 90" in copy.policy.__doc__ and "next lower" in copy.policy.__doc__
for below in (75, "7.5", "sm_50", "sm_9", 900, "90b", ""):
    try:
        threads(below)
    except ValueError as error:
        assert "cc: expected a compute capability such as 90 or '9.0', from 80, 90 on" in str(error), error
    else:
        raise AssertionError(below)
"""


def test_a_table_for_8_0_and_9_0(copy: SmallSpecs) -> None:
    """A-10: 8.6 gets the row of 8.0 and can see so; 7.5 is an error and never a success with anything in it."""
    family(copy, "two", "8.0", "9.0")
    folder = copy.generate("two") / "python"
    code = USE_TABLE.format(folder=str(folder))
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_header_for_8_0_and_9_0(copy: SmallSpecs, tmp_path: Path) -> None:
    family(copy, "two", "8.0", "9.0")
    include = copy.generate("two") / "include"
    text = (
        "#include <policygen/two/tuning_copy.cuh>\nusing namespace policygen;\n"
        "constexpr int threads(int cc) { return two::copy::select({type_t::int32, 4, 4}, compute_capability{cc})"
        ".threads_per_block; }\n"
        "static_assert(threads(80) == 256 && threads(86) == 256 && threads(90) == 384 && threads(121) == 384);\n"
    )
    assert check(tmp_path, include, text) == ""
    assert "the architecture is below 8.0, the lowest of this header" in check(
        tmp_path, include, f"{text}static_assert(threads(75) > 0);\n"
    )


def test_headers_for_other_lists_are_other_types(copy: SmallSpecs) -> None:
    """A-10: two libraries built for different lists have no symbol in common, whatever the target is called."""
    spaces = []
    for versions in (("8.0", "9.0"), ("8.0", "9.0", "10.0"), ("9.0", "10.0")):
        family(copy, "two", *versions)
        header = copy.files("two")["include/policygen/two/tuning_copy.cuh"]
        spaces += re.findall(r"^inline namespace (\w+)", header, re.MULTILINE)
    assert spaces == ["archs_80_90", "archs_80_90_100", "archs_90_100"]


# Launch bounds: what the kernel is compiled with comes from the header, what it is launched with from the table.


def thread_paths(struct: Struct, at: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for field in struct.fields:
        if isinstance(field.type, RecordType):
            found += thread_paths(field.type.struct, (*at, field.name))
        elif field.role is Role.THREADS:
            found.append((*at, field.name))
    return found


def scalar_paths(struct: Struct, at: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for field in struct.fields:
        inner = (*at, field.name)
        found += scalar_paths(field.type.struct, inner) if isinstance(field.type, RecordType) else [inner]
    return found


TABLE_THREADS = """
import json, sys
from importlib import import_module
sys.path.insert(0, {folder!r})
for line in sys.stdin:
    algorithm, key, paths = json.loads(line)
    policy = import_module("policygen_tables.{target}." + algorithm).policy(**key)
    found = []
    for path in paths:
        value = policy
        for name in path:
            value = getattr(value, name)
        found.append(value)
    print(json.dumps(found))
"""


def header_threads(target: str, asked: list[tuple[Algorithm, dict[str, Any]]], folder: Path) -> list[list[int]]:
    compiler = default_compiler()
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    algorithms = list(dict.fromkeys(a.name for a, _ in asked))
    by_name = {algorithm.name: algorithm for algorithm, _ in asked}
    source, program = folder / "main.cpp", folder / "main"
    source.write_text(host_main(target, [by_name[name] for name in algorithms]))
    command = [str(compiler.path), "-std=c++17", f"-I{GENERATED / 'include'}", str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    lines = [encoded_key(algorithms.index(algorithm.name), algorithm, key) for algorithm, key in asked]
    printed = subprocess.run([str(program)], input="\n".join(lines), capture_output=True, text=True, check=True).stdout
    found = []
    for (algorithm, _), line in zip(asked, printed.splitlines(), strict=True):
        paths = scalar_paths(algorithm.policy)
        values = dict(zip(paths, line.split(), strict=False))
        found.append([int(values[path]) for path in thread_paths(algorithm.policy)])
    return found


@pytest.mark.parametrize("target", [name for name in EMITTED if name != "cuda"])
def test_launch_bounds_are_the_threads_of_the_table(packaged: Project, target: str, tmp_path: Path) -> None:
    """A-10: for every common key of every algorithm, the header's threads are the table's."""
    asked: list[tuple[Algorithm, dict[str, Any]]] = []
    for name, algorithm in packaged.spec.algorithms.items():
        if thread_paths(algorithm.policy):
            rows = policy_table(packaged.resolver(target, name)).rows
            asked += [(algorithm, row.resolution.key.as_dict()) for row in rows]
    assert len(asked) > 1000
    lines = [
        json.dumps([python_identifier(algorithm.name), key, thread_paths(algorithm.policy)]) for algorithm, key in asked
    ]
    code = TABLE_THREADS.format(folder=str(GENERATED / "python"), target=target)
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], input="\n".join(lines), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    of_table = [json.loads(line) for line in done.stdout.splitlines()]
    of_header = header_threads(target, asked, tmp_path)
    assert of_header == of_table
    assert all(any(threads) for threads in of_table)
