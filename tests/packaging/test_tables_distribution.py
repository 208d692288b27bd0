"""The generated tables install as a distribution of their own: namespace package, type marker and headers."""

from __future__ import annotations

import tomllib
from pathlib import Path

import jinja2
import pytest

from environments import REPOSITORY
from environments import Environment
from environments import build_distribution
from interpreters import find_python310

pytestmark = pytest.mark.slow

HEADER = "policygen/bi100/tuning_reduce.cuh"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder laid out as `generated/`, with one target of one algorithm."""
    folder = tmp_path_factory.mktemp("generated")
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(REPOSITORY / "templates"), undefined=jinja2.StrictUndefined, autoescape=False
    )
    project = templates.get_template("python/pyproject.toml.j2").render(
        banner=["Generated."], distribution="policygen-tables", package="policygen_tables", version="1.2.3"
    )
    contents = {
        f"include/{HEADER}": "#pragma once\n",
        "python/pyproject.toml": project,
        "python/policygen_tables/bi100/__init__.py": "SPEC_HASH = 'abc'\n",
        "python/policygen_tables/bi100/reduce.py": "",
        "python/policygen_tables/bi100/py.typed": "",
    }
    for name, text in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def tables_wheels(generated: Path, into: Path) -> dict[str, Path]:
    (wheel,) = build_distribution(generated / "python", into / "wheel", "--wheel")
    both = build_distribution(generated / "python", into / "both")
    return {"tree": wheel, "sdist": next(path for path in both if path.suffix == ".whl")}


def test_the_distribution_depends_on_nothing_and_says_its_python(generated: Path) -> None:
    project = tomllib.loads((generated / "python" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["name"], project["version"]) == ("policygen-tables", "1.2.3")
    assert project["dependencies"] == []
    assert project["requires-python"] == ">=3.10"


def test_a_wheel_brings_tables_type_marker_and_headers(generated: Path, tmp_path: Path) -> None:
    for origin, wheel in tables_wheels(generated, tmp_path).items():
        environment = Environment.create(tmp_path / f"venv-{origin}", find_python310())
        environment.install(wheel)
        packages = environment.site_packages / "policygen_tables"
        assert (environment.folder / "include" / HEADER).read_text(encoding="utf-8") == "#pragma once\n"
        assert (packages / "bi100" / "py.typed").is_file()
        assert not (packages / "__init__.py").exists()
        assert environment.evaluate("import policygen_tables.bi100 as t; print(t.SPEC_HASH)", tmp_path) == "abc"


def test_an_editable_install_reads_the_tree(generated: Path, tmp_path: Path) -> None:
    environment = Environment.create(tmp_path / "venv")
    environment.install("--editable", generated / "python")
    printed = environment.evaluate("import policygen_tables.bi100 as t; print(t.__file__)", tmp_path)
    assert Path(printed) == generated / "python" / "policygen_tables" / "bi100" / "__init__.py"


def test_tables_of_two_distributions_live_side_by_side(generated: Path, tmp_path: Path) -> None:
    environment = Environment.create(tmp_path / "venv", find_python310())
    environment.install(tables_wheels(generated, tmp_path)["tree"])
    own = tmp_path / "own" / "policygen_tables" / "mychip"
    own.mkdir(parents=True)
    (own / "__init__.py").write_text("SPEC_HASH = 'mine'\n", encoding="utf-8")
    code = (
        f"import sys; sys.path.append({str(tmp_path / 'own')!r}); "
        "from policygen_tables import bi100, mychip; print(bi100.SPEC_HASH, mychip.SPEC_HASH)"
    )
    assert environment.evaluate(code, tmp_path) == "abc mine"
