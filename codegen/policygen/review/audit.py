"""The audit of a target: its sections, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from typing import TypeAlias

from policygen.review.benchmarks_section import benchmarks_section
from policygen.review.claims_section import claims_section
from policygen.review.conflicts_section import conflicts_section
from policygen.review.critical_path_section import critical_path_section
from policygen.review.delays_section import delay_kinds_section
from policygen.review.delays_section import scan_delays_section
from policygen.review.kernels_section import kernels_section
from policygen.review.limits_section import limits_section
from policygen.review.neutrals_section import neutrals_section
from policygen.review.points_section import points_section
from policygen.review.questions_section import questions_section
from policygen.review.reduce_points_section import reduce_points_section
from policygen.review.register_budget_section import register_budget_section
from policygen.review.scaling_parity_section import scaling_parity_section
from policygen.review.scan_tiles_section import scan_tiles_section
from policygen.review.section import Section
from policygen.review.subject import Subject
from policygen.review.unreachable_section import unreachable_section

MakeSection: TypeAlias = Callable[[Subject], Section | None]

SECTIONS: Final[tuple[MakeSection, ...]] = (
    critical_path_section,
    conflicts_section,
    points_section,
    scaling_parity_section,
    reduce_points_section,
    register_budget_section,
    scan_tiles_section,
    delay_kinds_section,
    scan_delays_section,
    benchmarks_section,
    limits_section,
    kernels_section,
    neutrals_section,
    unreachable_section,
    claims_section,
    questions_section,
)
"""What an audit consists of; a new section is a function here, and gives None where there is nothing to say."""


def audit(subject: Subject) -> tuple[Section, ...]:
    """Every section of the audit of a target."""
    return tuple(section for make in SECTIONS if (section := make(subject)) is not None)
