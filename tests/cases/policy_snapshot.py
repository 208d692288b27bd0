"""What every architecture of a family answers for the common keys: as text to read, as digests, and as differences."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import groupby
from typing import Any
from typing import TypeAlias

from attrs import frozen

from policygen.fold.table import policy_table
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.spec import Spec

Fields: TypeAlias = Mapping[str, str]
"""A policy: dotted field to value."""


@frozen
class Snapshot:
    """The policies of one algorithm: for each key those of the architectures, packed."""

    algorithm: str
    policies: Mapping[str, Mapping[int, Fields]]

    def digests(self) -> Iterator[tuple[int, str]]:
        """A digest of all policies of each architecture."""
        for cc in next(iter(self.policies.values())):
            text = "\n".join(f"{key}: {_told(by_cc[cc])}" for key, by_cc in self.policies.items())
            yield cc, hashlib.sha256(text.encode()).hexdigest()[:16]

    def text(self) -> str:
        """The snapshot to read: each policy once, then the keys with the architectures that share a policy."""
        known: dict[str, Fields] = {}
        rows: list[str] = []
        for key, by_cc in self.policies.items():
            parts = []
            for name, run in groupby(by_cc, key=lambda cc, by_cc=by_cc: _name(by_cc[cc])):  # type: ignore[misc]
                listed = list(run)
                known[name] = by_cc[listed[0]]
                parts.append(f"{','.join(_version(cc) for cc in listed)} {name}")
            rows.append(f"key {key or '(the only one)'}\n" + "\n".join(f"  {part}" for part in parts))
        blocks = [f"policy {name}\n" + "\n".join(f"  {line}" for line in _lines(known[name])) for name in sorted(known)]
        return "\n".join([*blocks, *rows, ""])


def snapshot(spec: Spec, family: str, algorithm: str) -> Snapshot:
    """Resolves the common keys of an algorithm on every architecture of a family."""
    policies: dict[str, dict[int, Fields]] = {}
    for cc in spec.targets[family].capabilities:
        resolver = Resolver(rules_for(spec, target_instance(spec, f"{family}_{cc}"), algorithm))
        table = policy_table(resolver)
        assert not table.refused
        for row in table.rows:
            key = ", ".join(f"{name}={value}" for name, value in row.given.items())
            policies.setdefault(key, {})[cc] = dict(_flat(row.policy.as_dict(), ""))
    return Snapshot(algorithm, policies)


def read(algorithm: str, text: str) -> Snapshot:
    """Reads what `Snapshot.text` wrote."""
    known: dict[str, dict[str, str]] = {}
    policies: dict[str, dict[int, Fields]] = {}
    current = ""
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if not line.startswith(" "):
            current = rest
            if word == "policy":
                known[current] = {}
            else:
                current = "" if rest == "(the only one)" else rest
                policies[current] = {}
        elif word.endswith(":"):
            path = "" if word == "root:" else f"{word[:-1]}."
            for part in rest.split(", "):
                name, value = part.split(" ")
                known[current][path + name] = value
        else:
            for version in word.split(","):
                policies[current][int(version.replace(".", ""))] = known[rest]
    return Snapshot(algorithm, policies)


def differences(old: Snapshot, new: Snapshot) -> list[str]:
    """One line for each architecture whose policies differ: how many keys, and the first of them field by field."""
    found: list[str] = []
    if list(old.policies) != list(new.policies):
        changed = sorted(set(old.policies) ^ set(new.policies))
        return [f"{new.algorithm}: the common keys differ: {'; '.join(changed[:3]) or 'another order'}"]
    architectures = {cc: None for by_cc in (*old.policies.values(), *new.policies.values()) for cc in by_cc}
    for cc in sorted(architectures):
        keys = [key for key in new.policies if old.policies[key].get(cc) != new.policies[key].get(cc)]
        if keys:
            before, after = old.policies[keys[0]].get(cc, {}), new.policies[keys[0]].get(cc, {})
            fields = [
                f"{name} {before.get(name, 'nothing')} -> {after.get(name, 'nothing')}"
                for name in dict.fromkeys((*before, *after))
                if before.get(name) != after.get(name)
            ]
            found.append(
                f"sm_{cc} {new.algorithm}: {len(keys)} of {len(new.policies)} keys differ, "
                f"{keys[0] or 'the only one'}: {', '.join(fields)}"
            )
    return found


def digest_lines(snapshots: Sequence[Snapshot]) -> str:
    """The digests of all architectures and algorithms, a line each."""
    lines = [f"sm_{cc} {s.algorithm} {digest}" for s in snapshots for cc, digest in s.digests()]
    return "\n".join(sorted(lines, key=lambda line: (int(line[3:].split()[0]), line))) + "\n"


def _flat(policy: Mapping[str, Any], at: str) -> Iterator[tuple[str, str]]:
    for name, value in policy.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{at}{name}.")
        else:
            yield f"{at}{name}", str(value)


def _lines(policy: Fields) -> list[str]:
    records: dict[str, list[str]] = {}
    for path, value in policy.items():
        record, _, name = path.rpartition(".")
        records.setdefault(record or "root", []).append(f"{name} {value}")
    return [f"{record}: {', '.join(fields)}" for record, fields in records.items()]


def _told(policy: Fields) -> str:
    return "; ".join(_lines(policy))


def _name(policy: Fields) -> str:
    return hashlib.sha256(_told(policy).encode()).hexdigest()[:8]


def _version(cc: int) -> str:
    return f"{cc // 10}.{cc % 10}"
