"""What became of a validation, for people, for programs and for continuous integration (JUnit XML)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from policygen.validate.validation import Judged
from policygen.validate.validation import Validation


def as_text(found: Validation) -> Iterator[str]:
    """A line for each case, with the first difference and how to see it again where it failed; then a summary."""
    width = max((len(one.case.kernel) for one in found.judged), default=0)
    for one in found.judged:
        yield f"{_verdict(one)}  {one.case.kernel:<{width}}  {_what(one)}"
        if one.failure is not None:
            yield f"      {one.failure.problem}: {one.failure.reason}"
            yield f"      {one.reproduce}"
    yield _summary(found)


def as_dict(found: Validation) -> dict[str, Any]:
    """The same as data."""
    return {
        "target": found.target,
        "device": found.device,
        "cases": len(found.judged),
        "failed": len(found.failed),
        "problems": sum(one.outcome.problems for one in found.judged),
        "refused_keys": found.plan.refused,
        "without_kernel": list(found.plan.without_kernel),
        "results": [_result(one) for one in found.judged],
    }


def as_junit(found: Validation) -> str:
    """The same as JUnit XML: a suite for each kernel, a test case for each case."""
    root = ElementTree.Element("testsuites", {"name": f"policygen validate {found.target}", **_counts(found.judged)})
    for kernel in dict.fromkeys(one.case.kernel for one in found.judged):
        own = [one for one in found.judged if one.case.kernel == kernel]
        suite = ElementTree.SubElement(root, "testsuite", {"name": kernel, **_counts(own)})
        for one in own:
            test = ElementTree.SubElement(suite, "testcase", classname=f"{found.target}.{kernel}", name=_what(one))
            if one.failure is not None:
                failure = ElementTree.SubElement(test, "failure", message=_printable(one.failure.reason))
                failure.text = _printable(f"{one.failure.problem}\n{one.reproduce}")
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _result(one: Judged) -> dict[str, Any]:
    case, failure = one.case, one.failure
    wrong = None if failure is None else {"problem": failure.problem, "reason": failure.reason}
    return {
        "kernel": case.kernel,
        "key": dict(case.given),
        "keys": len(case.keys),
        "point": case.point,
        "warp_size": case.warp_size,
        "policy": case.policy.as_dict(),
        "problems": one.outcome.problems,
        "passed": failure is None,
        "failure": wrong if wrong is None else {**wrong, "reproduce": one.reproduce},
    }


def _verdict(one: Judged) -> str:
    return "pass" if one.failure is None else "FAIL"


def _what(one: Judged) -> str:
    case, problems = one.case, one.outcome.problems
    given = ", ".join(f"{name}={value}" for name, value in case.given.items()) or "its only key"
    more = f" and {len(case.keys) - 1} more" if len(case.keys) > 1 else ""
    counted = "1 problem" if problems == 1 else f"{problems} problems"
    return f"{case.point} ({given}{more}), warp {case.warp_size}: {counted}"


def _summary(found: Validation) -> str:
    kernels = len({one.case.kernel for one in found.judged})
    problems = sum(one.outcome.problems for one in found.judged)
    failed = f"{len(found.failed)} failed" if found.failed else "all passed"
    refused = f"; {found.plan.refused} common keys are refused by the target" if found.plan.refused else ""
    return (
        f"{found.target} on {found.device}: {len(found.judged)} policies and classes of keys of {kernels} kernels, "
        f"{problems} problems: {failed}{refused}"
    )


def _counts(judged: tuple[Judged, ...] | list[Judged]) -> dict[str, str]:
    failed = sum(one.failure is not None for one in judged)
    return {"tests": str(len(judged)), "failures": str(failed), "errors": "0"}


def _printable(text: str) -> str:
    """XML has no place for most control characters."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)
