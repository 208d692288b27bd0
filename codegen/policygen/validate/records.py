"""Policies whose validation failed, noted so that `build --strict` does not let them pass.

A record is a file under `.policygen/validate/`, addressed by target, algorithm and policy; it names the kernel, its
source's digest and the problem. It counts as long as policy and source are what they were: another policy or a mended
kernel has no record. It goes when what it says is run again and passes. No torch is needed to read it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import Path

from attrs import asdict
from attrs import frozen

from policygen.model.record import Record
from policygen.reference.catalogue import has_kernel
from policygen.reference.catalogue import source_digest


@frozen
class FailureRecord:
    """A failed validation.

    Attributes:
        policy: address of the policy.
        kernel: name of the reference kernel.
        source: digest of its source.
        key: the key that was validated, for people.
        warp_size: lanes of a warp.
        problem: id of the problem that failed.
        seed: of its inputs.
        quick: whether it is one of the quick problems.
        reason: the first difference.
        reproduce: the command that runs it alone.
    """

    policy: str
    kernel: str
    source: str
    key: str
    warp_size: int
    problem: str
    seed: int
    quick: bool
    reason: str
    reproduce: str

    @property
    def file_name(self) -> str:
        """The name of its file: one for each policy, kernel, key and warp size."""
        place = f"{self.kernel}\n{self.key}\n{self.warp_size}"
        return f"{self.policy}-{hashlib.sha256(place.encode()).hexdigest()[:12]}.json"

    def __str__(self) -> str:
        return f"{self.kernel} ({self.key}): validation failed: {self.reason}; {self.reproduce}"


def policy_address(target: str, algorithm: str, policy: Record) -> str:
    """Identifies a policy of an algorithm on a target, by its content."""
    text = json.dumps([target, algorithm, policy.as_dict()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def failures(folder: Path, addresses: Iterable[str]) -> Iterator[FailureRecord]:
    """The failed validations of some policies that still count."""
    wanted = set(addresses)
    for file in sorted(folder.glob("*.json")) if wanted else ():
        if file.name.partition("-")[0] in wanted:
            record = _read(file)
            if record is not None and has_kernel(record.kernel) and source_digest(record.kernel) == record.source:
                yield record


def note(folder: Path, failed: FailureRecord) -> None:
    """Writes a record; one for the same place is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder.parent / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    file = folder / failed.file_name
    staged = file.with_suffix(".new")
    staged.write_text(json.dumps(asdict(failed), indent=1), encoding="utf-8")
    staged.replace(file)


def forget(folder: Path, passed: FailureRecord) -> None:
    """Removes the record of a place, if what it says has been run and passed.

    Args:
        folder: where records lie.
        passed: what was run there; an empty `problem` stands for all of them.
    """
    file = folder / passed.file_name
    record = _read(file) if file.is_file() else None
    if record is None:
        return
    same_run = (record.seed, record.quick) == (passed.seed, passed.quick)
    if record.source != passed.source or (same_run and passed.problem in ("", record.problem)):
        file.unlink(missing_ok=True)


def _read(file: Path) -> FailureRecord | None:
    """A record; None if the file is none. It is a cache: what cannot be read says nothing."""
    try:
        return FailureRecord(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
