"""Float64 permanents in plain NumPy: Glynn's formula, and Ryser's to show what it loses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ._inputs import CountsLike, MatrixLike, refuse_beyond, repeated_matrix
from ._permanent import over

_BLOCK = 2**15


def permanent_glynn(
    matrix: MatrixLike, *, rows: CountsLike = None, cols: CountsLike = None
) -> np.float64 | np.complex128:
    """Permanent in float64 by Glynn's formula, the first sign fixed.

    2^-(N-1) times the sum over signs s, s_1 = 1, of (product of s_j) times the product over rows of
    (sum_j s_j a[i, j]) (Glynn, Eur. J. Combin. 31 (2010) 1887).

    Args:
        matrix: (n, n), or (k, l) with counts: finite numbers of any kind, rounded to float64 or complex128.
        rows: (k,) how often each row is written down; None for once.
        cols: (l,) how often each column is written down; None for once.

    Returns:
        The permanent of the written-out N x N matrix; float64 for real input, complex128 for complex; 1 for
        N = 0.

    Raises:
        ValueError: not square, NaN or infinite entries, counts that are negative, fractional or of unequal
            sums, or N above 30.
        TypeError: entries that are not numbers.

    Notes:
        N 2^(N-1) multiply-adds. Loses about log10(`permanent_condition`) digits. All ones of size 4 give 24.
    """
    floats = _written_out("permanent_glynn", matrix, rows, cols)
    if not len(floats):
        return floats.dtype.type(1)
    total = floats.dtype.type(0)
    for bits in _bit_blocks(len(floats) - 1):
        signs = np.concatenate([np.ones((len(bits), 1)), 1.0 - 2.0 * bits], axis=1)
        total += (signs.prod(axis=1) * (signs @ floats.T).prod(axis=1)).sum()
    return total / 2.0 ** (len(floats) - 1)


def permanent_ryser(
    matrix: MatrixLike, *, rows: CountsLike = None, cols: CountsLike = None
) -> np.float64 | np.complex128:
    """Permanent in float64 by Ryser's formula: inclusion and exclusion over column sets.

    The sum over column sets S of (-1)^(N-|S|) times the product over rows of (sum over j in S of a[i, j])
    (Ryser, Combinatorial Mathematics, 1963).

    Args:
        matrix: (n, n), or (k, l) with counts: finite numbers of any kind, rounded to float64 or complex128.
        rows: (k,) how often each row is written down; None for once.
        cols: (l,) how often each column is written down; None for once.

    Returns:
        The permanent of the written-out N x N matrix; float64 for real input, complex128 for complex; 1 for
        N = 0.

    Raises:
        ValueError: not square, NaN or infinite entries, counts that are negative, fractional or of unequal
            sums, or N above 30.
        TypeError: entries that are not numbers.

    Notes:
        N 2^N multiply-adds. It cancels even where every entry is positive, which Glynn's does far less: it is
        here to be measured, not to be used. All ones of size 4 give 24.
    """
    floats = _written_out("permanent_ryser", matrix, rows, cols)
    total = floats.dtype.type(0)
    for bits in _bit_blocks(len(floats)):
        signs = 1.0 - 2.0 * ((len(floats) - bits.sum(axis=1)) % 2)
        total += (signs * (bits.astype(np.float64) @ floats.T).prod(axis=1)).sum()
    return total


def _written_out(name: str, matrix: MatrixLike, rows: CountsLike, cols: CountsLike) -> np.ndarray:
    given, row_counts, col_counts = repeated_matrix(name, matrix, rows, cols)
    refuse_beyond(name, sum(row_counts), 30, "rows (repeats counted, 2^N terms)")
    planes = zip(given.real, given.imaginary(), strict=True)
    exact = [[over(re, im, given.denominator) for re, im in zip(*row, strict=True)] for row in planes]
    convert = complex if given.is_complex else float
    dtype = np.complex128 if given.is_complex else np.float64
    floats = np.array([[convert(entry) for entry in row] for row in exact], dtype=dtype).reshape(2 * (len(exact),))
    return np.repeat(np.repeat(floats, row_counts, axis=0), col_counts, axis=1)


def _bit_blocks(bits: int) -> Iterator[np.ndarray]:
    """All words of so many bits, (block, bits) arrays of 0 and 1, in blocks that fit in a cache."""
    for start in range(0, 2**bits, _BLOCK):
        words = np.arange(start, min(start + _BLOCK, 2**bits))
        yield (words[:, None] >> np.arange(bits)) & 1
