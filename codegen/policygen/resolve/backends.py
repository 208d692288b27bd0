"""Whether anything runs with a table of the engine on a target: its backend, and what the target says of it."""

from __future__ import annotations

from attrs import frozen

from policygen.loading.targets import present
from policygen.resolve.instance import TargetInstance
from policygen.spec import Algorithm


@frozen
class Effect:
    """Whether anything runs with the policies of a table.

    Attributes:
        applicable: whether there are policies at all; there are none for a backend that the target does not have.
        reason: why they are not in effect; empty where they are.
    """

    applicable: bool
    reason: str


IN_EFFECT = Effect(True, "")


def effect_of(table: Algorithm, instance: TargetInstance) -> Effect:
    """Judges an algorithm or a table; what needs no backend is in effect."""
    if table.engine is None:
        return IN_EFFECT
    backend = table.engine.backend
    missing = absence(backend, instance) if backend else ""
    if missing:
        return Effect(backend in instance.target.withheld, f"{backend}: {missing}")
    return Effect(True, table.engine.precompiled)


def absence(backend: str, instance: TargetInstance) -> str:
    """Why a backend does not run on a target; empty where it does."""
    if present(instance.target, backend, instance.cc):
        return ""
    return instance.target.withheld.get(backend, f"{instance.name} does not have it")
