"""What the commands read: matrices and patterns in the files that people have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

SUFFIXES = (".npy", ".npz", ".csv", ".mtx")


class Refused(Exception):
    """One line for the terminal; the command ends with exit code 2."""


def _read(path: Path) -> np.ndarray:
    if path.suffix not in SUFFIXES:
        raise Refused(f"{path}: the name must end in one of {', '.join(SUFFIXES)}.")
    if not path.is_file():
        raise Refused(f"{path}: no such file.")
    try:
        array = _load(path)
    except Refused:
        raise
    except ImportError as error:
        raise Refused(f"{path}: reading it needs {error.name}; pip install 'gbsjax[mtx]'.") from None
    except Exception as error:
        reason = " ".join(str(error).split())
        raise Refused(f"{path}: not a readable {path.suffix} file ({reason}).") from None
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == bool):
        raise Refused(f"{path}: holds {array.dtype}, numbers are needed.")
    if not np.isfinite(array).all():
        raise Refused(f"{path}: has NaN or Inf entries.")
    return array


def read_matrix(path: Path) -> np.ndarray:
    """The square matrix in a .npy, .npz (one array), .csv or .mtx file, as float64 or complex128."""
    matrix = _read(path)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise Refused(f"{path}: holds shape {matrix.shape}, a square matrix is needed.")
    if matrix.dtype == bool:
        raise Refused(f"{path}: holds {matrix.dtype}, numbers are needed.")
    if np.issubdtype(matrix.dtype, np.integer) and matrix.size and int(np.abs(matrix).max()) >= 2**53:
        raise Refused(f"{path}: has integers of 2^53 or more, which float64 does not hold.")
    if matrix.dtype in (np.longdouble, np.clongdouble):
        raise Refused(f"{path}: holds {matrix.dtype}, more precise than float64. Convert it first.")
    return matrix.astype(np.complex128 if np.iscomplexobj(matrix) else np.float64)


def read_patterns(path: Path, modes: int, threshold: bool) -> np.ndarray:
    """The patterns (shots, modes) in a .npy, .npz (one array), .csv or .mtx file, one shot a row, as integers."""
    found = _read(path)
    if found.ndim != 2 or found.shape[1] != modes:
        raise Refused(f"{path}: holds shape {found.shape}, and the device has {modes} modes: one shot a row is needed.")
    if not len(found):
        raise Refused(f"{path}: has no shot.")
    patterns = np.real(found).astype(np.int64)
    if (patterns != found).any() or (patterns < 0).any():
        raise Refused(f"{path}: photons and clicks are whole numbers of 0 or more, got others.")
    if threshold and (patterns > 1).any():
        raise Refused(
            f"{path}: has counts up to {patterns.max()}, and the device has threshold detectors, which click once. Say "
            '[detectors] kind = "number" in its description, or convert the data.'
        )
    return patterns


def _load(path: Path) -> np.ndarray:
    if path.suffix == ".npy":
        return np.load(path, allow_pickle=False)
    if path.suffix == ".npz":
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            if len(archive.files) != 1:
                raise Refused(f"{path}: holds {len(archive.files)} arrays {archive.files}, exactly one is needed.")
            return archive[archive.files[0]]
    if path.suffix == ".mtx":
        import scipy.io

        matrix: Any = scipy.io.mmread(path, spmatrix=False)
        return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
    rows = [line.replace(";", ",").split(",") for line in path.read_text().splitlines() if line.strip()]
    if len({len(row) for row in rows}) > 1:
        raise Refused(f"{path}: its lines have {sorted({len(row) for row in rows})} numbers, all must be alike.")
    try:
        return np.array([[float(entry) for entry in row] for row in rows])
    except ValueError:
        return np.array([[complex(entry.replace(" ", "").replace("i", "j")) for entry in row] for row in rows])
