"""Reading `specs/algorithms/*.toml`: the key, the policy struct, and what the kernel needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from policygen.lang.intervals import Domains
from policygen.lang.parse import parse
from policygen.lang.tree import Choose
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Name
from policygen.lang.tree import Scope
from policygen.lang.tree import free_names
from policygen.loading import definitions
from policygen.loading.algorithm_documents import AlgorithmDocument
from policygen.loading.algorithm_documents import ElementDocument
from policygen.loading.algorithm_documents import KeyDocument
from policygen.loading.algorithm_documents import UseDocument
from policygen.loading.collector import Collector
from policygen.loading.collector import field_paths
from policygen.loading.engine_tables import read_derived
from policygen.loading.engine_tables import read_engine
from policygen.loading.engine_tables import with_shapes
from policygen.loading.kernel_tables import cpp_parameters
from policygen.loading.kernel_tables import kernels
from policygen.loading.ladders import load_rules
from policygen.loading.needs import Needs
from policygen.loading.toml_positions import KeyPath
from policygen.loading.tune import read_tune
from policygen.model.fact_names import FACT_NAMES
from policygen.model.problems import did_you_mean
from policygen.model.ranges import Interval
from policygen.model.types import COMPUTE_CAPABILITY
from policygen.model.types import INT64
from policygen.model.types import TOOLKIT
from policygen.model.types import IntType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.model.types import StructField
from policygen.model.types import Type
from policygen.spec import Algorithm
from policygen.spec import CubBinding
from policygen.spec import Declarations
from policygen.spec import EmptyBlock
from policygen.spec import KeyField
from policygen.spec import Let
from policygen.spec import Shape
from policygen.spec import TypeParameter
from policygen.spec import Use
from policygen.spec import Vocabulary

NUM_ITEMS = "num_items"
UNKNOWN_ITEMS = -1
MOST_ITEMS = 2**62

_PROPERTIES = (
    *("type", "size", "alignment", "operator", "value", "iterator_info", "primitive", "trivially_copyable"),
    *("trivially_copy_constructible", "default_constructible", "trivially_relocatable"),
)
_TYPE_PARAMETER_KINDS = ("element", "elements", "operator", "value")

TARGET = RecordType(Struct("target", tuple(StructField(name, INT64) for name in FACT_NAMES)))
"""The facts of a target, as expressions see them: `target.warp_size`."""


def fact_paths() -> dict[str, Interval]:
    """What the facts can be: positive, and small enough for arithmetic in 64 bits."""
    return {f"target.{name}": Interval(1, 2**10 if name == "warp_size" else 2**31 - 1) for name in FACT_NAMES}


def ambient_names() -> dict[str, Type]:
    """The names that every rule may use beside the key: the target's facts, its capability and its compiler."""
    return {"target": TARGET, "cc": COMPUTE_CAPABILITY, "nvcc": TOOLKIT}


def load_algorithm(
    collector: Collector,
    vocabulary: Vocabulary,
    others: Mapping[str, Algorithm],
    shapes: Mapping[str, Shape] | None = None,
) -> Algorithm | None:
    """Reads an algorithm, or a table of the engine.

    Args:
        collector: the file; problems are added to it.
        vocabulary: what all algorithms share.
        others: algorithms that this one may build on.
        shapes: the model's numbers, for a table of the engine; None for an algorithm.

    Returns:
        The algorithm, or None if a problem stood in the way of building it.
    """
    data = collector.source.data if shapes is None else with_shapes(collector.source.data, shapes)
    document = collector.structured((), data, AlgorithmDocument)
    if document is None:
        return None
    if (document.engine is None) != (shapes is None):
        place = "[engine] is for specs/engine/" if shapes is None else "expected [engine]: what the table is for"
        collector.report((), place)
        return None
    algorithm = _AlgorithmReader(collector, vocabulary, others, document).read()
    if algorithm is None or algorithm.engine is None:
        return algorithm
    ladders = {"ladder": document.ladder}
    return evolve(algorithm, rules=load_rules(collector, algorithm, ladders, (), "engine", vocabulary.features))


