"""Reading `specs/targets/*.toml`: facts, features, the target's own ladders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory
from attrs import evolve
from attrs import frozen

from policygen.loading.collector import Collector
from policygen.loading.fact_documents import facts_from_document
from policygen.loading.ladders import load_rules
from policygen.loading.quantities import QuantityError
from policygen.loading.quantities import parse_cc_range
from policygen.loading.quantities import parse_compute_capability
from policygen.loading.toml_positions import KeyPath
from policygen.model.capabilities import HIGHEST_CAPABILITY
from policygen.model.capabilities import LOWEST_CAPABILITY
from policygen.model.fact_names import FACT_NAMES
from policygen.model.facts import Fact
from policygen.model.problems import SpecError
from policygen.model.problems import did_you_mean
from policygen.model.ranges import Interval
from policygen.resolve.facts import extend
from policygen.spec import Algorithm
from policygen.spec import BlockRule
from policygen.spec import Proxy
from policygen.spec import RuleSet
from policygen.spec import Target
from policygen.spec import Vocabulary

PASSES = ("select", "scale", "adapt", "constrain", "canonicalise")
_ALWAYS = Interval(LOWEST_CAPABILITY, HIGHEST_CAPABILITY)


@frozen
class ReferenceDocument:
    """`[reference]`: whose ladders answer where the target's own do not, and as which capability it reads them."""

    name: str
    cc: str | None = None


@frozen
class BlockDocument:
    """`[block]`."""

    multiple_of: str
    reason: str


@frozen
class ProxyDocument:
    """`proxy = {..}`."""

    target: str
    reason: str


@frozen
class TargetDocument:
    """A whole file."""

    name: str
    title: str = ""
    extends: str | None = None
    capabilities: list[str] = Factory(list)
    architectures: list[str] = Factory(list)
    reference: ReferenceDocument | None = None
    passes: list[str] | None = None
    proxy: ProxyDocument | None = None
    devices: list[str] = Factory(list)
    features: dict[str, Any] = Factory(dict)
    block: BlockDocument | None = None
    fact: dict[str, Any] = Factory(dict)
    rules: dict[str, Any] = Factory(dict)


def load_target(
    collector: Collector,
    vocabulary: Vocabulary,
    algorithms: Mapping[str, Algorithm],
    references: Mapping[str, Mapping[str, RuleSet]],
    parents: Mapping[str, Target],
) -> Target | None:
    """Reads a target; the one it extends is among `parents`. None if a problem stood in the way."""
    document = collector.structured((), collector.source.data, TargetDocument)
    if document is None:
        return None
    parent: Target | None = None
    if document.extends is not None:
        parent = parents.get(document.extends)
        if parent is None:
            hint = did_you_mean(document.extends, tuple(parents))
            collector.report(("extends",), f'unknown target "{document.extends}"{hint}')
    reader = _TargetReader(collector, vocabulary, algorithms, references, document, parent)
    return reader.read()


