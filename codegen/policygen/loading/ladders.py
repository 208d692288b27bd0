"""Reading ladders of points: a reference's file, or the part of a target's file that is about one algorithm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import Factory
from attrs import evolve
from attrs import fields as attrs_fields
from attrs import frozen

from policygen.lang.tree import TRUE
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Member
from policygen.lang.tree import Name
from policygen.lang.tree import Not
from policygen.lang.tree import conjunction
from policygen.loading import definitions
from policygen.loading.collector import Collector
from policygen.loading.collector import field_paths
from policygen.loading.layers import Layered
from policygen.loading.layers import apply_layer
from policygen.loading.quantities import QuantityError
from policygen.loading.quantities import parse_cc_range
from policygen.loading.quantities import parse_count_range
from policygen.loading.subpolicy import RootScopes
from policygen.loading.subpolicy import SubPolicies
from policygen.loading.toml_positions import KeyPath
from policygen.model.problems import did_you_mean
from policygen.model.ranges import Interval
from policygen.model.types import BOOL
from policygen.model.types import BoolType
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.model.types import Role
from policygen.model.types import Type
from policygen.spec import Algorithm
from policygen.spec import Counts
from policygen.spec import Ladder
from policygen.spec import Point
from policygen.spec import RuleSet
from policygen.spec import Status
from policygen.spec import SubPolicy

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@frozen
class PointDocument:
    """What a `[[ladder.point]]` says of itself; every other key of it is a field of the policy."""

    id: str
    cc: str | None = None
    num_items: str | None = None
    match: dict[str, Any] = Factory(dict)
    when: Any = True
    extends: str | None = None
    status: Status = Status.ACTIVE
    reason: str = ""
    benchmark: str = ""
    evidence: str = ""
    source: str = ""


@frozen
class LadderDocument:
    """`[[ladder]]`."""

    id: str
    point: list[dict[str, Any]]
    when: Any = True
    requires: list[str] = Factory(list)
    accept: Any = None
    base: dict[str, Any] = Factory(dict)


POINT_KEYS = frozenset(f.name for f in attrs_fields(PointDocument))


@frozen
class _WrittenPoint:
    document: PointDocument
    body: Mapping[str, Any]
    ladder: LadderDocument
    path: KeyPath
    base_path: KeyPath


def load_rules(
    collector: Collector,
    algorithm: Algorithm,
    table: Mapping[str, Any],
    path: KeyPath,
    origin: str,
    features: Mapping[str, str],
) -> RuleSet:
    """Reads the ladders of one algorithm.

    Args:
        collector: the file; problems are added to it.
        algorithm: the algorithm that they are about.
        table: holds `ladder`, and may hold `let`, `function` and `table`.
        path: key path of `table` in the file.
        origin: name of the reference or target, for reports.
        features: the features that a ladder may require.
    """
    return _RulesReader(collector, algorithm, table, path, origin, features).read()


class _RulesReader:
    def __init__(
        self,
        collector: Collector,
        algorithm: Algorithm,
        table: Mapping[str, Any],
        path: KeyPath,
        origin: str,
        features: Mapping[str, str],
    ) -> None:
        # the rules name the types that their algorithm declares; problems still go to the file's list
        self.collector = evolve(
            collector,
            enumerations={**collector.enumerations, **algorithm.declares.enumerations},
            structs={**collector.structs, **algorithm.declares.structs},
        )
        self.algorithm = algorithm
        self.table = table
        self.path = path
        self.origin = origin
        self.features = features
        self.points: dict[str, _WrittenPoint] = {}
        self.scope = algorithm.scope
        self.domains = algorithm.domains
        self.scopes = RootScopes(algorithm.policy, algorithm.scope, algorithm.domains)

    def read(self) -> RuleSet:
        self.scope = definitions.define(self.collector, self.scope, self.table, self.algorithm.lists)
        lets, self.scope, self.domains = definitions.lets(
            self.collector, (*self.path, "let"), self.table.get("let", {}), self.scope, self.domains
        )
        in_scope = (*self.algorithm.lets, *lets)
        self.scopes = RootScopes(self.algorithm.policy, self.scope, self.domains, in_scope)
        ladders = self.documents()
        return RuleSet(
            origin=self.origin,
            algorithm=self.algorithm.name,
            lets=lets,
            ladders=tuple(self.ladder(document, path) for document, path in ladders),
            location=self.collector.location(self.path),
        )

    def documents(self) -> list[tuple[LadderDocument, KeyPath]]:
        found: list[tuple[LadderDocument, KeyPath]] = []
        tables = self.table.get("ladder", [])
        if not isinstance(tables, list):
            self.collector.report((*self.path, "ladder"), "expected [[ladder]]")
            return found
        for index, table in enumerate(tables):
            path: KeyPath = (*self.path, "ladder", index)
            document = self.collector.structured(path, table, LadderDocument)
            if document is None:
                continue
            if any(document.id == other.id for other, _ in found):
                self.collector.report((*path, "id"), f'"{document.id}" is the id of an earlier ladder')
            found.append((document, path))
            for number, body in enumerate(document.point):
                self.written(document, path, body, (*path, "point", number))
        return found

    def written(self, ladder: LadderDocument, ladder_path: KeyPath, table: Mapping[str, Any], path: KeyPath) -> None:
        about = {key: value for key, value in table.items() if key in POINT_KEYS}
        body = {key: value for key, value in table.items() if key not in POINT_KEYS}
        document = self.collector.structured(path, about, PointDocument)
        if document is None:
            return
        if not _ID.fullmatch(document.id):
            self.collector.report((*path, "id"), f'"{document.id}" is no id: letters, digits, - _ and . only')
        elif document.id in self.points:
            first = self.collector.location(self.points[document.id].path)
            self.collector.report((*path, "id"), f'"{document.id}" is the id of another point already, at {first}')
        else:
            self.points[document.id] = _WrittenPoint(document, body, ladder, path, (*ladder_path, "base"))

    def ladder(self, document: LadderDocument, path: KeyPath) -> Ladder:
        for position, feature in enumerate(document.requires):
            if feature not in self.features:
                hint = did_you_mean(feature, tuple(self.features))
                self.collector.report((*path, "requires", position), f'unknown feature "{feature}"{hint}')
        when = self.collector.expression((*path, "when"), document.when, self.scope, BOOL, self.domains)
        accept = None
        if document.accept is not None:
            fields = self.algorithm.policy.fields
            scope = self.scope.bind({f.name: f.type for f in fields})
            paths = {p.removeprefix("."): i for p, i in field_paths("", fields).items()}
            domains = self.domains.with_paths(paths)
            accept = self.collector.expression((*path, "accept"), document.accept, scope, BOOL, domains)
        mine = [p for p in self.points.values() if p.ladder is document]
        return Ladder(
            id=document.id,
            origin=self.origin,
            when=when if when is not None else TRUE,
            requires=tuple(document.requires),
            points=tuple(self.point(p) for p in mine),
            accept=accept,
            location=self.collector.location(path),
        )

    def point(self, written: _WrittenPoint) -> Point:
        document, path = written.document, written.path
        layered = Layered()
        # what follows from the other fields is computed last, in place of these
        initial = self.algorithm.policy.initial()
        derived = {d.name: initial[d.name] for d in self.algorithm.derived}
        apply_layer(self.collector, self.algorithm.policy, layered, derived, path)
        before = len(self.collector.problems)
        for layer, layer_path in self.layers(written):
            for follows in self.algorithm.derived:
                if follows.name in layer:
                    reason = f"follows from the others ({follows.location}); leave it out"
                    self.collector.report((*layer_path, follows.name), reason)
            beside = () if layer_path[-1] == "base" else sorted(POINT_KEYS)
            apply_layer(self.collector, self.algorithm.policy, layered, layer, layer_path, beside)
        whole = len(self.collector.problems) == before
        if document.status is not Status.ACTIVE and not document.reason:
            self.collector.report((*path, "status"), f"a point that is {document.status.value} needs a reason")
        reader = SubPolicies(self.collector, self.scopes, path, whole)
        policy = reader.read(layered)
        if not self.is_reference:
            self.refuse_ragged_vectors(policy, path, ())
        return Point(
            id=document.id,
            cc=self.range_of((*path, "cc"), document.cc, parse_cc_range),
            num_items=self.range_of((*path, "num_items"), document.num_items, parse_count_range),
            when=self.condition(document, path),
            policy=policy,
            status=document.status,
            reason=document.reason,
            benchmark=document.benchmark,
            evidence=document.evidence,
            source=document.source,
            location=self.collector.location(path),
        )

    @property
    def is_reference(self) -> bool:
        return self.path == ()

    def layers(self, written: _WrittenPoint) -> list[tuple[Mapping[str, Any], KeyPath]]:
        chain = [written]
        while (parent := chain[-1].document.extends) is not None:
            path = (*chain[-1].path, "extends")
            if parent not in self.points:
                hint = did_you_mean(parent, tuple(self.points))
                self.collector.report(path, f'unknown point "{parent}"{hint}')
                break
            if self.points[parent] in chain:
                names = " -> ".join([*(p.document.id for p in chain), parent])
                self.collector.report((*written.path, "extends"), f"the points extend each other: {names}")
                break
            chain.append(self.points[parent])
        layers: list[tuple[Mapping[str, Any], KeyPath]] = []
        for point in reversed(chain):
            if not any(path == point.base_path for _, path in layers):
                layers.append((point.ladder.base, point.base_path))
            layers.append((point.body, point.path))
        return layers

    def range_of(self, path: KeyPath, text: str | None, parse: Any) -> Interval | None:
        if text is None:
            return None
        try:
            return Interval(*parse(text))
        except QuantityError as error:
            self.collector.report(path, str(error))
            return None

    def condition(self, document: PointDocument, path: KeyPath) -> Expr:
        conditions: list[Expr] = []
        for name, value in document.match.items():
            condition = self.matched((*path, "match", name), name, value)
            if condition is not None:
                conditions.append(condition)
        when = self.collector.expression((*path, "when"), document.when, self.scope, BOOL, self.domains)
        if when is not None and when != TRUE:
            conditions.append(when)
        return conjunction(conditions)

    def matched(self, path: KeyPath, name: str, value: Any) -> Expr | None:
        if name not in self.scope.names or not _matchable(self.scope.names[name]):
            known = tuple(n for n, t in self.scope.names.items() if _matchable(t))
            self.collector.report(path, f"no key field or let name{did_you_mean(name, known)}")
            return None
        kind = self.scope.names[name]
        values = value if isinstance(value, list) else [value]
        if not values:
            self.collector.report(path, "expected a value, or a list of values any of which matches")
            return None
        checked = [definitions.constant(self.collector, path, v, kind) for v in values]
        if None in checked:
            return None
        field = self.algorithm.key_field(name)
        for v in checked:
            if field is not None and field.interval is not None and not _possible(field.interval, field.values, v):
                domain = ", ".join(map(str, field.values)) if field.values else str(field.interval)
                self.collector.report(path, f"{v} is outside the domain of {name} ({domain}), so this never matches")
        operand = Name(name, kind)
        if isinstance(kind, BoolType):
            return operand if checked == [True] else Not(operand) if checked == [False] else TRUE
        if isinstance(kind, EnumType):
            names = [n for v in checked for n in kind.enumeration.covered_by(str(v))]
            return Member(operand, tuple(dict.fromkeys(names)))
        return Member(operand, tuple(dict.fromkeys(v for v in checked if v is not None)))

    def refuse_ragged_vectors(self, policy: SubPolicy, path: KeyPath, at: tuple[str, ...]) -> None:
        values = {}
        for field, (name, value) in zip(policy.struct.fields, policy.fields, strict=True):
            if isinstance(value, SubPolicy):
                self.refuse_ragged_vectors(value, (*path, name), (*at, name))
            elif field.role is not None and isinstance(value, Const):
                values[field.role] = int(value.value)
        items, vector = values.get(Role.ITEMS), values.get(Role.VECTOR)
        if policy.counts is Counts.LITERAL and items and vector and items % vector:
            self.collector.report(
                path, f"vec_size {vector} does not divide {items} items: the vectorised path is never taken"
            )


def _matchable(kind: Type) -> bool:
    return isinstance(kind, BoolType | EnumType | IntType)


def _possible(interval: Interval, values: tuple[int, ...] | None, value: object) -> bool:
    if not isinstance(value, int):
        return True
    return value in values if values is not None else interval.low <= value <= interval.high
