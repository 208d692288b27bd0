"""Reading all spec files of a project: the packaged ones, and the project's own in front of or beside them."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import evolve
from attrs import frozen

from policygen.lang.tree import Scope
from policygen.loading import definitions
from policygen.loading.about import subject_of
from policygen.loading.about import used_algorithms
from policygen.loading.algorithm import load_algorithm
from policygen.loading.collector import Collector
from policygen.loading.engine_tables import read_shapes
from policygen.loading.ladders import load_rules
from policygen.loading.targets import load_target
from policygen.loading.toml_source import TomlSource
from policygen.loading.toml_source import read_toml
from policygen.model.problems import Problem
from policygen.model.problems import SpecError
from policygen.model.problems import did_you_mean
from policygen.model.types import Enumeration
from policygen.model.types import Struct
from policygen.spec import Algorithm
from policygen.spec import RuleSet
from policygen.spec import Shape
from policygen.spec import Spec
from policygen.spec import Target
from policygen.spec import Vocabulary

_VOCABULARY_KEYS = ("enumeration", "struct", "table", "function", "feature")
_REFERENCE_KEYS = ("algorithm", "source", "let", "table", "function", "ladder")


@frozen
class SpecFile:
    """A spec file: its path, and the path that people see in messages and that decides what it is about."""

    path: Path
    name: str


def spec_files(folders: Sequence[tuple[Path, str]]) -> tuple[SpecFile, ...]:
    """All spec files of some folders; where two folders have the same file, the earlier one counts.

    Vocabularies do not hide each other: each adds to those of the later folders, which come before it.

    Args:
        folders: each with the prefix under which its files are shown.
    """
    found: dict[str, SpecFile] = {}
    vocabularies: list[SpecFile] = []
    for folder, prefix in folders:
        for path in sorted(folder.rglob("*.toml")):
            inside = path.relative_to(folder).as_posix()
            file = SpecFile(path, f"{prefix}{inside}")
            if inside == "vocabulary.toml":
                vocabularies.insert(0, file)
            elif inside.split("/")[0] in ("targets", "algorithms", "references", "engine"):
                found.setdefault(inside, file)
    return (*vocabularies, *(found[inside] for inside in sorted(found)))


def load_spec(files: Sequence[SpecFile], only: Collection[str] | None = None) -> Spec:
    """Reads spec files.

    Args:
        files: all of a project.
        only: the algorithms and tables that are asked about, with what they build on; None for all. The spec has no
            others then, nor rules of targets for others. Files about others are not read, their problems not found.

    Raises:
        SpecError: with every problem of every file that was read.
    """
    return _SpecReader(files, only).read()


class _SpecReader:
    def __init__(self, files: Sequence[SpecFile], only: Collection[str] | None) -> None:
        self._only = only
        self._problems: list[Problem] = []
        self._sources: dict[str, list[TomlSource]] = {
            "vocabulary": [],
            "algorithms": [],
            "references": [],
            "targets": [],
            "engine": [],
            "model": [],
        }
        self._reference_of: dict[str, str] = {}
        self._reference_names: dict[str, None] = {}
        for file in files:
            folders = file.path.parts
            if len(folders) >= 3 and folders[-3] == "references":
                self._reference_names[folders[-2]] = None
            subject = None if only is None else subject_of(file.path)
            if only is None or subject is None or subject in only:
                self._open(file)

    def _open(self, file: SpecFile) -> None:
        try:
            source = read_toml(file.path, file.name)
        except SpecError as error:
            self._problems += error.problems
            return
        folders = file.path.as_posix().split("/")
        if folders[-1] == "vocabulary.toml":
            self._sources["vocabulary"].append(source)
        elif folders[-2] in ("algorithms", "targets"):
            self._sources[folders[-2]].append(self._with_rules(source) if folders[-2] == "targets" else source)
        elif folders[-2:] == ["engine", "model.toml"]:
            self._sources["model"].append(source)
        elif "engine" in folders[-3:-1]:
            self._sources["engine"].append(source)
        elif len(folders) >= 3 and folders[-3] == "references":
            self._sources["references"].append(source)
            self._reference_of[source.file] = folders[-2]

    def _with_rules(self, target: TomlSource) -> TomlSource:
        """A target with the rules that are asked about."""
        rules = target.data.get("rules")
        if self._only is None or not isinstance(rules, dict):
            return target
        return evolve(target, data={**target.data, "rules": {n: r for n, r in rules.items() if n in self._only}})

    def read(self) -> Spec:
        vocabulary = self._vocabulary()
        algorithms = self._algorithms(vocabulary)
        shapes = self._shapes(vocabulary)
        references = self._references(vocabulary, algorithms)
        engine = self._engine(vocabulary, algorithms, shapes)
        targets = self._targets(vocabulary, {**algorithms, **engine}, references)
        if self._problems:
            raise SpecError(self._problems)
        return Spec(vocabulary, algorithms, references, targets, engine, shapes)

    def _shapes(self, vocabulary: Vocabulary) -> dict[str, Shape]:
        found: dict[str, Shape] = {}
        for source in self._sources["model"]:
            collector = self._collector(source, vocabulary)
            found |= read_shapes(collector)
            self._problems += collector.problems
        return found

    def _engine(
        self, vocabulary: Vocabulary, algorithms: Mapping[str, Algorithm], shapes: Mapping[str, Shape]
    ) -> dict[str, Algorithm]:
        """The tables of the engine; each may build on algorithms and on tables."""
        found: dict[str, Algorithm] = {}
        for source in _in_order(self._sources["engine"], _used_algorithms, self._problems):
            collector = self._collector(source, vocabulary)
            table = load_algorithm(collector, vocabulary, {**algorithms, **found}, shapes)
            if table is not None:
                if table.name in found:
                    collector.report(("name",), f'"{table.name}" is defined by {found[table.name].location.file} too')
                found[table.name] = table
            self._problems += collector.problems
        return dict(sorted(found.items()))

    def _vocabulary(self) -> Vocabulary:
        enumerations: dict[str, Enumeration] = {}
        structs: dict[str, Struct] = {}
        features: dict[str, str] = {}
        scope = Scope()
        for source in self._sources["vocabulary"]:
            collector = Collector(source, enumerations, structs)
            _refuse_unknown(collector, source.data, _VOCABULARY_KEYS)
            definitions.declare(collector, source.data)
            for name, table in source.data.get("feature", {}).items():
                features[name] = str(table.get("doc", "")) if isinstance(table, dict) else ""
            scope = definitions.define(collector, scope, source.data, {})
            self._problems += collector.problems
        return Vocabulary(enumerations, structs, features, scope)

    def _collector(self, source: TomlSource, vocabulary: Vocabulary) -> Collector:
        return Collector(source, dict(vocabulary.enumerations), dict(vocabulary.structs))

    def _algorithms(self, vocabulary: Vocabulary) -> Mapping[str, Algorithm]:
        found: dict[str, Algorithm] = {}
        for source in _in_order(self._sources["algorithms"], _used_algorithms, self._problems):
            collector = self._collector(source, vocabulary)
            algorithm = load_algorithm(collector, vocabulary, found)
            if algorithm is not None:
                if algorithm.name in found:
                    collector.report(
                        ("name",), f'"{algorithm.name}" is defined by {found[algorithm.name].location.file} too'
                    )
                found[algorithm.name] = algorithm
            self._problems += collector.problems
        return dict(sorted(found.items()))

    def _references(
        self, vocabulary: Vocabulary, algorithms: Mapping[str, Algorithm]
    ) -> Mapping[str, Mapping[str, RuleSet]]:
        found: dict[str, dict[str, RuleSet]] = {name: {} for name in self._reference_names}
        for source in self._sources["references"]:
            collector = self._collector(source, vocabulary)
            _refuse_unknown(collector, source.data, _REFERENCE_KEYS)
            origin = self._reference_of[source.file]
            rules = found[origin]
            name = source.data.get("algorithm")
            if name not in algorithms:
                # an algorithm with problems of its own is named there
                if not any(s.data.get("name") == name for s in self._sources["algorithms"]):
                    hint = did_you_mean(str(name), tuple(algorithms))
                    collector.report(("algorithm",), f'unknown algorithm "{name}"{hint}')
            else:
                rules[str(name)] = load_rules(
                    collector, algorithms[str(name)], source.data, (), origin, vocabulary.features
                )
            self._problems += collector.problems
        return found

    def _targets(
        self,
        vocabulary: Vocabulary,
        algorithms: Mapping[str, Algorithm],
        references: Mapping[str, Mapping[str, RuleSet]],
    ) -> Mapping[str, Target]:
        found: dict[str, Target] = {}
        for source in _in_order(self._sources["targets"], _extended_target, self._problems):
            collector = self._collector(source, vocabulary)
            target = load_target(collector, vocabulary, algorithms, references, found)
            if target is not None:
                if target.name in found:
                    collector.report(("name",), f'"{target.name}" is defined by {found[target.name].location.file} too')
                for position, device in enumerate(target.devices):
                    other = next((t.name for t in found.values() if device in t.devices), None)
                    if other is not None:
                        collector.report(("devices", position), f'"{device}" is a device of {other} already')
                found[target.name] = target
            self._problems += collector.problems
        return dict(sorted(found.items()))


def _refuse_unknown(collector: Collector, table: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            collector.report((key,), f"unknown key{did_you_mean(key, known)}")


def _used_algorithms(source: TomlSource) -> list[str]:
    return used_algorithms(source.data)


def _extended_target(source: TomlSource) -> list[str]:
    return [str(source.data["extends"])] if "extends" in source.data else []


def _in_order(sources: Sequence[TomlSource], needs: Any, problems: list[Problem]) -> list[TomlSource]:
    """The sources with what each builds on before it; a circle is a problem and is left out."""
    by_name = {str(s.data.get("name")): s for s in sources}
    ordered: list[TomlSource] = []

    def visit(source: TomlSource, above: tuple[TomlSource, ...]) -> None:
        if source in ordered:
            return
        if any(s is source for s in above):
            names = " -> ".join(str(s.data.get("name")) for s in (*above, source))
            problems.append(source.problem(("name",), f"these build on each other: {names}"))
            return
        for name in needs(source):
            if name in by_name:
                visit(by_name[name], (*above, source))
        if not any(s is source for s in ordered):
            ordered.append(source)

    for source in sources:
        visit(source, ())
    return ordered
