"""Random keys that go where selectors differ, reproducible from a seed.

Half of the keys are aimed at a point: they have what its condition asks for, mostly. The rest, and what a point does
not ask for, is drawn; how many of the declared defaults hold (sizes that agree with types, plain iterators) differs
from key to key, from all to none.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final
from typing import TypeAlias

from policygen.lang.evaluate import Environment
from policygen.lang.evaluate import Evaluator
from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.model.ranges import Interval
from policygen.model.types import EnumType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.parity.landmarks import Landmarks
from policygen.parity.landmarks import landmarks
from policygen.spec import Algorithm
from policygen.spec import KeyField
from policygen.spec import RuleSet

Draw: TypeAlias = Callable[[], Any]

AIMED: Final = 0.5
"""Share of the keys that are aimed at a point."""
HEEDED: Final = 0.9
"""How often an aimed key heeds a single wish: a point's neighbours are of interest too."""
LOYALTIES: Final = (1.0, 1.0, 0.9, 0.5, 0.0)
"""Probabilities that a field takes its default; each key follows one of them."""


def random_keys(algorithm: Algorithm, count: int, seed: int, rules: Sequence[RuleSet] = ()) -> list[dict[str, Any]]:
    """Draws whole keys from the declared domains.

    Args:
        algorithm: whose keys.
        count: how many.
        seed: the same seed gives the same keys, on any machine.
        rules: the rules whose points should all be hit and whose thresholds should be met from both sides.
    """
    generator = _Generator(algorithm, landmarks(algorithm, rules), random.Random(f"{seed} {algorithm.name}"))
    return [generator.key() for _ in range(count)]


class _Generator:
    def __init__(self, algorithm: Algorithm, marks: Landmarks, rng: random.Random) -> None:
        self._rng = rng
        self._marks = marks
        self._names = tuple(f.name for f in algorithm.key)
        self._fields = {f.name: f for f in algorithm.key}
        self._loyalty = 1.0
        lets: dict[str, Evaluator] = {let.name: compiled(let.expr) for let in algorithm.lets}
        self._lets = lets | {f.name: self._field(f) for f in algorithm.key}

    def key(self) -> dict[str, Any]:
        rng = self._rng
        self._loyalty = rng.choice(LOYALTIES)
        given: dict[str, Any] = {}
        if self._marks.wishes and rng.random() < AIMED:
            for wish in rng.choice(self._marks.wishes):
                value = rng.choice(wish.values)
                if rng.random() < HEEDED and _in_domain(self._fields[wish.field], value):
                    given[wish.field] = value
        names = LazyNames(given, self._lets)
        return {name: names[name] for name in self._names}

    def _field(self, field: KeyField) -> Evaluator:
        """Gives the default, where the key is loyal to it and it lies in the domain, or draws."""
        draw = self._drawer(field)
        default = None if field.default is None else compiled(field.default)

        def value(names: Environment) -> Any:
            if default is not None and self._rng.random() < self._loyalty:
                usual = default(names)
                if _in_domain(field, usual):
                    return usual
            return draw()

        return value

    def _drawer(self, field: KeyField) -> Draw:
        rng, kind = self._rng, field.type
        match kind:
            case EnumType(enumeration):
                return lambda: rng.choice(enumeration.names)
            case RecordType():
                return self._record(field)
            case ListType(max_length=longest):
                return self._list(self._record(field), field, longest)
        if field.values is not None:
            values = field.values
            return lambda: rng.choice(values)
        if field.interval is None:
            return lambda: rng.random() < 0.5
        return self._integer(field.interval, self._marks.thresholds.get(field.name, ()))

    def _integer(self, domain: Interval, thresholds: tuple[int, ...]) -> Draw:
        rng = self._rng
        near = [v + d for v in thresholds for d in (-1, 0, 1) if domain.low <= v + d <= domain.high]
        powers = [1 << bit for bit in range(domain.high.bit_length())]
        sizes = [v for v in powers if domain.low <= v <= domain.high]
        odd = [v + d for v in sizes for d in (-1, 1) if domain.low <= v + d <= domain.high]
        ends = [domain.low, domain.high]
        draws: tuple[Draw, ...] = (
            lambda: rng.choice(ends),
            lambda: rng.choice(near or ends),
            lambda: rng.choice(sizes or ends),
            lambda: rng.choice(sizes[:5] or ends),
            lambda: rng.choice(odd or ends),
            lambda: rng.randint(domain.low, domain.high),
            lambda: min(max(int((domain.high + 1) ** rng.random()), domain.low), domain.high),
        )
        weights = (1, 5, 3, 4, 2, 2, 5)
        return lambda: rng.choices(draws, weights)[0]()

    def _record(self, field: KeyField) -> Callable[[], dict[str, Any]]:
        parts = [(part.name, self._field(part)) for part in field.element]

        def record() -> dict[str, Any]:
            values: dict[str, Any] = {}
            for name, part in parts:
                values[name] = part(values)
            return values

        return record

    def _list(self, record: Callable[[], dict[str, Any]], field: KeyField, longest: int) -> Draw:
        """Records that are all equal, equal but for a field of one, or unrelated."""
        rng = self._rng
        parts = [(part.name, self._drawer(part)) for part in field.element]

        def records() -> tuple[Mapping[str, Any], ...]:
            length = rng.choice((rng.randint(0, longest), rng.randint(0, min(3, longest))))
            alike = rng.random()
            if alike < 0.4:
                return tuple(record() for _ in range(length))
            found = [record()] * length
            if found and alike < 0.7:
                name, draw = rng.choice(parts)
                odd_one = rng.randrange(length)
                found[odd_one] = {**found[odd_one], name: draw()}
            return tuple(found)

        return records


def _in_domain(field: KeyField, value: Any) -> bool:
    if field.values is not None:
        return value in field.values
    return field.interval is None or field.interval.low <= value <= field.interval.high
