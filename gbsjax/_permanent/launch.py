"""Sizes: how the words of a Glynn sum are cut into lanes, a block and loops, and what a sum costs."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

# Measured on two AVX2 cores (complex128, n = 12..22): 128 lanes keep the tables near the first-level cache, and four
# words a lane in one expression halve the time against one (they share the loads of the lane table).
LANES = 128
UNROLL = 4
BLOCK = 64
LOOP = 1024
# The minors keep one number a column and term, so their blocks are small and their lanes long (best of a sweep).
MINORS_LANES = 1024
MINORS_BLOCK = 4
# Lanes of weight 0 that keep planes off multiples of 4 KiB: aligned, they share cache sets and take twice the time.
IDLE_LANES = 8
# Terms of a chunk of a batch: 1 MB of complex128 sums, a second-level cache.
BATCH_TERMS = 2**16


class Glynn(NamedTuple):
    """Glynn's formula: number of values of each mode of the sum, and the bits of the largest column count."""

    radices: tuple[int, ...]
    power_bits: int
    photons: int

    @property
    def shift(self) -> int:
        # Balanced entries are near 1, row sums with random signs near sqrt(photons): terms near 1, at most N^(N/2).
        return self.photons.bit_length() // 2

    @property
    def terms(self) -> int:
        return math.prod(self.radices)


class Recurrence(NamedTuple):
    """The subset recurrence: the largest count of each column, plus 1."""

    radices: tuple[int, ...]
    photons: int

    @property
    def shift(self) -> int:
        # Row sums without signs are at most 1, so the values are, and at least e^-photons for positive input.
        return self.photons.bit_length()

    @property
    def terms(self) -> int:
        return math.prod(self.radices)


class Grid(NamedTuple):
    """The radices of the modes that a sum runs over, in mode order, by group.

    A *word* of a group is one choice of all its modes. Lanes are the vector axis, the words of `unroll` are written
    out in one expression, those of the block are what one step adds to each lane, and every loop group is one
    nested loop around the block.
    """

    lanes: tuple[int, ...]
    unroll: tuple[int, ...]
    block: tuple[int, ...]
    loops: tuple[tuple[int, ...], ...]

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        return (self.lanes, self.unroll, self.block, *self.loops)


def _take(radices: list[int], most: int, always: bool = True) -> tuple[int, ...]:
    taken: list[int] = []
    while radices and ((always and not taken) or math.prod(taken) * radices[0] <= most):
        taken.append(radices.pop(0))
    return tuple(taken)


def plan(radices: tuple[int, ...], lanes: int = LANES, block: int = BLOCK, unroll: int = UNROLL) -> Grid:
    """Cut the modes of the given radices (number of values of each) into groups, in order."""
    left = list(radices)
    # Lanes and block alike in size where the sum is small: then the two tables cost little beside the terms.
    lane_modes = _take(left, min(lanes, math.isqrt(2 * math.prod(radices))))
    # Only modes of radix 2: their values are signs.
    unroll_modes = tuple(itertools.takewhile(lambda radix: radix == 2, left[: unroll.bit_length() - 1]))
    del left[: len(unroll_modes)]
    block_modes = _take(left, block, always=False)
    loops: list[tuple[int, ...]] = []
    while left:
        loops.append(_take(left, LOOP))
    return Grid(lane_modes, unroll_modes, block_modes, tuple(loops))
