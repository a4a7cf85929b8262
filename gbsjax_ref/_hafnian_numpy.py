"""Float64 hafnians and loop hafnians in plain NumPy, by a table over all vertex sets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ._exact import GaussianMatrix
from ._inputs import CountsLike, MatrixLike, refuse_beyond
from ._permanent import over
from ._symmetric import Graph, graph, graph_with_loops


def hafnian_numpy(matrix: MatrixLike, *, repeats: CountsLike = None) -> np.float64 | np.complex128:
    """Hafnian in float64 by the table of the hafnians of all vertex sets, a vertex at a time.

    The set S with a new vertex k has the hafnian sum over j in S of a[k, j] haf(S - j).

    Args:
        matrix: (n, n) as `hafnian_exact` takes it, rounded to float64 or complex128.
        repeats: (n,) how often each row and column is written down; None for once.

    Returns:
        The hafnian of the written-out N x N matrix; float64 for real input, complex128 for complex; 0 for
        odd N; 1 for N = 0.

    Raises:
        ValueError: as `hafnian_exact`, or N above 24.
        TypeError: entries that are not numbers.

    Notes:
        N 2^(N-1) multiply-adds and 2^N numbers; it never subtracts. All ones of size 4 give 3.
    """
    name = "hafnian_numpy"
    return _table(name, graph(name, matrix, repeats))


def loop_hafnian_numpy(
    matrix: MatrixLike, loops: npt.ArrayLike | None = None, *, repeats: CountsLike = None
) -> np.float64 | np.complex128:
    """Loop hafnian in float64 by the table of the loop hafnians of all vertex sets, a vertex at a time.

    Args:
        matrix: (n, n) as `loop_hafnian_exact` takes it, rounded to float64 or complex128.
        loops: (n,) the weight of each vertex left alone; None for the diagonal.
        repeats: (n,) how often each vertex is written down; None for once.

    Returns:
        The loop hafnian of the written-out N x N matrix; float64 for real input, complex128 for complex; 1
        for N = 0.

    Raises:
        ValueError: as `loop_hafnian_exact`, or N above 24.
        TypeError: entries that are not numbers.

    Notes:
        N 2^(N-1) multiply-adds and 2^N numbers; it never subtracts. All ones of size 4 give 10.
    """
    name = "loop_hafnian_numpy"
    return _table(name, graph_with_loops(name, matrix, loops, repeats))


def floats(given: GaussianMatrix, dtype: type[np.float64] | type[np.complex128]) -> np.ndarray:
    """Entries correctly rounded to float64 or complex128."""
    convert = complex if dtype is np.complex128 else float
    planes = zip(given.real, given.imaginary(), strict=True)
    rows = [[convert(over(a, b, given.denominator)) for a, b in zip(*row, strict=True)] for row in planes]
    return np.array(rows, dtype=dtype).reshape(len(rows), len(rows[0]) if rows else 0)


def _table(name: str, given: Graph) -> np.float64 | np.complex128:
    refuse_beyond(name, given.size, 24, "vertices (copies counted, 2^N sets)")
    dtype = np.complex128 if given.is_complex else np.float64
    vertices = np.repeat(np.arange(len(given.counts)), given.counts)
    edges = floats(given.edges, dtype)[np.ix_(vertices, vertices)]
    loops = np.zeros(len(vertices), dtype) if given.loops is None else floats(given.loops, dtype)[0, vertices]
    table = np.ones(1, dtype)
    for k, loop in enumerate(loops):
        grown = loop * table
        for j in range(k):
            # Axis 1 is bit j of the set: with the vertex j, without it before.
            grown.reshape(-1, 2, 2**j)[:, 1] += edges[k, j] * table.reshape(-1, 2, 2**j)[:, 0]
        table = np.concatenate([table, grown])
    return table[-1]
