"""Statements in Python: the body of a function that keeps the policy's fields in local variables."""

from __future__ import annotations

from collections.abc import Mapping

from policygen.emit.python.expressions import PythonExpressions
from policygen.emit.python.expressions import identifier
from policygen.emit.python.expressions import local
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
from policygen.emit.wrapping import wrapped_comment
from policygen.lang.intervals import Domains
from policygen.lang.tree import Name
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.model.types import initial_value

_INDENT = "    "


class PythonStatements:
    """Prints statements as lines.

    Args:
        policy: the struct whose fields are assigned.
        domains: what the names can be; decides where `//` and C++'s `/` agree.
        uses: for each used algorithm the name of the function that selects its policy.
    """

    def __init__(self, policy: Struct, domains: Domains, uses: Mapping[str, str]) -> None:
        roots = {f.name: f.type if isinstance(f.type, RecordType) else None for f in policy.fields}
        self._policy = policy
        self._expressions = PythonExpressions(roots, domains)
        self._uses = uses

    def initial(self, indent: int) -> list[str]:
        """Assignments of the value-initialised policy, and of no candidate."""
        pad = _INDENT * indent
        fields = [f"{pad}{local(path)} = {value!r}" for path, value in _scalars(self._policy, ())]
        return [*fields, f"{pad}point = -1"]

    def record(self) -> str:
        """The expression that makes a record of the local variables."""
        parts = [self._expressions.text(Name(field.name, field.type)) for field in self._policy.fields]
        return f"{identifier(self._policy.name)}({', '.join(parts)})"

    def lines(self, statements: tuple[Statement, ...], indent: int) -> list[str]:
        """The statements, one or more lines each."""
        pad = _INDENT * indent
        found: list[str] = []
        for statement in statements:
            match statement:
                case Define():
                    found.append(f"{pad}{identifier(statement.name)} = {self._expressions.text(statement.value)}")
                case DefineUse():
                    args = ", ".join(f"{identifier(n)}={self._expressions.text(e)}" for n, e in statement.key)
                    found.append(f"{pad}{identifier(statement.name)} = {self._uses[statement.algorithm]}({args})")
                case Assign():
                    found.append(f"{pad}{local(statement.path)} = {self._expressions.text(statement.value)}")
                case Take():
                    found.append(f"{pad}point = {statement.point}")
                case Leave():
                    found += self.initial(indent)
                case If():
                    found += self._branches(statement, indent)
                case While():
                    found.append(f"{pad}while {self._expressions.text(statement.condition)}:")
                    found += self.lines(statement.body, indent + 1)
                case Refuse():
                    found.append(f"{pad}raise ValueError({self._reason(statement)})")
                case Note(header_only=False):
                    found += wrapped_comment(statement.text, pad, "# ")
        return found

    def _reason(self, statement: Refuse) -> str:
        """The text of a refusal, with numbers where a limit stands in the way."""
        if statement.need is None or statement.limit is None:
            return repr(statement.reason)
        need, limit = self._expressions.text(statement.need), self._expressions.text(statement.limit)
        name = statement.reason.partition(":")[0]
        text = f"{name}: {{:,}} {statement.unit} are needed at the least, and the limit is {{:,}}"
        return f"{text!r}.format({need}, {limit})"

    def _branches(self, statement: If, indent: int) -> list[str]:
        pad = _INDENT * indent
        found: list[str] = []
        for number, (condition, body) in enumerate(statement.branches):
            text = self._expressions.text(condition)
            if text == "True":
                if number == 0:
                    return self.lines(body, indent)
                found.append(f"{pad}else:")
            else:
                found.append(f"{pad}{'if' if number == 0 else 'elif'} {text}:")
            found += self.lines(body, indent + 1)
        return found


def _scalars(struct: Struct, at: tuple[str, ...]) -> list[tuple[tuple[str, ...], object]]:
    found: list[tuple[tuple[str, ...], object]] = []
    for field in struct.fields:
        if isinstance(field.type, RecordType):
            found += _scalars(field.type.struct, (*at, field.name))
        else:
            found.append(((*at, field.name), initial_value(field)))
    return found
