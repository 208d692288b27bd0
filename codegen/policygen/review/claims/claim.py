"""A claim: what somebody says of CUB, and how the same is recomputed. The verdict follows; nobody writes it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from enum import Enum
from typing import TypeAlias

from attrs import field
from attrs import frozen

from policygen.review.upstream import Upstream

Answer: TypeAlias = "int | bool | str"
Answers: TypeAlias = Mapping[str, Answer]


class Verdict(Enum):
    """What recomputing says of a claim."""

    TRUE = "TRUE"
    """Everything that it says is so."""
    FALSE = "FALSE"
    """Nothing that it says is so."""
    CAVEAT = "CAVEAT"
    """Some of it is so."""


@frozen
class Claim:
    """A claim of the source notes.

    Attributes:
        id: its number, by topic: A scaling, B reduce, C even share, D scan, E delays, F transform, G folding, H other.
        by: which notes say it.
        algorithm: the algorithm that it is about; empty where it is about none in particular.
        text: what they say.
        says: the same as answers to questions, `items`: 16. A rule is one question, a list of values is several.
        recompute: answers the same questions.
        source: what the answers are recomputed from.
    """

    id: str
    by: str
    algorithm: str
    text: str
    says: Answers = field(hash=False)
    recompute: Callable[[Upstream], Answers]
    source: str


@frozen
class Checked:
    """A claim beside what is so."""

    claim: Claim
    found: Answers = field(hash=False)

    @property
    def verdict(self) -> Verdict:
        """All answers equal: TRUE; none: FALSE; some: CAVEAT."""
        equal = [self.claim.says[question] == answer for question, answer in self.found.items()]
        return Verdict.TRUE if all(equal) else Verdict.CAVEAT if any(equal) else Verdict.FALSE

    def told(self) -> str:
        """What was found; where it differs from the claim, what that says."""
        parts = []
        for question, answer in self.found.items():
            said = self.claim.says[question]
            parts.append(f"{question}: {_shown(answer)}" + ("" if said == answer else f" (not {_shown(said)})"))
        return "; ".join(parts)


def check(claim: Claim, upstream: Upstream) -> Checked:
    """Recomputes a claim.

    Raises:
        ValueError: it does not answer exactly the questions that the claim answers.
    """
    found = claim.recompute(upstream)
    if found.keys() != claim.says.keys():
        raise ValueError(f"claim {claim.id} says {sorted(claim.says)}, and {sorted(found)} is recomputed")
    return Checked(claim, found)


def _shown(answer: Answer) -> str:
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return f"{answer:,}" if isinstance(answer, int) else answer
