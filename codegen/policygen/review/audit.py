"""The audit of a target: its sections, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from typing import TypeAlias

from policygen.review.kernels_section import kernels_section
from policygen.review.limits_section import limits_section
from policygen.review.section import Section
from policygen.review.subject import Subject

MakeSection: TypeAlias = Callable[[Subject], Section]

SECTIONS: Final[tuple[MakeSection, ...]] = (limits_section, kernels_section)
"""What an audit consists of; a new section is a function here."""


def audit(subject: Subject) -> tuple[Section, ...]:
    """Every section of the audit of a target."""
    return tuple(make(subject) for make in SECTIONS)
