"""Specs of the engine's tables: contracts, backends, units, and the model behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.engine_project import built
from engine.engine_project import packaged_text
from engine.engine_project import problems
from engine.engine_project import project
from policygen.resolve.candidate import NoPolicy

DECODE = packaged_text("engine/attention/decode.toml")
BI100 = packaged_text("targets/bi100.toml")


def rule(table: str, fields: str) -> str:
    """bi100 with a rule of its own for a table."""
    return f'{BI100}\n[[rules."{table}".ladder]]\nid = "own"\n[[rules."{table}".ladder.point]]\nid = "own"\n{fields}\n'


def test_a_block_that_does_not_fit_is_refused_at_build(tmp_path: Path) -> None:
    own = rule("attention.prefill", "block_m = 64\nblock_n = 64\nnum_warps = 4\nnum_stages = 1")
    found = problems(project(tmp_path, tables=["attention.prefill"], targets__bi100=own))
    assert any(
        "attention.prefill: bi100, head_size=256, element_size=2: prefill-shared-memory: 66,048 bytes are needed"
        in line
        for line in found
    ), found


def test_a_block_that_is_no_power_of_two_is_refused_at_build(tmp_path: Path) -> None:
    own = rule("attention.prefill", "block_m = 48\nblock_n = 16\nnum_warps = 4\nnum_stages = 1")
    found = problems(project(tmp_path, tables=["attention.prefill"], targets__bi100=own))
    assert found
    assert "a block of Triton's is a power of two" in found[0]


@pytest.mark.parametrize("size", [256, 640, 1024])
def test_a_partition_that_is_not_the_kernels_is_refused_at_build(tmp_path: Path, size: int) -> None:
    own = rule("attention.decode", f'kernel = "v2"\npartition_size = {size}')
    found = problems(project(tmp_path, tables=["attention.decode"], targets__bi100=own))
    assert found
    assert all("V2 is right only with the partition size that it was compiled for, in tokens" in line for line in found)


def test_a_policy_for_a_backend_that_is_not_there_is_refused_at_build(tmp_path: Path) -> None:
    own = BI100.replace("flash_attention     = true", "flash_attention     = false")
    (problem,) = problems(project(tmp_path, tables=["attention.flash"], targets__bi100=own))
    assert "bi100 does not have the backend of attention.flash: no policy of it could take effect" in problem


def test_a_table_without_its_backend_is_there_and_says_so(tmp_path: Path) -> None:
    own = BI100.replace("triton              = {", "triton              = false\n#").split('[[rules."attention.flash"')[
        0
    ]
    made = project(tmp_path, tables=["attention.prefill", "attention.merge"], targets__bi100=own)
    (module,) = [a for a in built(made).artifacts if a.path.name == "attention.py"]
    text = module.content.decode()
    assert "'prefill': 'triton: bi100 does not have it'" in text
    assert "raise NotApplicable('attention.prefill: triton: bi100 does not have it')" in text
    assert "def merge(" in text
    with pytest.raises(NoPolicy, match="not applicable: triton: bi100 does not have it"):
        made.resolve("bi100", "attention.prefill")


def test_without_v2_long_sequences_are_refused(tmp_path: Path) -> None:
    own = BI100.replace("paged_attention_v2  = true", "paged_attention_v2  = false")
    made = project(tmp_path, targets__bi100=own)
    assert made.resolve("bi100", "attention.decode", seq_len=32_768).policy.kernel == "v1"
    with pytest.raises(NoPolicy, match="V1 is right to 32,768 tokens, and only V2 takes longer sequences"):
        made.resolve("bi100", "attention.decode", seq_len=32_769)


def test_withheld_and_precompiled_are_said_with_the_tables(tables: Any) -> None:
    assert tables.attention.NOT_IN_EFFECT["prefill"].startswith("triton: not usable on the serving image")
    assert tables.attention.NOT_IN_EFFECT["flash"].startswith("precompiled")
    assert tables.attention.NOT_IN_EFFECT["decode"] == ""
    assert {name for name, why in tables.BACKENDS.items() if not why} == {
        "flash_attention",
        "paged_attention_v1",
        "paged_attention_v2",
    }


def test_another_model_changes_keys_defaults_and_limits(tmp_path: Path) -> None:
    model = (
        packaged_text("engine/model.toml").replace("value = 5507\n", "value = 10\n").replace("= 256\n", "= 128\n", 1)
    )
    made = project(tmp_path, engine__model=model)
    assert made.resolve("bi100", "attention.prefill").key.head_size == 128
    assert made.resolve("bi100", "budget.tokens", num_tokens=160).policy.blocks_left == 0
    with pytest.raises(NoPolicy, match="161 tokens are needed"):
        made.resolve("bi100", "budget.tokens", num_tokens=161)


def test_architectures_have_no_engine_tables_and_devices_have(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.engine_tables("sm_90") == ()
    assert "attention.decode" in made.engine_tables("h200")
    assert made.resolve("h200", "attention.decode", seq_len=100_000).policy.waves == 3  # 784 blocks on 264 places


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('unit = "sequences"\n', "", 'key.num_seqs: expected unit = "..": what it counts, tokens or blocks say'),
        ('unit = "tokens", doc = "tokens of', 'doc = "tokens of', "struct.decode_plan.last_partition: expected unit"),
        ('kernel = "v1"\n', 'kernel = "v1"\nwaves = 1\n', "waves: follows from the others ("),
        ('waves            = "', 'wave = "', "derived.wave: decode_plan has no such field"),
        ('grid_x           = "num_heads"', 'grid_x = "grid_y"', "derived.grid_x: grid_y is derived after it"),
        (
            'check = "seq_len <= model_v1_max_length"',
            'check = "num_partitions == 0"',
            "derived.num_partitions: the constraint v1-length is judged before it is derived",
        ),
        ("model_v1_max_length", "model_v1_max_lenght", "unknown name `model_v1_max_lenght`"),
        ('name  = "attention.decode"', 'name = "decode"', 'name: "decode" is no table of an engine'),
        ("paged_attention_v1", "paged_attention_v3", "engine.backend: unknown feature"),
        ("[engine]\n", "[engine]\nbackends = 3\n", "engine.backends: unknown key"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in DECODE
    found = problems(project(tmp_path, engine__attention__decode=DECODE.replace(old, new, 1)))
    assert any(line.startswith("specs/engine/attention/decode.toml:") and expected in line for line in found), found


def test_a_model_says_numbers_with_units(tmp_path: Path) -> None:
    text = (
        '[shape.hidden_size]\nvalue = 0\nunit = "elements"\ndoc = "x"\n[shape.Heads]\nvalue = 1\nunit = ""\ndoc = ""\n'
    )
    found = problems(project(tmp_path, engine__model=text + "[shapes.x]\n"))
    assert [line.split(": ", 1)[1] for line in found if "model.toml" in line] == [
        "shape.hidden_size.value: expected a positive number, not 0",
        "shape.Heads: expected a name of small letters, digits and _",
        "shapes: unknown key; a model has [shape.NAME] tables",
    ]


def test_an_algorithm_is_no_table_of_the_engine(tmp_path: Path) -> None:
    topk = packaged_text("algorithms/topk.toml")
    found = problems(project(tmp_path, algorithms__topk=f'{topk}\n[engine]\nreturns = "x"\n'))
    assert "specs/algorithms/topk.toml: [engine] is for specs/engine/" in found
