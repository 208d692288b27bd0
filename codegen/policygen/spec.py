"""The spec: what a project says about algorithms, reference points and targets, checked and typed.

Expressions are trees (`policygen.lang.tree`); nothing here is resolved for a target yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any
from typing import TypeAlias

from attrs import evolve
from attrs import field
from attrs import frozen

from policygen.kernels import CppParameter
from policygen.kernels import Kernel
from policygen.lang.intervals import Domains
from policygen.lang.tree import Expr
from policygen.lang.tree import Function
from policygen.lang.tree import Scope
from policygen.lang.tree import Table
from policygen.model.facts import Fact
from policygen.model.problems import Location
from policygen.model.ranges import Interval
from policygen.model.types import Enumeration
from policygen.model.types import ListType
from policygen.model.types import Scalar
from policygen.model.types import Struct
from policygen.model.types import Type
from policygen.scaling import ScalingRule
from policygen.tune import Tune

Path: TypeAlias = tuple[str, ...]
"""A policy field: the names from the root record down."""


@frozen
class KeyField:
    """A field of the key. `default` may refer to other fields; a default outside the domain means "must be given".

    Attributes:
        values: the domain, where it is a few integers; else None.
        interval: the domain of an integer; None for any other type.
        element: domains of the fields of a list's elements.
        context: the field is no part of CUB's key; constraints and target rules may use it.
        unit: what an integer counts: tokens, say.
    """

    name: str
    type: Type
    interval: Interval | None
    values: tuple[int, ...] | None
    element: tuple[KeyField, ...]
    default: Expr | None
    doc: str
    context: bool
    unit: str
    location: Location = field(eq=False)


@frozen
class Let:
    """A name for an expression."""

    name: str
    expr: Expr


class Counts(Enum):
    """How the counts of a sub-policy are meant."""

    NONE = "none"
    NOMINAL = "nominal"
    LITERAL = "literal"
    RESOLVED = "resolved"


@frozen
class Scale:
    """A scaling rule and the element size in bytes that it scales for."""

    rule: ScalingRule
    by: Expr


@frozen
class SubPolicy:
    """How one record of the policy is filled: an expression for each scalar field, a sub-policy for each record.

    Every field is present, in the struct's order. `counts` says whether the threads and items among them are nominal
    (then `scale` says how they become resolved), literal, copied from a resolved sub-policy, or absent.
    """

    struct: Struct
    counts: Counts
    scale: Scale | None
    fields: tuple[tuple[str, Expr | SubPolicy], ...]


class Status(Enum):
    """Whether a point takes part in resolution."""

    ACTIVE = "active"
    DISABLED = "disabled"
    UNREACHABLE = "unreachable"


@frozen
class Point:
    """One row of a ladder.

    Attributes:
        cc: compute capabilities (packed, inclusive) that it answers for; None for all.
        num_items: problem sizes (inclusive) that it is limited to; None for all, and for unknown ones.
        when: everything else that must hold.
        reason: why the point is as it is, or why it is not active.
    """

    id: str
    cc: Interval | None
    num_items: Interval | None
    when: Expr
    policy: SubPolicy
    status: Status
    reason: str
    benchmark: str
    evidence: str
    source: str
    location: Location = field(eq=False)


@frozen
class Ladder:
    """Ordered points: the first that matches is the candidate.

    If `accept` fails on the scaled candidate, the ladder is left and the next one is tried. `requires` names features
    without which the ladder is not entered.

    Attributes:
        disabled: in the rules of a target, the points that would be among `points` if they were not disabled.
    """

    id: str
    origin: str
    when: Expr
    requires: tuple[str, ...]
    points: tuple[Point, ...]
    accept: Expr | None
    location: Location = field(eq=False)
    disabled: tuple[Point, ...] = ()


@frozen
class RuleSet:
    """The ladders that one file gives for one algorithm, with names of its own."""

    origin: str
    algorithm: str
    lets: tuple[Let, ...]
    ladders: tuple[Ladder, ...]
    location: Location = field(eq=False)


class Otherwise(Enum):
    """What happens if a constraint cannot be met by shrinking."""

    ERROR = "error"
    REPORT = "report"


@frozen
class Constraint:
    """A need that must not exceed a limit, or a check that must hold.

    Attributes:
        need: integer expression over key, lets, facts and policy; None for a check.
        limit: integer expression; None for a check.
        check: truth value; None for a need.
        shrink: fields to lower, in order, until it holds.
        model: kind of the resource model ("tile", "union", "sum", ...), empty for a check.
        terms: the named terms that `need` is made of.
        unknown: where this holds, the need is not known, and `unknown_reason` says why.
    """

    id: str
    when: Expr
    check: Expr | None
    need: Expr | None
    limit: Expr | None
    model: str
    terms: tuple[tuple[str, Expr], ...]
    unit: str
    shrink: tuple[Path, ...]
    otherwise: Otherwise
    unknown: Expr | None
    unknown_reason: str
    reason: str
    source: str
    location: Location = field(eq=False)


@frozen
class Alternative:
    """What replaces a value that needs a feature, on a target without it."""

    path: Path
    value: Scalar
    requires: str
    otherwise: Expr
    location: Location = field(eq=False)


@frozen
class Neutral:
    """A knob that does nothing where `when` holds; `proof` says why, and `value` is what it is set to."""

    path: Path
    when: Expr
    value: Expr
    proof: str
    location: Location = field(eq=False)


@frozen
class Derived:
    """A field of the policy that follows from the key and the other fields, computed after every other pass."""

    name: str
    value: Expr
    location: Location = field(eq=False)


@frozen
class Engine:
    """Where an inference engine finds a table, and what runs with it.

    Attributes:
        module: of the target's Python package.
        function: in that module.
        backend: the feature without which nothing runs with the table; empty for what the engine computes itself.
        precompiled: why a policy is reported and not in effect: the kernel's own numbers are fixed; empty otherwise.
        returns: what the function answers.
    """

    module: str
    function: str
    backend: str
    precompiled: str
    returns: str


@frozen
class EmptyBlock:
    """What becomes of a scaled block of zero threads where the kernel can still run with one granule of threads."""

    items_per_thread: int
    reason: str


@frozen
class TypeParameter:
    """A template parameter of `select_for`, and the key fields that follow from it.

    `kind` is element, elements (a list), operator, or value. `gives` maps key fields to the property they take.
    `default` is empty, an enumerator, another parameter, or `accumulator(InputT, OpT)`.
    """

    name: str
    python: str
    kind: str
    gives: tuple[tuple[str, str], ...]
    default: str


@frozen
class CubBinding:
    """Where CUB keeps the selector: header, namespace and names of its policy struct."""

    header: str
    namespace: str
    policy: str


@frozen
class Use:
    """Another algorithm's resolved policy, under a name: `key` gives that algorithm's key fields."""

    name: str
    algorithm: str
    key: tuple[tuple[str, Expr], ...]
    location: Location = field(eq=False)


@frozen
class Declarations:
    """What one algorithm declares beyond the vocabulary and another may include."""

    enumerations: Mapping[str, Enumeration]
    structs: Mapping[str, Struct]
    functions: Mapping[str, Function]
    tables: Mapping[str, Table]


@frozen
class Algorithm:
    """One algorithm: what selects a policy, what a policy is, and what its kernel needs.

    Attributes:
        engine: of a table of the engine: no selector of CUB's is behind it, all passes run on every target, and its
            own `rules` stand in for a reference's.
    """

    name: str
    title: str
    key: tuple[KeyField, ...]
    lets: tuple[Let, ...]
    uses: tuple[Use, ...]
    policy: Struct
    constraints: tuple[Constraint, ...]
    alternatives: tuple[Alternative, ...]
    neutrals: tuple[Neutral, ...]
    empty_block: EmptyBlock | None
    common: tuple[tuple[str, tuple[Any, ...]], ...]
    types: tuple[TypeParameter, ...]
    cub: CubBinding | None
    cpp: tuple[CppParameter, ...]
    kernels: tuple[Kernel, ...]
    tune: Tune | None
    derived: tuple[Derived, ...]
    engine: Engine | None
    scope: Scope = field(repr=False)
    domains: Domains = field(repr=False)
    lists: Mapping[str, ListType] = field(repr=False)
    declares: Declarations = field(repr=False)
    location: Location = field(eq=False, repr=False)
    rules: RuleSet | None = field(default=None, repr=False)

    def key_field(self, name: str) -> KeyField | None:
        """The key field of that name."""
        return next((f for f in self.key if f.name == name), None)


@frozen
class BlockRule:
    """A target's rule for the threads of a block.

    They are rounded down to a multiple of a fact's plausible values, and are at least one multiple.
    """

    multiple_of: str
    reason: str


@frozen
class Proxy:
    """The architecture that a chip's kernels are compiled for where no compiler knows the chip, and why that one."""

    target: str
    reason: str
    location: Location = field(eq=False)


