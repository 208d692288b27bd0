"""Kinds of evidence behind an algorithm's numbers: the facts that its rules read, and the figures of its kernels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policygen.model.facts import EffectiveFact
from policygen.model.facts import EvidenceKind
from policygen.review.figure import Bars
from policygen.review.report import AlgorithmReport

UNKNOWN: Final = "unknown"

KINDS: Final = (*(kind.value for kind in EvidenceKind if kind is not EvidenceKind.INADMISSIBLE), UNKNOWN)
"""Kinds of evidence that a number can have, strongest first, and what is not known at all."""


def kind_of(fact: EffectiveFact) -> str:
    """The kind of a fact's effective reading."""
    return UNKNOWN if fact.value is None or fact.kind is None else fact.kind.value


def evidence_figure(found: AlgorithmReport) -> Bars | None:
    """The chart; None where the rules read no fact and no kernel is known."""
    registers = [
        UNKNOWN if (kind := kernel.kernel.registers_are) is None else kind.value
        for entry in found.entries
        for kernel in entry.kernels
    ]
    bars = (("facts", [kind_of(fact) for fact in found.facts]), ("registers", registers))
    shown = tuple((name, _counts(kinds)) for name, kinds in bars if kinds)
    if not shown:
        return None
    return Bars(
        id="evidence",
        title="Kinds of evidence",
        summary="; ".join(f"{name}: {_told(counts)}" for name, counts in shown),
        parts=KINDS,
        bars=shown,
    )


def facts_figure(facts: Iterable[EffectiveFact]) -> Bars:
    """The same of all facts of a target."""
    counts = _counts(kind_of(fact) for fact in facts)
    return Bars(
        id="facts",
        title="Facts of the target by kind of evidence",
        summary=_told(counts),
        parts=KINDS,
        bars=(("facts", counts),),
    )


def _counts(kinds: Iterable[str]) -> tuple[int, ...]:
    found = list(kinds)
    return tuple(found.count(kind) for kind in KINDS)


def _told(counts: tuple[int, ...]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in zip(KINDS, counts, strict=True) if count)
