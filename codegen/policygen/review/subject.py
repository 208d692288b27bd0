"""What is reviewed: a target, with the rules and the common policies of algorithms on it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from attrs import field
from attrs import frozen

from policygen.fold.table import PolicyTable
from policygen.fold.table import policy_table
from policygen.project import Project
from policygen.prove.evidence import Evidence
from policygen.resolve.instance import TargetInstance
from policygen.resolve.specialise import Rules
from policygen.review.upstream import Upstream
from policygen.review.weights import by_weight
from policygen.spec import Spec


@frozen
class Subject:
    """A target under review.

    Attributes:
        instance: the target as the command names it.
        rules: those of each algorithm under review, in the order of the engine's weights.
        tables: the policies of the common keys of all of these, and of the engine's tables.
        evidence: what the compiler said of their policies, where it was asked.
        engine: the rules of each table of the engine under review, in the same order.
        upstream: what CUB itself selects.
    """

    spec: Spec = field(repr=False)
    instance: TargetInstance
    rules: Mapping[str, Rules] = field(repr=False)
    tables: Mapping[str, PolicyTable] = field(repr=False)
    evidence: Mapping[str, Evidence] = field(repr=False)
    engine: Mapping[str, Rules] = field(repr=False)
    upstream: Upstream = field(repr=False)

    @property
    def all_rules(self) -> Mapping[str, Rules]:
        """The rules of algorithms and of tables of the engine."""
        return {**self.rules, **self.engine}


def subject(project: Project, target: str, names: Sequence[str], assumed: Mapping[str, str] | None = None) -> Subject:
    """Resolves the common keys of algorithms on a target.

    Args:
        project: where the specs are.
        target: in any spelling.
        names: of algorithms and of tables of the engine; tables count for a device alone, whose multiprocessors are
            known.
        assumed: hardware facts to take instead of the specs', such as {"nvcc": "13.4"}.

    Raises:
        UnknownTarget, UnknownAlgorithm, ValueError, SpecError: as `Project.resolver`.
    """
    instance = project.target(target, assumed)
    sm_count = instance.facts.get("sm_count")
    device = sm_count is not None and sm_count.value is not None
    names = sorted((name for name in names if device or name not in project.spec.engine), key=by_weight)
    every = {name: project.resolver(target, name, assumed) for name in names}
    resolvers = {name: resolver for name, resolver in every.items() if name in project.spec.algorithms}
    evidence = {name: found for name in resolvers if (found := project.evidence(instance.name, name)) is not None}
    return Subject(
        spec=project.spec,
        instance=instance,
        rules={name: resolver.rules for name, resolver in resolvers.items()},
        tables={name: policy_table(resolver) for name, resolver in every.items()},
        evidence=evidence,
        engine={name: resolver.rules for name, resolver in every.items() if name not in resolvers},
        upstream=Upstream(project),
    )