@frozen
class Target:
    """A chip, or (with several capabilities) a family of them.

    Attributes:
        capabilities: packed compute capabilities of a family; empty for a chip, also for one that extends a family.
        architectures: those of them that one set of files answers for, chosen where they are used; empty where each
            architecture has files of its own.
        reference: name of the reference whose ladders answer where the target's own do not.
        reference_cc: the capability that reference ladders see; None for a family, where it is an input.
        passes: the passes of resolution that run.
        proxy: what stands for the chip where kernels are compiled; None for a chip that the compiler knows.
        devices: the names, exactly, under which drivers report this chip.
        features: feature name to the capabilities (inclusive) that have it, None for all; absent ones are missing.
        withheld: feature name to why it does not count as present.
    """

    name: str
    title: str
    capabilities: tuple[int, ...]
    architectures: tuple[int, ...]
    reference: str
    reference_cc: int | None
    passes: tuple[str, ...]
    proxy: Proxy | None
    devices: tuple[str, ...]
    facts: Mapping[str, Fact] = field(repr=False)
    features: Mapping[str, Interval | None] = field(repr=False)
    withheld: Mapping[str, str] = field(repr=False)
    block_rule: BlockRule | None
    rules: Mapping[str, RuleSet] = field(repr=False)
    location: Location = field(eq=False, repr=False)

    @property
    def is_family(self) -> bool:
        """Whether it stands for several architectures; else it is one chip."""
        return self.reference_cc is None


