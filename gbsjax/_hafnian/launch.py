"""Sizes and costs of the hafnian programs, and the choice between them."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from gbsjax._hafnian.tables import Pairs

METHODS = ("subsets", "pairs", "photons")
# Levels that are compiled one by one: each takes 30 to 50 ms to compile. More levels share one or two steps, which take
# a chunk of states at a time.
UNROLLED = 10
# States a chunk, for batches.
LANES_CHUNK = 8
# States of the subset recurrence, with all vertices matched with all: 2^18 are N = 26, tables of 20 MB.
SUBSET_STATES = 2**18
# What `method="subsets"` may still ask for: tables of a few gigabytes.
MOST_STATES = 2**24
# Pairs whose signs run side by side in the matched-pair recursion: 2^8 nodes keep its arrays near 1 MB.
PAIR_BREADTH = 8
# Measured per multiply-add against the subset recurrence: its products are cut late and its arrays leave the cache.
PAIRS_PER_ADD = 3
# Multiply-adds of one chunk of a batch.
BATCH_TERMS = 2**19


class Subsets(NamedTuple):
    """The subset recurrence over `size` vertices; `pairs` that may be matched, None for all."""

    size: int
    loops: bool
    pairs: Pairs | None = None

    @property
    def states(self) -> int:
        if self.pairs is not None:
            return sum(2**width for width in frontier(self.size, self.pairs))
        return subset_states(self.size, self.loops)

    @property
    def terms(self) -> int:
        return self.states * (self.size + 1) // 2 + 1


class MatchedPairs(NamedTuple):
    """The matched-pair recursion over `size` vertices, an even number."""

    size: int
    loops: bool

    @property
    def states(self) -> int:
        return 2 ** min(PAIR_BREADTH, self.size // 2) * self.size**2

    @property
    def terms(self) -> int:
        pairs = self.size // 2
        return PAIRS_PER_ADD * 12 * pairs**2 * 2 ** max(pairs - 1, 0) + 1


class Photons(NamedTuple):
    """The recurrence over photon counts: the largest count of each mode, plus 1."""

    radices: tuple[int, ...]
    loops: bool

    @property
    def states(self) -> int:
        return math.prod(self.radices)

    @property
    def terms(self) -> int:
        return self.states * (len(self.radices) + 1)


def chunk_of(states: int) -> int:
    """States a chunk, for one matrix: a step costs 3 us of its own, and a level is padded to whole chunks."""
    return min(512, max(64, 2 ** (states // 128).bit_length()))


How = Subsets | MatchedPairs | Photons


@functools.lru_cache(maxsize=256)
def subset_states(n: int, loops: bool) -> int:
    """Sets of taken vertices that occur: at most as many as vertices were decided, of their parity without loops."""
    return sum(
        math.comb(n - i, k) for i in range(n + 1) for k in range(0 if loops else i % 2, min(i, n - i) + 1, 2 - loops)
    )


def frontier(n: int, pairs: Pairs) -> list[int]:
    """By level i, how many vertices from i on have a partner below i: the sets that can be taken."""
    first = list(range(n))
    for i, j in pairs:
        first[j] = min(first[j], i)
    return [sum(first[j] < i for j in range(i, n)) for i in range(n + 1)]


def choose(
    size: int, loops: bool, radices: tuple[int, ...] | None, method: str | None, subtracting: bool = True
) -> How:
    """The cheapest program for `size` vertices, or for photon counts of which radices - 1 are the largest; where it may
    not subtract, one of the recurrences."""
    even = size + size % 2
    candidates: dict[str, How] = {"subsets": Subsets(size, loops), "pairs": MatchedPairs(even, loops)}
    if radices is not None:
        candidates["photons"] = Photons(radices, loops)
    if method is not None:
        return candidates[method]
    if not subtracting:
        del candidates["pairs"]
        return min(candidates.values(), key=lambda how: how.terms)
    able = {name: how for name, how in candidates.items() if name == "pairs" or how.states <= SUBSET_STATES}
    return min(able.values(), key=lambda how: how.terms)
