"""Names of CUB in generated C++: written so that they are found wherever a program puts CUB's namespace."""

from __future__ import annotations

import re

from policygen.emit.cpp.expressions import identifier
from policygen.model.types import Enumeration

_QUALIFIERS = {"cub": "CUB_NS_QUALIFIER", "thrust": "THRUST_NS_QUALIFIER", "cuda": "::cuda"}
_FIRST = re.compile(r"(?<![\w:])(?:::)?(cub|thrust|cuda)::")
_SUPPORT = re.compile(r"(?<![\w:])(classified|of_cub)\b")


def qualified(text: str) -> str:
    """C++ text of a spec with its names qualified: `cub::detail::x` is found under a wrapped namespace, too.

    `cuda::` is written from the global namespace on, since a family of targets may be called cuda.
    """
    return _SUPPORT.sub(r"support::\1", _FIRST.sub(lambda match: f"{_QUALIFIERS[match[1]]}::", text))


def cub_enumerator(enumeration: Enumeration, name: str) -> str:
    """CUB's expression for an enumerator."""
    return qualified(enumeration.cub_spelling(name))


def own_enumerator(enumeration: Enumeration, name: str) -> str:
    """Our expression for an enumerator."""
    return f"{identifier(enumeration.name)}::{identifier(name)}"
