"""The `[fact.*]` tables of a target file: their document form, and the facts made of them.

A document holds what people write; the model holds integers. Every problem of every fact is found in one pass.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import TypeVar

from attrs import Factory
from attrs import frozen

from policygen.loading.quantities import QuantityError
from policygen.loading.quantities import parse_cc_range
from policygen.loading.quantities import parse_quantity
from policygen.loading.structuring import structure
from policygen.loading.toml_positions import KeyPath
from policygen.loading.toml_source import TomlSource
from policygen.model.dimensions import Dimension
from policygen.model.fact_names import FACT_NAMES
from policygen.model.facts import EvidenceKind
from policygen.model.facts import Fact
from policygen.model.facts import Reading
from policygen.model.facts import Withdrawal
from policygen.model.facts import formula_names
from policygen.model.problems import Problem
from policygen.model.problems import did_you_mean

_Value = TypeVar("_Value")

_FORMULA = re.compile(r"(?:\s|[A-Za-z_][A-Za-z0-9_]*|[0-9]+|//|\*(?!\*)|[-+()])+", re.ASCII)


@frozen
class ReadingDocument:
    """A `[[fact.NAME.reading]]` table, as written; see `policygen.model.facts.Reading` for the meaning of its keys."""

    kind: EvidenceKind
    date: datetime.date
    source: str
    value: Any = None
    conditions: dict[str, str] = Factory(dict)
    method: str | None = None
    formula: str | None = None
    applies: bool = True
    effective: str | None = None
    withdrawn: str | None = None
    cc: str | None = None


@frozen
class WithdrawalDocument:
    """A `[[fact.NAME.withdraw]]` table: readings of the extended target that no longer count."""

    value: Any
    reason: str
    kind: EvidenceKind | None = None
    date: datetime.date | None = None
    source: str | None = None


@frozen
class FactDocument:
    """A `[fact.NAME]` table, as written."""

    reading: list[ReadingDocument] = Factory(list)
    plausible: list[Any] = Factory(list)
    unknown: str | None = None
    withdraw: list[WithdrawalDocument] = Factory(list)


def facts_from_document(source: TomlSource, table: Mapping[str, Any]) -> tuple[dict[str, Fact], list[Problem]]:
    """Reads the facts of a target.

    Args:
        source: The file, for positions.
        table: Its `fact` table.

    Returns:
        The facts without problems by name, sorted by name, and every problem found.
    """
    facts: dict[str, Fact] = {}
    problems: list[Problem] = []
    for name in sorted(table):
        if name not in FACT_NAMES:
            problems.append(source.problem(("fact", name), f"unknown fact{did_you_mean(name, FACT_NAMES)}"))
            continue
        document = structure(source, ("fact", name), table[name], FactDocument)
        if not isinstance(document, FactDocument):
            problems += document
            continue
        reader = _FactReader(source, name)
        fact = reader.fact(document)
        problems += reader.problems
        if not reader.problems:
            facts[name] = fact
    return facts, problems


class _FactReader:
    """Turns one document into a fact and collects what is wrong with it."""

    def __init__(self, source: TomlSource, name: str) -> None:
        self.source = source
        self.name = name
        self.path: KeyPath = ("fact", name)
        self.dimension: Dimension = FACT_NAMES[name].dimension
        self.problems: list[Problem] = []

    def fact(self, document: FactDocument) -> Fact:
        readings = [self.reading(reading, index) for index, reading in enumerate(document.reading)]
        plausible = [
            self.quantity(value, (*self.path, "plausible", index)) for index, value in enumerate(document.plausible)
        ]
        withdrawals = [self.withdrawal(item, index) for index, item in enumerate(document.withdraw)]
        self.text(document.unknown, (*self.path, "unknown"))
        if not (document.reading or document.unknown or document.withdraw or document.plausible):
            self.report(self.path, 'has no reading: add one, or say unknown = "why"')
        return Fact(
            name=self.name,
            dimension=self.dimension,
            readings=tuple(readings),
            plausible=tuple(sorted({value for value in plausible if value is not None})),
            unknown=_one_line(document.unknown),
            withdrawals=tuple(withdrawals),
            location=self.source.location(self.path),
        )

    def reading(self, document: ReadingDocument, index: int) -> Reading:
        path = (*self.path, "reading", index)
        for key in ("source", "method", "effective", "withdrawn"):
            self.text(getattr(document, key), (*path, key))
        value = None if document.value is None else self.quantity(document.value, (*path, "value"))
        self.derivation(document, path)
        if document.effective and document.kind is EvidenceKind.INADMISSIBLE:
            self.report((*path, "effective"), "an inadmissible reading is never effective")
        if document.effective and not document.applies:
            self.report((*path, "effective"), "a reading with applies = false is never effective")
        return Reading(
            value=value,
            kind=document.kind,
            date=document.date,
            source=_one_line(document.source) or "",
            location=self.source.location(path),
            conditions=tuple(sorted(document.conditions.items())),
            method=_one_line(document.method),
            formula=_one_line(document.formula),
            applies=document.applies,
            effective=_one_line(document.effective),
            withdrawn=_one_line(document.withdrawn),
            cc=None if document.cc is None else self.parsed(parse_cc_range, document.cc, (*path, "cc")),
        )

    def derivation(self, document: ReadingDocument, path: KeyPath) -> None:
        derived = document.kind is EvidenceKind.DERIVED
        if document.formula is None:
            if derived:
                self.report((*path, "formula"), 'a derived reading needs one, such as "memory_bandwidth // sm_count"')
            elif document.value is None:
                self.report((*path, "value"), "this key is missing: only a derived reading may leave it out")
            return
        at = (*path, "formula")
        if not derived:
            self.report(at, f'only a reading of kind "derived" has a formula, not "{document.kind.value}"')
        if not _FORMULA.fullmatch(document.formula):
            self.report(at, f'"{document.formula}" is not a formula: facts, whole numbers, + - * // and parentheses')
            return
        names = formula_names(document.formula)
        if not names:
            self.report(at, f'"{document.formula}" names no fact')
        for name in names:
            if name not in FACT_NAMES:
                self.report(at, f'unknown fact "{name}"{did_you_mean(name, FACT_NAMES)}')

    def withdrawal(self, document: WithdrawalDocument, index: int) -> Withdrawal:
        path = (*self.path, "withdraw", index)
        self.text(document.reason, (*path, "reason"))
        return Withdrawal(
            value=self.quantity(document.value, (*path, "value")) or 0,  # without a value the fact is not kept
            reason=_one_line(document.reason) or "",
            kind=document.kind,
            date=document.date,
            source=_one_line(document.source),
            location=self.source.location(path),
        )

    def quantity(self, value: object, path: KeyPath) -> int | None:
        number = self.parsed(lambda written: parse_quantity(written, self.dimension), value, path)
        if number == 0 and not FACT_NAMES[self.name].may_be_zero:
            self.report(path, 'zero is no value of a fact: leave the reading out and say unknown = "why"')
        return number

    def parsed(self, parse: Callable[[Any], _Value], value: object, path: KeyPath) -> _Value | None:
        try:
            return parse(value)
        except QuantityError as error:
            self.report(path, str(error))
            return None

    def text(self, value: str | None, path: KeyPath) -> None:
        if value is not None and not value.strip():
            self.report(path, "is empty: say it in one line")

    def report(self, path: KeyPath, reason: str) -> None:
        self.problems.append(self.source.problem(path, reason))


def _one_line(text: str | None) -> str | None:
    return None if text is None else " ".join(text.split())
