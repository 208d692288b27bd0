"""The claims of the source notes about CUB, each recomputed now, with the verdict that follows."""

from __future__ import annotations

from typing import Final

from policygen.review.claims.claim import Checked
from policygen.review.claims.claim import Claim
from policygen.review.claims.claim import check
from policygen.review.claims.delay_claims import DELAY_CLAIMS
from policygen.review.claims.even_share_claims import EVEN_SHARE_CLAIMS
from policygen.review.claims.other_claims import OTHER_CLAIMS
from policygen.review.claims.reduce_claims import REDUCE_CLAIMS
from policygen.review.claims.scaling_claims import SCALING_CLAIMS
from policygen.review.claims.scan_claims import SCAN_CLAIMS
from policygen.review.claims.transform_claims import TRANSFORM_CLAIMS
from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject
from policygen.review.weights import by_weight

CLAIMS: Final[tuple[Claim, ...]] = (
    *SCALING_CLAIMS,
    *REDUCE_CLAIMS,
    *EVEN_SHARE_CLAIMS,
    *SCAN_CLAIMS,
    *DELAY_CLAIMS,
    *TRANSFORM_CLAIMS,
    *OTHER_CLAIMS,
)
"""Every claim that is recomputed, by id."""

NOT_RECOMPUTED: Final = (
    ("of upstream's source text, which no spec holds", ("B12", "C2", "D16", "E3", "E5", "E6")),
    ("of upstream's benchmark tools, which are no part of the package", ("F12", "F13", "F14")),
    ("of a device, to be measured there", ("H2", "H7")),
    ("of places in upstream's files, which move", ("H8",)),
    ("facts of upstream that no note claims", ("A8", "D13", "E7", "F5", "F8", "F10", "F15", "G3", "G4")),
)
"""Claims that specs, plans and rules say nothing of, by why."""

COLUMNS: Final = (
    Column("id"),
    Column("by"),
    Column("about"),
    Column("claim"),
    Column("verdict"),
    Column("recomputed"),
    Column("from"),
)


def claims_section(subject: Subject) -> Section:
    """A row for each claim about an algorithm under review, or about none in particular, in the order of weights."""
    asked = [claim for claim in CLAIMS if not claim.algorithm or claim.algorithm in subject.rules]
    asked.sort(key=lambda claim: by_weight(claim.algorithm) if claim.algorithm else (-1, ""))
    checked = [check(claim, subject.upstream) for claim in asked]
    rows = tuple(_row(one) for one in checked)
    verdicts = [one.verdict.value for one in checked]
    counted = ", ".join(f"{verdicts.count(value)} {value}" for value in dict.fromkeys(sorted(verdicts, reverse=True)))
    notes = (
        f"{len(rows)} claims of the source notes: {counted}; a verdict is TRUE where every answer is as claimed, FALSE "
        "where none is, CAVEAT where some are",
        *(f"not recomputed, {why}: {', '.join(ids)}" for why, ids in NOT_RECOMPUTED),
    )
    return Section("claims", "Claims of the source notes about CUB", COLUMNS, rows, notes)


def _row(checked: Checked) -> Row:
    claim = checked.claim
    cells = (
        claim.id,
        claim.by,
        claim.algorithm or "all",
        claim.text,
        checked.verdict.value,
        checked.told(),
        claim.source,
    )
    data = {
        "id": claim.id,
        "by": claim.by,
        "about": claim.algorithm,
        "claim": claim.text,
        "verdict": checked.verdict.value,
        "says": dict(claim.says),
        "recomputed": dict(checked.found),
        "from": claim.source,
    }
    return Row(cells, data)
