"""A-4: names of architectures are not numbers to be compared as they are written."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from click.testing import CliRunner

from cases.small_specs import COPY
from cases.small_specs import SmallSpecs
from policygen.cli.main import cli
from policygen.loading.quantities import QuantityError
from policygen.loading.quantities import parse_compute_capability
from policygen.project import Project
from policygen.resolve.instance import UnknownTarget

SPELLINGS = {
    "9.0": ("sm_90", "sm_90a", "compute_90", "compute_90a", "9.0", "90", "90a", "900"),
    "10.0": ("sm_100", "sm_100a", "sm_100f", "compute_100", "10.0", "100", "1000"),
    "10.3": ("sm_103", "sm_103a", "sm_103f", "10.3", "103", "1030"),
    "11.0": ("sm_110", "11.0", "110", "1100"),
    "12.1": ("sm_121", "sm_121a", "12.1", "121", "1210"),
    "8.6": ("sm_86", "8.6", "86", "860"),
}
NO_NAMES = ("sm_9", "sm_1000", "sm_900", "90b", "sm_90b", "sm_91", "9", "9.00", "sm90", "SM_90", "0", "-90", "", "sm_")


@pytest.mark.parametrize(("version", "names"), SPELLINGS.items(), ids=list(SPELLINGS))
def test_every_spelling_is_the_same_target(packaged: Project, version: str, names: tuple[str, ...]) -> None:
    packed = int(version.replace(".", ""))
    for name in names:
        instance = packaged.target(name)
        assert (instance.cc, instance.name) == (packed, f"sm_{packed}"), name


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_is_no_architecture_is_an_error_that_names_one(packaged: Project, name: str) -> None:
    with pytest.raises(UnknownTarget) as caught:
        packaged.target(name)
    assert f'"{name}"' in str(caught.value)


@pytest.mark.parametrize(
    ("name", "near"), [("sm_9", "sm_90"), ("sm_1000", "sm_100"), ("sm_900", "sm_90"), ("sm_91", "sm_90")]
)
def test_the_nearest_architecture_is_named(name: str, near: str) -> None:
    with pytest.raises(QuantityError, match=rf"the nearest is {near} \("):
        parse_compute_capability(name)


def test_the_order_is_that_of_versions(packaged: Project) -> None:
    """A-4: 8.9 < 9.0 < 10.0 < 10.3 < 11.0 < 12.0 < 12.1, whatever suffix a name has."""
    names = ["sm_89", "sm_90a", "sm_100f", "sm_103a", "110", "12.0", "sm_121a"]
    assert all(packaged.target(a).cc < packaged.target(b).cc for a, b in pairwise(names))
    listed = [
        row["name"]
        for row in json.loads(
            CliRunner()
            .invoke(cli, ["list", "targets", "--format", "json", "--project", str(packaged.root.folder)])
            .stdout
        )
    ]
    versions = [int(name.removeprefix("sm_")) for name in listed if name.startswith("sm_")]
    assert versions == sorted(versions)


RUNGS = "".join(
    f'[[ladder.point]]\nid = "from-{low}"\ncc = ">={low}"\n'
    f"literal = {{ threads_per_block = {threads}, items_per_thread = 1 }}\n"
    for threads, low in ((256, "10.0"), (192, "9.0"), (128, "8.9"), (64, "5.0"))
)


@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("sm_90a", "from-9.0"),
        ("sm_90", "from-9.0"),
        ("900", "from-9.0"),
        ("sm_89", "from-8.9"),
        ("sm_100a", "from-10.0"),
        ("sm_103f", "from-10.0"),
        ("sm_121a", "from-10.0"),
        ("sm_87", "from-5.0"),
    ],
)
def test_an_architecture_gets_its_own_rung(specs: SmallSpecs, name: str, point: str) -> None:
    """A-4: sm_90a is 9.0, and not above 10.0."""
    specs.algorithm(COPY)
    specs.ladder(RUNGS.replace('cc = ">=5.0"\n', ""))
    assert specs.resolve(name, element_t="int32").point == point


def test_commands_take_every_spelling(packaged: Project) -> None:
    key = ["--key", "accum_t=float64", "--key", "operation_t=plus", "--key", "offset_size=4"]
    where = ["--project", str(packaged.root.folder)]
    answers = [
        CliRunner().invoke(cli, ["resolve", "--target", name, "--algorithm", "reduce", *key, *where]).stdout
        for name in ("sm_90a", "sm_90", "sm_100")
    ]
    assert answers[0] == answers[1] != answers[2]


def test_a_capability_that_a_spec_compares_with_is_a_version(specs: SmallSpecs) -> None:
    """A-4: a slip of the unit (90 for 9.0, 900 for 9.0) is an error and not a rung that never or always answers."""
    specs.algorithm(COPY)
    for wrong in ('cc = ">=90"', 'cc = ">=900"', 'cc = ">=sm_90"', 'when = "cc >= 90"', "when = \"cc >= '90'\""):
        specs.ladder(RUNGS.replace('cc = ">=9.0"', wrong).replace('cc = ">=5.0"\n', ""))
        assert specs.problems(), wrong
