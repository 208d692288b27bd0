"""Plans against CCCL's own dispatchers: bytes, grids, blocks and shared memory of every launch."""

from __future__ import annotations

from pathlib import Path

import pytest

from plan.upstream_launches import ANSWERS
from plan.upstream_launches import DEVICES
from plan.upstream_launches import REQUESTS
from plan.upstream_launches import asked
from plan.upstream_launches import compiled
from plan.upstream_launches import kept
from plan.upstream_launches import line_of
from plan.upstream_launches import planned
from plan.upstream_launches import random_requests
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain


def test_plans_are_what_upstream_launches() -> None:
    answers = kept()
    assert len(answers) == len(DEVICES) * len(REQUESTS)
    for fake, request, answer in answers:
        assert planned(fake, request) == answer, (fake, request)


@pytest.mark.slow
@pytest.mark.cuda
@pytest.mark.parametrize("capability", sorted({fake.capability for fake in DEVICES}))
def test_upstream_still_launches_that(capability: int, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    try:
        toolchain = find_toolchain()
    except ToolchainMissing as error:
        pytest.skip(str(error))
    program = compiled(toolchain, capability, tmp_path)
    lines: list[str] = []
    for fake in (fake for fake in DEVICES if fake.capability == capability):
        answers = asked(program, fake, REQUESTS)
        lines += [line_of(fake, one, answer) for one, answer in zip(REQUESTS, answers, strict=True)]
        more = random_requests(1000, seed=fake.occupancy)
        for one, answer in zip(more, asked(program, fake, more), strict=True):
            assert planned(fake, one) == answer, (fake, one)
    old = ANSWERS.read_text(encoding="utf-8").splitlines() if ANSWERS.exists() else []
    others = [line for line in old if not line.startswith(f"[{capability},")]
    if request.config.getoption("--refresh-golden"):
        ANSWERS.write_text("".join(f"{line}\n" for line in sorted([*others, *lines])), encoding="utf-8")
    else:
        assert sorted(lines) == [line for line in old if line not in others]
