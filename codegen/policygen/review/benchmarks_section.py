"""Benchmark strings of points: their formats, and whether what they name is what stands beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import field
from attrs import frozen

from policygen.lang.tree import Const
from policygen.review.benchmarks import parameters
from policygen.review.benchmarks import scores
from policygen.review.delays_section import DELAYS
from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject
from policygen.review.weights import by_weight
from policygen.spec import Point
from policygen.spec import RuleSet
from policygen.spec import SubPolicy

COLUMNS: Final = (
    Column("rules"),
    Column("parameters"),
    Column("strings", right=True),
    Column("with scores", right=True),
    Column("score between least and greatest", right=True),
    Column("some slower", right=True),
    Column("delay ids"),
    Column("equal to the point", right=True),
    Column("for example"),
)

_DELAY_FIELDS: Final = (("dcid", "kind"), ("ns", "delay"), ("l2w", "l2_write_latency"))
_READS_NO_DELAY: Final = "no_delay"
_SCORES: Final = 4


@frozen
class _Format:
    """Strings with the same parameters.

    Attributes:
        named: delay ids, and the kinds that the points beside them have.
        differing: points that are not what their string names, with what differs.
    """

    strings: list[str] = field(factory=list)
    named: dict[int, set[str]] = field(factory=dict)
    checked: list[str] = field(factory=list)
    differing: list[str] = field(factory=list)


def benchmarks_section(subject: Subject) -> Section | None:
    """A row for each algorithm and format; None where no point under review has a benchmark."""
    kinds = subject.spec.vocabulary.enumerations[DELAYS].names
    reference = subject.instance.target.reference
    formats: dict[tuple[str, str], _Format] = {}
    for algorithm in sorted(subject.rules, key=by_weight):
        sets = (subject.instance.target.rules.get(algorithm), subject.spec.references.get(reference, {}).get(algorithm))
        for rules in sets:
            if rules is not None:
                _read(rules, kinds, formats)
    if not formats:
        return None
    rows = tuple(_row(name, order, found) for (name, order), found in formats.items())
    notes = [
        "strings are kept as upstream has them: parameters in the order of the benchmark, then score (weighted), "
        "least, mean and greatest speed-up over what CUB had before; they are not four sizes",
        "an ipt or tpb of one algorithm is not that of another: nominal, literal, a logarithm, or one more than "
        "the items",
    ]
    notes += [f"differs: {line}" for found in formats.values() for line in found.differing]
    return Section("benchmarks", "Benchmark strings", COLUMNS, rows, tuple(notes))


def _read(rules: RuleSet, kinds: tuple[str, ...], formats: dict[tuple[str, str], _Format]) -> None:
    for ladder in rules.ladders:
        for point in ladder.points:
            if not point.benchmark:
                continue
            named = dict(parameters(point.benchmark))
            found = formats.setdefault((f"{rules.origin}/{rules.algorithm}", ".".join(named)), _Format())
            found.strings.append(point.benchmark)
            _compare(point, named, kinds, found)


def _compare(point: Point, named: dict[str, int], kinds: tuple[str, ...], found: _Format) -> None:
    """Holds the delay that a string names against the one of its point."""
    if "dcid" not in named:
        return
    stated = _delay(point.policy)
    if stated is None:
        return
    found.checked.append(point.id)
    found.named.setdefault(named["dcid"], set()).add(str(stated["kind"]))
    kind = kinds[named["dcid"]] if 0 <= named["dcid"] < len(kinds) else f"no delay {named['dcid']}"
    said = {"kind": kind, "delay": named.get("ns"), "l2_write_latency": named.get("l2w")}
    wrong = [
        f"{token} says {said[name]}, the point has {stated[name]}"
        for token, name in _DELAY_FIELDS
        if said[name] is not None and said[name] != stated[name] and (token, kind) != ("ns", _READS_NO_DELAY)
    ]
    if wrong:
        found.differing.append(f"{point.id} ({point.location}): {'; '.join(wrong)}")


def _delay(policy: SubPolicy) -> dict[str, int | str] | None:
    """The only delay of a policy, where its fields are constants."""
    for name, value in policy.fields:
        if not isinstance(value, SubPolicy):
            continue
        if name == "lookback_delay":
            fields = {field: expr.value for field, expr in value.fields if isinstance(expr, Const)}
            return fields if len(fields) == len(value.fields) else None
        inner = _delay(value)
        if inner is not None:
            return inner
    return None


def _row(name: str, order: str, found: _Format) -> Row:
    numbers = [scores(text) for text in found.strings]
    scored = [four for four in numbers if len(four) == _SCORES]
    ordered = sum(least <= mean <= greatest and least <= score <= greatest for score, least, mean, greatest in scored)
    slower = sum(four[1] < 1 for four in scored)
    ids = "; ".join(_told(found.named))
    equal = len(found.checked) - len(found.differing)
    cells = (
        name,
        order,
        str(len(found.strings)),
        str(len(scored)),
        f"{ordered} of {len(scored)}" if scored else "",
        str(slower) if scored else "",
        ids,
        f"{equal} of {len(found.checked)}" if found.checked else "",
        found.strings[0],
    )
    data = {
        "rules": name,
        "parameters": order.split("."),
        "strings": found.strings,
        "with_scores": len(scored),
        "ordered": ordered,
        "some_slower": slower,
        "delay_ids": {str(number): sorted(kinds) for number, kinds in sorted(found.named.items())},
        "checked": len(found.checked),
        "differing": found.differing,
    }
    return Row(cells, data)


def _told(named: dict[int, set[str]]) -> Iterator[str]:
    for number, kinds in sorted(named.items()):
        yield f"{number} {' or '.join(sorted(kinds))}"
