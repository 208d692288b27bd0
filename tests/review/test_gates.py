"""Gates of policygen.toml: what passes, and what fails with the point, the keys and the cause."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from policygen.build import AlgorithmReport
from policygen.build import Build
from policygen.build import TargetReport
from policygen.fold.table import policy_table
from policygen.loading.gate_settings import GateSettings
from policygen.project import Project
from policygen.project import load
from policygen.resolve.trace import Held
from policygen.resolve.trace import Reported
from policygen.resolve.trace import Shrunk
from policygen.review.gates import Failure
from policygen.review.gates import evidence_failures
from policygen.review.gates import forbidden_failures
from policygen.review.gates import pinned_failures
from policygen.review.gates import setting_problems
from policygen.review.gates import utilisation_failures
from policygen.review.policy_diff import policy_diff
from policygen.review.revisions import project_at

REPOSITORY = Path(__file__).parents[2]
CHIP = "targets/bi100.toml"
SUMS_OF_4 = """id = "4B"
match = { tuned_op = true, accum_size = 4 }
multi_tile = { literal = { threads_per_block = 512, items_per_thread = 24 }, vec_size = "2 if narrow_offset else 1" }
reason = "83 % of the engine's weight; the tile lives in registers, so 24 items are no matter of shared memory"
"""
PINNED = 'pinned = ["bi100 reduce multi_tile.items_per_thread"]'

Revise = Callable[..., "Revisions"]


class Revisions:
    """A project, and the folder that it was changed from."""

    def __init__(self, folder: Path, gates: str, listed: str) -> None:
        self.old = folder / "old"
        self.new = folder / "new"
        for revision in (self.old, self.new):
            shutil.copytree(REPOSITORY / "specs", revision / "specs")
            text = f'[project]\ntargets = [{listed}]\nalgorithms = ["reduce", "scan"]\n'
            (revision / "policygen.toml").write_text(text, encoding="utf-8")
        with (self.new / "policygen.toml").open("a", encoding="utf-8") as file:
            file.write(f"[gates]\n{gates}\n")

    def edit(self, before: str, after: str, file: str = CHIP, *, also_old: bool = False) -> None:
        for folder in (self.new, self.old) if also_old else (self.new,):
            path = folder / "specs" / file
            text = path.read_text(encoding="utf-8")
            assert text.count(before) == 1, f"{before!r} stands in {file} {text.count(before)} times"
            path.write_text(text.replace(before, after), encoding="utf-8")

    @property
    def project(self) -> Project:
        return load(self.new)

    def pinned(self) -> list[Failure]:
        project = self.project
        with project_at(project, str(self.old)) as old:
            diff = policy_diff(old, project, names=("old", "new"), targets=["bi100"])
            return list(pinned_failures(old, project, diff))


@pytest.fixture
def revise(tmp_path: Path) -> Revise:
    return lambda gates, listed='"bi100"': Revisions(tmp_path, gates, listed)


def with_items(items: int) -> str:
    return SUMS_OF_4.replace("items_per_thread = 24", f"items_per_thread = {items}")


def test_a_pinned_field_that_changes_without_a_reason(revise: Revise) -> None:
    revisions = revise(PINNED)
    revisions.edit(SUMS_OF_4, with_items(16))
    (failure,) = revisions.pinned()
    line = next(
        number
        for number, text in enumerate((revisions.new / "specs" / CHIP).read_text(encoding="utf-8").splitlines(), 1)
        if "items_per_thread = 16 }, vec_size" in text and "512" in text
    )
    assert str(failure).startswith(
        "pinned: bi100 reduce multi_tile.items_per_thread 24 -> 16 for 12 keys "
        "(accum_t={int32, uint32, float32}, operation_t={plus, max}, offset_size={4, 8}), because of "
    )
    place = (
        f"specs/{CHIP}:{line}: rules.reduce.ladder[two-pass].point[4B].multi_tile.literal.items_per_thread: 24 -> 16"
    )
    assert place in str(failure)
    assert str(failure).endswith("say why with a new `reason`, of bi100/4B or beside the edit")
    data = failure.as_dict()
    assert (data["field"], data["before"], data["after"], data["keys"]) == (
        *("multi_tile.items_per_thread", "24", "16"),
        12,
    )


@pytest.mark.parametrize(
    ("reason", "passes"),
    [
        ("16 items leave room for a second block: measured", True),
        ("83 % of the engine's weight; the tile lives in registers, so 24 items are no matter of shared memory", False),
        ("", False),
    ],
)
def test_a_reason_passes_if_it_is_new_or_changed(revise: Revise, reason: str, passes: bool) -> None:
    revisions = revise(PINNED)
    first, _, rest = with_items(16).partition('reason = "')
    revisions.edit(SUMS_OF_4, f'{first}reason = "{reason}{rest[rest.index(chr(34)) :]}')
    assert (not revisions.pinned()) is passes


def test_a_renamed_point_needs_new_words_too(revise: Revise) -> None:
    revisions = revise(PINNED)
    revisions.edit(SUMS_OF_4, with_items(16).replace('"4B"', '"four"'))
    assert len(revisions.pinned()) == 1


def test_a_new_point_with_a_reason_passes(revise: Revise) -> None:
    point = SUMS_OF_4.replace('"4B"', '"4B-sum"').replace("accum_size = 4", "accum_size = 4, operation_t = 'plus'")
    point = point.replace("'plus'", '"plus"').replace("items_per_thread = 24", "items_per_thread = 8")
    new = point.replace("83 % of the engine's weight", "sums alone gain by it")
    revisions = revise(PINNED)
    revisions.edit(SUMS_OF_4, f"{new}\n[[rules.reduce.ladder.point]]\n{SUMS_OF_4}")
    assert revisions.pinned() == []
    unreasoned = "".join(line for line in new.splitlines(keepends=True) if not line.startswith("reason"))
    revisions.edit(new, unreasoned)
    (failure,) = revisions.pinned()
    assert failure.data["after"] == "8"


def test_other_fields_and_other_algorithms_are_not_pinned(revise: Revise) -> None:
    revisions = revise('pinned = ["bi100 reduce multi_tile.vec_size", "bi100 scan lookback"]')
    revisions.edit(SUMS_OF_4, with_items(16))
    assert revisions.pinned() == []
    revisions.edit("threads_per_block = 384, items_per_thread = 22", "threads_per_block = 384, items_per_thread = 20")
    (failure,) = revisions.pinned()
    assert (failure.data["pin"], failure.data["field"]) == ("bi100 scan lookback", "lookback.items_per_thread")


def test_every_target_and_algorithm(revise: Revise) -> None:
    revisions = revise('pinned = ["* * multi_tile.items_per_thread"]')
    revisions.edit(SUMS_OF_4, with_items(16))
    assert [failure.data["pin"] for failure in revisions.pinned()] == ["* * multi_tile.items_per_thread"]


READING = """[[fact.max_smem_per_block.reading]]
value = "32 KiB"
kind = "measured"
date = 2027-01-01
source = "device query"
"""


@pytest.mark.parametrize(
    ("said", "passes"), [("", False), ('method = "cudaDeviceProp, on the device"\n', True), ("applies = true\n", False)]
)
def test_a_reading_that_leads_to_a_change_says_why(revise: Revise, said: str, passes: bool) -> None:
    """48 KiB become 32: tiles of scan shrink; that the reading has a source is no reason."""
    revisions = revise('pinned = ["bi100 scan lookback.items_per_thread"]')
    path = revisions.new / "specs" / CHIP
    text = path.read_text(encoding="utf-8")
    place = text.index("[[fact.max_smem_per_block.reading]]")
    path.write_text(f"{text[:place]}{READING}{said}\n{text[place:]}", encoding="utf-8")
    failures = revisions.pinned()
    assert (not failures) is passes
    for failure in failures:
        assert any("max_smem_per_block" in cause for cause in failure.data["causes"])


def test_keys_that_had_no_policy_have_nothing_pinned(revise: Revise) -> None:
    revisions = revise(PINNED)
    common = "offset_size = [4, 8]"
    file = "algorithms/reduce.toml"
    assert common in (revisions.old / "specs" / file).read_text(encoding="utf-8")
    path = revisions.old / "specs" / file
    path.write_text(path.read_text(encoding="utf-8").replace(common, "offset_size = [4]", 1), encoding="utf-8")
    assert revisions.pinned() == []
    # the other way about they are gone, and nobody says why
    gone = revisions.new / "specs" / file
    whole = gone.read_text(encoding="utf-8")
    path.write_text(whole, encoding="utf-8")
    gone.write_text(whole.replace(common, "offset_size = [4]", 1), encoding="utf-8")
    assert {failure.data["after"] for failure in revisions.pinned()} == {"none"}


def test_literal_points_of_a_target_say_where_they_are_from(revise: Revise) -> None:
    revisions = revise('evidence = ["literal"]')
    assert list(evidence_failures(revisions.project)) == []
    revisions.edit(
        SUMS_OF_4 + 'source = "source notes; device findings"\n',
        SUMS_OF_4,
    )
    (failure,) = evidence_failures(revisions.project)
    assert (failure.data["point"], failure.data["counts"]) == ("4B", "literal")
    place = failure.data["location"]
    text = (revisions.new / "specs" / CHIP).read_text(encoding="utf-8").splitlines()
    assert text[int(place.rpartition(":")[2])] == 'id = "4B"'
    assert str(failure).startswith(f"evidence: {place}: bi100/reduce/4B has literal counts: ")
    revisions.edit(SUMS_OF_4, SUMS_OF_4 + 'evidence = "docs/evidence/x.json"\n')
    assert list(evidence_failures(revisions.project)) == []


def test_nominal_points_are_asked_where_the_gate_says_so(revise: Revise) -> None:
    revisions = revise('evidence = ["nominal"]')
    other = 'id = "other"\nmulti_tile = { nominal = { threads_per_block = 256, items_per_thread = 24 }'
    text = (revisions.new / "specs" / CHIP).read_text(encoding="utf-8")
    start = text.index(other)
    before = {(f.data["algorithm"], f.data["point"], f.data["counts"]) for f in evidence_failures(revisions.project)}
    revisions.edit(text[start : text.index("[rules.scan.let]")], text[start : text.index("source", start)] + "\n")
    after = {(f.data["algorithm"], f.data["point"], f.data["counts"]) for f in evidence_failures(revisions.project)}
    assert after - before == {("reduce", "other", "nominal")}


def test_points_that_a_target_inherits_are_not_its_own(revise: Revise) -> None:
    revisions = revise('evidence = ["literal"]', '"mine"')
    chip = 'name = "mine"\ntitle = "A variant"\nextends = "bi100"\n'
    for folder in (revisions.old, revisions.new):
        (folder / "specs" / "targets" / "mine.toml").write_text(chip, encoding="utf-8")
    revisions.edit(SUMS_OF_4 + 'source = "source notes; device findings"\n', SUMS_OF_4)
    assert list(evidence_failures(revisions.project)) == []


def test_more_of_a_limit_than_a_policy_may_need(revise: Revise) -> None:
    project = revise("max_utilisation = { bi100 = { shared-memory = 0.9 } }").project
    (failure,) = utilisation_failures(project)
    data = failure.data
    assert (data["algorithm"], data["constraint"], data["need"], data["limit"]) == (
        "scan",
        "shared-memory",
        45072,
        49152,
    )
    assert "45,072 of 49,152 bytes are 91.7%, more than 90.0%, of bi100/plus-16B" in str(failure)


def test_each_constraint_that_takes_too_much_is_told_once(revise: Revise) -> None:
    """Held against what every policy needs, one by one."""
    project = revise("max_utilisation = 0.5").project
    found = {(f.data["algorithm"], f.data["constraint"]): f.data for f in utilisation_failures(project)}
    expected: dict[tuple[str, str], list[Fraction]] = {}
    for algorithm in ("reduce", "scan"):
        for row in policy_table(project.resolver("bi100", algorithm)).rows:
            for step in row.resolution.trace:
                if isinstance(step, Held | Shrunk | Reported) and step.constraint.unit in ("bytes", "registers"):
                    assert step.need is not None
                    assert step.limit is not None
                    if 2 * step.need > step.limit:
                        name = (algorithm, step.constraint.id)
                        expected.setdefault(name, []).append(Fraction(step.need, step.limit))
    assert expected
    assert {name: Fraction(data["need"], data["limit"]) for name, data in found.items()} == {
        name: max(shares) for name, shares in expected.items()
    }
    assert {name: data["keys"] for name, data in found.items()} == {n: len(shares) for n, shares in expected.items()}


def test_a_share_is_exactly_what_was_written(revise: Revise) -> None:
    """45,072 of 49,152 are 939/1,024 = 0.9169921875: as much as is allowed is not too much."""
    revisions = revise('max_utilisation = { "*" = { "shared-memory" = 0.9169921875 } }')
    assert list(utilisation_failures(revisions.project)) == []
    settings = revisions.new / "policygen.toml"
    settings.write_text(settings.read_text(encoding="utf-8").replace("0.9169921875", "0.9169921874"), encoding="utf-8")
    assert len(list(utilisation_failures(revisions.project))) == 1


def test_warnings_that_are_forbidden() -> None:
    algorithm = AlgorithmReport("scan", 1, 1, (), (), ("k=1: no policy: too large", "harmless"))
    report = TargetReport("bi100", (algorithm,), ("conflict: warp_size: 64 is used, not 32",))
    build = Build((), (), (report,), ("bi100/scan/x: beyond reach", "bi100/scan/x: beyond reach"))
    gates = GateSettings(forbidden=("no policy", "^bi100/.*beyond reach$"))
    assert list(map(str, forbidden_failures(gates, build))) == [
        "forbidden: bi100/scan/x: beyond reach (matches '^bi100/.*beyond reach$')",
        "forbidden: bi100: scan: k=1: no policy: too large (matches 'no policy')",
    ]
    assert list(forbidden_failures(GateSettings(), build)) == []


@pytest.mark.parametrize(
    ("gates", "line"),
    [
        (
            'pinned = ["bi10 reduce multi_tile"]',
            'policygen.toml:5: gates.pinned[0]: unknown target "bi10"; did you mean',
        ),
        ('pinned = ["* redduce multi_tile"]', 'unknown algorithm "redduce"; did you mean "reduce"?'),
        ('pinned = ["* reduce multi_tile.item_per_thread"]', 'did you mean "multi_tile.items_per_thread"?'),
        ("max_utilisation = { sm_90 = 0.9 }", 'gates.max_utilisation.sm_90: unknown target "sm_90"'),
        ('max_utilisation = { "*" = { shared-memry = 0.9 } }', 'unknown constraint "shared-memry"; did you mean'),
    ],
)
def test_gates_that_are_about_nothing(revise: Revise, gates: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    revisions = revise(gates)
    monkeypatch.chdir(revisions.new)
    (problem,) = setting_problems(revisions.project)
    assert line in str(problem)


def test_gates_that_are_about_something(revise: Revise) -> None:
    pins = '"bi100 reduce multi_tile", "* scan lookback.lookback_delay.delay", "* attention.decode partition_size"'
    gates = [
        f"pinned = [{pins}]",
        'max_utilisation = { bi100 = { shared-memory = 1, "registers-per-thread of multi_tile" = 0.9 } }',
    ]
    revisions = revise("\n".join(gates))
    settings = revisions.new / "policygen.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace('"reduce", "scan"', '"reduce", "scan", "attention.decode"'), encoding="utf-8")
    assert setting_problems(revisions.project) == []


def test_the_gates_of_the_documentation(revise: Revise) -> None:
    text = (REPOSITORY / "docs" / "review.md").read_text(encoding="utf-8")
    start = text.index("    [gates]\n")
    block = text[start : text.index("\n\n|", start)]
    revisions = revise("")
    settings = revisions.new / "policygen.toml"
    whole = settings.read_text(encoding="utf-8").replace("[gates]\n", textwrap.dedent(block))
    settings.write_text(whole, encoding="utf-8")
    gates = revisions.project.root.gates
    assert all((gates.pinned, gates.evidence, gates.max_utilisation, gates.forbidden))
    assert setting_problems(revisions.project) == []
