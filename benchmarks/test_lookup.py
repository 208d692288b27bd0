"""Looking a policy up in a generated module, against the patterns that engines use."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

GENERATED = Path(__file__).parents[1] / "generated" / "python"
sys.path.insert(0, str(GENERATED))

from policygen_tables.bi100 import attention  # noqa: E402
from policygen_tables.bi100 import moe  # noqa: E402
from policygen_tables.bi100 import reduce  # noqa: E402

TABLE = {("float32", "plus", 4, None, "run_to_run", None): object()}


@functools.cache
def cached(*, accum_t: str, operation_t: str, offset_size: int) -> Any:
    return reduce.policy(accum_t=accum_t, operation_t=operation_t, offset_size=offset_size)


def from_dict(
    *,
    accum_t: str,
    operation_t: str,
    offset_size: int,
    accum_size: int | None = None,
    determinism: str = "run_to_run",
    num_items: int | None = None,
) -> Any:
    return TABLE.get((accum_t, operation_t, offset_size, accum_size, determinism, num_items))


@pytest.mark.benchmark(group="lookup")
@pytest.mark.parametrize("look", [reduce.policy, cached, from_dict], ids=["policy", "lru_cache", "dict"])
def test_common_key(benchmark: Any, look: Any) -> None:
    benchmark(lambda: look(accum_t="float32", operation_t="plus", offset_size=4))


@pytest.mark.benchmark(group="lookup")
def test_any_other_key(benchmark: Any) -> None:
    benchmark(lambda: reduce.policy(accum_t="other", operation_t="plus", offset_size=4, accum_size=37))


@pytest.mark.benchmark(group="lookup")
def test_key_that_was_never_asked_for(benchmark: Any) -> None:
    sizes = iter(range(1, 10**9))

    def new_key() -> Any:
        reduce._KNOWN.clear()
        return reduce.policy(accum_t="other", operation_t="plus", offset_size=4, accum_size=next(sizes) % 400 + 1)

    benchmark(new_key)


BATCHES = {tokens: moe.block_size(num_tokens=tokens) for tokens in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)}


@functools.lru_cache
def configurations(experts: int) -> dict[int, Any]:
    """A table of batch sizes, as engines keep one for each shape."""
    return BATCHES if experts else {}


def nearest(*, num_tokens: int) -> Any:
    """The configuration of the nearest batch size: what an engine does that reads tables from files."""
    table = configurations(256)
    return table[min(table, key=lambda tokens: abs(tokens - num_tokens))]


@functools.cache
def cached_block(*, num_tokens: int) -> Any:
    return moe.block_size(num_tokens=num_tokens)


@pytest.mark.benchmark(group="lookup of the engine")
@pytest.mark.parametrize("look", [moe.block_size, cached_block, nearest], ids=["table", "lru_cache", "nearest batch"])
def test_batch(benchmark: Any, look: Any) -> None:
    benchmark(lambda: look(num_tokens=160))


@pytest.mark.benchmark(group="lookup of the engine")
def test_decode(benchmark: Any) -> None:
    benchmark(lambda: attention.decode(seq_len=100_000))


def start(code: str) -> None:
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)


@pytest.mark.benchmark(group="import")
@pytest.mark.parametrize("what", ["nothing", "module", "engine", "plan", "json"])
def test_import(benchmark: Any, what: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps([[list(map(str, key)), policy.as_dict()] for key, policy in reduce._COMMON.items()]))
    code = {
        "nothing": "pass",
        "module": f"import sys; sys.path.insert(0, {str(GENERATED)!r}); import policygen_tables.bi100.reduce",
        "engine": f"import sys; sys.path.insert(0, {str(GENERATED)!r}); import policygen_tables.bi100.attention",
        "plan": f"import sys; sys.path.insert(0, {str(GENERATED)!r}); import policygen_tables.bi100.plan",
        "json": f"import json; json.load(open({str(rows)!r}))",
    }[what]
    benchmark(start, code)