class _TargetReader:
    def __init__(
        self,
        collector: Collector,
        vocabulary: Vocabulary,
        algorithms: Mapping[str, Algorithm],
        references: Mapping[str, Mapping[str, RuleSet]],
        document: TargetDocument,
        parent: Target | None,
    ) -> None:
        self.collector = collector
        self.vocabulary = vocabulary
        self.algorithms = algorithms
        self.references = references
        self.document = document
        self.parent = parent

    def read(self) -> Target:
        document, parent = self.document, self.parent
        features, withheld = self.features()
        reference, reference_cc = self.reference()
        return Target(
            name=document.name,
            title=document.title or (parent.title if parent else document.name),
            capabilities=self.capabilities(is_chip=reference_cc is not None),
            architectures=self.architectures(),
            reference=reference,
            reference_cc=reference_cc,
            passes=self.passes(),
            proxy=self.proxy(),
            devices=tuple(document.devices),
            facts=self.facts(),
            features=features,
            withheld=withheld,
            block_rule=self.block_rule(),
            rules=self.rules(),
            location=self.collector.location(()),
        )

    def proxy(self) -> Proxy | None:
        document = self.document.proxy
        if document is None:
            return None if self.parent is None else self.parent.proxy
        return Proxy(document.target, document.reason, self.collector.location(("proxy",)))

    def capabilities(self, *, is_chip: bool) -> tuple[int, ...]:
        given = self.document.capabilities
        if is_chip and given:
            reason = "a family has several, and this is one chip: [reference] says as which capability it reads ladders"
            self.collector.report(("capabilities",), f"{reason}; drop one of the two")
        if is_chip or not given:
            return () if is_chip or self.parent is None else self.parent.capabilities
        found = []
        for position, text in enumerate(given):
            try:
                found.append(parse_compute_capability(text))
            except QuantityError as error:
                self.collector.report(("capabilities", position), str(error))
        return tuple(sorted(set(found)))

    def architectures(self) -> tuple[int, ...]:
        found = []
        for position, text in enumerate(self.document.architectures):
            try:
                found.append(parse_compute_capability(text))
            except QuantityError as error:
                self.collector.report(("architectures", position), str(error))
        if found and (self.parent is None or not self.parent.is_family):
            self.collector.report(("architectures",), "expected a target that extends a family of architectures")
        return tuple(sorted(set(found)))

    def reference(self) -> tuple[str, int | None]:
        document = self.document.reference
        if document is None:
            if self.parent is None:
                self.collector.report((), "expected [reference] with the name of a reference, such as cccl-3.5")
                return "", None
            return self.parent.reference, self.parent.reference_cc
        if document.name not in self.references:
            hint = did_you_mean(document.name, tuple(self.references))
            self.collector.report(("reference", "name"), f'unknown reference "{document.name}"{hint}')
        cc = None
        if document.cc is not None:
            try:
                cc = parse_compute_capability(document.cc)
            except QuantityError as error:
                self.collector.report(("reference", "cc"), str(error))
        elif not self.document.capabilities:
            self.collector.report(("reference",), "expected cc: the capability as which this target reads the ladders")
        return document.name, cc

    def passes(self) -> tuple[str, ...]:
        given = self.document.passes
        if given is None:
            return self.parent.passes if self.parent is not None else PASSES
        for position, name in enumerate(given):
            if name not in PASSES:
                self.collector.report(("passes", position), f'unknown pass "{name}"{did_you_mean(name, PASSES)}')
        return tuple(name for name in PASSES if name in given)

    def facts(self) -> Mapping[str, Fact]:
        facts, problems = facts_from_document(self.collector.source, self.document.fact)
        self.collector.problems += problems
        if self.parent is None:
            return facts
        try:
            return extend(self.parent.facts, facts)
        except SpecError as error:
            self.collector.problems += error.problems
            return facts

    def features(self) -> tuple[dict[str, Interval | None], dict[str, str]]:
        features = dict(self.parent.features) if self.parent is not None else {}
        withheld = dict(self.parent.withheld) if self.parent is not None else {}
        for name, value in self.document.features.items():
            path: KeyPath = ("features", name)
            withheld.pop(name, None)  # the parent's word does not outlast another one
            if name not in self.vocabulary.features:
                hint = did_you_mean(name, tuple(self.vocabulary.features))
                self.collector.report(path, f"unknown feature{hint}")
            elif isinstance(value, bool):
                features.pop(name, None)
                if value:
                    features[name] = None
            elif isinstance(value, dict) and set(value) == {"withheld"} and isinstance(value["withheld"], str):
                features.pop(name, None)
                withheld[name] = value["withheld"]
            elif isinstance(value, str):
                try:
                    features[name] = Interval(*parse_cc_range(value))
                except QuantityError as error:
                    self.collector.report(path, str(error))
            else:
                self.collector.report(
                    path,
                    'expected true, false, capabilities such as ">=9.0", or { withheld = "why it does not count" }',
                )
        if self.parent is None:
            for name in self.vocabulary.features:
                if name not in self.document.features:
                    self.collector.report(("features",), f"says nothing about {name}: write {name} = true or false")
        return features, withheld

    def block_rule(self) -> BlockRule | None:
        document = self.document.block
        if document is None:
            return self.parent.block_rule if self.parent is not None else None
        if document.multiple_of not in FACT_NAMES:
            hint = did_you_mean(document.multiple_of, tuple(FACT_NAMES))
            self.collector.report(("block", "multiple_of"), f'unknown fact "{document.multiple_of}"{hint}')
        return BlockRule(document.multiple_of, document.reason)

    def rules(self) -> Mapping[str, RuleSet]:
        found = dict(self.parent.rules) if self.parent is not None else {}
        for name, table in self.document.rules.items():
            path: KeyPath = ("rules", name)
            if name not in self.algorithms:
                hint = did_you_mean(name, tuple(self.algorithms))
                self.collector.report(path, f"unknown algorithm{hint}")
                continue
            own = load_rules(
                self.collector, self.algorithms[name], table, path, self.document.name, self.vocabulary.features
            )
            inherited = found.get(name)
            found[name] = (
                own
                if inherited is None
                else evolve(own, ladders=(*own.ladders, *inherited.ladders), lets=(*own.lets, *inherited.lets))
            )
        return found


def present(target: Target, feature: str, cc: int) -> bool:
    """Whether a target has a feature, at a capability."""
    if feature not in target.features:
        return False
    capabilities = target.features[feature] or _ALWAYS
    return capabilities.low <= cc <= capabilities.high
