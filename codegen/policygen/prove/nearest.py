"""The nearest policy that fits, where one does not: counts are lowered until the compiler agrees."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final
from typing import TypeAlias

from policygen.model.record import Record
from policygen.prove.cases import CaseMaker
from policygen.prove.compiler_report import Outcome
from policygen.prove.compiler_report import Resources
from policygen.prove.models import Models
from policygen.prove.translation_unit import Instance
from policygen.prove.verdicts import Fault
from policygen.prove.verdicts import Verdict
from policygen.resolve.candidate import replaced
from policygen.resolve.candidate import value_at
from policygen.resolve.passes import shrink_step
from policygen.resolve.specialise import Rules
from policygen.spec import Path

Compile: TypeAlias = Callable[[Sequence[Instance]], Sequence[Outcome]]
"""Compiles instances; outcomes in their order."""

_AT_ONCE: Final = 8
_MOST: Final = 32
"""Candidates that are compiled together, and in all: a policy that far away is another policy."""


def nearest(verdict: Verdict, rules: Rules, models: Models, compile_them: Compile) -> str | None:
    """Says what is to be lowered by how much so that a kernel fits.

    Counts are lowered as the constraint behind the kernel lowers them. Where the model says that a candidate does not
    fit it is not compiled.

    Args:
        verdict: of a kernel that does not fit.
        rules: the rules that its policy comes from.
        models: the spec's models, for the architecture that is compiled for.
        compile_them: the compiler.

    Returns:
        Such as "lookback.items_per_thread 24 -> 22"; None where nothing near fits, or nothing can be lowered.
    """
    maker = CaseMaker(rules)
    candidates = _candidates(verdict, rules, models, maker)
    tried = 0
    while tried < _MOST and (batch := [c for _, c in zip(range(_AT_ONCE), candidates, strict=False)]):
        tried += len(batch)
        for (told, _), outcome in zip(batch, compile_them([i for _, i in batch]), strict=True):
            if isinstance(outcome, Resources) and not (outcome.spills and _spilled(verdict)):
                return told
    return None


def _spilled(verdict: Verdict) -> bool:
    return any(fault is Fault.SPILLS for fault, _ in verdict.faults)


def _candidates(verdict: Verdict, rules: Rules, models: Models, maker: CaseMaker) -> Iterator[tuple[str, Instance]]:
    case, kernel = verdict.instance.policy, verdict.instance.kernel.kernel
    model = kernel.registers if _spilled(verdict) else kernel.shared
    for policy, told in _lowered(case.policy.as_dict(), _paths(rules, model), rules):
        variant = maker.variant(case, Record(policy))
        made = next((k for k in variant.kernels if k.kernel.name == kernel.name), None)
        if made is None:
            continue
        if not _spilled(verdict):
            need = models.predicted(variant, made).shared
            limit = models.static_limit
            if need is not None and limit is not None and need > limit:
                continue
        yield told, Instance(variant, made)


def _paths(rules: Rules, model: str) -> tuple[Path, ...]:
    """What the constraint behind a model lowers."""
    return next((c.shrink for c in rules.algorithm.constraints if c.id == model), ())


def _lowered(policy: Mapping[str, Any], paths: Sequence[Path], rules: Rules) -> Iterator[tuple[Mapping[str, Any], str]]:
    changed: dict[str, str] = {}
    for path in paths:
        step = shrink_step(rules, path)
        before = value = value_at(policy, path)
        while (lower := step(value)) is not None:
            value = lower
            policy = replaced(policy, path, value)
            changed[".".join(path)] = f"{before} -> {value}"
            yield policy, ", ".join(f"{name} {change}" for name, change in changed.items())
