"""How many digits of a torontonian survive on the first k clicked modes of recorded events; how many are certified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import gbsjax_ref
from experiments import _arguments, _provenance

KIND = "accuracy_torontonian"
TIERS = ("fp64", "dd")
# Modes up to which many digits are computed subset by subset; beyond, the certified double-double value is the truth.
MOST_EXACT = 14
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

    import gbsjax

    jax.config.update("jax_enable_x64", True)
    whole = click_matrix(*device(data))
    clicks = np.load(data / FILES[2], allow_pickle=False)[:events]
    options = {"data": "T_full, squeezing_parameters, events_band13_32", "sizes": sizes, "events": events, "dps": dps}
    record = _provenance.artifact(KIND, options)
    record["rows"] = []
    for k, event in track([(k, e) for k in sizes for e in range(len(clicks))], "events"):
        rows = np.flatnonzero(clicks[event])[:k]
        if len(rows) < k:
            continue
        rows = np.concatenate([rows, rows + len(whole) // 2])
        matrix = whole[np.ix_(rows, rows)]
        found = {tier: gbsjax.evaluate(gbsjax.torontonian, matrix, precision=tier) for tier in TIERS}
        # float64 entries, exact as stored: the error is of the program, not of the matrix.
        many = k <= MOST_EXACT
        exact = gbsjax_ref.torontonian_mpmath(matrix, dps=dps) if many else float(found["dd"].value)
        values = {"gbsjax_fp64": float(gbsjax.torontonian(matrix))}
        if many:
            values |= {"gbsjax_dd": float(found["dd"].value)}
            values |= {"reference_numpy": float(gbsjax_ref.torontonian_numpy(matrix))}
        with mpmath.workdps(dps):
            errors = {name: float(abs(value / exact - 1)) for name, value in values.items()}
        bounds = {tier: float(one.error_bound / abs(one.value)) for tier, one in found.items()}
        row: dict[str, Any] = {"k": k, "event": event, "value": float(exact), "errors": errors, "bounds": bounds}
        row |= {"kappa": float(found["dd"].condition), "cond": gbsjax_ref.cond_identity_minus(matrix)}
        record["rows"].append(row)
    show(record)
    return _provenance.write(record, out, tag)


def _by_size(record: dict[str, Any], kind: str, name: str) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for row in record["rows"]:
        if name in row[kind]:
            found.setdefault(row["k"], []).append(row[kind][name])
    return found


# What the table and the figure show: errors, and certified bounds.
SERIES = (
    ("errors", "reference_numpy", "NumPy, subset by subset"),
    ("errors", "gbsjax_fp64", "gbsjax float64"),
    ("bounds", "fp64", "certified, float64"),
    ("bounds", "dd", "certified, double-double"),
)


def show(record: dict[str, Any]) -> None:
    title = "Relative error, and certified bound: median (largest)"
    table = Table("k", "value", "kappa", *(label for _, _, label in SERIES), title=title)
    series = [_by_size(record, kind, name) for kind, name, _ in SERIES]
    for k in dict.fromkeys(row["k"] for row in record["rows"]):
        rows = [row for row in record["rows"] if row["k"] == k]
        table.add_row(
            str(k),
            f"{np.median([row['value'] for row in rows]):.1e}",
            f"{np.median([row['kappa'] for row in rows]):.1e}",
            *(f"{np.median(one[k]):.1e} ({max(one[k]):.1e})" if k in one else "" for one in series),
        )
    Console(width=120).print(table)


def plot(path: Path) -> Path:
    """Draw the artifact: relative error by k; reads nothing else."""
    record = _provenance.read(path, KIND)
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot, ticker

    figure, axes = pyplot.subplots(figsize=(6.5, 4.5), layout="constrained")
    for index, (kind, name, label) in enumerate(SERIES):
        found = _by_size(record, kind, name)
        style = "-" if kind == "errors" else "--"
        axes.semilogy(list(found), [np.median(e) for e in found.values()], style, color=f"C{index}", label=label)
        for k, several in found.items():
            axes.semilogy([k] * len(several), several, ".", ms=4, color=f"C{index}", alpha=0.6)
    axes.semilogy(
        [r["k"] for r in record["rows"]],
        [1.1e-16 * r["kappa"] for r in record["rows"]],
        "x",
        ms=4,
        color="0.5",
        label="u kappa",
    )
    axes.axhline(1, color="0.7", lw=0.8)
    axes.set(xlabel="first k clicked modes of a recorded event", ylabel="relative error or bound")
    axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    axes.legend(fontsize="small")
    return _provenance.save_figure(figure, path.with_suffix(".png"))


def main() -> None:
    parser = _arguments.parser(__doc__ or "", "outputs/accuracy")
    parser.add_argument("--data", type=Path, default=None, help="folder of the recorded experiment (needed)")
    parser.add_argument("--sizes", type=_arguments.span, default="4-16", help="how many clicked modes")
    parser.add_argument("--events", type=_arguments.positive, default=3, help="events, from the first")
    parser.add_argument(
        "--dps", type=_arguments.positive, default=40, help=f"decimal digits of the truth, up to {MOST_EXACT} modes"
    )
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
