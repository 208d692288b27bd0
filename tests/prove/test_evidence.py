"""Evidence files: written the same each time, read back as they were, refused where they are something else."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from policygen.model.problems import SpecError
from policygen.prove.compiler_report import Resources
from policygen.prove.evidence import Evidence
from policygen.prove.evidence import PolicyEvidence
from policygen.prove.evidence import evidence_text
from policygen.prove.evidence import read_evidence

FIGURES = Resources(registers=46, shared=192, stack=16, spill_stores=8, spill_loads=12)
EVIDENCE = Evidence(
    target="sm_90",
    algorithm="transform",
    architecture="sm_90",
    nvcc="13.0",
    cccl="3.5.0",
    date=datetime.date(2026, 11, 30),
    policies=(
        PolicyEvidence(
            "55b02a49800b",
            "cccl-3.5/sm90",
            {"inputs": [{"value_type_size": 4}], "dense_output": True, "output": {"value_type_size": 1}},
            {"transform_kernel": FIGURES},
        ),
        PolicyEvidence("0123456789ab", "cccl-3.5/sm90", {"inputs": []}, {"transform_kernel, two at once": FIGURES}),
    ),
)


def written(folder: Path, text: str) -> Path:
    path = folder / "transform.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_evidence_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    text = evidence_text(EVIDENCE)
    assert read_evidence(written(tmp_path, text), "transform.toml") == EVIDENCE
    assert "transform_kernel = [46, 192, 16, 8, 12]" in text.splitlines()


def test_there_is_evidence_for_exactly_one_policy() -> None:
    assert EVIDENCE.of("55b02a49800b", "transform_kernel") == FIGURES
    assert EVIDENCE.of("55b02a49800b", "another_kernel") is None
    assert EVIDENCE.of("ffffffffffff", "transform_kernel") is None


def test_no_file_is_no_evidence(tmp_path: Path) -> None:
    assert read_evidence(tmp_path / "nothing.toml", "nothing.toml") is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[46, 192, 16, 8, 12]", "[46, 192]", "transform.toml:16: policy[0].kernels.transform_kernel: expected 5 num"),
        ('"stack", ', "", 'transform.toml:9: columns: expected ["registers"'),
        ("nvcc =", "ncvv =", 'transform.toml:6: ncvv: unknown key; valid: "algorithm"'),
    ],
)
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = written(tmp_path, evidence_text(EVIDENCE).replace(old, new, 1))
    with pytest.raises(SpecError) as caught:
        read_evidence(path, "transform.toml")
    assert any(str(problem).startswith(said) for problem in caught.value.problems), caught.value