class _AlgorithmReader:
    def __init__(
        self,
        collector: Collector,
        vocabulary: Vocabulary,
        others: Mapping[str, Algorithm],
        document: AlgorithmDocument,
    ) -> None:
        self.collector = collector
        self.vocabulary = vocabulary
        self.others = others
        self.document = document
        self.lists: dict[str, ListType] = {}

    def read(self) -> Algorithm | None:
        collector, document = self.collector, self.document
        outer = self.included(self.vocabulary.scope)
        definitions.declare(collector, collector.source.data)
        policy = collector.structs.get(document.policy.struct)
        if policy is None:
            hint = did_you_mean(document.policy.struct, tuple(collector.structs))
            collector.report(("policy", "struct"), f'unknown struct "{document.policy.struct}"{hint}')
        key = self.key()
        if policy is None or collector.problems:
            return None
        domains = key_domains(key)
        scope = outer.bind({f.name: f.type for f in key})
        scope = definitions.define(collector, scope, collector.source.data, self.lists)
        if document.engine is not None:
            scope, domains = scope.bind(ambient_names()), domains.with_paths(fact_paths())
        lets, scope, domains = definitions.lets(collector, ("let",), document.let, scope, domains)
        key = tuple(self.with_default(f, scope, domains) for f in key)
        self.refuse_circular_defaults(key, lets)
        declares = self.declares(scope)
        uses = tuple(u for n, d in document.use.items() if (u := self.use(n, d, scope, domains)) is not None)
        for use in uses:
            used = self.others[use.algorithm].policy
            scope = scope.bind({use.name: RecordType(used)})
            domains = domains.with_paths(field_paths(use.name, used.fields))
        rules_scope = scope.bind(ambient_names())
        rules_domains = domains.with_paths(fact_paths())
        needs = Needs(collector, policy, self.vocabulary.features, rules_scope, rules_domains)
        constraints = needs.constraints(document.constraint)
        parameters = cpp_parameters(collector, document.cpp, scope, self.lists)
        empty = document.empty_block
        derived = read_derived(collector, needs, policy, document.derived, constraints)
        return Algorithm(
            name=document.name,
            title=document.title,
            key=key,
            lets=lets,
            uses=uses,
            policy=policy,
            constraints=constraints,
            alternatives=needs.alternatives(document.alternative),
            neutrals=needs.neutrals(document.neutral),
            empty_block=None if empty is None else EmptyBlock(empty.items_per_thread, empty.reason),
            common=self.common(key),
            types=self.types(key),
            cub=self.cub(),
            cpp=parameters,
            kernels=kernels(needs, document.kernel, parameters, constraints),
            tune=read_tune(collector, document.tune, self.cub(), key, policy),
            derived=derived,
            engine=read_engine(collector, document.name, document.engine, tuple(self.vocabulary.features), key, policy),
            scope=rules_scope,
            domains=rules_domains,
            lists=dict(self.lists),
            declares=declares,
            location=collector.location(()),
        )

    def included(self, scope: Scope) -> Scope:
        """Takes over what the algorithms that this one includes or uses declare: their types, functions and tables."""
        named: dict[str, KeyPath] = {d.algorithm: ("use", n, "algorithm") for n, d in self.document.use.items()}
        named |= {name: ("include", position) for position, name in enumerate(self.document.include)}
        for name, path in named.items():
            other = self.others.get(name)
            if other is None:
                hint = did_you_mean(name, tuple(self.others))
                self.collector.report(path, f'unknown algorithm "{name}"{hint}')
                continue
            self.collector.enumerations |= other.declares.enumerations
            self.collector.structs |= other.declares.structs
            scope = Scope(
                scope.names, {**scope.functions, **other.declares.functions}, {**scope.tables, **other.declares.tables}
            )
        return scope

    def declares(self, scope: Scope) -> Declarations:
        common = self.vocabulary
        return Declarations(
            enumerations={n: e for n, e in self.collector.enumerations.items() if n not in common.enumerations},
            structs={n: s for n, s in self.collector.structs.items() if n not in common.structs},
            functions={n: f for n, f in scope.functions.items() if n not in common.scope.functions},
            tables={n: t for n, t in scope.tables.items() if n not in common.scope.tables},
        )

    def cub(self) -> CubBinding | None:
        cub = self.document.cub
        return None if cub is None else CubBinding(cub.header, cub.namespace, cub.policy)

    def key(self) -> tuple[KeyField, ...]:
        fields = [f for n, d in self.document.key.items() if (f := self.key_field(("key", n), n, d, False)) is not None]
        fields += [
            f for n, d in self.document.context.items() if (f := self.key_field(("context", n), n, d, True)) is not None
        ]
        for path, name in (("key", NUM_ITEMS), ("context", NUM_ITEMS)):
            if name in getattr(self.document, path):
                self.collector.report((path, name), "every key has num_items already; leave it out")
        items = KeyField(
            name=NUM_ITEMS,
            type=INT64,
            interval=Interval(UNKNOWN_ITEMS, MOST_ITEMS),
            values=None,
            element=(),
            default=parse(str(UNKNOWN_ITEMS), Scope()),
            doc="problem size; -1 where it is not known",
            context=True,
            unit="items",
            location=self.collector.location(()),
        )
        return (*fields, items)

    def key_field(self, path: KeyPath, name: str, document: KeyDocument, context: bool) -> KeyField | None:
        kind = self.collector.type_named((*path, "type"), document.type)
        if kind is None:
            return None
        element: tuple[KeyField, ...] = ()
        if isinstance(kind, RecordType):
            element = self.element(path, kind.struct, document)
            if document.max_length is not None:
                kind = ListType(kind, document.max_length)
                self.lists[name] = kind
        elif document.element or document.max_length is not None:
            self.collector.report(path, f"only records have elements, and {document.type} is none")
        return KeyField(
            name=name,
            type=kind,
            interval=self.domain(path, kind, document.range, document.values),
            values=None if document.values is None else tuple(document.values),
            element=element,
            default=None,
            doc=document.doc,
            context=context,
            unit=document.unit,
            location=self.collector.location(path),
        )

    def element(self, path: KeyPath, struct: Struct, document: KeyDocument) -> tuple[KeyField, ...]:
        for name in document.element:
            if name not in struct.by_name:
                hint = did_you_mean(name, tuple(struct.by_name))
                self.collector.report((*path, "element", name), f"{struct.name} has no such field{hint}")
        fields: list[KeyField] = []
        for field in struct.fields:
            at = (*path, "element", field.name)
            given = document.element.get(field.name, ElementDocument())
            default = None
            if given.default is not None:
                names = {f.name: f.type for f in struct.fields}
                default = self.collector.expression((*at, "default"), given.default, Scope(names), field.type)
            fields.append(
                KeyField(
                    name=field.name,
                    type=field.type,
                    interval=self.domain(at, field.type, given.range, given.values),
                    values=None if given.values is None else tuple(given.values),
                    element=(),
                    default=default,
                    doc=field.doc,
                    context=False,
                    unit=field.unit,
                    location=self.collector.location(at),
                )
            )
        return tuple(fields)

    def domain(self, path: KeyPath, kind: Type, bounds: list[int] | None, values: list[int] | None) -> Interval | None:
        if not isinstance(kind, IntType):
            if bounds is not None or values is not None:
                self.collector.report(path, f"only integers have a range or values, and this is {kind}")
            return None
        if (bounds is None) == (values is None):
            self.collector.report(path, "an integer declares its domain: range = [least, most] or values = [..]")
            return None
        if bounds is not None:
            return definitions.interval(self.collector, (*path, "range"), bounds)
        assert values is not None
        if not values:
            self.collector.report((*path, "values"), "expected at least one value")
            return None
        return Interval(min(values), max(values))

    def with_default(self, field: KeyField, scope: Scope, domains: Domains) -> KeyField:
        document = {**self.document.key, **self.document.context}.get(field.name)
        if document is None or document.default is None:
            return field
        path: KeyPath = ("context" if field.context else "key", field.name, "default")
        return evolve(field, default=self.collector.expression(path, document.default, scope, field.type, domains))

    def refuse_circular_defaults(self, key: tuple[KeyField, ...], lets: tuple[Let, ...]) -> None:
        needs = {let.name: free_names(let.expr) for let in lets}
        for field in key:
            needs[field.name] = free_names(field.default) if field.default is not None else frozenset()
        for field in key:
            seen: set[str] = set()
            open_names = set(needs[field.name])
            while open_names:
                name = open_names.pop()
                if name not in seen:
                    seen.add(name)
                    open_names |= needs.get(name, set())
            if field.name in seen:
                self.collector.report(
                    ("key", field.name, "default"), "the default refers to itself through other fields"
                )

    def use(self, name: str, document: UseDocument, scope: Scope, domains: Domains) -> Use | None:
        path: KeyPath = ("use", name)
        used = self.others[document.algorithm]
        if name in scope.names:
            self.collector.report(path, f"`{name}` is defined already; choose another name")
        fields = {f.name: f for f in used.key}
        found = []
        for given, value in document.key.items():
            if given not in fields:
                self.collector.report(
                    (*path, "key", given), f"no key field of {used.name}{did_you_mean(given, tuple(fields))}"
                )
                continue
            field = fields[given]
            expr = self.collector.expression((*path, "key", given), value, scope, field.type, domains, field.interval)
            if expr is None:
                continue
            if field.values is not None and not self.values_of(expr) <= {*field.values}:
                listed = ", ".join(map(str, field.values))
                self.collector.report(
                    (*path, "key", given), f"{used.name} allows {listed}: give one, or a key field of these values"
                )
            found.append((given, expr))
        missing = [f.name for f in used.key if f.default is None and f.name not in document.key]
        if missing:
            self.collector.report((*path, "key"), f"{used.name} needs {', '.join(missing)} too")
        return Use(name, document.algorithm, tuple(found), self.collector.location(path))

    def values_of(self, expr: Expr) -> set[object]:
        """All that an expression can be; the expression itself where that is not a few known values."""
        match expr:
            case Const():
                return {expr.value}
            case Choose():
                return self.values_of(expr.then) | self.values_of(expr.otherwise)
            case Name() if expr.id in self.document.key and (values := self.document.key[expr.id].values) is not None:
                return {*values}
            case _:
                return {expr}

    def common(self, key: tuple[KeyField, ...]) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        fields = {f.name: f for f in key}
        found: list[tuple[str, tuple[Any, ...]]] = []
        for name, value in self.document.common.items():
            path: KeyPath = ("common", name)
            if name not in fields:
                self.collector.report(path, f"no key field{did_you_mean(name, tuple(fields))}")
                continue
            if not isinstance(value, list):
                self.collector.report(path, "expected a list of values")
            elif isinstance(fields[name].type, ListType | RecordType):
                found.append((name, tuple(value)))
            else:
                checked = [definitions.constant(self.collector, path, v, fields[name].type) for v in value]
                found.append((name, tuple(v for v in checked if v is not None)))
        return tuple(found)

    def types(self, key: tuple[KeyField, ...]) -> tuple[TypeParameter, ...]:
        names = [f.name for f in key]
        for parameter, document in self.document.types.items():
            path: KeyPath = ("types", parameter)
            if document.kind not in _TYPE_PARAMETER_KINDS:
                hint = did_you_mean(document.kind, _TYPE_PARAMETER_KINDS)
                self.collector.report((*path, "kind"), f'unknown kind "{document.kind}"{hint}')
            for field, given in document.gives.items():
                if field not in names:
                    self.collector.report((*path, "gives", field), f"no key field{did_you_mean(field, names)}")
                if given not in _PROPERTIES:
                    hint = did_you_mean(given, _PROPERTIES)
                    self.collector.report((*path, "gives", field), f'unknown property "{given}"{hint}')
        return tuple(
            TypeParameter(name, d.python, d.kind, tuple(d.gives.items()), d.default)
            for name, d in self.document.types.items()
        )


def key_domains(key: tuple[KeyField, ...]) -> Domains:
    """The intervals of all integers of a key, by dotted path."""
    paths: dict[str, Interval] = {}
    for field in key:
        if field.interval is not None:
            paths[field.name] = field.interval
        prefix = field.name
        if isinstance(field.type, ListType):
            paths[f"len {field.name}"] = Interval(0, field.type.max_length)
            prefix += ".*"
        for part in field.element:
            if part.interval is not None:
                paths[f"{prefix}.{part.name}"] = part.interval
    return Domains(paths)
