from __future__ import annotations

import os
import signal
from functools import partial

import pytest

from policygen.workers import WorkerLost
from policygen.workers import each_done


def product(factor: int, task: int) -> int:
    return factor * task


def dies(task: int) -> int:
    if task == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


@pytest.mark.parametrize("jobs", [1, 2, 9])
def test_the_results_are_the_same_in_any_number_of_processes(jobs: int) -> None:
    told: list[int] = []
    found = dict(each_done(partial(product, 7), range(5), jobs, lambda done, _: told.append(done)))
    assert found == {0: 0, 1: 7, 2: 14, 3: 21, 4: 28}
    assert told[0] == 0
    assert told == sorted(told)


def test_without_work_nothing_is_done() -> None:
    assert list(each_done(abs, [], None, lambda *_: None)) == []


def test_a_process_that_is_killed_is_told_of() -> None:
    with pytest.raises(WorkerLost, match=r"ended from outside; run it again with --jobs 1"):
        list(each_done(dies, range(6), 2, lambda *_: None))
