"""The `gbsjax` command."""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
FUNCTIONS = ("permanent", "hafnian", "loop_hafnian", "torontonian")
SUFFIXES = (".npy", ".npz", ".csv", ".mtx")


class _Refused(Exception):
    """One line for the terminal; the command ends with exit code 2."""


def read_matrix(path: Path) -> np.ndarray:
    """The square matrix in a .npy, .npz (one array), .csv or .mtx file, as float64 or complex128."""
    if path.suffix not in SUFFIXES:
        raise _Refused(f"{path}: the name must end in one of {', '.join(SUFFIXES)}.")
    if not path.is_file():
        raise _Refused(f"{path}: no such file.")
    try:
        matrix = _load(path)
    except _Refused:
        raise
    except ImportError as error:
        raise _Refused(f"{path}: reading it needs {error.name}; pip install 'gbsjax[mtx]'.") from None
    except Exception as error:
        reason = " ".join(str(error).split())
        raise _Refused(f"{path}: not a readable {path.suffix} file ({reason}).") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise _Refused(f"{path}: holds shape {matrix.shape}, a square matrix is needed.")
    if not np.issubdtype(matrix.dtype, np.number):
        raise _Refused(f"{path}: holds {matrix.dtype}, numbers are needed.")
    if not np.isfinite(matrix).all():
        raise _Refused(f"{path}: has NaN or Inf entries.")
    if np.issubdtype(matrix.dtype, np.integer) and matrix.size and int(np.abs(matrix).max()) >= 2**53:
        raise _Refused(f"{path}: has integers of 2^53 or more, which float64 does not hold.")
    if matrix.dtype in (np.longdouble, np.clongdouble):
        raise _Refused(f"{path}: holds {matrix.dtype}, more precise than float64. Convert it first.")
    return matrix.astype(np.complex128 if np.iscomplexobj(matrix) else np.float64)


def _load(path: Path) -> np.ndarray:
    if path.suffix == ".npy":
        return np.load(path, allow_pickle=False)
    if path.suffix == ".npz":
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            if len(archive.files) != 1:
                raise _Refused(f"{path}: holds {len(archive.files)} arrays {archive.files}, exactly one is needed.")
            return archive[archive.files[0]]
    if path.suffix == ".mtx":
        import scipy.io

        matrix: Any = scipy.io.mmread(path, spmatrix=False)
        return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
    rows = [line.replace(";", ",").split(",") for line in path.read_text().splitlines() if line.strip()]
    if len({len(row) for row in rows}) > 1:
        raise _Refused(f"{path}: its lines have {sorted({len(row) for row in rows})} numbers, all must be alike.")
    try:
        return np.array([[float(entry) for entry in row] for row in rows])
    except ValueError:
        return np.array([[complex(entry.replace(" ", "").replace("i", "j")) for entry in row] for row in rows])


def _as_json(value: complex | float) -> Any:
    if isinstance(value, complex):
        return {"re": _as_json(value.real), "im": _as_json(value.imag)}
    # JSON has no Inf.
    return value if np.isfinite(value) else str(value)


@app.command("eval")
def evaluate(
    function: Annotated[str, typer.Argument(help=f"One of: {', '.join(FUNCTIONS)}.")],
    matrix: Annotated[Path, typer.Argument(help="A square matrix: .npy, .npz (one array), .csv or .mtx.")],
    bound: Annotated[bool, typer.Option("--bound", help="To 10 digits, with a rigorous bound of the error.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Evaluate a matrix function on the matrix in a file: value, error bound where asked, time."""
    if function not in FUNCTIONS:
        raise _Refused(f"function must be one of {', '.join(FUNCTIONS)}, got {function!r}.")
    entries = read_matrix(matrix)
    import jax

    jax.config.update("jax_enable_x64", True)
    import gbsjax

    called = getattr(gbsjax, function)

    def timed() -> tuple[Any, float]:
        start = time.perf_counter()
        with gbsjax.show_progress(function):
            found = gbsjax.evaluate(called, entries) if bound else jax.block_until_ready(called(entries))
        return found, time.perf_counter() - start

    try:
        (_, first), (found, second) = timed(), timed()
    except ValueError as error:
        raise _Refused(f"{matrix}: {error}") from None
    value = (found.value if bound else found).item()
    report: dict[str, Any] = {"function": function, "file": str(matrix), "shape": list(entries.shape)}
    report |= {"dtype": str(entries.dtype), "value": _as_json(value)}
    if bound:
        report["error_bound"] = _as_json(found.error_bound.item())
        report |= {"condition": _as_json(found.condition.item()), "tier": found.tier}
    report |= {"first_call_s": first, "second_call_s": second}
    if as_json:
        print(json.dumps(report))
        return
    print(f"{function} of {matrix} ({entries.shape[0]} x {entries.shape[1]}, {entries.dtype})")
    print(f"  value         {value!r}")
    if bound:
        print(f"  error bound   {float(report['error_bound']):.3g}")
        print(f"  condition     {float(report['condition']):.3g}")
        print(f"  tier          {report['tier']}")
    print(f"  time          {first:.3g} s with compilation, {second:.3g} s without")


@app.command()
def demo(
    data: Annotated[Path | None, typer.Option(help="A folder with T_full.npy, a measured transmission matrix.")] = None,
    out: Annotated[Path, typer.Option(help="Where the figures go.")] = Path("outputs/demo"),
    seed: Annotated[int, typer.Option(help="Seed of the device, the counts and the first guess.")] = 7,
    steps: Annotated[int, typer.Option(min=1, help="Steps of the fit.")] = 400,
) -> None:
    """Simulate a boson sampling experiment, fit its interferometer to the counts, and draw the result."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from gbsjax import _demo

    try:
        _demo.run(out=out, data=data, seed=seed, steps=steps)
    except _demo.BadData as error:
        raise _Refused(str(error)) from None


def _version(wanted: bool) -> None:
    if wanted:
        print(f"gbsjax {importlib.metadata.version('gbsjax')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Matrix functions of photonic sampling: evaluate, differentiate, fit."""


def main() -> None:
    try:
        app()
    except _Refused as error:
        print(f"gbsjax: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("gbsjax: stopped.", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
