"""Keys that cover the declared domains systematically: always the same ones, each point's neighbourhood among them.

Every part of a key takes the values at which a rule can change (`policygen.resolve.representatives`): what conditions
compare with and the numbers beside it, the ends of the domain, every enumerator, and sizes around powers of two where
a domain is wide. Around a key that a point answers, each part takes each of its values, with the fields that follow
from it by default and without. Then the values are crossed: all combinations if the budget allows, else combinations
that are evenly spread over them.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import chain
from math import gcd
from math import prod
from typing import Any
from typing import Final

from policygen.lang.evaluate import Evaluator
from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.lang.simplify import substitute
from policygen.lang.tree import Expr
from policygen.model.ranges import Interval
from policygen.model.types import IntType
from policygen.model.types import RecordType
from policygen.resolve.key_search import guarded_value
from policygen.resolve.representatives import interval_of_field
from policygen.resolve.representatives import representatives
from policygen.resolve.representatives import variables_of
from policygen.resolve.witness import Witness
from policygen.resolve.witness import rule_set_reachability
from policygen.spec import Algorithm
from policygen.spec import RuleSet
from policygen.spec import Spec
from policygen.spec import Status
from policygen.spec import Target

BUDGET: Final = 4000
"""Keys from crossing values, where there are more combinations than that."""

_GOLDEN: Final = 0.6180339887498949
_WIDE: Final = 64
"""A domain of more integers than this is sampled at sizes around powers of two as well."""

_UNKNOWN_SIZE: Final = -1

Values = Mapping[str, Sequence[Any]]


def declared_keys(spec: Spec, algorithm: str, target: Target, budget: int = BUDGET) -> list[dict[str, Any]]:
    """Whole keys that cover an algorithm's declared domains; the same ones for the same specs.

    The size of the problem is unknown in all of them: selectors do not see it.

    Args:
        spec: the specs.
        algorithm: one that the target's reference has.
        target: the family whose reference is covered.
        budget: the greatest number of combinations; the neighbourhoods of points come on top.

    Raises:
        SpecError: a rule needs a fact that the target does not know.
    """
    described, rules = spec.algorithms[algorithm], spec.references[target.reference][algorithm]
    values = _values(described, rules)
    around = chain.from_iterable(neighbourhoods(spec, algorithm, target).values())
    return _distinct(chain(around, _crossed(_Maker(described, values), values, budget)))


def neighbourhoods(spec: Spec, algorithm: str, target: Target) -> dict[str, list[dict[str, Any]]]:
    """For each active point that answers some key the keys around that one, by the point's id.

    Args:
        spec: the specs.
        algorithm: one that the target's reference has.
        target: the family whose reference it is.

    Raises:
        SpecError: a rule needs a fact that the target does not know.
    """
    described, rules = spec.algorithms[algorithm], spec.references[target.reference][algorithm]
    values = _values(described, rules)
    make = _Maker(described, values)
    return {
        finding.point.id: _distinct(_neighbours(make, values, finding.key))
        for finding in rule_set_reachability(spec, target, rules)
        if isinstance(finding, Witness) and finding.point.status is Status.ACTIVE
    }


def _distinct(keys: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({repr(key): key for key in keys}.values())


def _values(algorithm: Algorithm, rules: RuleSet) -> dict[str, tuple[Any, ...]]:
    """The values of each part of the key, those at which conditions change first."""
    found = representatives(algorithm, _conditions(algorithm, rules))
    for name, field in variables_of(algorithm).items():
        if name == "num_items":
            found[name] = (_UNKNOWN_SIZE,)
        elif isinstance(field.type, IntType) and field.values is None:
            found[name] = tuple(dict.fromkeys((*found[name], *_sizes(interval_of_field(field)))))
    return found


def _sizes(domain: Interval) -> Iterator[int]:
    if domain.high - domain.low > _WIDE:
        yield from (v for v in range(1, 17) if domain.low <= v <= domain.high)
        for power in (1 << bit for bit in range(4, domain.high.bit_length())):
            yield from (v for v in (power - 1, power, power + 1) if domain.low <= v <= domain.high)


def _conditions(algorithm: Algorithm, rules: RuleSet) -> Iterator[Expr]:
    definitions: dict[str, Expr] = {}
    for let in (*algorithm.lets, *rules.lets):
        definitions[let.name] = substitute(let.expr, definitions)
    yield from definitions.values()
    for ladder in rules.ladders:
        yield substitute(ladder.when, definitions)
        if ladder.accept is not None:
            yield substitute(ladder.accept, definitions)
        yield from (substitute(point.when, definitions) for point in ladder.points)


class _Maker:
    """Makes whole keys of given parts; the others take their default, or else the first of their values."""

    def __init__(self, algorithm: Algorithm, values: Values) -> None:
        self._fields = variables_of(algorithm)
        self._records = {
            f.name: tuple(p.name for p in f.element) for f in algorithm.key if isinstance(f.type, RecordType)
        }
        self._names = tuple(f.name for f in algorithm.key)
        self._domains = {
            name: _domain(field.type, field.values, field.interval) for name, field in self._fields.items()
        }
        lets: dict[str, Evaluator] = {let.name: compiled(let.expr) for let in algorithm.lets}
        lets |= {name: _assembled(name, parts) for name, parts in self._records.items()}
        self._defaults = {n: compiled(f.default) for n, f in self._fields.items() if f.default is not None}
        self._evaluators = lets | {name: self._usual(name, values[name][0]) for name in self._fields}

    def __call__(self, given: Mapping[str, Any]) -> dict[str, Any]:
        names = LazyNames(given, self._evaluators)
        return {name: names[name] for name in self._names}

    def parts(self, key: Mapping[str, Any]) -> dict[str, Any]:
        """A whole key as the parts that it consists of."""
        found: dict[str, Any] = {}
        for name in self._names:
            if name in self._records:
                found |= {f"{name}.{part}": key[name][part] for part in self._records[name]}
            else:
                found[name] = key[name]
        return found

    def usual(self, parts: Mapping[str, Any]) -> set[str]:
        """The parts that have what they have by default."""
        return {name for name, run in self._defaults.items() if self._default(run, name, parts) == parts[name]}

    def _default(self, run: Evaluator, name: str, parts: Mapping[str, Any]) -> Any:
        others = {n: v for n, v in parts.items() if n != name}
        return guarded_value(run, LazyNames(others, self._evaluators))

    def _usual(self, name: str, first: Any) -> Evaluator:
        run, in_domain = self._defaults.get(name), self._domains[name]

        def value(names: Mapping[str, Any]) -> Any:
            if run is None:
                return first
            usual = guarded_value(run, names)  # type: ignore[arg-type]
            return usual if usual is not None and in_domain(usual) else first

        return value


def _domain(kind: Any, values: tuple[int, ...] | None, interval: Interval | None) -> Callable[[Any], bool]:
    if values is not None:
        return lambda value: value in values
    if isinstance(kind, IntType) and interval is not None:
        return lambda value: interval.low <= value <= interval.high
    return lambda _: True


def _assembled(record: str, parts: tuple[str, ...]) -> Evaluator:
    return lambda names: {part: names[f"{record}.{part}"] for part in parts}


def _neighbours(make: _Maker, values: Values, key: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A key, and for each value of each part the key with it: once alone, once with what follows from it."""
    parts = make.parts(key)
    given = {name: value for name, value in parts.items() if name not in make.usual(parts)}
    yield make(parts)
    for name, own in values.items():
        for value in own:
            if value != parts[name]:
                yield make({**parts, name: value})
                yield make({**given, name: value})


def _crossed(make: _Maker, values: Values, budget: int) -> Iterator[dict[str, Any]]:
    """Combinations of all values, half of them with as many defaults as their numbers say."""
    names = [name for name, own in values.items() if len(own) > 1]
    sizes = [len(values[name]) for name in names]
    total = prod(sizes)
    count = min(total, budget)
    stride = 1 if total <= budget else _coprime(int(total * _GOLDEN), total)
    for number in range(count):
        given = dict(zip(names, _digits(number * stride % total, sizes, names, values), strict=True))
        yield make(given)
        if total > budget:
            # which of the parts are left to their defaults is a number of its own
            chosen = (number * 2654435761) >> 7
            yield make({n: v for i, (n, v) in enumerate(given.items()) if chosen >> (i % 24) & 1})


def _digits(number: int, sizes: Sequence[int], names: Sequence[str], values: Values) -> Iterator[Any]:
    for name, size in zip(names, sizes, strict=True):
        number, digit = divmod(number, size)
        yield values[name][digit]


def _coprime(start: int, total: int) -> int:
    """The first number from `start` on that has no factor in common with the total."""
    number = max(1, start)
    while gcd(number, total) != 1:
        number += 1
    return number
