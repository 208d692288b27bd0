"""A-7: which architectures of a list share a kernel because their policies are equal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policygen.fold.arch_list import architecture_list
from policygen.fold.arch_list import fold_by_value
from policygen.fold.arch_list import fold_contiguous
from policygen.fold.arch_list import fold_figures

LISTED = (80, 86, 90, 100)


def contiguous(policies: str) -> list[int]:
    return [LISTED[position] for position in fold_contiguous(policies)]


def by_value(policies: str) -> list[int]:
    return [LISTED[position] for position in fold_by_value(policies)]


def test_in_cxx17_only_neighbours_share_a_kernel() -> None:
    """A-7: A, B, A, A on 80, 86, 90, 100: the 80 cannot lend its kernel to the 90 past the 86."""
    assert contiguous("ABAA") == [80, 86, 90, 90]
    assert len(set(contiguous("ABAA"))) == 3


def test_in_cxx20_all_equal_policies_share_a_kernel() -> None:
    assert by_value("ABAA") == [80, 86, 80, 80]
    assert len(set(by_value("ABAA"))) == 2


@pytest.mark.parametrize(
    ("policies", "neighbours", "values"),
    [
        ("AAAA", [80, 80, 80, 80], [80, 80, 80, 80]),
        ("ABCD", [80, 86, 90, 100], [80, 86, 90, 100]),
        ("AABB", [80, 80, 90, 90], [80, 80, 90, 90]),
        ("ABAB", [80, 86, 90, 100], [80, 86, 80, 86]),
        ("ABBA", [80, 86, 86, 100], [80, 86, 86, 80]),
        ("AAAB", [80, 80, 80, 100], [80, 80, 80, 100]),
    ],
)
def test_representatives(policies: str, neighbours: list[int], values: list[int]) -> None:
    assert contiguous(policies) == neighbours
    assert by_value(policies) == values


def test_one_architecture_represents_itself() -> None:
    assert fold_contiguous("A") == fold_by_value("A") == (0,)
    figures = fold_figures("copy", [90], [{90: "A"}, {90: "B"}])
    assert (figures.unfolded, figures.contiguous, figures.by_value) == (2, 2, 2)


def test_an_unsorted_list_or_one_with_duplicates_is_the_sorted_one() -> None:
    """A-7: the order on a command line decides nothing; 90 is not below 100 because it came later."""
    assert architecture_list([100, 80, 90, 86, 80, 100]) == LISTED
    policies = [dict(zip(LISTED, "ABAA", strict=True))]
    assert fold_figures("copy", [100, 90, 86, 80, 86], policies) == fold_figures("copy", LISTED, policies)


def test_an_empty_list_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected at least one architecture, such as "):
        architecture_list([])
    with pytest.raises(ValueError, match="expected at least one architecture, such as "):
        fold_figures("copy", [], [])


def test_figures_count_the_kernels_of_all_keys() -> None:
    policies = [dict(zip(LISTED, row, strict=True)) for row in ("ABAA", "AAAA", "ABCD")]
    figures = fold_figures("copy", LISTED, policies)
    assert (figures.keys, figures.unfolded) == (3, 12)
    assert (figures.contiguous, figures.by_value) == (3 + 1 + 4, 2 + 1 + 4)


@given(st.text("ABC", min_size=1, max_size=20))
def test_laws(policies: str) -> None:
    """Whoever represents an architecture has its policy, is not above it, and represents itself."""
    for fold in (fold_contiguous, fold_by_value):
        found = fold(policies)
        assert len(found) == len(policies)
        for position, first in enumerate(found):
            assert policies[first] == policies[position]
            assert first <= position
            assert found[first] == first
    assert len(set(fold_by_value(policies))) == len(set(policies)) <= len(set(fold_contiguous(policies)))
    for position, first in enumerate(fold_contiguous(policies)):
        # nothing else lies between an architecture and its representative
        assert len(set(policies[first : position + 1])) == 1
