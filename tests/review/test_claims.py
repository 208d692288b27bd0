"""Claims of the source notes: each verdict follows from what is recomputed, and is what was found of CUB by probes."""

from __future__ import annotations

import re

import pytest
from attrs import evolve

from policygen.project import Project
from policygen.review.claims.claim import Claim
from policygen.review.claims.claim import Verdict
from policygen.review.claims.claim import check
from policygen.review.claims_section import CLAIMS
from policygen.review.claims_section import NOT_RECOMPUTED
from policygen.review.claims_section import claims_section
from policygen.review.subject import Subject
from policygen.review.subject import subject
from policygen.review.upstream import Upstream

from .conftest import Edited
from .conftest import rows_of

FOUND = {
    "TRUE": (
        "A1 A3 A9 B1 B5 B6 B7 B13 B17 B18 B19 B21 C4 C5 C6 C8 D1 D5 D9 D17 D18 D19 D22 E1 F1 F6 F7 F11 G1 H3 H4 H6"
    ),
    "FALSE": "A4 A5 B3 B4 B9 B10 B14 B15 B20 B22 C1 D2 D3 D4 D6 D7 D8 D11 D12 D15 D21 E2 E4 F2 F3 H5",
    "CAVEAT": "A2 A6 A7 B2 B8 B11 B16 C3 C7 D10 D14 D20 D23 F4 F9 G2 H1",
}
"""What evaluating CCCL 3.5's own headers, apart from the specs, said of each claim."""

TOPICS = {"A": 9, "B": 22, "C": 8, "D": 23, "E": 7, "F": 15, "G": 4, "H": 8}


def test_every_verdict_is_what_probes_of_cccl_found(bi100: Subject) -> None:
    computed = {row["id"]: row["verdict"] for row in rows_of(claims_section(bi100))}
    assert computed == {name: verdict for verdict, ids in FOUND.items() for name in ids.split()}


def test_every_claim_is_recomputed_or_said_not_to_be() -> None:
    recomputed = [claim.id for claim in CLAIMS]
    left = [name for _, ids in NOT_RECOMPUTED for name in ids]
    every = {f"{topic}{number}" for topic, count in TOPICS.items() for number in range(1, count + 1)}
    assert sorted(recomputed + left) == sorted(every)


def test_claims_about_other_algorithms_are_left_out(bi100: Subject) -> None:
    scan_alone = evolve(bi100, rules={"scan": bi100.rules["scan"]})
    about = {row["about"] for row in rows_of(claims_section(scan_alone))}
    assert about == {"", "scan"}


def claim(**says: int) -> Claim:
    return Claim("X1", "N9", "", "three numbers", says, lambda _: {"a": 1, "b": 2, "c": 3}, "here")


@pytest.mark.parametrize(
    ("says", "verdict"),
    [((1, 2, 3), Verdict.TRUE), ((1, 2, 4), Verdict.CAVEAT), ((1, 0, 0), Verdict.CAVEAT), ((0, 0, 0), Verdict.FALSE)],
)
def test_the_verdict_follows_from_the_answers(bi100: Subject, says: tuple[int, int, int], verdict: Verdict) -> None:
    a, b, c = says
    assert check(claim(a=a, b=b, c=c), bi100.upstream).verdict is verdict


def test_what_is_not_so_is_told_beside_what_is(bi100: Subject) -> None:
    assert check(claim(a=1, b=2_000, c=3), bi100.upstream).told() == "a: 1; b: 2 (not 2,000); c: 3"


def test_a_claim_and_its_recomputation_answer_the_same_questions(bi100: Subject) -> None:
    with pytest.raises(ValueError, match=re.escape("claim X1 says ['a', 'b'], and ['a', 'b', 'c'] is recomputed")):
        check(claim(a=1, b=2), bi100.upstream)


def test_no_claim_is_true_by_itself(bi100: Subject) -> None:
    """Saying something else makes every verdict another one, or leaves a caveat."""
    for one in CLAIMS:
        checked = check(one, bi100.upstream)
        opposite = {question: f"not {answer}" for question, answer in checked.found.items()}
        assert check(evolve(one, says=opposite), bi100.upstream).verdict is Verdict.FALSE
        assert check(evolve(one, says=dict(checked.found)), bi100.upstream).verdict is Verdict.TRUE


def verdicts(edited: Edited, file: str, old: str, new: str) -> dict[str, str]:
    upstream = Upstream(edited(file, old, new))
    return {one.id: check(one, upstream).verdict.value for one in CLAIMS}


def test_verdicts_follow_the_specs(edited: Edited) -> None:
    point = "multi_tile = { nominal = { threads_per_block = 512, items_per_thread = 16 }, vec_size = 2 }"
    changed = verdicts(edited, "references/cccl-3.5/reduce.toml", point, point.replace("512", "480"))
    assert (changed["B1"], changed["A9"], changed["B7"]) == ("CAVEAT", "CAVEAT", "TRUE")


def test_verdicts_follow_the_order_of_the_delays(edited: Edited) -> None:
    changed = verdicts(edited, "vocabulary.toml", '"no_delay", "fixed_delay",', '"fixed_delay", "no_delay",')
    assert (changed["D22"], changed["E1"]) == ("CAVEAT", "TRUE")


def test_verdicts_follow_the_models(edited: Edited) -> None:
    old = "exchange_bytes(threads, items, size) + 16 if algorithm in ('BLOCK_STORE_TRANSPOSE'"
    changed = verdicts(edited, "vocabulary.toml", old, old.replace(" + 16", ""))
    assert (changed["D10"], changed["D12"]) == ("TRUE", "CAVEAT")


def test_an_audit_of_another_target_has_the_same_verdicts(bi100: Subject, sm_90: Subject) -> None:
    assert rows_of(claims_section(bi100)) == rows_of(claims_section(sm_90))


def test_facts_that_are_set_do_not_reach_upstream(packaged: Project) -> None:
    narrow = subject(packaged, "bi100", ("reduce",), {"warp_size": "32"})
    assert {row["id"]: row["verdict"] for row in rows_of(claims_section(narrow))}["B14"] == "FALSE"
