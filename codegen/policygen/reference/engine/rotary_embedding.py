"""Rotary embedding (RoPE): pairs of numbers of each head, turned by an angle of the token's position.

Input: x [tokens, heads x head_size], changed in place; positions [tokens]; a table [most positions, rotated], of which
a row has the cosines of the rotated / 2 angles, then their sines. `rotated` is even; the numbers of a head past it stay
as they are. A pair (a, b) becomes (a cos - b sin, b cos + a sin). Halves (GPT-NeoX): pair j is (j, j + rotated / 2);
interleaved (GPT-J): it is (2 j, 2 j + 1). Types: float16, bfloat16, float32, the table's too; arithmetic in float32,
one rounding at the end. Counts are pairs; `threads`, `items` and `vec_size` are the `vectorized` policy's (policy_of
`transform`; `collectives.row_tiles`). Queries and keys are turned by a launch each.

A grid of tiles over the pairs of all tokens and heads, as a transform has it; items of a thread are spread over the
device. An access is a vector of numbers of one role, firsts, seconds, cosines or sines; where pairs are interleaved, as
many pairs are two accesses. So a vector divides the pairs of a head, the head, and the distance of tokens.

Pairs do not see each other: there is no order to promise, and the same bits come out in every run.

Error: two products and a sum, rounded each: ((1 + u)^2 - 1) (|a cos| + |b sin|), and the rounding to the type.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import cycle
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.residency import Residency
from policygen.reference.collectives.row_tiles import MISALIGNED
from policygen.reference.collectives.row_tiles import NOT_USED
from policygen.reference.collectives.row_tiles import RowTile
from policygen.reference.collectives.row_tiles import row_tile
from policygen.reference.collectives.row_tiles import row_vector
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.error_bounds import relative_bound
from policygen.reference.contract.function_errors import SMALLEST
from policygen.reference.contract.function_errors import stored_bound
from policygen.reference.contract.kernel import Given
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.inputs import make
from policygen.reference.values.rows import Rows
from policygen.reference.values.rows import rows_of

KERNEL_NAME: Final = "rotary_embedding"
DTYPES: Final = {2: ("float16", "bfloat16"), 4: ("float32",)}
SHAPES: Final = (
    (4, 256, 256),
    (14, 256, 64),
    (16, 128, 128),
    (17, 241, 32),
    (1, 46, 46),
    (3, 46, 20),
    (1, 2, 2),
    (2, 80, 32),
)
"""Heads, numbers of a head, and how many of them are rotated."""

_POSITIONS: Final = 37
_SHIFTS: Final = ((0, 0), (4, 8), (1, 0), (0, 3), (2, 2))
_PATTERNS: Final = ("random", "equal", "zeros", "denormals", "infinities", "nan")


@frozen
class RotaryProblem(Problem):
    """An embedding.

    Attributes:
        tokens: rows of x.
        heads: of a token.
        head_size: numbers of a head.
        rotated: of these, how many are turned.
        interleaved: whether pairs are neighbours, else of two halves.
        dtype: type of all numbers.
        shift: numbers by which x and the table start past an aligned address.
        gap: numbers between tokens.
        sm_count: multiprocessors of the device.
        pattern: of x.
        has_data: False for index arithmetic alone.
    """

    tokens: int
    heads: int
    head_size: int
    rotated: int
    interleaved: bool
    dtype: str
    shift: tuple[int, int]
    gap: int
    sm_count: int
    pattern: str
    has_data: bool = True

    @property
    def pairs(self) -> int:
        """Pairs of a head."""
        return self.rotated // 2

    @property
    def num_items(self) -> int:
        """All pairs."""
        return self.tokens * self.heads * self.pairs


@frozen(eq=False)
class RotaryInputs:
    """What is turned, and by what."""

    x: Rows
    table: Rows
    positions: Tensor


class RotaryKernel(ReferenceKernel[RotaryProblem, RotaryInputs]):
    """See the module."""

    policy_of = "transform"

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:  # noqa: ARG002 - sizes are its own
        """Two inputs of a size, x and the table."""
        for size in DTYPES:
            yield {"output": {"value_type_size": size}, "inputs": [{"value_type_size": size}] * 2}

    def problems(self, case: Case, *, quick: bool) -> Iterator[RotaryProblem]:
        """See ReferenceKernel."""
        own, dtypes = case.policy.vectorized, DTYPES[case.key.output.value_type_size]
        tile, sm_count = own.threads_per_block * own.items_per_thread, case.residency.sm_count
        turns = zip(cycle(dtypes), cycle(_SHIFTS), cycle((0, 8, 3)), cycle((1, 1, sm_count)))
        found: dict[RotaryProblem, None] = {}

        def add(tokens: int, shape: tuple[int, int, int], pattern: str, *, interleaved: bool) -> None:
            dtype, shift, gap, sms = next(turns)
            found[RotaryProblem(tokens, *shape, interleaved, dtype, shift, gap, sms, pattern)] = None

        for shape in SHAPES:
            for interleaved in (False, True):
                for tokens in (5,) if quick else (1, 2, 5, 16):
                    add(tokens, shape, "random", interleaved=interleaved)
        # one pair a token: the edges of tiles
        for n in (tile - 1, tile, tile + 1, 5 * tile + tile // 3):
            add(n, SHAPES[-2], "random", interleaved=n % 2 == 0)
        add(0, SHAPES[0], "random", interleaved=False)
        for number, pattern in enumerate(_PATTERNS[1:]):
            for interleaved in (number % 2 == 0,) if quick else (False, True):
                add(3, SHAPES[number % 2], pattern, interleaved=interleaved)
        for shift in _SHIFTS:
            found[RotaryProblem(5, *SHAPES[1], False, dtypes[0], shift, 4, 1, "random")] = None
        yield from found
        heads, head_size, rotated = SHAPES[0]
        tokens = BEYOND_INT32 // (heads * rotated // 2) + 1
        yield RotaryProblem(
            tokens, heads, head_size, rotated, False, dtypes[0], (0, 0), 0, sm_count, "random", has_data=False
        )

    def inputs(self, case: Case, problem: RotaryProblem, random: torch.Generator) -> RotaryInputs:
        """See ReferenceKernel."""
        tokens, element = problem.tokens if problem.has_data else 0, ELEMENTS[problem.dtype]
        width = problem.heads * problem.head_size
        x = make(problem.pattern, element, tokens * width, random).view(tokens, width)
        angles = torch.rand(_POSITIONS, problem.pairs, generator=random) * 6.28
        table = torch.cat([angles.cos(), angles.sin()], dim=1).to(element.dtype)
        of_x, of_table = problem.shift
        return RotaryInputs(
            rows_of(x, shift=of_x, gap=problem.gap, device=case.device),
            rows_of(table, shift=of_table, device=case.device),
            torch.randint(_POSITIONS, (tokens,), generator=random).to(case.device),
        )

    def run(self, case: Case, problem: RotaryProblem, inputs: RotaryInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        tile, n, pairs = _tile(case, problem), problem.num_items, problem.pairs
        begins = tile.begins(n, _first_tile(tile, problem))
        tile.record(begins // tile.tile_items, begins, n, KERNEL_NAME, log)
        if not problem.has_data:
            return {}
        if n == 0:
            return {"x": inputs.x.memory, MISALIGNED: torch.tensor(0)}
        index = tile.index(begins).to(case.device)
        exists = index < n
        at = torch.where(exists, index, 0)
        token, head, pair = at // (problem.heads * pairs), at // pairs % problem.heads, at % pairs
        first, second = (2 * pair, 2 * pair + 1) if problem.interleaved else (pair, pair + pairs)
        x, position = inputs.x.copy(), inputs.positions[token]
        at_a, at_b = (x.places(token, head * problem.head_size + column) for column in (first, second))
        at_cos, at_sin = inputs.table.places(position, pair), inputs.table.places(position, pairs + pair)
        a, b = (x.memory[places].to(torch.float32) for places in (at_a, at_b))
        cos, sin = (inputs.table.memory[places].to(torch.float32) for places in (at_cos, at_sin))
        for places, turned in ((at_a, a * cos - b * sin), (at_b, b * cos + a * sin)):
            x.memory[places[exists]] = turned[exists].to(x.memory.dtype)
        misaligned = sum((tile.misaligned(places, exists) for places in (at_cos, at_sin)), torch.tensor(0))
        if not problem.interleaved:
            misaligned = misaligned + tile.misaligned(at_a, exists) + tile.misaligned(at_b, exists)
        else:
            # as many pairs of neighbours are two accesses: both are aligned where the first number of a pair is
            leads = torch.arange(tile.items, device=case.device).view(-1, 1) % tile.vector == 0
            misaligned = misaligned + (leads & exists & (at_a % tile.vector != 0)).sum()
        return {"x": x.memory, MISALIGNED: misaligned}

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: RotaryProblem,
        inputs: RotaryInputs,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        pairs, shape = problem.pairs, (problem.tokens, problem.heads, problem.head_size)
        x = inputs.x.values.to("cpu", torch.float64).reshape(shape)
        rows = inputs.table.values.to("cpu", torch.float64)[inputs.positions.cpu()].unsqueeze(1)
        cos, sin = rows[..., :pairs], rows[..., pairs:]
        part = x[..., : problem.rotated]
        a, b = (part[..., 0::2], part[..., 1::2]) if problem.interleaved else (part[..., :pairs], part[..., pairs:])
        exact, off = x.clone(), torch.zeros_like(x)
        relative = relative_bound(2, torch.float32)
        for where, value, size in (
            (0, a * cos - b * sin, (a * cos).abs() + (b * sin).abs()),
            (1, b * cos + a * sin, (b * cos).abs() + (a * sin).abs()),
        ):
            columns = (
                slice(where, problem.rotated, 2) if problem.interleaved else slice(where * pairs, (where + 1) * pairs)
            )
            bound = stored_bound(value, size * relative + SMALLEST[torch.float32], inputs.x.memory.dtype)
            exact[..., columns], off[..., columns] = value, bound
        whole = (problem.tokens, problem.heads * problem.head_size)
        return {"x": inputs.x.expectation(exact.view(whole), off.view(whole)), MISALIGNED: Exact(torch.tensor(0))}

    def coverage(self, case: Case, problem: RotaryProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        tile = _tile(case, problem)
        return {KERNEL_NAME: range(_first_tile(tile, problem) * tile.tile_items, problem.num_items)}

    def unbound(self, case: Case) -> Mapping[str, str]:  # noqa: ARG002 - the same for all
        """See ReferenceKernel."""
        return NOT_USED


def _tile(case: Case, problem: RotaryProblem) -> RowTile:
    own, stride = case.policy.vectorized, problem.heads * problem.head_size + problem.gap
    vector = row_vector(own.vec_size, (problem.pairs, problem.head_size, stride), problem.shift)
    residency = Residency(sm_count=problem.sm_count, occupancy=case.residency.occupancy)
    return row_tile(own, problem.num_items, vector, residency)


def _first_tile(tile: RowTile, problem: RotaryProblem) -> int:
    """The tile from which they are noted: where nothing is loaded, the last ones."""
    return 0 if problem.has_data else tile.first_of_last(problem.num_items)


KERNEL: Final = RotaryKernel()
