"""Drift in policy terms: which rows of a generated table say something else than the specs.

Both sides are read as Python source, never run: what lies on the disk may be anything.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from pathlib import PurePosixPath
from typing import Any

from attrs import frozen

from policygen.emit.comparison import Artifact

_TABLE = "_COMMON"


@frozen
class PolicyChange:
    """One row of a table that differs.

    Attributes:
        target: the target's package.
        algorithm: the module in it; of a table of the engine, the module and the function.
        key: the key fields that the row gives, as `name=value`.
        fields: what differs: dotted field, value on disk, value by the specs; a row that one side lacks has none.
        kind: changed, added (the disk lacks it) or removed (the specs no longer have it).
    """

    target: str
    algorithm: str
    key: str
    kind: str
    fields: tuple[tuple[str, str, str], ...] = ()

    def __str__(self) -> str:
        changes = ", ".join(f"{name} {before} -> {after}" for name, before, after in self.fields)
        return f"{self.target} {self.algorithm} {self.key}: {changes or self.kind}"

    def as_dict(self) -> dict[str, Any]:
        """The change as data."""
        return {
            "target": self.target,
            "algorithm": self.algorithm,
            "key": self.key,
            "kind": self.kind,
            "fields": {name: {"before": before, "after": after} for name, before, after in self.fields},
        }


def policy_changes(root: Path, artifacts: Sequence[Artifact], paths: Collection[PurePosixPath]) -> list[PolicyChange]:
    """The rows that differ between Python tables on disk and as they should be.

    Args:
        root: The output folder.
        artifacts: The files as they should be.
        paths: Those of them that differ from the disk. One that is no table, or cannot be read as one, has no rows.
    """
    found: list[PolicyChange] = []
    for artifact in artifacts:
        if artifact.path not in paths or artifact.path.suffix != ".py":
            continue
        try:
            old = _rows((root / artifact.path).read_bytes())
        except OSError:
            continue
        new = _rows(artifact.content)
        for table in new:
            if table in old:
                name = f"{artifact.path.stem}.{table}" if table else artifact.path.stem
                found += _differences(artifact.path.parent.name, name, old[table], new[table])
    return found


def _differences(
    target: str, algorithm: str, old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]
) -> Iterator[PolicyChange]:
    for key in dict.fromkeys((*new, *old)):
        if key not in new:
            yield PolicyChange(target, algorithm, key, "removed")
        elif key not in old:
            yield PolicyChange(target, algorithm, key, "added")
        elif old[key] != new[key]:
            names = dict.fromkeys((*new[key], *old[key]))
            pairs = ((name, old[key].get(name, "nothing"), new[key].get(name, "nothing")) for name in names)
            yield PolicyChange(target, algorithm, key, "changed", tuple(p for p in pairs if p[1] != p[2]))


def _rows(content: bytes) -> dict[str, dict[str, dict[str, str]]]:
    """Key to policy, both flat text, by the function of each table: empty for the one table of an algorithm."""
    try:
        tree = ast.parse(content)
        return _TableReader(tree).rows()
    # ast.parse answers some malformed or deeply nested sources with the last two
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}


class _TableReader:
    """Reads the tables of one module by its own declarations of records and of the keys' parameters."""

    def __init__(self, tree: ast.Module) -> None:
        self._values: dict[str, ast.expr] = {}
        self._records: dict[str, list[str]] = {}
        self._keys: dict[str, dict[str, ast.expr | None]] = {}
        for node in tree.body:
            match node:
                case ast.ClassDef(name=name, body=body):
                    self._records[name] = [
                        n.target.id for n in body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
                    ]
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._values[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self._values[name] = value
                case ast.FunctionDef(name=name, args=arguments):
                    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
                    self._keys[name] = {argument.arg: default for argument, default in pairs}

    def rows(self) -> dict[str, dict[str, dict[str, str]]]:
        found: dict[str, dict[str, dict[str, str]]] = {}
        for name in self._values:
            table = self._value(self._values[name])
            if name.endswith(_TABLE) and isinstance(table, ast.Dict):
                function = name.removesuffix(_TABLE).removeprefix("_").lower()
                parameters = self._keys.get(function or "policy", {})
                found[function] = {
                    _key_text(parameters, key): dict(self._fields(value, ""))
                    for key, value in zip(table.keys, table.values, strict=True)
                    if key is not None
                }
        return found

    def _value(self, node: ast.expr | None) -> ast.expr | None:
        for _ in range(len(self._values)):
            if not (isinstance(node, ast.Name) and node.id in self._values):
                break
            node = self._values[node.id]
        return node

    def _fields(self, node: ast.expr, at: str) -> Iterator[tuple[str, str]]:
        value = self._value(node)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            names = self._records.get(value.func.id, [])
            for index, argument in enumerate(value.args):
                name = names[index] if index < len(names) else str(index)
                yield from self._fields(argument, f"{at}.{name}" if at else name)
            for keyword in value.keywords:
                name = keyword.arg or "**"
                yield from self._fields(keyword.value, f"{at}.{name}" if at else name)
        else:
            yield at or "policy", _text(value)


def _key_text(parameters: Mapping[str, ast.expr | None], key: ast.expr) -> str:
    """The fields of a key that a caller has to write: the others have their defaults."""
    values = key.elts if isinstance(key, ast.Tuple) else [key]
    if len(values) != len(parameters):
        return _text(key)
    parts = [
        f"{name}={_text(value)}"
        for (name, default), value in zip(parameters.items(), values, strict=True)
        if default is None or ast.dump(default) != ast.dump(value)
    ]
    return " ".join(parts) or "all defaults"


def _text(node: ast.expr | None) -> str:
    match node:
        case ast.Constant(value=bool(value)):
            return str(value).lower()
        case ast.Constant(value=str(value)):
            return value
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return f"[{', '.join(map(_text, elements))}]"
        case ast.Call(args=arguments):
            return f"({', '.join(map(_text, arguments))})"
        case None:
            return "nothing"
        case _:
            return ast.unparse(node)
