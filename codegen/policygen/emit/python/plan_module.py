"""The generated plan module: the plan functions, and for each algorithm one that looks its policy up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import fields
from attrs import frozen

from policygen.emit.python.expressions import identifier
from policygen.emit.python.plan_source import PlanSource
from policygen.emit.python.plan_source import plan_source
from policygen.emit.python.values import docstring
from policygen.emit.python.values import domain_doc
from policygen.emit.python.values import key_parameters
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.plan.device import Device
from policygen.plan.planners import PLANNERS
from policygen.plan.planners import Planner
from policygen.spec import Algorithm

BESIDE_PLANNERS: Final = ("candidates", "offsets", "tile_size")
"""Modules of `policygen.plan` that a generated package has beside those of the planners and all that these import."""

SUMMARY: Final = (
    "The functions of an algorithm take its key as keyword arguments, look its policy up, and read of `HARDWARE` what",
    "is not given. They call the functions above them, which take numbers alone: those that the compiler itself plans",
    "with. Counts are of items, tiles and blocks; memory is in bytes.",
)

_SURROUNDING: Final = ("HARDWARE", "TYPE_CHECKING", "capability", "_device", "_fact")

_DEVICE_ARGUMENTS: Final = {
    "occupancy": "resident blocks of the kernel a multiprocessor; by default the target's, if it has one.",
    "sm_count": "multiprocessors; by default the target's, if it has one.",
    "subscription_factor": "blocks of a bounded grid a resident block; by default the target's.",
}

_LIMITS: Final = tuple(f.name for f in fields(Device) if f.name not in ("residency", "compute_capability"))


@frozen
class PlanModule:
    """The parts of a plan module.

    Attributes:
        source: the plan functions.
        records: records of keys that annotations need, as (module, name).
        lines: the functions that look policies up.
    """

    source: PlanSource
    records: tuple[tuple[str, str], ...]
    lines: tuple[str, ...]


def plan_module(algorithms: Mapping[str, Algorithm], *, capability: int | None, by_capability: bool) -> PlanModule:
    """Makes the module of a target.

    Args:
        algorithms: those that the target's package has.
        capability: the packed compute capability that kernels are compiled for; None if there is none, or not one.
        by_capability: whether a compute capability chooses among a family's policies.

    Raises:
        UnportableSource: a plan function cannot be part of a generated package.
    """
    planned = {
        name: (planner, algorithms[planner.algorithm])
        for name, planner in PLANNERS.items()
        if planner.algorithm is not None and planner.algorithm in algorithms
    }
    modules = (*(planner.module for planner in PLANNERS.values()), *BESIDE_PLANNERS)
    source = plan_source(modules, (*_SURROUNDING, *map(identifier, planned)))
    lines = _device_lines()
    for name, (planner, algorithm) in planned.items():
        lines += _FunctionPrinter(planner, algorithm, capability, by_capability=by_capability).lines(name)
    records = {(identifier(a.name), record): None for _, a in planned.values() for record in _records(a)}
    return PlanModule(source, tuple(records), tuple(lines))


def _records(algorithm: Algorithm) -> list[str]:
    """The records that a key holds."""
    kinds = [f.type.element if isinstance(f.type, ListType) else f.type for f in algorithm.key]
    return [identifier(kind.struct.name) for kind in kinds if isinstance(kind, RecordType)]


def _device_lines() -> list[str]:
    return [
        "",
        "",
        "def _fact(name: str, given: int | None) -> int:",
        '    """What is given, or the fact of that name. Raises ValueError if there is neither."""',
        "    value = getattr(HARDWARE, name, None) if given is None else given",
        "    if value is None:",
        '        argument = "occupancy" if name == "blocks_per_sm" else name',
        '        raise ValueError(f"the target does not know {name}, which a plan needs: give {argument}")',
        "    return int(value)",
        "",
        "",
        "def _device(",
        "    occupancy: int | None,",
        "    sm_count: int | None,",
        "    subscription_factor: int | None,",
        "    compute_capability: int | None,",
        ") -> Device:",
        "    return Device(",
        "        residency=Residency(",
        '            sm_count=_fact("sm_count", sm_count),',
        '            occupancy=_fact("blocks_per_sm", occupancy),',
        '            subscription_factor=_fact("subscription_factor", subscription_factor),',
        "        ),",
        "        compute_capability=compute_capability,",
        *(f'        {name}=getattr(HARDWARE, "{name}", None),' for name in _LIMITS),
        "    )",
    ]


class _FunctionPrinter:
    """Prints the function that plans a launch of an algorithm for a key."""

    def __init__(self, planner: Planner, algorithm: Algorithm, capability: int | None, *, by_capability: bool) -> None:
        self._planner = planner
        self._algorithm = algorithm
        self._capability = "capability(cc)" if by_capability else repr(capability)
        self._by_capability = by_capability

    def lines(self, name: str) -> list[str]:
        fields_ = [identifier(field.name) for field in self._algorithm.key if field.name != "num_items"]
        given = "".join(f"{field}={field}, " for field in fields_)
        chosen = "cc=cc, " if self._by_capability else ""
        own = "".join(f", {a.name}={a.name}" for a in self._planner.arguments)
        return [
            "",
            "",
            f"def {identifier(name)}(",
            "    num_items: int,",
            "    *,",
            *(f"    {parameter}," for parameter in self._parameters()),
            f") -> {self._planner.answer}:",
            *docstring(self._doc(), "    "),
            f"    from .{identifier(self._algorithm.name)} import policy, whole_key",
            "",
            f"    device = _device(occupancy, sm_count, subscription_factor, {self._capability})",
            f"    return {self._planner.launch.__name__}(",
            f"        policy({chosen}{given}num_items=num_items),",
            f"        whole_key({given}num_items=num_items),",
            f"        num_items=num_items, device=device{own},",
            "    )",
        ]

    def _parameters(self) -> list[str]:
        key = key_parameters(self._algorithm.key, with_capability=self._by_capability)
        return [
            *(parameter for parameter in key if not parameter.startswith("num_items:")),
            *(
                f"{a.name}: {a.annotation}{'' if a.is_required else f' = {a.default!r}'}"
                for a in self._planner.arguments
            ),
            *(f"{name}: int | None = None" for name in _DEVICE_ARGUMENTS),
        ]

    def _doc(self) -> list[str]:
        found = [f"{self._planner.title} with the policy for a key.", "", "Args:"]
        found.append(f"    num_items: {self._planner.items_doc}")
        if self._by_capability:
            found.append("    cc: compute capability, 90 or '9.0' or 'sm_90'.")
        for field in self._algorithm.key:
            if field.name != "num_items":
                domain = f" ({domain_doc(field)})" if domain_doc(field) else ""
                found.append(f"    {identifier(field.name)}: {field.doc}{domain}.")
        found += [f"    {a.name}: {a.doc}" for a in self._planner.arguments]
        found += [f"    {name}: {doc}" for name, doc in _DEVICE_ARGUMENTS.items()]
        launch = self._planner.launch.__name__
        raises = f"what `policy` or `{launch}` raises, or a fact that is neither known nor given."
        return [*found, "", "Raises:", f"    ValueError: {raises}"]
