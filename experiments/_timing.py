"""Timing: warm, interleaved, medians and quartiles, with a checksum so that nothing is fast by doing nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# A sample is at least this long, and an engine runs as long before it untimed.
SAMPLE_S = 20e-3


class Timed(NamedTuple):
    first_s: float
    median_s: float
    quartiles_s: tuple[float, float]
    samples_s: list[float]
    checksum: complex


def interleaved(engines: dict[str, Callable[[], np.ndarray]], repeats: int, seconds: float) -> dict[str, Timed]:
    """Time every engine `repeats` times, turn by turn; fewer, but at least 3, where that would pass `seconds` each.

    An engine's call returns its finished values as NumPy. A call shorter than 20 ms is repeated within a sample, and
    one shorter than 0.1 s runs as often untimed before it: the threads of one engine's pool spin for a while after its
    turn and take the cores of the next, and clocks and caches are then the engine's own again.
    """
    first, alone, loops, sums = {}, {}, {}, {}
    for name, call in engines.items():
        start = time.perf_counter()
        sums[name] = complex(np.sum(call()))
        first[name] = time.perf_counter() - start
        call()
        start = time.perf_counter()
        call()
        alone[name] = time.perf_counter() - start
        loops[name] = max(1, round(SAMPLE_S / alone[name]))
    samples: dict[str, list[float]] = {name: [] for name in engines}
    spent = dict.fromkeys(engines, 0.0)
    for turn in range(repeats):
        for name, call in engines.items():
            if turn >= 3 and spent[name] > seconds:
                continue
            for _ in range(loops[name] if alone[name] < 0.1 else 0):
                call()
            start = time.perf_counter()
            for _ in range(loops[name]):
                call()
            elapsed = time.perf_counter() - start
            spent[name] += elapsed
            samples[name].append(elapsed / loops[name])
    result = {}
    for name, times in samples.items():
        low, median, high = np.quantile(times, [0.25, 0.5, 0.75])
        result[name] = Timed(first[name], float(median), (float(low), float(high)), times, sums[name])
    return result


def agree(timed: dict[str, Timed], rtol: float) -> None:
    """Stop where two engines computed different numbers."""
    names = list(timed)
    for name in names[1:]:
        one, other = timed[names[0]].checksum, timed[name].checksum
        if not abs(one - other) <= rtol * max(abs(one), abs(other)):
            raise ValueError(
                f"checksums disagree: {names[0]} {one}, {name} {other}; no timing of wrong numbers is kept."
            )
