"""Sub-policies as written, layer over layer: a ladder's base, the points that a point extends, the point itself.

A later layer overrides an earlier one field by field. Each value remembers where it was written.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

from attrs import Factory
from attrs import define
from attrs import frozen

from policygen.loading.collector import Collector
from policygen.loading.toml_positions import KeyPath
from policygen.model.problems import did_you_mean
from policygen.model.types import RecordType
from policygen.model.types import Role
from policygen.model.types import Struct

_FORMS = ("nominal", "literal", "copy")
_SCALED = (Role.THREADS, Role.ITEMS)


@frozen
class Written:
    """A value and the key path it was written at."""

    value: Any
    path: KeyPath


@define
class Layered:
    """One sub-policy after all layers.

    `beneath` is what layers said before one of them copied a sub-policy: it holds for the fields that the copied one
    does not have.
    """

    fields: dict[str, Written] = Factory(dict)
    records: dict[str, Layered] = Factory(dict)
    form: str = ""
    counts: dict[str, Written] = Factory(dict)
    copy: Written | None = None
    scale: Written | None = None
    beneath: Layered | None = None

    @property
    def is_set(self) -> bool:
        """Whether any layer says anything of this sub-policy."""
        return bool(self.fields or self.counts or self.copy or any(r.is_set for r in self.records.values()))


def apply_layer(
    collector: Collector,
    struct: Struct,
    into: Layered,
    table: Mapping[str, Any],
    path: KeyPath,
    beside: Collection[str] = (),
) -> None:
    """Overrides a sub-policy with what a table says; `beside` are valid keys that the table holds besides."""
    forms = [form for form in _FORMS if form in table]
    for form in forms:
        if into.form not in ("", form):
            # another way to give the counts replaces the earlier one as a whole
            into.counts, into.copy = {}, None
        if form != "nominal":
            # an earlier layer's rule was for its nominal counts
            into.scale = None
        _set_aside(into, form)
    if len(forms) > 1:
        collector.report((*path, forms[1]), f"counts are either {forms[0]} or {forms[1]}, not both")
    for key, value in table.items():
        at = (*path, key)
        if key in ("nominal", "literal"):
            into.form = key
            _counts(collector, struct, into, value, at)
        elif key == "copy":
            into.form, into.copy = key, Written(value, at)
        elif key == "scale":
            into.scale = Written(value, at)
        elif key not in struct.by_name:
            known = (*struct.by_name, *_FORMS, "scale", *beside)
            collector.report(at, f"{struct.name} has no such field{did_you_mean(key, known)}")
        else:
            _field(collector, struct, into, key, value, at)


def _set_aside(into: Layered, form: str) -> None:
    """Puts earlier fields beneath those that a copy brings, and back where a later layer copies nothing."""
    if form == "copy":
        earlier = into.beneath
        into.beneath = Layered(into.fields, into.records)
        if earlier is not None:
            into.beneath.fields = {**earlier.fields, **into.fields}
            into.beneath.records = {**earlier.records, **into.records}
        into.fields, into.records = {}, {}
    elif into.beneath is not None:
        into.fields = {**into.beneath.fields, **into.fields}
        into.records = {**into.beneath.records, **into.records}
        into.beneath = None


def _counts(collector: Collector, struct: Struct, into: Layered, value: Any, path: KeyPath) -> None:
    valid = [f.name for f in struct.fields if f.role in _SCALED]
    if not isinstance(value, dict):
        collector.report(path, f"expected counts such as {{ {valid[0] if valid else 'threads_per_block'} = 256 }}")
        return
    for name, count in value.items():
        if name not in valid:
            collector.report((*path, name), f"{struct.name} has no such count{did_you_mean(name, valid)}")
        else:
            into.counts[name] = Written(count, (*path, name))


def _field(collector: Collector, struct: Struct, into: Layered, key: str, value: Any, path: KeyPath) -> None:
    field = struct.by_name[key]
    if isinstance(field.type, RecordType):
        if not isinstance(value, dict):
            collector.report(path, f"expected a sub-policy, such as {{ nominal = {{ .. }} }}, not {value!r}")
            return
        apply_layer(collector, field.type.struct, into.records.setdefault(key, Layered()), value, path)
    elif isinstance(value, dict | list):
        collector.report(path, f"expected {field.type}, not a table or an array")
    elif field.role in _SCALED:
        collector.report(
            path, f"say whether this count is scaled: nominal = {{ {key} = .. }} or literal = {{ {key} = .. }}"
        )
    else:
        into.fields[key] = Written(value, path)
