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
    Fault(
        kernel="adjacent_difference",
        what="borders are read from what other blocks have written",
        module="adjacent_difference",
        text="borders = _saved(problem, source, tiles)",
        instead="borders = None",
        given={"may_alias": True},
    ),
    Fault(
        kernel="adjacent_difference",
        what="a tile shows its own last item as the one before its first",
        module="adjacent_difference",
        text="torch.cat([border.unsqueeze(1), items[-1, :, :-1]], dim=1)",
        instead="items[-1].roll(1, 1)",
    ),
    Fault(
        kernel="adjacent_difference",
        what="the border on the right is the last item of the tile itself",
        module="adjacent_difference",
        text="tiles.ends.clamp(max=n - 1)",
        instead="tiles.ends - 1",
        given={"may_alias": False},
    ),
    Fault(
        kernel="adjacent_difference",
        what="the last item is compared with what fills up its tile",
        module="adjacent_difference",
        text="is_alone = index == (0 if is_left else n - 1)",
        instead="is_alone = index == (0 if is_left else n)",
    ),
    Fault(
        kernel="adjacent_difference",
        what="borders of the tiles are saved a tile too far",
        module="adjacent_difference",
        text="borders[1:] = source[tiles.begins[1:] - 1]",
        instead="borders[:-1] = source[tiles.begins[1:] - 1]",
        given={"may_alias": True},
    ),
    Fault(
        kernel="find",
        what="a block is done as soon as another one has found anything",
        module="find",
        text="seen < begins[tile]",
        instead="seen < n",
    ),
    Fault(
        kernel="find",
        what="the last block to find something wins",
        module="find",
        text="result = min(result, found[tile])",
        instead="result = found[tile]",
    ),
    Fault(
        kernel="find",
        what="a thread looks at its items from the last on",
        module="find",
        text="place = holds.long().argmax(1, keepdim=True)",
        instead="place = holds.shape[1] - 1 - holds.flip(1).long().argmax(1, keepdim=True)",
    ),
    Fault(
        kernel="find",
        what="neighbouring vectors overlap",
        module="collectives.arrangement",
        text="torch.arange(threads)) * vector + place",
        instead="torch.arange(threads)) * (vector - 1) + place",
    ),
    Fault(
        kernel="find",
        what="vectors are taken though a tile is not aligned to them",
        module="find",
        text=" & (addresses & (vector * size - 1) == 0)",
        instead="",
    ),
    Fault(
        kernel="find",
        what="a block goes on with the tile that follows",
        module="find",
        text="following[block] += grid",
        instead="following[block] += 1",
    ),
)
