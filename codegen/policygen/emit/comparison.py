"""What should be in the output folder against what is there, by content alone. Reads, writes nothing.

What is ours is what the manifest lists. A file of ours that was edited by hand is overwritten (or removed) like any
other, since its content comes from the specs, and is reported as edited. A file that the manifest does not list is
somebody else's: it is never touched, unless its content is what we would write, in which case it becomes ours.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path
from pathlib import PurePosixPath

from attrs import Attribute
from attrs import field
from attrs import frozen

from policygen.emit import manifest
from policygen.emit.manifest import Entry
from policygen.emit.manifest import Manifest
from policygen.emit.transaction import Change
from policygen.emit.tree import MANIFEST
from policygen.emit.tree import ObstructedError
from policygen.emit.tree import OutputError
from policygen.emit.tree import digest_for_removal
from policygen.emit.tree import digest_for_writing
from policygen.emit.tree import digest_of
from policygen.emit.tree import path_fault


@frozen
class Artifact:
    r"""A file to produce.

    Attributes:
        path: Relative to the output folder, as in ``include/policygen/bi100/tuning_reduce.cuh``.
        content: UTF-8 text with ``\n`` line ends, the last line ended too; or empty (``py.typed``).
        owner: Who produces it: ``target/bi100`` and so on, or ``project``.

    Raises:
        ValueError: The content is not such a text, or the owner is empty.
    """

    path: PurePosixPath
    content: bytes = field(repr=False)
    owner: str = field()

    @content.validator
    def _content_is_text(self, _: Attribute[bytes], content: bytes) -> None:
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.path}: not UTF-8 at byte {error.start}; encode the text as UTF-8") from error
        if b"\r" in content:
            line = content[: content.index(b"\r")].count(b"\n") + 1
            raise ValueError(f"{self.path}:{line}: carriage return; end lines with a line feed alone")
        if content and not content.endswith(b"\n"):
            raise ValueError(f"{self.path}: the last line is not ended; add a line feed")

    @owner.validator
    def _owner_is_named(self, _: Attribute[str], owner: str) -> None:
        if not owner:
            raise ValueError(f"{self.path}: no owner; name 'project' or 'target/<name>'")

    @property
    def digest(self) -> str:
        """Digest of the content."""
        return digest_of(self.content)


@frozen
class Refusal:
    """Why one path cannot be written."""

    path: PurePosixPath
    reason: str


class WriteRefused(OutputError):  # noqa: N818 - an answer, not a failure
    """The output cannot be written as planned; nothing was. The message has one line a problem."""

    def __init__(self, root: Path, problems: Sequence[Refusal]) -> None:
        """Keep ``problems`` beside the message."""
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{root / problem.path}: {problem.reason}" for problem in problems))


@frozen
class Plan:
    """What ``apply`` will do, path by path (each tuple sorted).

    Attributes:
        root: The output folder.
        artifacts: What should be there.
        owners: Whose files are compared; others' entries of the manifest stay as they are.
        write: New files and files whose content changes.
        unchanged: Files that are right already, those included that the manifest does not list yet.
        remove: Files of ours that are no longer produced.
        edited: Those of ``write`` and ``remove`` that had been edited by hand.
        foreign: Files in the way that are not ours; ``apply`` refuses.
        problems: Everything for which ``apply`` refuses, ``foreign`` included.
        changes: The changes to the disk, the manifest's included.
    """

    root: Path
    artifacts: tuple[Artifact, ...] = field(repr=False)
    owners: frozenset[str]
    write: tuple[PurePosixPath, ...]
    unchanged: tuple[PurePosixPath, ...]
    remove: tuple[PurePosixPath, ...]
    edited: tuple[PurePosixPath, ...]
    foreign: tuple[PurePosixPath, ...]
    problems: tuple[Refusal, ...]
    changes: tuple[Change, ...] = field(repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether the output is right as it is."""
        return not self.changes and not self.problems


@frozen
class Drift:
    """How the output differs from what the specs say; false if it does not.

    Attributes:
        missing: Files that should be there and are not.
        stale: Files as policygen wrote them, but from other specs.
        edited: Files that were edited by hand.
        orphaned: Files of ours that are no longer produced.
        manifest_is_stale: The manifest does not list what it should.
        blocked: Paths where something that is not ours is in the way.
    """

    missing: tuple[PurePosixPath, ...]
    stale: tuple[PurePosixPath, ...]
    edited: tuple[PurePosixPath, ...]
    orphaned: tuple[PurePosixPath, ...]
    manifest_is_stale: bool
    blocked: tuple[Refusal, ...]

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(
            self.missing or self.stale or self.edited or self.orphaned or self.manifest_is_stale or self.blocked
        )


