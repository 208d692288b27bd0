"""The project that a command works on: the nearest folder upwards with a `policygen.toml`, and what that file says."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from pathlib import PurePosixPath
from typing import Any
from typing import Final

from attrs import Factory
from attrs import field
from attrs import fields
from attrs import frozen
from cattrs import ClassValidationError
from cattrs import Converter
from cattrs import ForbiddenExtraKeysError
from cattrs.gen import make_dict_structure_fn
from cattrs.gen import override

from policygen.loading.gate_settings import READERS
from policygen.loading.gate_settings import GateSettings
from policygen.loading.gate_settings import SettingError
from policygen.loading.toml_positions import KeyPath
from policygen.loading.toml_source import TomlSource
from policygen.loading.toml_source import read_toml
from policygen.model.problems import Problem
from policygen.model.problems import SpecError
from policygen.model.problems import did_you_mean

PROJECT_FILE: Final = "policygen.toml"

_TARGET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


@frozen
class ProjectSettings:
    """The `[project]` table of `policygen.toml`.

    Attributes:
        targets: Names of the targets that `build --all` writes and `check` compares; never empty, each once.
        algorithms: Names of the algorithms that are built; empty for all.
        output: Folder of the generated files, relative to the project's folder and inside it.
        tables_package: Import name of the generated Python tables.
        tables_distribution: Name under which the tables are installed; by default that of the package with
            dashes. Two distributions may share one package, never one name.
    """

    targets: tuple[str, ...]
    algorithms: tuple[str, ...] = ()
    output: str = "generated"
    tables_package: str = "policygen_tables"
    tables_distribution: str = Factory(lambda self: self.tables_package.replace("_", "-"), takes_self=True)


@frozen
class ProjectRoot:
    """A project's folder and settings.

    Attributes:
        folder: The absolute path of the folder that holds `policygen.toml`.
        settings: What the file says.
        source: The file as read, for the line of a setting that proves wrong later on.
        gates: What the file asks of a change before `check` passes.
    """

    folder: Path
    settings: ProjectSettings
    source: TomlSource = field(eq=False, repr=False)
    gates: GateSettings = Factory(GateSettings)

    @property
    def specs(self) -> Path:
        """The project's own specs; the folder need not exist."""
        return self.folder / "specs"

    @property
    def output(self) -> Path:
        """Where generated files go; the folder need not exist."""
        return self.folder / self.settings.output


@frozen
class _ProjectDocument:
    project: ProjectSettings
    gates: GateSettings = Factory(GateSettings)


def find_project(start: Path) -> ProjectRoot:
    """Finds and reads the project that a folder belongs to.

    Args:
        start: A folder; it and the folders above it are searched, the nearest `policygen.toml` counts.

    Raises:
        SpecError: There is no such folder, no project, or its `policygen.toml` is wrong (every error found).
    """
    origin = start.resolve()
    if not origin.is_dir():
        raise SpecError([Problem(str(start), None, "", "no such folder; expected the folder of a project")])
    for folder in (origin, *origin.parents):
        if (folder / PROJECT_FILE).is_file():
            return _read(folder)
    reason = f"no {PROJECT_FILE} here or in a folder above; write one, or pass --project DIR"
    raise SpecError([Problem(str(start), None, "", reason)])


def _read(folder: Path) -> ProjectRoot:
    file = folder / PROJECT_FILE
    here = Path.cwd()
    source = read_toml(file, (file.relative_to(here) if file.is_relative_to(here) else file).as_posix())
    try:
        document = _converter().structure(source.data, _ProjectDocument)
    except ClassValidationError as error:
        raise SpecError(source.problem(path, reason) for path, reason in _reasons(error, ())) from error
    return ProjectRoot(folder, document.project, source, document.gates)


def _converter() -> Converter:
    converter = Converter(forbid_extra_keys=True)
    hooks = {
        "targets": _targets,
        "algorithms": _algorithms,
        "output": _output,
        "tables_package": _tables_package,
        "tables_distribution": _tables_distribution,
    }
    _register(converter, ProjectSettings, "project", hooks)
    _register(converter, GateSettings, "gates", READERS)
    return converter


def _register(
    converter: Converter, table: type[Any], name: str, hooks: Mapping[str, Callable[[object, object], object]]
) -> None:
    """Has a table read key by key, each by its own hook."""
    overrides: Any = {key: override(struct_hook=hook) for key, hook in hooks.items()}
    structure = make_dict_structure_fn(table, converter, _cattrs_forbid_extra_keys=True, **overrides)

    def read(value: object, _: object) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"expected a table; write [{name}] on a line of its own, not {_shown(value)}")
        return structure(value, table)

    converter.register_structure_hook(table, read)


def _reasons(error: ClassValidationError, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    of_fields, others = error.group_exceptions()
    for cause, note in of_fields:
        inner = (*path, note.name)
        if isinstance(cause, ClassValidationError):
            yield from _reasons(cause, inner)
        elif isinstance(cause, KeyError):
            yield inner, "missing; add this key"
        elif isinstance(cause, SettingError):
            yield (*inner, *cause.path), str(cause)
        else:
            yield inner, str(cause)
    for cause in others:
        if isinstance(cause, ForbiddenExtraKeysError):
            valid = [attribute.name for attribute in fields(cause.cl)]
            for name in sorted(cause.extra_fields):
                yield (*path, name), f"unknown key{did_you_mean(name, valid)}"
        else:
            yield path, str(cause)


def _targets(value: object, _: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f'expected a list of target names such as ["bi100", "sm_90"], not {_shown(value)}')
    for name in value:
        if not isinstance(name, str) or _TARGET.fullmatch(name) is None:
            raise ValueError(f'expected target names in quotes such as "sm_90", not {_shown(name)}')
        if value.count(name) > 1:
            raise ValueError(f'"{name}" is listed twice; list every target once')
    return tuple(value)


def _algorithms(value: object, _: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(name, str) for name in value):
        raise ValueError(f'expected a list of algorithms such as ["reduce", "scan"], not {_shown(value)}')
    return tuple(dict.fromkeys(value))


def _output(value: object, _: object) -> str:
    folder = PurePosixPath(_text(value, "generated"))
    if folder.is_absolute() or ".." in folder.parts or not folder.parts:
        raise ValueError(f'expected a folder inside the project such as "generated", not {_shown(value)}')
    return folder.as_posix()


def _tables_package(value: object, _: object) -> str:
    name = _text(value, "policygen_tables")
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        raise ValueError(f'expected one Python identifier such as "policygen_tables", not {_shown(value)}')
    return name


def _tables_distribution(value: object, _: object) -> str:
    name = _text(value, "policygen-tables")
    if _DISTRIBUTION.fullmatch(name) is None:
        raise ValueError(f'expected the name of a distribution such as "policygen-tables", not {_shown(value)}')
    return name


def _text(value: object, example: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f'expected text in quotes such as "{example}", not {_shown(value)}')
    return value


def _shown(value: object) -> str:
    """A value as TOML writes it, as far as a message needs."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case list():
            return f"[{', '.join(map(_shown, value))}]"
        case dict():
            return "a table"
        case _:
            return str(value)
