"""Which states the subset recurrence can reach, and what each is a sum of: index tables made on the host."""

from __future__ import annotations

import functools
import itertools
from typing import NamedTuple

import numpy as np

# The weights of level i lie side by side from place i on: 1, with loops loop_i, A_i(i+1), .., A_i(n-1).
Pairs = tuple[tuple[int, int], ...]


class Sums(NamedTuple):
    """The states of one level: state k is the sum over p of (weight weights[p]) * pool[source[k, p]]."""

    level: int
    weights: np.ndarray  # (terms,) uint32
    source: np.ndarray  # (states, terms) uint32; 0 where a state has no such term
    first: int  # where the states lie in the pool


class Pool(NamedTuple):
    """Sums in the order in which they can be taken; state 0 of the pool is the number 0, state 1 the number 1."""

    sums: tuple[Sums, ...]
    size: int
    answer: int


class Edges(NamedTuple):
    """Of level i: sets of taken vertices without i, what each becomes, and the weight. Bit b is vertex level + b."""

    parent: np.ndarray
    child: np.ndarray
    weight: np.ndarray


class Numbers:
    """Where each set of a level lies in a pool; a set that is not there is 0."""

    def __init__(self, keys: np.ndarray, first: int) -> None:
        self.keys, self.first = keys, first  # sorted

    def of(self, keys: np.ndarray) -> np.ndarray:
        if not len(self.keys):
            return np.zeros(len(keys), np.uint32)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, at + self.first, 0).astype(np.uint32)


def _held(masks: np.ndarray, bit: int) -> np.ndarray:
    return (masks >> np.uint64(bit)) & np.uint64(1) == 1


@functools.lru_cache(maxsize=32)
def edges(n: int, loops: bool, pairs: Pairs | None) -> tuple[Edges, ...]:
    """Level by level: i, the lowest vertex that is not taken, is matched with each j > i that is not.

    `pairs` are the (i, j), i < j, that may be matched, None for all. Only sets that occur on the way are listed: with
    all pairs their number is Fibonacci(n + 2) without loops and Fibonacci(n + 3) - 1 with them, for even n.
    """
    partners: list[list[int]] = [[] for _ in range(n)]
    for i, j in itertools.combinations(range(n), 2) if pairs is None else pairs:
        partners[i].append(j)
    sets = np.zeros(1, np.uint64)
    levels = []
    for i in range(n):
        parents = sets[~_held(sets, 0)]
        found = [(parents, parents >> np.uint64(1), i + 1)] if loops else []
        for j in partners[i]:
            free = parents[~_held(parents, j - i)]
            found.append((free, (free | (np.uint64(1) << np.uint64(j - i))) >> np.uint64(1), j + loops))
        parent, child = (np.concatenate([np.zeros(0, np.uint64), *(f[k] for f in found)]) for k in (0, 1))
        weight = np.repeat(np.array([f[2] for f in found], np.uint32), [len(f[0]) for f in found])
        levels.append(Edges(parent, child, weight))
        sets = np.unique(np.concatenate([sets[_held(sets, 0)] >> np.uint64(1), child]))
    return tuple(levels)


def _sums(level: int, states: np.ndarray, target: np.ndarray, weight: np.ndarray, source: np.ndarray, at: int) -> Sums:
    """Edges grouped by the state (of a sorted array) that they add to."""
    weights = np.unique(weight)
    # The terms of a state side by side: a sum then reads the table from its beginning to its end.
    table = np.zeros((len(states), len(weights)), np.uint32)
    table[np.searchsorted(states, target), np.searchsorted(weights, weight)] = source
    return Sums(level, weights, table, at)


