"""From layered sub-policies to typed ones: every field gets an expression, the counts their kind, their rule a size."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from attrs import frozen

from policygen.lang.intervals import Domains
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Field
from policygen.lang.tree import Name
from policygen.lang.tree import Scope
from policygen.lang.tree import walk
from policygen.loading.collector import Collector
from policygen.loading.collector import field_paths
from policygen.loading.layers import Layered
from policygen.loading.layers import Written
from policygen.loading.toml_positions import KeyPath
from policygen.model.ranges import Interval
from policygen.model.types import INT32
from policygen.model.types import RecordType
from policygen.model.types import Role
from policygen.model.types import Struct
from policygen.model.types import StructField
from policygen.model.types import initial_value
from policygen.scaling import ScalingRule
from policygen.spec import Counts
from policygen.spec import Let
from policygen.spec import Scale
from policygen.spec import SubPolicy

_COUNTS = {"": Counts.NONE, "nominal": Counts.NOMINAL, "literal": Counts.LITERAL, "copy": Counts.RESOLVED}
_SIZES = Interval(1, 2**20)
_SCALED = (Role.THREADS, Role.ITEMS)


@frozen
class ScaleDocument:
    """`scale = { rule = .., by = .. }`."""

    rule: ScalingRule
    by: str


class RootScopes:
    """What each root field of a policy sees: the rules' names, and the root fields before it, resolved."""

    def __init__(self, policy: Struct, scope: Scope, domains: Domains, lets: Iterable[Let] = ()) -> None:
        """Prepares the scopes, once for all points of a file; `lets` are the names that are in scope."""
        self.policy = policy
        self.lets = {let.name: let.expr for let in lets}
        self.scopes = [scope]
        self.domains = [domains]
        for field in policy.fields:
            paths = field_paths("", (field,))
            self.scopes.append(self.scopes[-1].bind({field.name: field.type}))
            self.domains.append(self.domains[-1].with_paths({p.removeprefix("."): i for p, i in paths.items()}))