@frozen
class Shape:
    """A number of the model that an engine serves: hidden size, experts, tokens."""

    value: int
    unit: str
    doc: str
    location: Location = field(eq=False, repr=False)


@frozen
class Vocabulary:
    """What every algorithm shares."""

    enumerations: Mapping[str, Enumeration]
    structs: Mapping[str, Struct]
    features: Mapping[str, str]
    scope: Scope


@frozen
class Spec:
    """Everything that a project's spec files say.

    Attributes:
        algorithms: CUB's, by name.
        engine: tables of an inference engine, by name: `attention.decode`.
        shapes: the numbers of the model that the engine serves.
    """

    vocabulary: Vocabulary
    algorithms: Mapping[str, Algorithm]
    references: Mapping[str, Mapping[str, RuleSet]]
    targets: Mapping[str, Target]
    engine: Mapping[str, Algorithm] = field(factory=dict)
    shapes: Mapping[str, Shape] = field(factory=dict)

    def described(self, name: str) -> Algorithm:
        """The algorithm, or the table of the engine, of that name. Raises KeyError."""
        found = self.algorithms.get(name)
        return self.engine[name] if found is None else found

    def with_described(self, algorithm: Algorithm) -> Spec:
        """The spec with another algorithm or table under a name that it has."""
        if algorithm.engine is None:
            return evolve(self, algorithms={**self.algorithms, algorithm.name: algorithm})
        return evolve(self, engine={**self.engine, algorithm.name: algorithm})
