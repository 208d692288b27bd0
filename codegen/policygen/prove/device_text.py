"""The report of a run on a GPU as Markdown, and as data with one case a line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any

from attrs import asdict

from policygen.prove.device_lines import Case
from policygen.prove.device_lines import Launch
from policygen.prove.device_lines import Run
from policygen.prove.device_report import DeviceReport
from policygen.prove.device_report import Footprint
from policygen.prove.device_report import Ran


def markdown(report: DeviceReport) -> Iterator[str]:
    """Yields the lines of the report for people."""
    device = report.device
    on = "no GPU" if device is None else device.device
    yield f"# {report.target} on {on}"
    yield ""
    yield (
        f"CUB ran with the policies of `{report.target}`. Each result was checked, and the block of each kernel was "
        "read from its launch."
    )
    yield ""
    yield from _table(("", ""), _circumstances(report))
    yield ""
    yield from _verdict(report)
    yield from ("", f"## Policies of {report.target}", "")
    counts = ("algorithm", "runs", "passed", "not run", "failed")
    yield from _table((*counts, "threads of its kernels", "policies as CUB's"), (_row(ran) for ran in report.own))
    yield from ("", f"## Other blocks: {report.twin}", "")
    yield (
        f"Most policies of `{report.target}` equal CUB's own. The same calls with a target whose policies all have "
        "other blocks show that CUB takes the tuning that it is given: one that gets lost runs with CUB's, and fails."
    )
    yield ""
    yield from _table(
        (*counts, "threads of its kernels", f"threads of {report.target}"),
        (_shifted_row(report, ran) for ran in report.shifted),
    )
    yield from ("", "## Kernels", "")
    yield (
        "Registers, shared memory and resident blocks as the driver gives them for the kernels that ran, of all types "
        "together; the last column counts the kernels whose resident blocks the specs give, too."
    )
    yield ""
    kernel_headings = ("algorithm", "kernel", "threads", "registers", "static", "dynamic", "blocks/SM", "specs agree")
    yield from _table(kernel_headings, _kernel_rows(report))
    yield from ("", "## Sizes", "")
    yield from _table(("algorithm", "call", "counts", "tile is that of"), _size_rows(report))
    remarks = list(_remarks(report))
    if remarks:
        yield from ("", "## Not run, and why", "")
        yield from (f"- {remark}" for remark in remarks)
    if report.faults:
        yield from ("", "## What was wrong", "")
        yield from (f"- {fault}" for fault in report.faults)


def summary(report: DeviceReport) -> Iterator[str]:
    """Yields the report for the terminal: a line an algorithm, and how many runs passed."""
    rows = [("algorithm", "runs", "passed", "not run", "failed"), *(_counts(ran) for ran in report.all)]
    names = [rows[0][0], *(ran.outcome.program for ran in report.all)]
    cells = [(name, *row[1:]) for name, row in zip(names, rows, strict=True)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(rows[0]))]
    for row in cells:
        first, *counts = row
        yield "  ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(counts, widths[1:], strict=True))])
    yield from (f"not run: {remark}" for remark in _remarks(report))
    yield from (line.replace("**", "") for line in _verdict(report))


def as_data(report: DeviceReport) -> dict[str, Any]:
    """The report as data."""
    return {
        "target": report.target,
        "policygen": report.version,
        "device": None if report.device is None else asdict(report.device),
        "faults": list(report.faults),
        "not_run": list(_remarks(report)),
        "runs": {
            status: sum(ran.count(status) for ran in report.all)
            for status in ("passed", "failed", "skipped", "refused")
        },
        "cases": [_case(ran, case) for ran in report.all for case in ran.outcome.cases],
    }


def data_text(report: DeviceReport) -> str:
    """The report as a JSON file: one case a line."""
    data = as_data(report)
    cases = data.pop("cases")
    head = json.dumps(data, indent=2).removesuffix("\n}")
    lines = ",\n".join(f"    {json.dumps(case)}" for case in cases)
    return f'{head},\n  "cases": [\n{lines}\n  ]\n}}\n'


def _circumstances(report: DeviceReport) -> Iterator[tuple[str, str]]:
    device = report.device
    if device is not None:
        yield "date", device.date
        size = f"{device.multiprocessors} multiprocessors, {device.memory / 2**30:.0f} GiB"
        yield "device", f"{device.device}, capability {device.compute_capability}, {size}"
        yield "driver", f"{device.driver or 'version not told'}, CUDA {device.cuda_driver}"
        yield "CUDA runtime", device.cuda_runtime
        yield "nvcc", device.nvcc
        yield "CCCL", device.cccl
    yield "policygen", report.version


def _verdict(report: DeviceReport) -> Iterator[str]:
    runs = sum(1 for ran in report.all for _ in ran.runs)
    passed = sum(ran.count("passed") for ran in report.all)
    left = sum(ran.count("skipped", "refused") for ran in report.all)
    cases = [case for ran in report.own for case in ran.outcome.cases]
    types = {case.type for case in cases}
    yield (
        f"**{passed:,} of {runs:,} runs passed, {left:,} could not be made, {len(report.faults):,} faults.** "
        f"{len(report.own)} algorithms, {len({case.call for case in cases})} calls, {len(types)} types of items."
    )
    recorded = sum(run.recorded for ran in report.all for _, run in ran.runs)
    seen = sum(bool(run.seen) for ran in report.all for _, run in ran.runs)
    yield (
        f"Launches were recorded in {recorded:,} runs; in {seen:,} a functor or an iterator saw the blocks from inside "
        "the kernels as well, or instead."
    )


def _row(ran: Ran) -> tuple[str, ...]:
    cases = ran.outcome.cases
    same = sum(case.same_as_cub for case in cases)
    return (*_counts(ran), _threads(cases), f"{same} of {len(cases)}")


def _shifted_row(report: DeviceReport, ran: Ran) -> tuple[str, ...]:
    usual = {(case.call, case.type): case for own in report.own for case in own.outcome.cases}
    same = [usual[case.call, case.type] for case in ran.outcome.cases if (case.call, case.type) in usual]
    return (*_counts(ran), _threads(ran.outcome.cases), _threads(same))


def _counts(ran: Ran) -> tuple[str, ...]:
    runs = sum(1 for _ in ran.runs)
    counts = (runs, ran.count("passed"), ran.count("skipped", "refused"), ran.count("failed"))
    return (ran.algorithm, *(f"{count:,}" for count in counts))


def _threads(cases: Iterable[Case]) -> str:
    """The kernels that policies decide about, each with the threads that it was launched with."""
    found: dict[str, set[int]] = {}
    for case in cases:
        for name, threads in case.kernels:
            launched = any(
                launch.kernel == name and launch.threads == threads for run in case.runs for launch in run.launches
            )
            if launched or any(threads in run.seen for run in case.runs if not run.recorded):
                found.setdefault(name, set()).add(threads)
    return "<br>".join(f"{name}: {', '.join(map(str, sorted(threads)))}" for name, threads in found.items())


def _kernel_rows(report: DeviceReport) -> Iterator[tuple[str, ...]]:
    for ran in report.own:
        groups: dict[tuple[str, int], list[Footprint]] = {}
        for found in ran.footprints:
            groups.setdefault((found.kernel, found.threads), []).append(found)
        for (kernel, threads), each in groups.items():
            known = [found for found in each if found.by_specs is not None]
            yield (
                ran.algorithm,
                kernel,
                str(threads),
                _range(found.registers for found in each),
                _range(found.static_smem for found in each),
                _range(found.dynamic_smem for found in each),
                _range(found.on_device for found in each),
                f"{sum(found.agrees for found in known)} of {len(each)}",
            )


def _size_rows(report: DeviceReport) -> Iterator[tuple[str, ...]]:
    for ran in report.own:
        for call in dict.fromkeys(case.call for case in ran.outcome.cases):
            case = next(case for case in ran.outcome.cases if case.call == call)
            yield ran.algorithm, call, case.counts, case.tile_of


def _remarks(report: DeviceReport) -> Iterator[str]:
    """What was not run, each reason once with how often."""
    reasons: Counter[str] = Counter()
    for ran in report.all:
        for case, run in ran.runs:
            if run.status in ("skipped", "refused"):
                reasons[f"{ran.outcome.program}: {case.call}, {run}: {run.told}"] += 1
        for call, reason in ran.outcome.left_out:
            reasons[f"{ran.algorithm}: {call}: {reason}"] += 1
    for reason, times in reasons.items():
        yield reason if times == 1 else f"{reason} ({times} times)"
    for name in report.without_program:
        yield f"{name}: there is no program for it"


def _case(ran: Ran, case: Case) -> dict[str, Any]:
    return {
        "program": ran.outcome.program,
        "call": case.call,
        "type": case.type,
        "policy": case.policy,
        "same_as_cub": case.same_as_cub,
        "counts": case.counts,
        "tile": case.tile,
        "kernels": [{"kernel": name, "threads": threads} for name, threads in case.kernels],
        "runs": [_run(run) for run in case.runs],
        "launches": _launches(case),
    }


def _run(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = {"size": run.size, "items": run.items, "status": run.status}
    if run.seen:
        found["seen"] = list(run.seen)
    if run.told:
        found["told"] = run.told
    if run.promised:
        found["promised"] = run.promised
    return found


def _launches(case: Case) -> list[dict[str, Any]]:
    """The kernels of a case, each with the grids that it had."""
    grids: dict[Launch, list[list[int]]] = {}
    for run in case.runs:
        for launch in run.launches:
            own = Launch(**{**asdict(launch, recurse=False), "grid": ()})
            known = grids.setdefault(own, [])
            if list(launch.grid) not in known:
                known.append(list(launch.grid))
    return [
        {
            "kernel": launch.kernel,
            "block": list(launch.block),
            "registers": launch.registers,
            "static_smem": launch.static_smem,
            "dynamic_smem": launch.dynamic_smem,
            "local_bytes": launch.local_bytes,
            "blocks_per_sm": launch.blocks_per_sm,
            "grids": each,
        }
        for launch, each in grids.items()
    ]


def _range(values: Iterable[int]) -> str:
    found = sorted(set(values))
    return f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} .. {found[-1]:,}"


def _table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"