@functools.lru_cache(maxsize=32)
def outward(n: int, loops: bool, pairs: Pairs | None) -> Pool:
    """F_i[C], the hafnian of the vertices from i on without C, i not in C: loop_i F_(i+1)[C] + sum over j > i that are
    not in C of A_ij F_(i+1)[C + j]; F_i[C] for i in C is F_(i+1)[C - i] itself."""
    numbers: list[Numbers] = [Numbers(np.zeros(0, np.uint64), 0)] * n + [Numbers(np.zeros(1, np.uint64), 1)]
    size, sums = 2, []
    levels = edges(n, loops, pairs)
    for i in range(n - 1, -1, -1):
        parent, child, weight = levels[i]
        states = np.unique(parent)
        if not len(states):
            continue
        source, level, left = np.zeros(len(child), np.uint32), i + 1, np.arange(len(child))
        while len(left):
            settled = ~_held(child, 0)
            source[left[settled]] = numbers[level].of(child[settled])
            left, child, level = left[~settled], child[~settled] >> np.uint64(1), level + 1
        sums.append(_sums(i, states, parent, weight, source, size))
        numbers[i] = Numbers(states, size)
        size += len(states)
    return Pool(tuple(sums), size, int(numbers[0].of(np.zeros(1, np.uint64))[0]))


@functools.lru_cache(maxsize=32)
def inward(n: int, loops: bool, pairs: Pairs | None) -> tuple[Pool, np.ndarray]:
    """G_i[C], the weight of all ways to match the vertices below i so that C is taken, and where it lies for each state
    of outward's pool: G_(i+1)[C] = G_i[C + i] + loop_i G_i[C] + sum over j in C of A_ij G_i[C - j]."""
    out = outward(n, loops, pairs)
    first, place = {sums.level: sums.first for sums in out.sums}, np.zeros(out.size, np.uint32)
    here, numbers, size, sums = np.zeros(1, np.uint64), Numbers(np.zeros(1, np.uint64), 1), 2, []
    for i, (parent, child, weight) in enumerate(edges(n, loops, pairs)):
        if i in first:
            states = np.unique(parent)
            place[first[i] : first[i] + len(states)] = numbers.of(states)
        through = here[_held(here, 0)]
        target = np.concatenate([through >> np.uint64(1), child])
        source = numbers.of(np.concatenate([through, parent]))
        here = np.unique(target)
        sums.append(_sums(i, here, target, np.concatenate([np.full(len(through), i), weight]), source, size))
        numbers = Numbers(here, size)
        size += len(here)
    # The last level is no derivative's.
    return Pool(tuple(sums[:-1]), size, 1), place


class Steps(NamedTuple):
    """Sums of several levels cut into chunks of one shape, for one compiled step; what is padded is 0."""

    level: np.ndarray  # (steps,)
    weights: np.ndarray  # (steps, terms)
    source: np.ndarray  # (steps, chunk, terms)
    first: np.ndarray  # (steps,)
    own: np.ndarray  # (steps, chunk): the numbers of the states, 0 where there is none


def steps(sums: tuple[Sums, ...], chunk: int) -> Steps:
    terms = max(len(s.weights) for s in sums)
    cut = [(s, start) for s in sums for start in range(0, len(s.source), chunk)]
    source, own = np.zeros((len(cut), chunk, terms), np.uint32), np.zeros((len(cut), chunk), np.uint32)
    for k, (s, start) in enumerate(cut):
        part = s.source[start : start + chunk]
        source[k, : part.shape[0], : part.shape[1]] = part
        own[k, : len(part)] = s.first + start + np.arange(len(part))
    level = np.array([s.level for s, _ in cut], np.uint32)
    weights = np.array([np.resize(s.weights, terms) for s, _ in cut], np.uint32)
    return Steps(level, weights, source, np.array([s.first + start for s, start in cut], np.uint32), own)


def stages(sums: tuple[Sums, ...], chunk: int) -> tuple[tuple[Sums, ...], ...]:
    """Consecutive levels that share a compiled step: cut in two where that spares most padding."""

    def cost(part: tuple[Sums, ...]) -> int:
        return sum(-(-len(s.source) // chunk) for s in part) * max((len(s.weights) for s in part), default=0)

    cut = min(range(len(sums)), key=lambda k: cost(sums[:k]) + cost(sums[k:]))
    return tuple(part for part in (sums[:cut], sums[cut:]) if part)
