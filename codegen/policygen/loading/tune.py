"""Reading `[tune]` of an algorithm: what `cuda::execution::tune` takes, and how CUB deduces the key from types."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from attrs import Factory
from attrs import frozen

from policygen.lang.tree import Scope
from policygen.loading.collector import Collector
from policygen.loading.cpp_text import checked_name
from policygen.loading.cpp_text import checked_text
from policygen.loading.toml_positions import KeyPath
from policygen.model.problems import did_you_mean
from policygen.model.types import BOOL
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.spec import CubBinding
from policygen.spec import KeyField
from policygen.tune import SELECTOR
from policygen.tune import NotBuilt
from policygen.tune import Path
from policygen.tune import TemplateParameter
from policygen.tune import Tune
from policygen.tune import TuneCall
from policygen.tune import TuneForm


@frozen
class ParameterDocument:
    """A template parameter; a text alone is its kind."""

    kind: str
    default: str = ""
    unpack: str = ""


@frozen
class FormDocument:
    """`[[tune.form]]`."""

    name: str
    policy: str
    leaves: list[str] = Factory(list)
    spelled: dict[str, str] = Factory(dict)


@frozen
class CallDocument:
    """`[[tune.call]]`."""

    calls: str
    parameters: dict[str, Any]
    arguments: dict[str, str] = Factory(dict)
    name: str = "selector_for"
    form: str = SELECTOR


@frozen
class NotBuiltDocument:
    """`[[tune.not_built]]`."""

    where: str
    policy: Any
    reason: str


@frozen
class TuneDocument:
    """`[tune]`."""

    upstream: str = "policy_selector_from_types"
    headers: list[str] = Factory(list)
    parameters: dict[str, Any] = Factory(dict)
    aliases: dict[str, str] = Factory(dict)
    gives: dict[str, str] = Factory(dict)
    form: list[FormDocument] = Factory(list)
    call: list[CallDocument] = Factory(list)
    not_built: list[NotBuiltDocument] = Factory(list)


def read_tune(
    collector: Collector, document: TuneDocument | None, cub: CubBinding | None, key: Sequence[KeyField], policy: Struct
) -> Tune | None:
    """Reads it; None where the algorithm has none, or where there is a problem with it."""
    if document is None:
        return None
    if cub is None:
        collector.report(("tune",), "says how CUB selects, but nothing says where CUB keeps it: add `cub = {..}`")
        return None
    return _TuneReader(collector, document, key, policy).read()


class _TuneReader:
    def __init__(self, collector: Collector, document: TuneDocument, key: Sequence[KeyField], policy: Struct) -> None:
        self.collector = collector
        self.document = document
        self.key = key
        self.policy = policy

    def read(self) -> Tune | None:
        document, before = self.document, len(self.collector.problems)
        parameters = self.parameters(("tune", "parameters"), document.parameters)
        if len(self.collector.problems) > before:
            return None
        known = [*names_of(parameters)]
        aliases = []
        for name, text in document.aliases.items():
            path: KeyPath = ("tune", "aliases", name)
            aliases.append((checked_name(self.collector, path, name), checked_text(self.collector, path, text, known)))
            known.append(name)
        forms = self.forms()
        return Tune(
            upstream=checked_name(self.collector, ("tune", "upstream"), document.upstream),
            headers=tuple(document.headers),
            parameters=parameters,
            aliases=tuple(aliases),
            gives=self.gives(known),
            forms=forms,
            calls=self.calls(parameters, forms),
            not_built=self.not_built(),
        )

    def parameters(self, at: KeyPath, documents: Mapping[str, Any]) -> tuple[TemplateParameter, ...]:
        found: list[TemplateParameter] = []
        for name, given in documents.items():
            path = (*at, name)
            document = (
                ParameterDocument(given)
                if isinstance(given, str)
                else self.collector.structured(path, given, ParameterDocument)
            )
            if document is None:
                continue
            checked_name(self.collector, path, name)
            checked_text(self.collector, path, document.kind, ())
            if document.default:
                checked_text(self.collector, (*path, "default"), document.default, names_of(found))
            parameter = TemplateParameter(name, document.kind, document.default, document.unpack)
            if parameter.unpack and parameter.pack is None:
                reason = "expected a type whose arguments are a pack, such as cuda::std::tuple<Iterators...>"
                self.collector.report((*path, "unpack"), reason)
            found.append(parameter)
        return tuple(found)

    def gives(self, known: Sequence[str]) -> tuple[tuple[str, str], ...]:
        fields = {f.name: f for f in self.key}
        for name, text in self.document.gives.items():
            path: KeyPath = ("tune", "gives", name)
            if name not in fields:
                self.collector.report(path, f"no key field{did_you_mean(name, tuple(fields))}")
            checked_text(self.collector, path, text, known)
        for field in self.key:
            if field.name not in self.document.gives and (not field.context or field.default is None):
                self.collector.report(("tune", "gives"), f"says nothing about {field.name}: write how CUB deduces it")
        return tuple(self.document.gives.items())

    def forms(self) -> tuple[TuneForm, ...]:
        found: list[TuneForm] = []
        for index, document in enumerate(self.document.form):
            path: KeyPath = ("tune", "form", index)
            checked_name(self.collector, (*path, "name"), document.name)
            checked_text(self.collector, (*path, "policy"), document.policy, ())
            for name in document.spelled:
                if name not in self.collector.enumerations:
                    hint = did_you_mean(name, tuple(self.collector.enumerations))
                    self.collector.report((*path, "spelled", name), f"unknown enumeration{hint}")
            leaves = [self.member((*path, "leaves", n), text) for n, text in enumerate(document.leaves)]
            found.append(TuneForm(document.name, document.policy, tuple(leaves), tuple(document.spelled.items())))
        return tuple(found)

    def member(self, path: KeyPath, text: str) -> Path:
        struct: Struct | None = self.policy
        for name in text.split("."):
            field = None if struct is None else struct.by_name.get(name)
            if field is None:
                known = () if struct is None else tuple(struct.by_name)
                self.collector.report(path, f'the policy has no field "{text}"{did_you_mean(name, known)}')
                break
            struct = field.type.struct if isinstance(field.type, RecordType) else None
        return tuple(text.split("."))

    def calls(self, selector: Sequence[TemplateParameter], forms: Sequence[TuneForm]) -> tuple[TuneCall, ...]:
        found: list[TuneCall] = []
        structs = (SELECTOR, *(form.name for form in forms))
        taken = {*structs}
        for index, document in enumerate(self.document.call):
            path: KeyPath = ("tune", "call", index)
            if checked_name(self.collector, (*path, "name"), document.name) in taken:
                self.collector.report((*path, "name"), f'"{document.name}" is taken already: choose another name')
            taken.add(document.name)
            if document.form not in structs:
                hint = did_you_mean(document.form, structs)
                self.collector.report((*path, "form"), f'unknown form "{document.form}"{hint}')
            parameters = self.parameters((*path, "parameters"), document.parameters)
            arguments = self.arguments((*path, "arguments"), document, selector, parameters)
            found.append(TuneCall(document.name, document.form, document.calls, parameters, arguments))
        return tuple(found)

    def arguments(
        self,
        path: KeyPath,
        document: CallDocument,
        selector: Sequence[TemplateParameter],
        parameters: Sequence[TemplateParameter],
    ) -> tuple[tuple[str, str], ...]:
        known = names_of(parameters)
        for name, text in document.arguments.items():
            if name not in (p.name for p in selector):
                hint = did_you_mean(name, [p.name for p in selector])
                self.collector.report((*path, name), f"no parameter of the selector{hint}")
            checked_text(self.collector, (*path, name), text, known)
        given = dict(document.arguments)
        for parameter in selector:
            if parameter.name in known:
                given.setdefault(parameter.name, parameter.name)
            if parameter.name not in given and not parameter.default:
                self.collector.report(path, f"says nothing about {parameter.name}, a parameter of the selector")
        return tuple((p.name, given[p.name]) for p in selector if p.name in given)

    def not_built(self) -> tuple[NotBuilt, ...]:
        found: list[NotBuilt] = []
        scope = Scope({f.name: f.type for f in self.policy.fields})
        for index, document in enumerate(self.document.not_built):
            path: KeyPath = ("tune", "not_built", index)
            policy = self.collector.expression((*path, "policy"), document.policy, scope, BOOL)
            if policy is not None:
                found.append(NotBuilt(document.where, policy, document.reason))
        return tuple(found)


def names_of(parameters: Iterable[TemplateParameter]) -> tuple[str, ...]:
    """The names that a text may use of some parameters: their own, and those of packs that they hold."""
    found: list[str] = []
    for parameter in parameters:
        found.append(parameter.name)
        if parameter.pack is not None:
            found.append(parameter.pack)
    return tuple(dict.fromkeys(found))
