"""What a policy of any counts would need on a target, by the constraints of its algorithm: nothing is mended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.lang.tree import free_names
from policygen.resolve.candidate import Overlay
from policygen.resolve.key import KeyReader
from policygen.resolve.passes import evaluators
from policygen.resolve.specialise import Rules
from policygen.spec import Constraint


@frozen
class Need:
    """A need beside its limit.

    Attributes:
        need: what the policy takes, in the constraint's unit.
        limit: what there is; None where the target does not know.
    """

    need: int
    limit: int | None

    @property
    def fits(self) -> bool | None:
        """Whether it does; None where the limit is not known."""
        return None if self.limit is None else self.need <= self.limit


class Needs:
    """Holds policies of one algorithm against constraints, also policies that no point gives."""

    def __init__(self, rules: Rules) -> None:
        self._keys = KeyReader(rules.algorithm)
        self._lets = evaluators(rules)
        self._constraints = {c.id: c for c in (*rules.constraints, *rules.fit, *(c for c, _ in rules.unknown))}

    def of(self, constraint: str, key: Mapping[str, Any], policy: Mapping[str, Any]) -> Need:
        """The need of a policy.

        Args:
            constraint: its id, `shared-memory of multi_tile`.
            key: fields by name; those with a default may be left out.
            policy: the whole policy.

        Raises:
            KeyError: there is no such constraint, or a fact that its need rests on is not known.
            InvalidKey: the key is not of the declared domains.
        """
        found = self._constraints[constraint]
        names = Overlay(LazyNames(self._keys.read(key), self._lets), policy)
        assert found.need is not None
        assert found.limit is not None
        limit = None if "target" in free_names(found.limit) else int(compiled(found.limit)(names))
        return Need(int(compiled(found.need)(names)), limit)

    def terms(self, constraint: str, key: Mapping[str, Any], policy: Mapping[str, Any]) -> dict[str, int]:
        """The named parts of a need. Raises as `of`."""
        names = Overlay(LazyNames(self._keys.read(key), self._lets), policy)
        return {name: int(compiled(term)(names)) for name, term in self._constraints[constraint].terms}

    def constraint(self, name: str) -> Constraint:
        """The constraint of that id. Raises KeyError."""
        return self._constraints[name]
