"""What `cuda::execution::tune` takes of an algorithm: CUB's selector on types, and how it deduces the key from them.

C++ is kept as text. Names of CUB, Thrust and libcu++ are written from their own namespace on (`cub::detail::..`).
"""

from __future__ import annotations

import re
from typing import TypeAlias

from attrs import frozen

from policygen.lang.tree import Expr

Path: TypeAlias = tuple[str, ...]

_PACK = re.compile(r"(\w+)\.\.\.")

SELECTOR = "selector"
"""The struct of a CUB form that stands for CUB's own selector on types."""


@frozen
class TemplateParameter:
    """A template parameter, as C++ declares it.

    Attributes:
        kind: `class`, `class...`, or the type of a value.
        default: empty where there is none.
        unpack: empty, or the type whose template arguments the key is made of: `cuda::std::tuple<Iterators...>`.
    """

    name: str
    kind: str
    default: str = ""
    unpack: str = ""

    @property
    def is_pack(self) -> bool:
        """Whether it takes any number of arguments."""
        return self.kind.endswith("...")

    @property
    def pack(self) -> str | None:
        """The pack of arguments that it is taken apart into."""
        found = _PACK.search(self.unpack)
        return None if found is None else found[1]


@frozen
class TuneForm:
    """Another policy struct that CUB takes for the same key: the selector's, under other names.

    Attributes:
        name: of the struct that returns it.
        policy: CUB's name of the policy struct.
        leaves: members of the algorithm's policy that it has not.
        spelled: enumerations that have another name there, as C++ text with `{}` for the enumerator.
    """

    name: str
    policy: str
    leaves: tuple[Path, ...]
    spelled: tuple[tuple[str, str], ...]


@frozen
class TuneCall:
    """A shorthand over the types of a public call.

    Attributes:
        name: of the alias template.
        form: the struct that it names.
        calls: the public calls that deduce types so, for people.
        parameters: types of the call.
        arguments: what the selector's parameters are; one that is missing has its default.
    """

    name: str
    form: str
    calls: str
    parameters: tuple[TemplateParameter, ...]
    arguments: tuple[tuple[str, str], ...]


@frozen
class NotBuilt:
    """Policies that some compilers cannot build; CUB's own selector answers there.

    Attributes:
        where: a condition of the preprocessor.
        policy: which policies, over the policy's fields.
        reason: for people.
    """

    where: str
    policy: Expr
    reason: str


@frozen
class Tune:
    """Everything that a CUB form of an algorithm is made of.

    Attributes:
        upstream: the name of CUB's selector, in the algorithm's namespace.
        headers: what a CUB form includes beside the tuning header.
        parameters: those of CUB's selector, with its names and defaults.
        aliases: names for types, in order.
        gives: each key field as C++ text.
    """

    upstream: str
    headers: tuple[str, ...]
    parameters: tuple[TemplateParameter, ...]
    aliases: tuple[tuple[str, str], ...]
    gives: tuple[tuple[str, str], ...]
    forms: tuple[TuneForm, ...]
    calls: tuple[TuneCall, ...]
    not_built: tuple[NotBuilt, ...]
