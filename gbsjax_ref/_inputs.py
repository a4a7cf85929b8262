"""The door: what the reference functions accept, and what they say to the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ._exact import GaussianMatrix, exact_parts, gaussian_matrix

MatrixLike: TypeAlias = npt.ArrayLike | Sequence[Sequence[Any]]
CountsLike: TypeAlias = npt.ArrayLike | None


def square_matrix(function: str, matrix: MatrixLike) -> GaussianMatrix:
    """The exact integers of an (n, n) array-like; ValueError unless square and finite."""
    return finite_matrix(function, square_entries(function, matrix))


def square_entries(function: str, matrix: MatrixLike) -> np.ndarray:
    """The entries of an (n, n) array-like as they came; ValueError unless square."""
    # Lists become object arrays, so that a Fraction or a large int stays what it is.
    entries = np.asarray(matrix) if hasattr(matrix, "dtype") else np.array(matrix, dtype=object)
    if isinstance(matrix, (list, tuple)) and not matrix:
        entries = np.empty((0, 0), dtype=object)
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise ValueError(f"{function}: matrix must have shape (n, n), got {entries.shape}.")
    return entries


def finite_matrix(function: str, entries: np.ndarray) -> GaussianMatrix:
    """The exact integers of a two-dimensional array; an error unless all are finite numbers."""
    for place in np.ndindex(entries.shape):
        _check_entry(function, "entries", place, entries[place])
    return gaussian_matrix(entries)


def finite_vector(function: str, name: str, vector: npt.ArrayLike, size: int) -> GaussianMatrix:
    """The exact integers of a (size,) array-like, as one row; ValueError for another shape or not finite."""
    entries = np.asarray(vector) if hasattr(vector, "dtype") else np.array(vector, dtype=object)
    if entries.shape != (size,):
        raise ValueError(f"{function}: {name} must have shape ({size},), got {entries.shape}.")
    for place in np.ndindex(entries.shape):
        _check_entry(function, name, place, entries[place])
    return gaussian_matrix(entries[None, :])


def repeated_matrix(
    function: str, matrix: MatrixLike, rows: CountsLike, cols: CountsLike
) -> tuple[GaussianMatrix, tuple[int, ...], tuple[int, ...]]:
    """An (n, n) matrix with its row and column counts, ones where None; ValueError unless the counts' sums are equal.

    A (k, l) matrix with counts is completed by zeros that are taken no times.
    """
    if rows is None and cols is None:
        given = square_matrix(function, matrix)
        once = (1,) * len(given.real)
        return given, once, once
    entries = np.asarray(matrix) if hasattr(matrix, "dtype") else np.array(matrix, dtype=object)
    if entries.ndim != 2:
        raise ValueError(f"{function}: matrix must have shape (k, l) with counts, got {entries.shape}.")
    k, l = entries.shape
    size = max(k, l)
    square = np.zeros((size, size), entries.dtype)
    square[:k, :l] = entries
    row_counts = counts_of(function, "rows", k, rows) + (0,) * (size - k)
    col_counts = counts_of(function, "cols", l, cols) + (0,) * (size - l)
    if sum(row_counts) != sum(col_counts):
        raise ValueError(
            f"{function}: rows and cols must have equal sums, got {sum(row_counts)} and {sum(col_counts)}."
        )
    return square_matrix(function, square), row_counts, col_counts


def refuse_beyond(function: str, work: int, limit: int, unit: str) -> None:
    """ValueError that states the cost, where the work exceeds what an enumeration can finish."""
    if work > limit:
        raise ValueError(f"{function}: at most {limit} {unit} are enumerated, this input has {work}.")


def _check_entry(function: str, name: str, place: tuple[int, ...], entry: Any) -> None:
    where = f"at [{', '.join(map(str, place))}]"
    try:
        exact_parts(entry)
    except TypeError:
        raise TypeError(f"{function}: {name} must be numbers, got {type(entry).__name__} {where}.") from None
    except (OverflowError, ValueError):
        raise ValueError(f"{function}: {name} must be finite, got {entry} {where}.") from None


def counts_of(function: str, name: str, size: int, counts: CountsLike) -> tuple[int, ...]:
    """Whole numbers, zero or more, as a tuple; ones where counts are None."""
    if counts is None:
        return (1,) * size
    given = np.asarray(counts)
    if given.shape != (size,):
        raise ValueError(f"{function}: {name} must have shape ({size},), got {given.shape}.")
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{function}: {name} must be integers, got dtype {given.dtype}.")
    if any(not np.isfinite(count) or count < 0 or count != int(count) for count in given):
        raise ValueError(f"{function}: {name} must be whole numbers, zero or more, got {given.tolist()}.")
    return tuple(int(count) for count in given)
