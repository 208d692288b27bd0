"""What running CUB with a target's policies on a GPU has shown, and what was wrong."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from functools import cached_property

from attrs import frozen

from policygen import __version__
from policygen.emit.cpp.expressions import identifier
from policygen.model.facts import EvidenceKind
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.limits import Limits
from policygen.plan.occupancy import occupancy
from policygen.prove.device_lines import Case
from policygen.prove.device_lines import Device
from policygen.prove.device_lines import Launch
from policygen.prove.device_lines import Outcome
from policygen.prove.device_lines import Run


@frozen
class Footprint:
    """A kernel with all that decides how many of its blocks a multiprocessor holds.

    Attributes:
        kernel: name of the function template.
        threads: of a block.
        registers, static_smem, dynamic_smem: as in `Launch`.
        on_device: resident blocks a multiprocessor, as the driver says.
        by_specs: as the target's facts give them; None where something is not known.
    """

    kernel: str
    threads: int
    registers: int
    static_smem: int
    dynamic_smem: int
    on_device: int
    by_specs: int | None

    @property
    def agrees(self) -> bool:
        """Whether the specs say nothing else than the device."""
        return self.by_specs is None or self.by_specs == self.on_device

    def __str__(self) -> str:
        shared = f"{self.static_smem + self.dynamic_smem:,} bytes of shared memory"
        return f"{self.kernel} of {self.threads} threads, {self.registers} registers and {shared}"


@frozen
class Ran:
    """One algorithm, run with one target's policies.

    Attributes:
        algorithm: by name.
        outcome: what its program printed.
        footprints: the kernels that were launched, each once, in order of their names.
    """

    algorithm: str
    outcome: Outcome
    footprints: tuple[Footprint, ...]

    @property
    def runs(self) -> Iterator[tuple[Case, Run]]:
        """Every run with its case."""
        return ((case, run) for case in self.outcome.cases for run in case.runs)

    def count(self, *statuses: str) -> int:
        """How many runs have one of some statuses."""
        return sum(run.status in statuses for _, run in self.runs)

    @property
    def faults(self) -> Iterator[str]:
        """What was wrong, a line each."""
        if self.outcome.fault:
            yield f"{self.outcome.program}: {self.outcome.fault}"
        for case, run in self.runs:
            if run.status == "failed":
                yield f"{self.outcome.program}: {case.call}, {case.type}, {run}: {run.told}"
        for found in self.footprints:
            if not found.agrees:
                yield (
                    f"{self.outcome.program}: {found}: the device holds {found.on_device} blocks a multiprocessor, "
                    f"the specs say {found.by_specs}"
                )


@frozen
class DeviceReport:
    """What was run, and what came of it.

    Attributes:
        target: whose policies.
        twin: the target with blocks of its own, by which a lost tuning shows.
        own, shifted: the algorithms with the policies of one and the other.
        without_program: algorithms of the project that there is no program for.
        version: of policygen.
    """

    target: str
    twin: str
    own: tuple[Ran, ...]
    shifted: tuple[Ran, ...]
    without_program: tuple[str, ...] = ()
    version: str = __version__

    @cached_property
    def device(self) -> Device | None:
        """What it ran on; None where nothing ran."""
        return next((ran.outcome.device for ran in self.all if ran.outcome.device is not None), None)

    @property
    def all(self) -> tuple[Ran, ...]:
        """Those with the target's policies, and then those with the twin's."""
        return (*self.own, *self.shifted)

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """What was wrong, a line each; empty where everything passed."""
        found = [fault for ran in self.all for fault in ran.faults]
        if self.device is not None:
            found += [f"{ran.outcome.program}: found no GPU" for ran in self.all if ran.outcome.no_device]
        for ran in self.shifted:
            cases = [case for case in ran.outcome.cases if case.same_as_cub]
            found += [f"{ran.outcome.program}: {c.call}: its blocks are CUB's, so nothing is shown" for c in cases]
        return (*found, *self._broken_promises)

    @property
    def _broken_promises(self) -> Iterator[str]:
        """Results that CUB promises to be the same with whatever blocks, and that are not."""
        own = {key: promised for ran in self.own for key, promised in _promised(ran)}
        for ran in self.shifted:
            for key, promised in _promised(ran):
                if own.get(key, promised) != promised:
                    call, kind, items = key
                    where = f"{ran.outcome.program}: {call}, {kind}, {items:,}"
                    yield f"{where}: {own[key]} with other blocks, here {promised}"


def _promised(ran: Ran) -> Iterator[tuple[tuple[str, str, int], str]]:
    return (((case.call, case.type, run.items), run.promised) for case, run in ran.runs if run.promised)


def device_report(
    target: str,
    twin: str,
    outcomes: Iterable[Outcome],
    limits: Limits,
    expected: Sequence[str] = (),
    without_program: Sequence[str] = (),
) -> DeviceReport:
    """Makes the report of what programs printed.

    Args:
        target: whose policies they used.
        twin: the target with other blocks.
        outcomes: what became of the programs of both, in any order.
        limits: of the target, for the occupancy by the specs.
        expected: algorithms that should be among them, with both targets.
        without_program: algorithms of the project that there is no program for.
    """
    by_target: Mapping[str, list[Ran]] = {target: [], twin: []}
    known = list(outcomes)
    names = [f"{identifier(name)}_{algorithm}" for name in (target, twin) for algorithm in expected]
    found = {outcome.program for outcome in known}
    if found:
        known += [Outcome(name, None, (), fault="there are no lines of it") for name in names if name not in found]
    for outcome in known:
        # the twin's name begins with the target's
        for name in (twin, target):
            prefix = f"{identifier(name)}_"
            if outcome.program.startswith(prefix):
                algorithm = outcome.program.removeprefix(prefix)
                by_target[name].append(Ran(algorithm, outcome, _footprints(outcome, limits)))
                break
    own, shifted = (tuple(sorted(by_target[name], key=lambda ran: ran.algorithm)) for name in (target, twin))
    return DeviceReport(target, twin, own, shifted, tuple(without_program))


def _footprints(outcome: Outcome, limits: Limits) -> tuple[Footprint, ...]:
    launches = {launch for case in outcome.cases for run in case.runs for launch in run.launches}
    found = {_footprint(launch, limits): None for launch in sorted(launches)}
    return tuple(found)


def _footprint(launch: Launch, limits: Limits) -> Footprint:
    resources = KernelResources(
        kernel=launch.kernel,
        threads=launch.threads,
        registers=launch.registers,
        registers_are=EvidenceKind.COMPILED,
        static_smem=launch.static_smem,
        dynamic_smem=launch.dynamic_smem,
    )
    held = occupancy(limits, resources)
    return Footprint(
        kernel=launch.kernel,
        threads=launch.threads,
        registers=launch.registers,
        static_smem=launch.static_smem,
        dynamic_smem=launch.dynamic_smem,
        on_device=launch.blocks_per_sm,
        by_specs=None if held.at_most else held.blocks,
    )
