"""Which program would run, and what it would cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gbsjax import _checks
from gbsjax._hafnian import api as hafnians
from gbsjax._hafnian.launch import METHODS, choose
from gbsjax._patterns import ranked
from gbsjax._permanent import api as permanents
from gbsjax._permanent import counts as permanent_counts
from gbsjax._permanent.launch import Glynn
from gbsjax._torontonian import api as torontonians
from gbsjax._torontonian.launch import Tree


class Selection(NamedTuple):
    """What `select` tells.

    Attributes:
        method: the program: "glynn", "recurrence", "subsets", "pairs", "photons" or "schur".
        tier: the precision that would run.
        backend: who would run it.
        work: rough number of multiply-adds (terms of the sum for "glynn", leaves of the tree for "schur").
        states: numbers kept in memory at a time, in elements of the dtype; 0 where it is small whatever the size.
    """

    method: str
    tier: str
    backend: str
    work: int
    states: int


def select(function: Callable[..., Any], size_or_counts: Any, *, method: str | None = None) -> Selection:
    """Selection that an eager call of a function would make: its program, and what that costs.

    Args:
        function: gbsjax.permanent, hafnian, loop_hafnian, torontonian or loop_torontonian.
        size_or_counts: the number of rows n (modes m for torontonians), or photon counts: (modes,) for hafnians, a pair
            (rows, cols) for permanents, 0 and 1 for the clicks of torontonians.
        method: as the function would be given it; hafnians only.

    Returns:
        A Selection: method, tier, backend, work, states.

    Raises:
        TypeError: the function is not one of gbsjax's, or counts are not integers.
        ValueError: an unknown method, negative counts.

    Notes:
        Costs nothing: no array is touched. The choice is by the number of multiply-adds, within a bound of memory.

    Examples:
        >>> import gbsjax
        >>> gbsjax.select(gbsjax.hafnian, [10, 10, 10, 10]).method
        'photons'
        >>> gbsjax.select(gbsjax.hafnian, 40).method
        'pairs'
    """
    name = "select"
    single = np.ndim(size_or_counts) == 0
    if function in (torontonians.torontonian, torontonians.loop_torontonian):
        modes = int(size_or_counts) if single else int(np.sum(_counts(name, size_or_counts)))
        return Selection("schur", "fp64", "xla", Tree(modes, False).terms, 0)
    if function in (hafnians.hafnian, hafnians.loop_hafnian):
        if method is not None:
            _checks.choice(name, "method", method, METHODS)
        loops = function is hafnians.loop_hafnian
        size, radices = (int(size_or_counts), None) if single else (0, None)
        if not single:
            counts = _counts(name, size_or_counts)
            size, radices = int(counts.sum()), ranked(counts)[2]
        elif method == "photons":
            radices = (2,) * size
        how = choose(size if loops else size + size % 2, loops, radices, method)
        kind = {"Subsets": "subsets", "MatchedPairs": "pairs", "Photons": "photons"}[type(how).__name__]
        return Selection(kind, "fp64", "xla", how.terms, how.states)
    if function is permanents.permanent:
        if single:
            return Selection("glynn", "fp64", "xla", 2 ** max(int(size_or_counts) - 1, 0), 0)
        rows, cols = (_counts(name, side) for side in size_or_counts)
        how = permanent_counts.choose(rows, cols, np.dtype(float)).how
        return Selection("glynn" if isinstance(how, Glynn) else "recurrence", "fp64", "xla", how.terms, 0)
    raise TypeError(f"{name}: function must be a matrix function of gbsjax, got {function!r}.")


def _counts(name: str, counts: Any) -> np.ndarray:
    given = _checks.counts(name, "counts", counts, np.shape(counts)[-1])
    assert isinstance(given, np.ndarray)
    return given
