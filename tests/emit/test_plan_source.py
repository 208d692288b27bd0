"""How the sources of plans become one text, and what is refused there."""

from __future__ import annotations

import ast

import pytest

from policygen.emit.python.plan_source import PlanSource
from policygen.emit.python.plan_source import UnportableSource
from policygen.emit.python.plan_source import joined
from policygen.emit.python.plan_source import plan_source
from policygen.emit.python.plan_source import turned

HEAD = '"""What it is."""\n\nfrom __future__ import annotations\n\n'

RECORD = '''from attrs import frozen


@frozen(kw_only=True)
class Pair:
    """Two numbers.

    Attributes:
        first: one.
        second: the other.
    """

    first: int
    second: int = 2  # why not

    def __attrs_post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("a negative number")

    @property
    def total(self) -> int:
        """Both."""
        return self.first + self.second
'''

TURNED = '''

# What it is.


class Pair(Record):
    """Two numbers.

    Attributes:
        first: one.
        second: the other.
    """

    __slots__ = ()
    first: int
    second: int = 2  # why not

    def _check(self) -> None:
        if self.first < 0:
            raise ValueError("a negative number")

    @property
    def total(self) -> int:
        """Both."""
        return self.first + self.second'''


def text_of(source: str) -> PlanSource:
    return turned("plan/one.py", HEAD + source)


def test_a_record_keeps_its_text() -> None:
    assert "\n".join(text_of(RECORD).runtime) == TURNED


def test_constants_comments_and_docstrings_are_kept() -> None:
    source = (
        "from collections.abc import Sequence\nfrom math import prod\nfrom typing import Final\n\n"
        'MOST: Final = 2**31 - 1  # of int\n"""The most."""\n\n'
        '_BY_NAME: Final[dict[str, int]] = {"a": 1}\n\n\n'
        "def times(counts: Sequence[int]) -> int:\n    # all of them\n    return prod(counts)\n"
    )
    found = text_of(source)
    assert "\n".join(found.runtime) == (
        "\n\n# What it is.\n\n"
        'MOST = 2**31 - 1  # of int\n"""The most."""\n\n'
        '_BY_NAME: dict[str, int] = {"a": 1}\n\n\n'
        "def times(counts: Sequence[int]) -> int:\n    # all of them\n    return prod(counts)"
    )
    assert (found.abstract, found.built_in) == (("Sequence",), (("math", "prod"),))
    assert dict(found.defined) == {"MOST": "plan/one.py:9", "_BY_NAME": "plan/one.py:12", "times": "plan/one.py:15"}


def test_a_protocol_is_for_a_type_checker_alone() -> None:
    source = 'from typing import Protocol\n\n\nclass Tile(Protocol):\n    """A tile."""\n\n    items: int\n'
    found = text_of(source)
    assert found.typing == ("", "class Tile(Protocol):", '    """A tile."""', "", "    items: int")
    assert found.runtime == ()


@pytest.mark.parametrize(
    ("source", "line", "what"),
    [
        ("import os\n", 5, "an import other than"),
        ("from math import prod as product\n", 5, "an import other than"),
        ("from . import counts\n", 5, "an import other than"),
        ("from math import prod, sqrt\n", 5, "an import of prod, sqrt from math"),
        ("from enum import Enum\n", 5, "an import of Enum from enum"),
        ("from typing import Any\n", 5, "an import of Any from typing"),
        ("from attrs import field\n", 5, "an import of field from attrs"),
        ("from policygen.model.facts import EvidenceKind\n", 5, "an import of EvidenceKind from policygen.model"),
        ("count = 0\n", 5, "Assign at the top"),
        ("count: int = 0\n", 5, "a variable: what is not Final is state"),
        ("if True:\n    MOST = 1\n", 5, "If at the top"),
        ("class Plain:\n    '''A class.'''\n", 5, "a class that is neither"),
        ("class Kind(Enum):\n    '''A kind.'''\n", 5, "a class that is neither"),
        ("@frozen\nclass Pair:\n    first: int\n", 6, "a class without a docstring"),
        ("@frozen(eq=False)\nclass Pair:\n    '''A pair.'''\n", 6, "a class that is neither"),
        ("@frozen\nclass Pair:\n    '''A pair.'''\n    first: list = []\n", 8, "AnnAssign in a record"),
        ("@frozen\nclass Pair:\n    '''A pair.'''\n    first: int = field()\n", 8, "AnnAssign in a record"),
        (
            "@frozen\nclass Pair:\n    '''A pair.'''\n    def __len__(self):\n        return 2\n",
            8,
            "FunctionDef in a rec",
        ),
        (
            "@frozen\nclass Pair:\n    '''A pair.'''\n    @classmethod\n    def of(cls):\n        pass\n",
            9,
            "FunctionDef in",
        ),
        ("@cache\ndef found():\n    pass\n", 6, "FunctionDef at the top"),
        ("def found():\n    from os import path\n", 6, "an import inside a function"),
        ("def found(pair):\n    return pair.__attrs_attrs__\n", 6, "__attrs_attrs__: records have no such"),
        ("def found():\n    global count\n", 6, "Global"),
    ],
)
def test_what_cannot_be_turned_is_refused_with_its_line(source: str, line: int, what: str) -> None:
    with pytest.raises(UnportableSource) as caught:
        text_of(source)
    assert str(caught.value).startswith(f"plan/one.py:{line}: {what}"), caught.value


def test_what_is_newer_than_python_3_10_is_refused() -> None:
    with pytest.raises(SyntaxError, match=r"3\.11 and greater"):
        text_of("def found():\n    try:\n        pass\n    except* ValueError:\n        pass\n")


def test_a_class_over_two_lines_is_refused() -> None:
    with pytest.raises(UnportableSource, match=r"plan/one.py:6: expected class Pair: on one line"):
        text_of("@frozen\nclass Pair():\n    '''A pair.'''\n    first: int\n")


@pytest.mark.parametrize("name", ["found", "Record", "len", "HARDWARE"])
def test_a_name_has_one_meaning(name: str) -> None:
    one = text_of("def found():\n    pass\n")
    other = turned("plan/other.py", HEAD + f"def {name}():\n    pass\n")
    with pytest.raises(UnportableSource, match=rf"plan/other.py:5: {name} is a name of .+ too"):
        joined([one, other], ("HARDWARE",))


def test_a_module_comes_behind_what_it_imports() -> None:
    found = plan_source(["scan_plan", "even_share"])
    order = [where.partition(":")[0] for where in found.defined.values()]
    assert list(dict.fromkeys(order)) == [
        "plan/counts.py",
        "plan/residency.py",
        "plan/temporary_storage.py",
        "plan/scan_plan.py",
        "plan/even_share.py",
    ]


def test_the_text_defines_what_it_uses() -> None:
    found = plan_source(["reduce_launch"])
    tree = ast.parse("\n".join(found.runtime))
    text = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id.startswith("policygen")}
    assert not text
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