def plan(root: Path, artifacts: Sequence[Artifact], owners: Collection[str]) -> Plan:
    """Compare the output folder with what should be in it, by content alone. Reads, writes nothing.

    Args:
        root: The output folder; it need not exist.
        artifacts: All files that ``owners`` produce, in any order.
        owners: Whose files are compared. What others own is left as it is.

    Raises:
        ManifestError: The manifest cannot be trusted.
        OutputError: The folder cannot be read.
    """
    recorded, manifest_text = manifest.read(root)
    kept = [entry for entry in recorded.entries if entry.owner not in owners]
    ours = {entry.path: entry.digest for entry in recorded.entries if entry.owner in owners}
    wanted = {artifact.path: artifact for artifact in artifacts}
    problems = list(_refusals(artifacts, frozenset(owners), kept))
    if root.exists() and not root.is_dir():
        problems.append(Refusal(PurePosixPath(), "is not a folder; name another output folder"))

    changes, unchanged, edited, foreign = [], [], [], []
    for path in sorted(ours.keys() - wanted.keys(), key=str):
        try:
            now = digest_for_removal(root, path)
        except ObstructedError as error:
            problems.append(Refusal(path, str(error)))
            continue
        if now is not None:
            changes.append(Change(path, now, None))
            if now != ours[path]:
                edited.append(path)
    leaving = {change.path for change in changes}
    refused = {problem.path for problem in problems}
    for path in sorted(wanted.keys() - refused, key=str):
        try:
            now = digest_for_writing(root, path, leaving)
        except ObstructedError as error:
            problems.append(Refusal(path, str(error)))
            continue
        if now == wanted[path].digest:
            unchanged.append(path)
        elif now is not None and path not in ours:
            foreign.append(path)
            problems.append(Refusal(path, "exists and was not written by policygen; move it away or delete it"))
        else:
            changes.append(Change(path, now, wanted[path].content))
            if now is not None and now != ours[path]:
                edited.append(path)

    produced = [Entry(artifact.path, artifact.digest, artifact.owner) for artifact in wanted.values()]
    new_text = Manifest((*kept, *produced)).render()
    write = tuple(change.path for change in changes if change.content is not None)
    if new_text != manifest_text and (manifest_text is not None or produced):
        changes.append(Change(MANIFEST, None if manifest_text is None else digest_of(manifest_text), new_text))
    return Plan(
        root=root,
        artifacts=tuple(artifacts),
        owners=frozenset(owners),
        write=write,
        unchanged=tuple(unchanged),
        remove=tuple(sorted(leaving, key=str)),
        edited=tuple(sorted(edited, key=str)),
        foreign=tuple(foreign),
        problems=tuple(sorted(problems, key=lambda problem: (str(problem.path), problem.reason))),
        changes=tuple(changes),
    )


def check(root: Path, artifacts: Sequence[Artifact], owners: Collection[str]) -> Drift:
    """How the output folder differs from what should be in it. Reads, writes nothing.

    Args:
        root: The output folder; it need not exist.
        artifacts: All files that ``owners`` produce.
        owners: Whose files are compared.

    Raises:
        ManifestError: The manifest cannot be trusted.
        OutputError: The folder cannot be read.
    """
    planned = plan(root, artifacts, owners)
    written = {change.path: change.before for change in planned.changes if change.content is not None}
    return Drift(
        missing=tuple(path for path in planned.write if written[path] is None),
        stale=tuple(path for path in planned.write if written[path] is not None and path not in planned.edited),
        edited=tuple(path for path in planned.write if path in planned.edited),
        orphaned=planned.remove,
        manifest_is_stale=MANIFEST in written,
        blocked=planned.problems,
    )


def _refusals(artifacts: Sequence[Artifact], owners: Collection[str], kept: Sequence[Entry]) -> Iterator[Refusal]:
    """What is wrong with the artifacts themselves and with one another, whatever is on the disk."""
    # Some file systems do not tell upper from lower case.
    taken = {str(entry.path).casefold(): (entry.path, entry.owner) for entry in kept}
    for artifact in artifacts:
        path, owner = artifact.path, artifact.owner
        fault = path_fault(path)
        if fault is not None:
            yield Refusal(path, fault)
        if owner not in owners:
            yield Refusal(path, f"belongs to {owner}, which is not being built")
        other, other_owner = taken.setdefault(str(path).casefold(), (path, ""))
        if other != path:
            yield Refusal(path, f"differs from '{other}' ({other_owner}) in case alone; rename one of them")
        elif other_owner:
            yield Refusal(path, f"produced by {owner}, but also by {other_owner}; give each its own path")
        taken[str(path).casefold()] = (path, owner)
    files = {path for path, _ in taken.values()}
    for path in sorted(files, key=str):
        for parent in files.intersection(path.parents):
            yield Refusal(path, f"needs a folder where '{parent}' is a file; rename one of them")
