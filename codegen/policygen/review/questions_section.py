"""Open questions of a target: what is not known or rests on trust, what is known of it, and what would settle it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Final

from attrs import frozen

from policygen.fold.table import Row as TableRow
from policygen.model.dimensions import format_value
from policygen.model.fact_names import FACT_NAMES
from policygen.model.facts import EvidenceKind
from policygen.plan.limits import LIMIT_NAMES
from policygen.plan.lookback_delay import GRID_THRESHOLD
from policygen.plan.lookback_delay import delay_activity
from policygen.prove.cases import CaseMaker
from policygen.resolve.candidate import replaced
from policygen.resolve.resolver import Resolver
from policygen.review.needs import Needs
from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject
from policygen.review.weights import by_weight

COLUMNS: Final = (
    Column("question"),
    Column("about"),
    Column("state"),
    Column("known"),
    Column("what would settle it"),
)

_OPEN, _SETTLED, _DROPPED = "open", "settled", "dropped"


@frozen
class Asked:
    """A question with its answer as far as there is one.

    Attributes:
        id: its name for programs.
        about: the algorithm that it is about; empty for the target as a whole.
        text: what is asked.
        state: open; settled; dropped, where nothing depends on it any more.
        known: what is known.
        settles: what would settle it; of a settled one, what did.
    """

    id: str
    about: str
    text: str
    state: str
    known: str
    settles: str


_QUERIES: Final[Mapping[str, str]] = {
    "max_threads_per_block": "the device property maxThreadsPerBlock, and a launch of a block of that size",
    "max_threads_per_sm": "the device property maxThreadsPerMultiProcessor",
    "max_blocks_per_sm": "the device property maxBlocksPerMultiProcessor",
    "max_registers_per_thread": "the vendor compiler's report on a kernel that needs more",
    "max_registers_per_block": "the device property regsPerBlock",
    "registers_per_sm": "the device property regsPerMultiprocessor",
    "register_allocation_unit": "resident blocks of kernels that differ in registers alone",
    "warp_allocation_unit": "resident blocks of kernels that differ in warps alone",
    "sm_partitions": "the vendor's documents, or resident blocks of kernels that differ in registers alone",
    "max_smem_per_block": "the device property sharedMemPerBlock, and a launch of a block that declares all of it",
    "max_smem_per_block_optin": "the device property sharedMemPerBlockOptin, and a launch of a block that asks for it",
    "smem_per_sm": "the device property sharedMemPerMultiprocessor",
    "reserved_smem_per_block": "the device property reservedSharedMemPerBlock",
    "smem_allocation_unit": "resident blocks of kernels that differ in shared memory alone",
    "warp_size": "a kernel that reads warpSize",
    "sm_count": "the device property multiProcessorCount",
    "blocks_per_sm": "cudaOccupancyMaxActiveBlocksPerMultiprocessor of each kernel on the device: it has no one answer",
    "bytes_in_flight_per_sm": "a benchmark of transform in which the prefetching kernel runs, times differ, and only "
    "the bytes in flight change",
}
"""What would settle a fact; of one that is not here, a reading of kind measured."""


def questions_section(subject: Subject) -> Section | None:
    """A row for each question, open ones in the order of the engine's weights; None where there is none."""
    asked = [*_of_points(subject), *_of_conflicts(subject), *_of_limits(subject), *_of_features(subject)]
    if not asked:
        return None
    asked.sort(key=lambda one: by_weight(one.about))
    rows = tuple(_row(one) for one in asked)
    states = [one.state for one in asked]
    counted = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    return Section("questions", f"Questions about {subject.instance.name}", COLUMNS, rows, (counted,))


def _row(asked: Asked) -> Row:
    cells = (asked.text, asked.about or "the target", asked.state, asked.known, asked.settles)
    data = {
        "id": asked.id,
        "about": asked.about,
        "question": asked.text,
        "state": asked.state,
        "known": asked.known,
        "settles": asked.settles,
    }
    return Row(cells, data)


def _of_points(subject: Subject) -> Iterator[Asked]:
    """Questions that the source notes leave about the target's own points."""
    for algorithm, make in _ABOUT_POINTS:
        if algorithm in subject.rules and algorithm in subject.instance.target.rules:
            yield make(subject)


def _float_sum(accum: str) -> dict[str, Any]:
    return {"accum_t": accum, "operation_t": "plus", "offset_size": 4}


_TILE_MEMORY: Final = "shared-memory of multi_tile"
_BLOCK_REGISTERS: Final = "registers-per-block of multi_tile"


def _items_of_reduce(subject: Subject) -> Asked:
    rules, key = subject.rules["reduce"], _float_sum("float32")
    policy = Resolver(rules).resolve(key).policy
    items = policy.multi_tile.items_per_thread
    needs = Needs(rules)
    need = needs.of(_TILE_MEMORY, key, policy)
    more = needs.of(_TILE_MEMORY, key, replaced(policy, ("multi_tile", "items_per_thread"), 2 * items))
    known = f"the block needs {need.need:,} bytes of shared memory, and {more.need:,} with twice the items"
    compiled = _compiled_bytes(subject)
    if compiled is not None:
        known += f"; compiled: {compiled}"
    settled = bool(need.fits) and more.need == need.need
    return Asked(
        "reduce-items",
        "reduce",
        f"do {items} items of 4 bytes fit?",
        _SETTLED if settled else _OPEN,
        known,
        "the compiler's figures of shared memory" if settled else "`policygen prove`",
    )


