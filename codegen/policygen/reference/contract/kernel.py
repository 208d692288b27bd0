"""The interface of a reference kernel."""

from __future__ import annotations

from abc import ABC
from abc import abstractmethod
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Generic
from typing import TypeAlias
from typing import TypeVar

import torch
from attrs import fields
from attrs import frozen
from torch import Tensor

from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.tile_log import TileLog

Given: TypeAlias = Mapping[str, Any]
"""A key as people write it: fields with a default may be left out."""


@frozen
class Problem:
    """What a kernel is run on: a description, from which inputs are made when they are needed.

    A kernel derives its own class and adds fields: sizes, elements, operators, patterns, ways to be called. The
    values of a field print as one word.
    """

    @property
    def id(self) -> str:
        """All fields, `num_items=4097,kind=float32 plus`: unique among the problems of a case."""
        return ",".join(f"{f.name}={_word(getattr(self, f.name))}" for f in fields(type(self)))


def _word(value: object) -> str:
    return "+".join(map(_word, value)) if isinstance(value, tuple) else str(value).replace(" ", "-")


P = TypeVar("P", bound=Problem)
I = TypeVar("I")  # noqa: E741 - inputs


class ReferenceKernel(ABC, Generic[P, I]):
    """An algorithm as CUB runs it: same grid, same tiles, same order of combination, same edges.

    The module of an algorithm holds one instance under the name `KERNEL`. Nothing here depends on anything but its
    arguments; what is random comes from the generator that `inputs` is given, the order in which blocks finish too.

    Attributes:
        policy_of: the algorithm whose policies it runs with; empty for the one that its module is named after.
    """

    policy_of: str = ""

    def keys(self, common: Sequence[Given]) -> Iterable[Given]:
        """The keys to validate: by default the common ones of the algorithm.

        Args:
            common: those.

        Returns:
            Keys in any order, such as `common` with further values of a field; keys that the target refuses are left
            out.
        """
        return common

    @abstractmethod
    def problems(self, case: Case, *, quick: bool) -> Iterator[P]:
        """What to run a case on.

        Args:
            case: the policy, from which sizes follow.
            quick: a few that together take less than 0.3 s on one core, else all, less than 2 s.
        """

    @abstractmethod
    def inputs(self, case: Case, problem: P, random: torch.Generator) -> I:
        """Makes the inputs of a problem.

        Args:
            case: says on which device.
            problem: what to make them for.
            random: a generator on the CPU, so that inputs are the same on every device.
        """

    @abstractmethod
    def run(self, case: Case, problem: P, inputs: I, log: TileLog) -> Mapping[str, Tensor]:
        """Runs the kernel, and notes each tile as it is taken. Returns the outputs by name."""

    @abstractmethod
    def expected(self, case: Case, problem: P, inputs: I) -> Mapping[str, Expectation]:
        """What the outputs have to be, found in another way: exact, or in float64 with a bound that is derived."""

    def coverage(self, case: Case, problem: P) -> Mapping[str, int | range]:  # noqa: ARG002 - for those that override it
        """The items that the tiles of each kernel have to cover, each exactly once, by the kernel's name in the log.

        A number stands for the items from 0 on.
        """
        return {}

    def grain(self, case: Case, path: str) -> int:  # noqa: ARG002 - for those that override it
        """By how much a policy field with the role threads or items has to grow to bound something else.

        Args:
            case: whose policy it is.
            path: the field, dotted.
        """
        return 1

    def unbound(self, case: Case) -> Mapping[str, str]:  # noqa: ARG002 - for those that override it
        """Policy fields with the role threads or items that bound nothing for this case, each with the reason.

        The name of a record stands for all of its fields.
        """
        return {}
