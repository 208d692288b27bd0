"""Proves a target: compiles the kernels of its policies and judges each."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from collections.abc import Sequence

from attrs import evolve
from attrs import frozen

from policygen.project import Project
from policygen.prove.cases import Cases
from policygen.prove.cases import PolicyCase
from policygen.prove.cases import Unproved
from policygen.prove.cases import cases
from policygen.prove.compiled import Compiler
from policygen.prove.compiled import compile_all
from policygen.prove.compiled import instances_of
from policygen.prove.compiler_report import Outcome
from policygen.prove.compiler_report import Resources
from policygen.prove.evidence import Evidence
from policygen.prove.evidence import PolicyEvidence
from policygen.prove.models import Models
from policygen.prove.nearest import nearest
from policygen.prove.translation_unit import Instance
from policygen.prove.verdicts import Verdict
from policygen.prove.verdicts import judged
from policygen.resolve.specialise import Rules
from policygen.resolve.specialise import rules_for
from policygen.workers import Progress


class NotProvable(ValueError):  # noqa: N818 - it says what the target is
    """No compiler makes kernels for a target; the message says what to do."""


@frozen
class Plan:
    """What is to be compiled for a target.

    Attributes:
        target: its name.
        architecture: what is compiled for, "sm_90".
        proxy: why another architecture stands for the target; empty for one that the compiler knows.
        cases: by algorithm.
        rules: the target's rules, by algorithm.
        models: the models of the architecture, by algorithm.
    """

    target: str
    architecture: str
    proxy: str
    cases: Mapping[str, Cases]
    rules: Mapping[str, Rules]
    models: Mapping[str, Models]

    @property
    def policies(self) -> tuple[PolicyCase, ...]:
        """All policies, in the order of the algorithms and their common keys."""
        return tuple(policy for each in self.cases.values() for policy in each.policies)

    @property
    def unproved(self) -> tuple[Unproved, ...]:
        """The common keys that nothing is compiled for."""
        return tuple(one for each in self.cases.values() for one in each.unproved)


@frozen
class Proof:
    """What the compiler says of the policies of a target.

    Attributes:
        verdicts: one a kernel.
        fits: of kernels that do not fit, what is to be lowered, by position among the verdicts.
        from_cache: kernels that were compiled before.
        sampled: policies that were left out for a sample.
    """

    plan: Plan
    verdicts: tuple[Verdict, ...]
    fits: Mapping[int, str]
    from_cache: int
    sampled: int

    @property
    def holds(self) -> bool:
        """Whether no kernel has a fault."""
        return not any(verdict.faults for verdict in self.verdicts)


def plan(project: Project, name: str, algorithms: Sequence[str]) -> Plan:
    """Says what is to be compiled for a target.

    Args:
        project: where the specs are.
        name: a chip or an architecture, in any spelling.
        algorithms: by name.

    Raises:
        UnknownTarget, SpecError: see `Project.target`.
        NotProvable: the target is a chip that no compiler knows, and it names no proxy.
    """
    instance = project.target(name)
    proxy = instance.target.proxy
    compiled_as = instance if proxy is None else project.target(proxy.target)
    capability = compiled_as.facts.get("compute_capability")
    if compiled_as.target.reference_cc is not None and (capability is None or capability.value is None):
        raise NotProvable(
            f"{instance.name}: no compiler for it is known; its spec may name an architecture that stands for it: "
            'proxy = { target = "sm_75", reason = "..." }'
        )
    spec = project.spec
    rules = {name: rules_for(spec, instance, name) for name in algorithms}
    return Plan(
        target=instance.name,
        architecture=f"sm_{compiled_as.cc}",
        proxy="" if proxy is None else f"{proxy.target} stands for {instance.name}: {proxy.reason}",
        cases={name: cases(project.resolver(instance.name, name)) for name in algorithms},
        rules=rules,
        models={name: Models(rules_for(spec, compiled_as, name)) for name in algorithms},
    )


def sample(policies: Sequence[PolicyCase], number: int) -> tuple[PolicyCase, ...]:
    """Some of the policies, in their order: the algorithms in turn, in each by the policies' ids.

    The same policies give the same sample, and a changed policy enters it by chance.
    """
    queues: dict[str, list[PolicyCase]] = {}
    for policy in sorted(policies, key=lambda policy: policy.id):
        queues.setdefault(policy.algorithm.name, []).append(policy)
    taken: set[str] = set()
    while queues and len(taken) < number:
        for name in sorted(queues):
            if len(taken) < number:
                taken.add(queues[name].pop(0).id)
            if not queues[name]:
                del queues[name]
    return tuple(policy for policy in policies if policy.id in taken)


def prove(
    made: Plan,
    policies: Sequence[PolicyCase],
    compiler: Compiler,
    known: Mapping[str, Evidence],
    *,
    accept_spills: bool = False,
    jobs: int | None = None,
    progress: Progress = lambda *_: None,
) -> Proof:
    """Compiles the kernels of some policies and judges them.

    Args:
        made: the plan of the target.
        policies: some of its policies.
        compiler: what compiles them.
        known: the evidence that there is, by algorithm.
        accept_spills: spills are known, whatever the evidence says.
        jobs: how many processes compile.
        progress: called before the first translation unit and after each.

    Raises:
        WorkerLost: one of the processes was killed.
    """
    instances = tuple(instances_of(policies))
    compiled = compile_all(instances, compiler, jobs=jobs, progress=progress)
    verdicts = tuple(
        judged(
            instance,
            outcome,
            made.models[instance.policy.algorithm.name].predicted(instance.policy, instance.kernel),
            known.get(instance.policy.algorithm.name),
            accept_spills=accept_spills,
        )
        for instance, outcome in zip(instances, compiled.outcomes, strict=True)
    )

    def compile_them(candidates: Sequence[Instance]) -> Sequence[Outcome]:
        return compile_all(candidates, compiler, jobs=1).outcomes

    fits: dict[int, str] = {}
    for number, verdict in enumerate(verdicts):
        if not verdict.fits:
            name = verdict.instance.policy.algorithm.name
            found = nearest(verdict, made.rules[name], made.models[name], compile_them)
            if found is not None:
                fits[number] = found
    return Proof(made, verdicts, fits, compiled.from_cache, len(made.policies) - len(policies))


def evidence_of(
    proof: Proof, algorithm: str, compiler: Compiler, known: Evidence | None, today: datetime.date
) -> Evidence:
    """The evidence that a proof gives for one algorithm; the date stays where nothing else has changed.

    Policies with a kernel that does not fit are left out: they are refused, not recorded.
    """
    policies: list[PolicyEvidence] = []
    by_policy: dict[str, list[Verdict]] = {}
    for verdict in proof.verdicts:
        if verdict.instance.policy.algorithm.name == algorithm:
            by_policy.setdefault(verdict.instance.policy.id, []).append(verdict)
    for policy_id, verdicts in by_policy.items():
        case = verdicts[0].instance.policy
        figures = {
            verdict.instance.kernel.kernel.name: verdict.outcome
            for verdict in verdicts
            if isinstance(verdict.outcome, Resources)
        }
        if all(verdict.fits for verdict in verdicts):
            policies.append(PolicyEvidence(policy_id, case.point, dict(case.given), figures))
    found = Evidence(
        target=proof.plan.target,
        algorithm=algorithm,
        architecture=compiler.architecture,
        nvcc=compiler.toolchain.nvcc_version,
        cccl=compiler.toolchain.cccl_version,
        date=today,
        policies=tuple(policies),
    )
    return found if known is None or evolve(found, date=known.date) != known else known
