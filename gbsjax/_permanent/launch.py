"""Sizes: how the words of a Glynn sum are cut into lanes, a block and loops, and what a sum costs."""

from __future__ import annotations

import math
from typing import NamedTuple

# Measured on two AVX2 cores (complex128, n = 12..22): 128 lanes keep the tables near the first-level cache, and four
# words a lane in one expression halve the time against one (they share the loads of the lane table).
LANES = 128
WORDS = 256
UNROLL = 4
LOOP = 1024
# Terms of a chunk of a batch: 1 MB of complex128 sums, a second-level cache.
BATCH_TERMS = 2**16
# Words of a block of the minors, whose prefix products are kept.
MINORS_WORDS = 64
# Columns a step of the prefix and suffix products.
GROUP = 3


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

    A *word* of a group is one choice of all its modes. Lanes are the vector axis, the block is what one step adds to
    each lane, and every loop group is one nested loop around the block.
    """

    lanes: tuple[int, ...]
    block: tuple[int, ...]
    loops: tuple[tuple[int, ...], ...]

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        return (self.lanes, self.block, *self.loops)


def _take(radices: list[int], most: int) -> tuple[int, ...]:
    taken: list[int] = []
    while radices and (not taken or math.prod(taken) * radices[0] <= most):
        taken.append(radices.pop(0))
    return tuple(taken)


def plan(radices: tuple[int, ...], words: int = WORDS) -> Grid:
    """Cut the modes of the given radices (number of values of each) into groups, in order."""
    left = list(radices)
    # Lanes and block alike in size where the sum is small: then the two tables cost little beside the terms.
    lanes = _take(left, min(LANES, math.isqrt(2 * math.prod(radices))))
    block = _take(left, words)
    loops: list[tuple[int, ...]] = []
    while left:
        loops.append(_take(left, LOOP))
    return Grid(lanes, block, tuple(loops))
