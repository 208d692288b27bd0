"""Where the specs and templates that come with policygen lie."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from typing import TypeAlias

DataKind: TypeAlias = Literal["specs", "templates"]
"""The folders of package data."""

_PACKAGE = Path(__file__).resolve().parents[1]


def data_dir(kind: DataKind) -> Path:
    """Finds a folder of package data; the working directory plays no part.

    An installed wheel (built from a checkout or from an sdist) carries `specs` and `templates` under
    `policygen/data`. A checkout and an editable install of it have no copy: there the folders are those at
    the top of the checkout, so that an edited spec is the one that is read.

    Args:
        kind: Which folder: "specs" or "templates".

    Returns:
        The absolute path of the folder; it exists.

    Raises:
        FileNotFoundError: The installation has neither, that is, it was damaged or packed by other means.
    """
    installed = _PACKAGE / "data" / kind
    checkout = _PACKAGE.parents[1] / kind
    if installed.is_dir():
        return installed
    if _PACKAGE.parent.name == "codegen" and checkout.is_dir():
        return checkout
    raise FileNotFoundError(
        f"policygen's own {kind} were not found: expected {installed} (installed) or {checkout} (checkout); "
        "install policygen again"
    )
