"""Which reference kernels there are, and what each is made of."""

from __future__ import annotations

import ast
import hashlib
import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import Final

from policygen.emit.python.expressions import identifier
from policygen.reference import engine

if TYPE_CHECKING:
    from policygen.reference.contract.kernel import ReferenceKernel

_PACKAGE: Final = "policygen.reference"
_FOLDER: Final = Path(__file__).parent


def engine_kernels() -> tuple[str, ...]:
    """Names of the engine's kernels, in the order of the alphabet."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules(engine.__path__)))


def has_kernel(name: str) -> bool:
    """Whether there is a reference kernel of that name: an algorithm's, or one of the engine's."""
    return _file(module_of(name)) is not None


def kernel_of(name: str) -> ReferenceKernel[Any, Any]:
    """The reference kernel of that name. Raises ImportError where there is none, or no torch."""
    kernel: ReferenceKernel[Any, Any] = importlib.import_module(module_of(name)).KERNEL
    return kernel


def module_of(name: str) -> str:
    """The module of a kernel: `for` is in `for_each`, as in generated files."""
    return f"{_PACKAGE}.engine.{name}" if name in engine_kernels() else f"{_PACKAGE}.{identifier(name)}"


@cache
def source_digest(name: str) -> str:
    """Digest of the source of a kernel and of everything in this package that it imports."""
    total = hashlib.sha256()
    for module in sorted(_closure(module_of(name))):
        file = _file(module)
        assert file is not None
        total.update(module.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def _closure(module: str) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _imports(name)
    return found


def _imports(module: str) -> Iterator[str]:
    file = _file(module)
    assert file is not None
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith(f"{_PACKAGE}."):
            yield node.module


def _file(module: str) -> Path | None:
    place = _FOLDER.joinpath(*module.removeprefix(f"{_PACKAGE}.").split("."))
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)
