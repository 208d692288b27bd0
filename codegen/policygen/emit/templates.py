"""The templates that come with policygen."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from policygen.loading.package_data import data_dir

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2 import Template


def template(name: str) -> Template:
    """A template by its path below `templates/`. What it is not given is an error."""
    return _environment().get_template(name)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment
    from jinja2 import FileSystemLoader
    from jinja2 import StrictUndefined

    return Environment(
        loader=FileSystemLoader(data_dir("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        newline_sequence="\n",
        # text in a page may look like markup; in C++ and Python nothing is
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
    )
