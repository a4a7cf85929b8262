"""How many digits of the float64 torontonian survive on the first k clicked modes of recorded events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import gbsjax_ref
from experiments import _arguments, _provenance

KIND = "accuracy_torontonian"
FILES = ("T_full.npy", "squeezing_parameters.txt", "events_band13_32.npy")


def device(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """N_ij = <a_i^dagger a_j> and M_ij = <a_i a_j> of the output: two-mode squeezers, then a lossy interferometer."""
    missing = [name for name in FILES if not (data / name).is_file()]
    if missing:
        raise ValueError(f"{data}: no {', '.join(missing)}; --data takes the folder of the recorded experiment.")
    transmission = np.load(data / "T_full.npy", allow_pickle=False)
    r = np.loadtxt(data / "squeezing_parameters.txt")
    modes = 2 * len(r)
    number, pair = np.zeros((modes, modes)), np.zeros((modes, modes))
    for source, squeezing in enumerate(r):
        i, j = 2 * source, 2 * source + 1
        number[i, i] = number[j, j] = np.sinh(squeezing) ** 2
        pair[i, j] = pair[j, i] = np.sinh(squeezing) * np.cosh(squeezing)
    return transmission.conj().T @ number @ transmission, transmission.T @ pair @ transmission


def click_matrix(n: np.ndarray, m: np.ndarray) -> np.ndarray:
    """O = I - Q^-1 of the state of all modes: an event's torontonian is of the rows of its clicks."""
    identity = np.eye(len(n))
    q = np.block([[identity + n.T, m], [m.conj(), identity + n]])
    o = np.eye(2 * len(n)) - np.linalg.inv(q)
    return (o + o.conj().T) / 2


def run(data: Path, sizes: list[int], events: int, dps: int, out: Path, tag: str | None) -> Path:
    """Measure, print a table, write the artifact; returns its path."""
    import jax

    from gbsjax import torontonian

    jax.config.update("jax_enable_x64", True)
    whole = click_matrix(*device(data))
    clicks = np.load(data / FILES[2], allow_pickle=False)[:events]
    options = {"data": "T_full, squeezing_parameters, events_band13_32", "sizes": sizes, "events": events, "dps": dps}
    record = _provenance.artifact(KIND, options)
    record["rows"] = []
    for k, event in track([(k, e) for k in sizes for e in range(len(clicks))], "events"):
        rows = np.flatnonzero(clicks[event])[:k]
        rows = np.concatenate([rows, rows + len(whole) // 2])
        matrix = whole[np.ix_(rows, rows)]
        # float64 entries, exact as stored: the error is of the program, not of the matrix.
        exact = gbsjax_ref.torontonian_mpmath(matrix, dps=dps)
        values = {
            "gbsjax_fp64": float(torontonian(matrix)),
            "reference_numpy": float(gbsjax_ref.torontonian_numpy(matrix)),
        }
        errors = {name: float(abs(value / exact - 1)) for name, value in values.items()}
        kappa = gbsjax_ref.torontonian_condition(matrix) if k <= 12 else None
        row: dict[str, Any] = {"k": k, "event": event, "value": float(exact), "kappa": kappa, "errors": errors}
        record["rows"].append(row | {"cond": gbsjax_ref.cond_identity_minus(matrix)})
    show(record)
    return _provenance.write(record, out, tag)


def _by_size(record: dict[str, Any], name: str) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for row in record["rows"]:
        found.setdefault(row["k"], []).append(row["errors"][name])
    return found


def show(record: dict[str, Any]) -> None:
    table = Table("k", "value", "kappa", "gbsjax float64", "NumPy subsets", title="Relative error: median (largest)")
    ours, other = _by_size(record, "gbsjax_fp64"), _by_size(record, "reference_numpy")
    for k in ours:
        rows = [row for row in record["rows"] if row["k"] == k]
        kappas = [row["kappa"] for row in rows if row["kappa"] is not None]
        table.add_row(
            str(k),
            f"{np.median([row['value'] for row in rows]):.1e}",
            f"{np.median(kappas):.1e}" if kappas else "",
            *(f"{np.median(errors[k]):.1e} ({max(errors[k]):.1e})" for errors in (ours, other)),
        )
    Console().print(table)


def plot(path: Path) -> Path:
    """Draw the artifact: relative error by k; reads nothing else."""
    record = _provenance.read(path, KIND)
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot, ticker

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for index, (name, label) in enumerate(
        [("gbsjax_fp64", "gbsjax float64"), ("reference_numpy", "NumPy, subset by subset")]
    ):
        errors = _by_size(record, name)
        axes.semilogy(list(errors), [np.median(e) for e in errors.values()], "-", color=f"C{index}", label=label)
        for k, several in errors.items():
            axes.semilogy([k] * len(several), several, ".", ms=4, color=f"C{index}", alpha=0.6)
    known = [row for row in record["rows"] if row["kappa"] is not None]
    axes.semilogy(
        [r["k"] for r in known], [1.1e-16 * r["kappa"] for r in known], "x", ms=4, color="0.5", label="u kappa"
    )
    axes.axhline(1, color="0.7", lw=0.8)
    axes.set(xlabel="first k clicked modes of a recorded event", ylabel="relative error against mpmath")
    axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    axes.legend(fontsize="small")
    return _provenance.save_figure(figure, path.with_suffix(".png"))


def main() -> None:
    parser = _arguments.parser(__doc__ or "", "outputs/accuracy")
    parser.add_argument("--data", type=Path, default=None, help="folder of the recorded experiment (needed)")
    parser.add_argument("--sizes", type=_arguments.span, default="4-16", help="how many clicked modes")
    parser.add_argument("--events", type=_arguments.positive, default=3, help="events, from the first")
    parser.add_argument("--dps", type=_arguments.positive, default=40, help="decimal digits of the truth")
    options = parser.parse_args()
    if options.plot:
        print(f"figure:   {plot(options.plot)}")
        return
    if options.data is None:
        raise ValueError(f"--data is needed: a folder with {', '.join(FILES)}.")
    path = run(options.data, options.sizes, options.events, options.dps, options.out, options.tag)
    print(f"artifact: {path}\nfigure:   {plot(path)}")


if __name__ == "__main__":
    _arguments.main(main)