class SubPolicies:
    """Reads the sub-policies of one point."""

    def __init__(self, collector: Collector, scopes: RootScopes, where: KeyPath, whole: bool) -> None:
        """Sets the place up; where a layer had problems (it is not `whole`), missing fields are not reported."""
        self._whole = whole
        self._collector = collector
        self._scopes = scopes
        self._scope, self._domains = scopes.scopes[0], scopes.domains[0]
        self._where = where

    def read(self, layered: Layered) -> SubPolicy:
        """The root sub-policy."""
        return self._record(self._scopes.policy, layered, (), root=True)

    def _record(self, struct: Struct, layered: Layered, at: tuple[str, ...], root: bool = False) -> SubPolicy:
        if not layered.is_set and not root:
            return default_sub_policy(struct)
        source = self._copied(struct, layered)
        scale = self._scale(struct, layered, at)
        fields: list[tuple[str, Expr | SubPolicy]] = []
        for position, field in enumerate(struct.fields):
            if root:
                self._scope, self._domains = self._scopes.scopes[position], self._scopes.domains[position]
            fields.append((field.name, self._value(field, layered, at, source)))
        return SubPolicy(struct, _COUNTS[layered.form], scale, tuple(fields))

    def _value(
        self, field: StructField, layered: Layered, at: tuple[str, ...], source: Expr | None
    ) -> Expr | SubPolicy:
        copied = source is not None and field.name in _fields_of(source)
        beneath = Layered() if copied or layered.beneath is None else layered.beneath
        if isinstance(field.type, RecordType):
            written = layered.records.get(field.name) or beneath.records.get(field.name) or Layered()
            if not written.is_set and source is not None and copied:
                return _copy_of(Field(source, field.name, field.type), field.type.struct)
            return self._record(field.type.struct, written, (*at, field.name))
        written_value = (
            layered.counts.get(field.name) or layered.fields.get(field.name) or beneath.fields.get(field.name)
        )
        if written_value is not None:
            nominal = field.name in layered.counts and layered.form == "nominal"
            if nominal and isinstance(written_value.value, str) and self._is_resolved(field, written_value):
                return _default(field)
            within = field.interval
            if nominal and within is not None:
                within = Interval(1, within.high)
            found = self._collector.expression(
                written_value.path, written_value.value, self._scope, field.type, self._domains, within
            )
            return found if found is not None else _default(field)
        if source is not None and copied:
            return Field(source, field.name, field.type)
        optional = field.role is not None and layered.form in ("", "literal")
        if self._whole and field.default is None and not optional:
            name = ".".join((*at, field.name))
            self._collector.report(self._where, f"{name} is not set: set it here or in the ladder's base")
        return _default(field)

    def _is_resolved(self, field: StructField, written: Written) -> bool:
        """Whether a nominal count is made of resolved ones, which is reported."""
        before = len(self._collector.problems)
        expr = self._collector.expression(written.path, written.value, self._scope, field.type)
        if expr is None:
            del self._collector.problems[before:]  # reported where the count is read
            return False
        count = self._resolved_count(expr)
        if count is not None:
            self._collector.report(
                written.path,
                f"{count} is resolved, and would be scaled twice: "
                f'take it as it is, with literal = {{ {field.name} = .. }} or copy = ".."',
            )
        return count is not None

    def _resolved_count(self, expr: Expr) -> str | None:
        """The first count of a resolved policy that an expression is made of, lets included."""
        policy = self._scopes.policy.by_name
        for node in walk(expr):
            if isinstance(node, Field) and isinstance(node.base.type, RecordType):
                if node.base.type.struct.by_name[node.name].role in _SCALED:
                    return _dotted(node)
            elif isinstance(node, Name):
                if node.id in policy and policy[node.id].role in _SCALED:
                    return node.id
                if node.id in self._scopes.lets:
                    found = self._resolved_count(self._scopes.lets[node.id])
                    if found is not None:
                        return found
        return None

    def _copied(self, struct: Struct, layered: Layered) -> Expr | None:
        if layered.copy is None:
            return None
        path, text = layered.copy.path, layered.copy.value
        if not isinstance(text, str):
            self._collector.report(path, "expected the name of a sub-policy that stands before this one")
            return None
        source = self._collector.expression(path, text, self._scope)
        if source is None:
            return None
        if not isinstance(source.type, RecordType):
            self._collector.report(path, f"`{text}` is {source.type}, not a sub-policy")
            return None
        if not set(struct.by_name) & set(source.type.struct.by_name):
            self._collector.report(path, f"{source.type} and {struct.name} have no field in common")
        return source

    def _scale(self, struct: Struct, layered: Layered, at: tuple[str, ...]) -> Scale | None:
        name = ".".join(at) or struct.name
        if layered.form != "nominal":
            if layered.scale is not None and layered.form:
                kind = "literal" if layered.form == "literal" else "resolved"
                self._collector.report(layered.scale.path, f"{kind} counts are never scaled: leave the rule out")
            return None
        roles = {f.role: f.name for f in struct.fields if f.role is not None}
        for role in (Role.THREADS, Role.ITEMS):
            if self._whole and role in roles and roles[role] not in layered.counts:
                self._collector.report(self._where, f"{name} has nominal counts without {roles[role]}")
        if layered.scale is None:
            if self._whole:
                reason = f"{name} has nominal counts but no scale: say by which rule and size"
                self._collector.report(self._where, reason)
            return None
        path, value = layered.scale.path, layered.scale.value
        document = self._collector.structured(path, value, ScaleDocument)
        if document is None:
            return None
        by = self._collector.expression((*path, "by"), document.by, self._scope, INT32, self._domains, _SIZES)
        return None if by is None else Scale(document.rule, by)


def _dotted(expr: Expr) -> str:
    match expr:
        case Field():
            return f"{_dotted(expr.base)}.{expr.name}"
        case Name():
            return expr.id
        case _:
            return "(..)"


@cache
def default_sub_policy(struct: Struct) -> SubPolicy:
    """The value-initialised record, as a sub-policy that no point sets."""
    return SubPolicy(
        struct,
        Counts.NONE,
        None,
        tuple(
            (f.name, default_sub_policy(f.type.struct) if isinstance(f.type, RecordType) else _default(f))
            for f in struct.fields
        ),
    )


def _default(field: StructField) -> Const:
    value = initial_value(field)
    assert isinstance(value, int | bool | str)
    return Const(value, field.type)


def _fields_of(source: Expr) -> tuple[str, ...]:
    return tuple(source.type.struct.by_name) if isinstance(source.type, RecordType) else ()


def _copy_of(source: Expr, struct: Struct) -> SubPolicy:
    return SubPolicy(
        struct,
        Counts.RESOLVED,
        None,
        tuple(
            (
                f.name,
                _copy_of(Field(source, f.name, f.type), f.type.struct)
                if isinstance(f.type, RecordType)
                else Field(source, f.name, f.type),
            )
            for f in struct.fields
        ),
    )
