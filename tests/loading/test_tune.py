"""Faults in `[tune]`: each gives one line that says where, what was expected and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from loading.specs import SpecFolder

REDUCE = "algorithms/reduce.toml"
SELECT = "algorithms/select_if.toml"
SCAN = "algorithms/scan.toml"
TRANSFORM = "algorithms/transform.toml"


@pytest.fixture
def specs(tmp_path: Path) -> SpecFolder:
    return SpecFolder(tmp_path)


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        (
            REDUCE,
            'accum_size  = "sizeof(AccumT)"',
            'accum_size  = "sizeof(AcumT)"',
            'tune.gives.accum_size: unknown name `AcumT`; did you mean "AccumT"?; '
            "names of CUB begin with cub::, cuda:: or thrust::",
        ),
        (
            REDUCE,
            'offset_size = "sizeof(OffsetT)"',
            'offset_size = "sizeof(OffsetT"',
            "tune.gives.offset_size: `(` has no partner",
        ),
        (
            REDUCE,
            'offset_size = "sizeof(OffsetT)"',
            'offset_size = ""',
            "tune.gives.offset_size: expected C++ on one line",
        ),
        (
            REDUCE,
            'determinism = "of_cub(Determinism)"',
            'determinsm = "of_cub(Determinism)"',
            'tune.gives.determinsm: no key field; did you mean "determinism"?',
        ),
        (
            REDUCE,
            "cub::detail::classify_op<ReductionOpT>",
            "cub",
            "tune.gives.operation_t: `cub` is a namespace: write cub:: and a name",
        ),
        (
            SELECT,
            'name = "selector_for_in_place"',
            'name = "selector_for"',
            'tune.call[1].name: "selector_for" is taken already: choose another name',
        ),
        (
            SELECT,
            'form = "partition_selector"',
            'form = "partition_selecter"',
            'tune.call[2].form: unknown form "partition_selecter"; did you mean "partition_selector"?',
        ),
        (
            SELECT,
            'leaves = ["lookback._load_prefetch"]',
            'leaves = ["lookback.load_prefetch"]',
            'tune.form[0].leaves[0]: the policy has no field "lookback.load_prefetch"; did you mean "_load_prefetch"?',
        ),
        (
            SELECT,
            "spelled = { SelectAlgorithm =",
            "spelled = { SelectAlgoritm =",
            'tune.form[0].spelled.SelectAlgoritm: unknown enumeration; did you mean "SelectAlgorithm"?',
        ),
        (
            SCAN,
            "policy = \"algorithm == 'lookahead'\"",
            "policy = \"algorithm == 'lookahed'\"",
            "tune.not_built[0].policy: 'lookahed' is not an enumerator of ScanAlgorithm; did you mean \"lookahead\"?",
        ),
        (
            TRANSFORM,
            'unpack = "cuda::std::tuple<RandomAccessIteratorsIn...>"',
            'unpack = "cuda::std::tuple<>"',
            "tune.parameters.RandomAccessIteratorTupleIn.unpack: "
            "expected a type whose arguments are a pack, such as cuda::std::tuple<Iterators...>",
        ),
        (
            TRANSFORM,
            'arguments.DenseOutput = "cuda::std::is_same_v<PredicateT, cuda::always_true>"\n',
            "",
            "tune.call[0].arguments: says nothing about DenseOutput, a parameter of the selector",
        ),
        (
            TRANSFORM,
            'arguments.RandomAccessIteratorOut = "OutputIteratorT"',
            'arguments.RandomAccessIteratorOut = "OutputIteratorT"\narguments.Dense = "true"',
            'tune.call[0].arguments.Dense: no parameter of the selector; did you mean "DenseOutput"?',
        ),
        (
            TRANSFORM,
            'RandomAccessIteratorOut     = "class"',
            'RandomAccessIteratorOut = "class"\nclass = "class"',
            'tune.parameters.class: "class" is no name in C++: use letters, digits and _, a letter first',
        ),
    ],
)
def test_a_fault(specs: SpecFolder, file: str, old: str, new: str, problem: str) -> None:
    specs.edit(file, old, new)
    found = specs.problems()
    assert all(line.startswith(f"specs/{file}:") for line in found)
    assert problem in [line.partition(": ")[2] for line in found]


def test_a_key_field_that_nothing_gives(specs: SpecFolder) -> None:
    line = specs.edit(REDUCE, 'accum_size  = "sizeof(AccumT)"\n', "")
    assert specs.problems() == [
        f"specs/{REDUCE}:{line - 4}: tune.gives: says nothing about accum_size: write how CUB deduces it"
    ]


def test_without_a_place_in_cub(specs: SpecFolder) -> None:
    path = specs.folder / REDUCE
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("cub ")), encoding="utf-8")
    (problem,) = specs.problems()
    assert problem.endswith("tune: says how CUB selects, but nothing says where CUB keeps it: add `cub = {..}`")
