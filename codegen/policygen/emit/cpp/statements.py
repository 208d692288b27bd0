"""Statements in C++: the body of a constexpr function that fills `p` and sets `point`."""

from __future__ import annotations

from collections.abc import Mapping

from policygen.emit.cpp.expressions import CppExpressions
from policygen.emit.cpp.expressions import identifier
from policygen.emit.cpp.expressions import local
from policygen.emit.cpp.expressions import type_name
from policygen.emit.statements import Assign
from policygen.emit.statements import Define
from policygen.emit.statements import DefineUse
from policygen.emit.statements import If
from policygen.emit.statements import Leave
from policygen.emit.statements import Note
from policygen.emit.statements import Refuse
from policygen.emit.statements import Statement
from policygen.emit.statements import Take
from policygen.emit.statements import While
from policygen.emit.wrapping import wrapped
from policygen.emit.wrapping import wrapped_comment
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.model.types import Type


class CppStatements:
    """Prints statements as lines.

    Args:
        names: spelling of free names.
        policy: the struct whose fields are assigned.
        used_key: for each used algorithm, its key fields in order.
        suffix: what the namespaces of used algorithms end in.
    """

    def __init__(
        self,
        names: Mapping[str, str],
        policy: Struct,
        used_key: Mapping[str, tuple[tuple[str, Type], ...]],
        suffix: str = "",
    ) -> None:
        self._expressions = CppExpressions(names)
        self._policy = policy
        self._used_key = used_key
        self._suffix = suffix

    def lines(self, statements: tuple[Statement, ...], indent: int = 1) -> list[str]:
        """The statements, one or more lines each."""
        pad = "  " * indent
        found: list[str] = []
        for statement in statements:
            match statement:
                case Define():
                    value = self._expressions.converted(statement.value, statement.value.type)
                    found += self._wrapped(
                        pad, f"const {_local_type(statement.value.type)} {local(statement.name)} = {value};"
                    )
                case DefineUse():
                    found += self._use(pad, statement)
                case Assign():
                    value = self._expressions.converted(statement.value, self._type_of(statement.path))
                    path = ".".join(identifier(name) for name in statement.path)
                    found += self._wrapped(pad, f"p.{path} = {value};")
                case Take():
                    found.append(f"{pad}point = {statement.point};")
                case Leave():
                    found += [f"{pad}p = policy{{}};", f"{pad}point = -1;"]
                case If():
                    found += self._branches(statement, indent)
                case While():
                    found += self._wrapped(pad, f"while ({self._expressions.text(statement.condition)})")
                    found += [f"{pad}{{", *self.lines(statement.body, indent + 1), f"{pad}}}"]
                case Refuse():
                    found.append(f'{pad}support::refuse("{_escaped(statement.reason)}");')
                case Note():
                    found += wrapped_comment(statement.text, pad, "// ")
        return found

    def _type_of(self, path: tuple[str, ...]) -> Type:
        struct = self._policy
        for name in path[:-1]:
            kind = struct.by_name[name].type
            assert isinstance(kind, RecordType)
            struct = kind.struct
        return struct.by_name[path[-1]].type

    def _use(self, pad: str, use: DefineUse) -> list[str]:
        name, given = local(use.name), dict(use.key)
        algorithm = f"{identifier(use.algorithm)}{self._suffix}"
        found = [f"{pad}{algorithm}::key key_of_{name}{{}};"]
        for field, kind in self._used_key[use.algorithm]:
            if field in given:
                value = self._expressions.converted(given[field], kind)
                found += self._wrapped(pad, f"key_of_{name}.{identifier(field)} = {value};")
        return [*found, f"{pad}const auto {name} = {algorithm}::select(key_of_{name});"]

    def _branches(self, statement: If, indent: int) -> list[str]:
        pad = "  " * indent
        found: list[str] = []
        for number, (condition, body) in enumerate(statement.branches):
            text = self._expressions.text(condition)
            head = "if" if number == 0 else "else if"
            if text == "true":
                if number == 0:
                    return self.lines(body, indent)
                found.append(f"{pad}else")
            else:
                found += self._wrapped(pad, f"{head} ({text})")
            found += [f"{pad}{{", *self.lines(body, indent + 1), f"{pad}}}"]
        return found

    @staticmethod
    def _wrapped(pad: str, text: str) -> list[str]:
        return wrapped(text, pad, pad + "    ")


def _local_type(kind: Type) -> str:
    return "auto" if isinstance(kind, RecordType | ListType) else type_name(kind)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
