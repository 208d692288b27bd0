"""Projects as they were: a git revision, or another folder."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from policygen.loading.project_root import PROJECT_FILE
from policygen.project import Project
from policygen.project import load


class NoRevision(ValueError):  # noqa: N818 - it says what there is not
    """Neither a folder of a project nor a revision of git; the message says what was tried."""


class NoGit(NoRevision):
    """It is no folder of a project, and git, which would know a revision, does not start."""


@contextmanager
def project_at(project: Project, revision: str) -> Iterator[Project]:
    """A project at another revision, for as long as the context lasts.

    Args:
        project: the project as it is.
        revision: a folder with a policygen.toml, else what git takes for a commit, such as main or HEAD~3.

    Raises:
        NoRevision: it is neither, or git does not have it.
        SpecError: the policygen.toml there is wrong; of its specs when they are read.
    """
    folder = Path(revision)
    if (folder / PROJECT_FILE).is_file():
        yield load(folder).in_place_of(project)
        return
    root = project.root.folder
    archive = _archive(root, revision)
    with TemporaryDirectory(prefix="policygen-") as temporary:
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(temporary, filter="data")
        if not (Path(temporary) / PROJECT_FILE).is_file():
            raise NoRevision(f"{revision} has no {PROJECT_FILE} in this folder")
        yield load(temporary).in_place_of(project)


def _archive(root: Path, revision: str) -> bytes:
    """What decides the policies of a revision: `policygen.toml` and the specs, as tar."""
    commit = _git(root, revision, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    listed = _git(root, revision, "ls-tree", "--name-only", commit.decode().strip(), PROJECT_FILE, "specs")
    paths = listed.decode().split()
    if PROJECT_FILE not in paths:
        raise NoRevision(f"{revision} has no {PROJECT_FILE} in this folder")
    return _git(root, revision, "archive", "--format=tar", commit.decode().strip(), *paths)


def _git(root: Path, revision: str, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False)
    except OSError as error:
        raise NoGit(f"{revision} is no folder with a {PROJECT_FILE}, and git does not start: {error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise NoRevision(
            f"{revision} is neither a folder with a {PROJECT_FILE} nor a revision that git has{said and f': {said}'}"
        )
    return done.stdout
