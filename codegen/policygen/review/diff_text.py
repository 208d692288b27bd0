"""A policy difference as people read it: text for the terminal, Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Final

from policygen.review.policy_diff import PolicyChange
from policygen.review.policy_diff import PolicyDiff
from policygen.review.weights import by_weight

_FOLDED_ROWS: Final = 12
"""Tables of more rows than this are folded in Markdown."""


def text_lines(diff: PolicyDiff) -> Iterator[str]:
    """The difference as text: what is newly wrong, the causes, then the policies under each set of causes."""
    for line in diff.violations:
        yield f"new violation: {line}"
    for line in diff.mended:
        yield f"mended: {line}"
    for fact in diff.facts:
        yield f"fact: {fact}"
    for causes, changes in _by_causes(diff):
        yield ""
        for cause in _cause_lines(diff, causes):
            yield f"cause: {cause}"
        yield f"{_counted(_keys(changes), 'key')} in {_counted(len(changes), 'group')}:"
        for change in changes:
            yield f"  {change.target} {change.algorithm}: {'; '.join(map(str, change.ranges))}"
            yield f"    {_what(change)}"
            yield from (f"    {found}" for found in change.consequences)
    for edit in diff.other_edits:
        yield f"no policy of a common key changed by: {edit}"
    if not diff:
        yield f"no policy of a common key differs between {diff.old} and {diff.new}"


def markdown_lines(diff: PolicyDiff) -> Iterator[str]:
    """The difference as Markdown: a summary, what is newly wrong, a table for each set of causes; long ones folded."""
    targets = dict.fromkeys(change.target for change in diff.changes)
    yield f"### Policies: {diff.old} -> {diff.new}"
    yield ""
    if not diff:
        yield "No policy of a common key differs."
    else:
        where = ", ".join(targets) or "no target"
        groups = _counted(len(diff.changes), "group")
        yield f"{_counted(_keys(diff.changes), 'key')} with another policy in {groups}, on {where}."
    for title, lines in (("New violations", diff.violations), ("Mended", diff.mended)):
        if lines:
            yield from ("", f"**{title}**", "")
            yield from (f"- {_escaped(line)}" for line in lines)
    if diff.facts:
        yield from ("", "**Facts**", "")
        yield from (f"- {fact}" for fact in diff.facts)
    for causes, changes in _by_causes(diff):
        yield ""
        yield from (f"**Cause:** `{cause}`  " for cause in _cause_lines(diff, causes))
        yield from _table(changes)
    if diff.other_edits:
        yield from (
            "",
            f"<details><summary>{_counted(len(diff.other_edits), 'edit')} without an effect on common keys</summary>",
            "",
        )
        yield from (f"- `{edit}`" for edit in diff.other_edits)
        yield from ("", "</details>")


def _table(changes: Sequence[PolicyChange]) -> Iterator[str]:
    folded = len(changes) > _FOLDED_ROWS
    if folded:
        yield ""
        yield f"<details><summary>{_counted(_keys(changes), 'key')} in {_counted(len(changes), 'group')}</summary>"
    yield ""
    yield "| target | algorithm | keys | policy | leads to |"
    yield "|---|---|---|---|---|"
    for change in changes:
        ranges = "<br>".join(_escaped(str(found)) for found in change.ranges)
        leads_to = "<br>".join(_escaped(str(found)) for found in change.consequences)
        yield f"| {change.target} | {change.algorithm} | {ranges} | {_escaped(_what(change))} | {leads_to} |"
    if folded:
        yield ""
        yield "</details>"


def _what(change: PolicyChange) -> str:
    points = change.points
    from_point = "" if points[0] == points[1] else f" (point {points[0] or 'none'} -> {points[1] or 'none'})"
    if change.kind != "changed":
        side = 1 if change.kind == "added" else 0
        fields = ", ".join(f"{field[0]} {field[2] if side else field[1]}" for field in change.fields)
        return f"{change.kind}: {fields} (point {points[side]})"
    return ", ".join(f"{name} {before} -> {after}" for name, before, after in change.fields) + from_point


def _by_causes(diff: PolicyDiff) -> Iterator[tuple[tuple[int, ...], list[PolicyChange]]]:
    """Changes under the causes that they share; within them in the order of the engine's weights."""
    groups: dict[tuple[int, ...], list[PolicyChange]] = {}
    for change in diff.changes:
        groups.setdefault(change.causes, []).append(change)
    for causes, changes in groups.items():
        yield causes, sorted(changes, key=lambda change: by_weight(change.algorithm))


def _cause_lines(diff: PolicyDiff, causes: Iterable[int]) -> list[str]:
    return [str(diff.edits[number]) for number in causes] or [
        "the facts that are assumed" if diff.facts else "none in the specs"
    ]


def _keys(changes: Iterable[PolicyChange]) -> int:
    return sum(change.keys for change in changes)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
