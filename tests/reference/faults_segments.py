"""Faults planted in the kernels of segments, of neighbours, of searches and of loops: see `reference.faults`."""

from __future__ import annotations

from reference.faults import Fault

SEGMENT_FAULTS = (
    Fault(
        kernel="for",
        what="threads stride by one too few",
        module="collectives.arrangement",
        text="torch.arange(items).unsqueeze(-1) * threads",
        instead="torch.arange(items).unsqueeze(-1) * (threads - 1)",
    ),
    Fault(
        kernel="for",
        what="the last tile has an index too many",
        module="for_each",
        text="exists = in_tile < counts",
        instead="exists = in_tile <= counts",
    ),
    Fault(
        kernel="for",
        what="what is left at the end is copied as a whole vector",
        module="for_each",
        text="partial = n // VECTOR",
        instead="partial = ceil_div(n, VECTOR)",
    ),
    Fault(
        kernel="for",
        what="vectors are copied though the first one is not aligned",
        module="for_each",
        text='self.way == "copies" and self.misaligned * size % vector_alignment(size, alignment, VECTOR) == 0',
        instead='self.way == "copies"',
    ),
    Fault(
        kernel="for",
        what="a row is as long as it has rows",
        module="for_each",
        text="extents[axis + 1 :] if",
        instead="extents[axis:-1] if",
    ),
)
