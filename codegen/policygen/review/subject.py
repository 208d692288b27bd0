"""What is reviewed: a target, with the rules and the common policies of algorithms on it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from attrs import frozen

from policygen.fold.table import PolicyTable
from policygen.fold.table import policy_table
from policygen.project import Project
from policygen.prove.evidence import Evidence
from policygen.resolve.instance import TargetInstance
from policygen.resolve.specialise import Rules
from policygen.spec import Spec


@frozen
class Subject:
    """A target under review.

    Attributes:
        instance: the target as the command names it.
        rules: those of each algorithm under review, in the order of the specs.
        tables: the policies of their common keys.
        evidence: what the compiler said of their policies, where it was asked.
    """

    spec: Spec
    instance: TargetInstance
    rules: Mapping[str, Rules]
    tables: Mapping[str, PolicyTable]
    evidence: Mapping[str, Evidence]


def subject(
    project: Project, target: str, algorithms: Sequence[str], assumed: Mapping[str, str] | None = None
) -> Subject:
    """Resolves the common keys of algorithms on a target.

    Args:
        project: where the specs are.
        target: in any spelling.
        algorithms: names of algorithms.
        assumed: hardware facts to take instead of the specs', such as {"nvcc": "13.4"}.

    Raises:
        UnknownTarget, UnknownAlgorithm, ValueError, SpecError: as `Project.resolver`.
    """
    resolvers = {name: project.resolver(target, name, assumed) for name in algorithms}
    instance = project.target(target, assumed)
    evidence = {name: found for name in algorithms if (found := project.evidence(instance.name, name)) is not None}
    return Subject(
        spec=project.spec,
        instance=instance,
        rules={name: resolver.rules for name, resolver in resolvers.items()},
        tables={name: policy_table(resolver) for name, resolver in resolvers.items()},
        evidence=evidence,
    )
