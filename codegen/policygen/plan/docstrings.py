"""What docstrings say of arguments and attributes, so that each is told in one place."""

from __future__ import annotations

import inspect
from typing import Literal


def described(documented: object, section: Literal["Args", "Attributes"]) -> dict[str, str]:
    """What a section of a docstring says of each name.

    Args:
        documented: a function or a class.
        section: the section.
    """
    found: dict[str, str] = {}
    text = f"\n{inspect.getdoc(documented) or ''}"
    _, _, rest = text.partition(f"\n{section}:\n")
    for line in rest.partition("\n\n")[0].splitlines():
        if line.startswith("        "):
            last = next(reversed(found))
            found[last] += f" {line.strip()}"
        else:
            name, _, said = line.strip().partition(": ")
            found[name] = said
    return found
