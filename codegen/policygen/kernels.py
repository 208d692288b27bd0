"""The kernels of an algorithm as a spec describes them: what they are launched with, and how C++ names them."""

from __future__ import annotations

from enum import Enum

from attrs import field
from attrs import frozen

from policygen.lang.tree import Expr
from policygen.model.problems import Location


class CppKind(Enum):
    """What a C++ parameter stands for."""

    ELEMENT = "element"
    """The type of an element, from its size and, where the key says more, its enumerator or alignment."""
    INTEGER = "integer"
    """An unsigned integer, from its size: an offset."""
    OPERATOR = "operator"
    """A binary operator, from its enumerator."""
    CONSTANT = "constant"
    """A number, a truth value or an enumerator as it stands in the key."""


@frozen
class CppParameter:
    """A template argument of a kernel, as it follows from a key.

    Attributes:
        name: what kernels call it, `AccumT`.
        kind: what it stands for; says which of the expressions there are.
        each: the list of the key whose records give one element type each; the expressions are over a record's
            fields. Empty for a single type.
        value: bytes of an element or integer, enumerator of an operator, value of a constant.
        type: enumerator of an element's type; None where the key has only its size.
        alignment: bytes; None where the key does not have it: then the natural one.
        primitive: whether the element is arithmetic; None where the key does not say: then it is where it can be.
        none: what C++ says where an element has no bytes; empty where that is no key.
    """

    name: str
    kind: CppKind
    value: Expr
    each: str = ""
    type: Expr | None = None
    alignment: Expr | None = None
    primitive: Expr | None = None
    none: str = ""
    location: Location = field(default=Location(""), eq=False)


@frozen
class Kernel:
    """A kernel that CUB launches for a policy.

    Attributes:
        name: CUB's name; unique in its algorithm.
        when: for which keys and policies it is launched.
        headers: what declares it.
        instance: its name in C++ with template arguments, where `{policy}` is a selector of the policy, `{AccumT}`
            the C++ of a parameter, and `{AccumT*}` the same with an asterisk, for each type of a list.
        threads: threads of a block.
        dynamic: bytes of dynamic shared memory that it is launched with.
        shared: id of the constraint whose need is its static shared memory in bytes; empty where there is no model.
        registers: id of the constraint whose need bounds its registers a thread; empty where there is no model.
    """

    name: str
    when: Expr
    headers: tuple[str, ...]
    instance: str
    threads: Expr
    dynamic: Expr
    shared: str
    registers: str
    location: Location = field(eq=False)
