"""A-5: a rung that was meant for one part reaches unrelated newer ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from cases.small_specs import COPY
from cases.small_specs import SPECS
from cases.small_specs import SmallSpecs
from policygen.cli.main import cli
from policygen.resolve.coverage import capabilities_of

LADDER = """
[[ladder.point]]
id = "part"
cc = "{cc}"
literal = {{ threads_per_block = 512, items_per_thread = 1 }}

[[ladder.point]]
id = "older"
cc = ">=9.0"
literal = {{ threads_per_block = 256, items_per_thread = 1 }}

[[ladder.point]]
id = "any"
literal = {{ threads_per_block = 128, items_per_thread = 1 }}
"""

PARTS = ("sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121")


def points(specs: SmallSpecs, cc: str) -> list[str]:
    specs.algorithm(COPY)
    specs.ladder(LADDER.format(cc=cc))
    return [specs.resolve(part, element_t="int32").point for part in PARTS]


@pytest.mark.parametrize("cc", [">=10.3,<11", ">=10.3,<=10.9", "==10.3", ">10.0,<11.0"])
def test_a_rung_with_both_ends_does_not_reach_newer_parts(specs: SmallSpecs, cc: str) -> None:
    """A-5: 11.0, 12.0 and 12.1 get what they got before the part was there."""
    assert points(specs, cc) == ["older", "older", "part", "older", "older", "older"]


def test_a_rung_with_its_lower_end_alone_reaches_them(specs: SmallSpecs) -> None:
    assert points(specs, ">=10.3") == ["older", "older", "part", "part", "part", "part"]


def test_a_rung_of_a_family_ends_with_the_family(specs: SmallSpecs) -> None:
    assert points(specs, ">=10.0,<11") == ["older", "part", "part", "older", "older", "older"]


def test_a_part_that_is_not_known_is_an_error_and_nothing_that_waits_for_one(specs: SmallSpecs) -> None:
    """A-5: a rung from 10.7 to 10.x answers on no part there is, so it has to say that."""
    specs.algorithm(COPY)
    specs.ladder(LADDER.format(cc=">=10.7,<11"))
    (problem,) = specs.problems()
    assert "part: never selected: no capability of sm lies in its cc range" in problem


def covered(specs: SmallSpecs) -> dict[str, tuple[int, ...]]:
    spec = specs.load()
    return {point.id: found for _, point, found in capabilities_of(spec, spec.references["cccl-3.5"]["copy"])}


def test_the_report_lists_every_part_that_an_open_rung_reaches(specs: SmallSpecs) -> None:
    """A-5: from 10.7 on means 11.0, 12.0 and 12.1 as well."""
    specs.algorithm(COPY)
    specs.ladder(LADDER.format(cc=">=10.7"))
    assert covered(specs)["part"] == (110, 120, 121)
    specs.ladder(LADDER.format(cc=">=10.3,<11"))
    assert covered(specs)["part"] == (103,)


def test_conditions_on_the_capability_count_wherever_they_stand(specs: SmallSpecs) -> None:
    specs.algorithm(COPY)
    specs.ladder(LADDER.format(cc=">=10.0").replace('cc = ">=10.0"', "when = \"cc >= '10.0' and cc < '11.0'\""))
    assert covered(specs)["part"] == (100, 103)
    specs.ladder(LADDER.format(cc=">=10.0").replace('cc = ">=10.0"', 'when = "new_part"'))
    path = specs.folder / "references" / "cccl-3.5" / "copy.toml"
    path.write_text(path.read_text().replace("[[ladder]]", "let.new_part = \"cc >= '12.0'\"\n[[ladder]]", 1))
    assert covered(specs)["part"] == (120, 121)
    path.write_text(path.read_text().replace('id = "rungs"\n', 'id = "rungs"\nrequires = ["lookahead_scan"]\n', 1))
    assert covered(specs)["any"][0] == 90


def test_the_command_tells_them(tmp_path: Path) -> None:
    shutil.copytree(SPECS, tmp_path / "specs")
    (tmp_path / "policygen.toml").write_text('[project]\ntargets = ["sm_90"]\n')
    listed = ["list", "points", "--algorithm", "reduce", "--project", str(tmp_path)]
    rows = {row["point"]: row for row in json.loads(CliRunner().invoke(cli, [*listed, "--format", "json"]).stdout)}
    assert rows["cccl-3.5/reduce/sm100-plus-f32-o4"]["capabilities"] == ["10.0", "10.3", "11.0", "12.0", "12.1"]
    text = CliRunner().invoke(cli, listed).stdout
    assert [line.split()[2] for line in text.splitlines() if "sm100-plus-f32-o4" in line] == ["10.0..12.1"]
