"""Plans by name, for the command line and for what writes the generated packages."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from collections.abc import Mapping
from typing import Final

from attrs import AttrsInstance
from attrs import frozen

from policygen.plan.copy_launch import batch_memcpy_launch
from policygen.plan.docstrings import described
from policygen.plan.reduce_launch import reduce_launch
from policygen.plan.scan_launch import scan_launch
from policygen.plan.segment_launch import segmented_reduce_launch
from policygen.plan.share_launches import even_share_launch
from policygen.plan.share_launches import partitions_launch
from policygen.plan.sort_launches import radix_sort_launch
from policygen.plan.sort_launches import topk_launch
from policygen.plan.transform_launch import transform_launch

_GIVEN: Final = ("policy", "key", "num_items", "device")


@frozen
class Argument:
    """An argument of a plan beside the policy, its key, the problem size and the device.

    Attributes:
        annotation: its type, as written.
        default: its default; `inspect.Parameter.empty` where it has to be given.
        doc: what it is.
    """

    name: str
    annotation: str
    default: object
    doc: str

    @property
    def is_required(self) -> bool:
        """Whether it has to be given."""
        return self.default is inspect.Parameter.empty


@frozen
class Planner:
    """A function that plans a launch.

    Attributes:
        launch: the function, in `policygen.plan`; it takes num_items and device, and what `arguments` lists.
        algorithm: whose policy and key come first; None where the plan needs none.
    """

    launch: Callable[..., AttrsInstance]
    algorithm: str | None = None

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments that are the plan's own."""
        docs = described(self.launch, "Args")
        return tuple(
            Argument(p.name, str(p.annotation), p.default, docs[p.name])
            for p in inspect.signature(self.launch).parameters.values()
            if p.name not in _GIVEN
        )

    @property
    def module(self) -> str:
        """The module of `policygen.plan` that has the function."""
        return self.launch.__module__.rpartition(".")[2]

    @property
    def title(self) -> str:
        """What the plan is of, as the first words of a sentence."""
        return (inspect.getdoc(self.launch) or "").partition("\n")[0].partition(";")[0].rstrip(".")

    @property
    def items_doc(self) -> str:
        """What the problem size counts."""
        return described(self.launch, "Args")["num_items"]

    @property
    def answer(self) -> str:
        """The class of the plan, as written."""
        return str(inspect.signature(self.launch).return_annotation)


PLANNERS: Final[Mapping[str, Planner]] = {
    "batch_memcpy": Planner(batch_memcpy_launch, "batch_memcpy"),
    "even_share": Planner(even_share_launch),
    "partitions": Planner(partitions_launch),
    "radix_sort": Planner(radix_sort_launch, "radix_sort"),
    "reduce": Planner(reduce_launch, "reduce"),
    "scan": Planner(scan_launch, "scan"),
    "segmented_reduce": Planner(segmented_reduce_launch, "segmented_reduce"),
    "topk": Planner(topk_launch, "topk"),
    "transform": Planner(transform_launch, "transform"),
}
"""All plans."""
