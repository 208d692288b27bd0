"""The audit as one HTML file that loads nothing: a table for each section, readable in light and in dark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policygen import __version__
from policygen.emit.templates import template
from policygen.review.section import Section
from policygen.review.subject import Subject

_JUDGED: Final = ("verdict", "state")
"""Columns whose cells begin with a judgement."""

_LOOKS: Final = {
    "TRUE": "good",
    "equal": "good",
    "fits": "good",
    "settled": "good",
    "FALSE": "bad",
    "DIFFERS": "bad",
    "DOES NOT FIT": "bad",
    "CAVEAT": "unsure",
    "open": "unsure",
    "the limit is not known": "unsure",
}
"""Judgements that stand out; their words are in the cell, too."""


def audit_page(subject: Subject, sections: Sequence[Section]) -> str:
    """The whole page."""
    return template("report/audit.html.j2").render(
        version=__version__,
        target=subject.instance.name,
        title=subject.instance.target.title,
        sections=sections,
        judged=_JUDGED,
        looks=_LOOKS,
    )