def _compiled_bytes(subject: Subject) -> str | None:
    """What the compiler said of the shared memory of a float32 sum."""
    evidence, rules = subject.evidence.get("reduce"), subject.rules["reduce"]
    if evidence is None:
        return None
    maker = CaseMaker(rules)
    row = TableRow({}, Resolver(rules).resolve(_float_sum("float32")))
    case = maker.case(row, maker.arguments(row), 1)
    found = evidence.of(case.id, case.kernels[0].kernel.name)
    return None if found is None else f"{found.shared:,} bytes on {evidence.architecture}"


def _threads_of_reduce(subject: Subject) -> Asked:
    rules, key = subject.rules["reduce"], _float_sum("float64")
    policy = Resolver(rules).resolve(key).policy
    threads, items = policy.multi_tile.threads_per_block, policy.multi_tile.items_per_thread
    wider = replaced(policy, ("multi_tile", "threads_per_block"), _ASKED_THREADS)
    needs = Needs(rules)
    told = []
    for name, of in ((f"{threads} x {items}", policy), (f"{_ASKED_THREADS} x {items}", wider)):
        need = needs.of(_BLOCK_REGISTERS, key, of)
        limit = "an unknown number" if need.limit is None else f"{need.limit:,}"
        told.append(f"{name} takes {need.need:,} of {limit} registers by the model")
    return Asked(
        "reduce-threads-8B",
        "reduce",
        f"are {_ASKED_THREADS} threads better than {threads} for 8-byte accumulators?",
        _OPEN,
        "; ".join(told),
        "times of both on the device, for sizes from one tile to many waves",
    )


_ASKED_THREADS: Final = 640
"""What CUB has for float64 on 10.0, and the notes ask about."""


def _load_of_reduce(subject: Subject) -> Asked:
    modifier = Resolver(subject.rules["reduce"]).resolve(_float_sum("float32")).policy.multi_tile.load_modifier
    used = {str(row.policy.multi_tile.load_modifier) for row in subject.tables["reduce"].rows}
    return Asked(
        "reduce-load",
        "reduce",
        "do loads through the read-only cache pay (LOAD_LDG), or plain ones (LOAD_DEFAULT)?",
        _OPEN,
        f"a float32 sum has {modifier}; common keys have {' and '.join(sorted(used))}",
        "times of both on the device; scan may not have it, since it works in place",
    )


def _delays_of_scan(subject: Subject) -> Asked:
    policies = [row.policy.lookback for row in subject.tables["scan"].rows if row.policy.lookback.threads_per_block]
    sleeping = [
        counts
        for counts in policies
        if delay_activity(
            counts.lookback_delay.kind,
            delay_ns=counts.lookback_delay.delay,
            l2_write_latency_ns=counts.lookback_delay.l2_write_latency,
            grid=GRID_THRESHOLD,
            compute_capability=subject.instance.cc,
        ).sleeps
    ]
    return Asked(
        "scan-delay-factors",
        "scan",
        "should delays be CUB's times 0.5, and write latencies times 0.6?",
        _OPEN if sleeping else _DROPPED,
        f"{len(sleeping)} of {len(policies)} common policies sleep at any grid",
        "nothing: no policy reads a length" if not sleeping else "the measured latency of an L2 write",
    )


_ABOUT_POINTS: Final[tuple[tuple[str, Callable[[Subject], Asked]], ...]] = (
    ("reduce", _items_of_reduce),
    ("reduce", _threads_of_reduce),
    ("reduce", _load_of_reduce),
    ("scan", _delays_of_scan),
)


def _of_conflicts(subject: Subject) -> Iterator[Asked]:
    """Facts whose value was decided by somebody, or on trust, against another reading."""
    for fact in subject.instance.facts.values():
        trusted = fact.kind is EvidenceKind.ASSUMED
        if not fact.conflicts or fact.reading is None or not (fact.reading.effective or trusted):
            continue
        others = [c.other.value for c in fact.conflicts if c.other.value is not None]
        values = [fact.value, *others]
        shown = " or ".join(format_value(fact.dimension, value) for value in values if value is not None)
        used = f"{format_value(fact.dimension, values[0] or 0)} is used: {fact.reading.evidence()}"
        yield Asked(f"conflict-{fact.name}", "", f"{fact.name}: {shown}?", _OPEN, used, _settles(fact.name))


def _of_limits(subject: Subject) -> Iterator[Asked]:
    """Limits that are not known, or are taken on trust; those in conflict are asked above."""
    for name in LIMIT_NAMES:
        fact = subject.instance.facts.get(name)
        if fact is None or fact.value is None:
            why = "the target does not state it" if fact is None else (fact.unknown or "")
            yield Asked(f"unknown-{name}", "", f"{name}: {FACT_NAMES[name].description}?", _OPEN, why, _settles(name))
        elif fact.kind is EvidenceKind.ASSUMED and not fact.conflicts:
            shown = format_value(fact.dimension, fact.value)
            source = "" if fact.reading is None else fact.reading.evidence()
            yield Asked(f"assumed-{name}", "", f"{name}: is it {shown}?", _OPEN, source, _settles(name))


def _of_features(subject: Subject) -> Iterator[Asked]:
    """Features that count as missing until somebody has seen them work."""
    for name, why in subject.instance.target.withheld.items():
        doc = subject.spec.vocabulary.features.get(name, name)
        yield Asked(
            f"withheld-{name}", "", f"{name}: does it work?", _OPEN, why, f"a run on the device that shows: {doc}"
        )


def _settles(fact: str) -> str:
    return _QUERIES.get(fact, "a reading of kind measured")
