"""Well-known graphs, by their edges, and how many perfect matchings each has."""

from __future__ import annotations

import numpy as np


def adjacency(n: int, edges: list[tuple[int, int]]) -> np.ndarray:
    matrix = np.zeros((n, n))
    for i, j in edges:
        matrix[i, j] = matrix[j, i] = 1
    return matrix


def grid(rows: int, columns: int) -> np.ndarray:
    place = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([place[:, :-1].ravel(), place[:, 1:].ravel()], axis=1)
    down = np.stack([place[:-1].ravel(), place[1:].ravel()], axis=1)
    return adjacency(rows * columns, [*map(tuple, across), *map(tuple, down)])


def generalised_petersen(n: int, step: int) -> np.ndarray:
    outer = [(i, (i + 1) % n) for i in range(n)]
    inner = [(n + i, n + (i + step) % n) for i in range(n)]
    return adjacency(2 * n, [*outer, *inner, *((i, n + i) for i in range(n))])


PETERSEN = (generalised_petersen(5, 2), 6)
DODECAHEDRON = (generalised_petersen(10, 2), 36)
SMALL_GRID = (grid(4, 4), 36)
CHESSBOARD = (grid(8, 8), 12988816)
