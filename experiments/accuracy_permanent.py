"""How accurate the permanent is in every tier, against mpmath, by size and under tuned cancellation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import gbsjax_ref
from experiments import _arguments, _inputs, _provenance

KIND = "accuracy_permanent"
ENGINES = ("gbsjax_fp64", "gbsjax_dd", "gbsjax_exact", "reference_glynn", "reference_ryser")
CANCELLING_SIZE = 6


def _row(matrix: np.ndarray, dps: int) -> dict[str, Any]:
    """Relative errors of every engine against mpmath at dps digits, and kappa; float64 input, exact as stored."""
    from gbsjax import permanent

    truth = gbsjax_ref.permanent_mpmath(matrix, dps)
    exact = gbsjax_ref.permanent_exact(matrix)
    size = exact.modulus(dps)
    # Two routes to the truth: a study must not rest on one program.
    if not abs(truth - exact.to_mpc(dps)) <= size * 10 ** (5 - dps):
        raise ValueError(f"the references disagree on a {matrix.shape} matrix: {truth} and {exact.to_mpc(dps)}.")
    values = {
        "gbsjax_fp64": complex(permanent(matrix)),
        "gbsjax_dd": complex(permanent(matrix, precision="dd")),
        "gbsjax_exact": complex(permanent(matrix, precision="exact")),
        "reference_glynn": complex(gbsjax_ref.permanent_glynn(matrix)),
        "reference_ryser": complex(gbsjax_ref.permanent_ryser(matrix)),
    }
    errors = {name: exact.relative_error(values[name]) for name in ENGINES}
    return {"kappa": gbsjax_ref.permanent_condition(matrix), "errors": errors}


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    kappa = [row["kappa"] for row in rows]
    summary: dict[str, Any] = {"kappa": {"median": float(np.median(kappa)), "max": float(np.max(kappa))}}
    for name in ENGINES:
        errors = [row["errors"][name] for row in rows]
        summary[name] = {"median": float(np.median(errors)), "max": float(np.max(errors))}
    return summary


def run(sizes: list[int], seeds: int, dps: int, out: Path, tag: str | None = None) -> Path:
    """Measure, print a table, write the artifact; returns its path."""
    import jax

    jax.config.update("jax_enable_x64", True)
    record = _provenance.artifact(KIND, {"sizes": sizes, "seeds": seeds, "dps": dps, "matrices": "complex normal"})
    record["engines"] = list(ENGINES)
    record["sizes"] = []
    for n in track(sizes, "sizes"):
        rows = [{"seed": seed} | _row(_inputs.gaussian(_inputs.generator(seed, n), n, n), dps) for seed in range(seeds)]
        record["sizes"].append({"n": n, "summary": _summary(rows), "rows": rows})
    record["cancellation"] = []
    for power in track(range(1, 15), "cancellation"):
        delta = 10.0**-power
        rows = []
        for seed in range(seeds):
            matrix = _inputs.cancelling(_inputs.generator(seed, CANCELLING_SIZE, 1), CANCELLING_SIZE, delta)
            rows.append({"seed": seed} | _row(matrix, dps))
        record["cancellation"].append({"n": CANCELLING_SIZE, "delta": delta, "summary": _summary(rows), "rows": rows})
    show(record)
    return _provenance.write(record, out, tag)


def show(record: dict[str, Any]) -> None:
    for title, key, head in (("by size", "sizes", "n"), ("cancellation at n = 6", "cancellation", "delta")):
        table = Table(head, "kappa median", title=f"Relative error against mpmath, {title}: median (max)")
        for name in ENGINES:
            table.add_column(name)
        for row in record[key]:
            summary = row["summary"]
            cells = [f"{summary[name]['median']:.1e} ({summary[name]['max']:.1e})" for name in ENGINES]
            table.add_row(f"{row[head]:g}", f"{summary['kappa']['median']:.1e}", *cells)
        Console().print(table)


def plot(path: Path) -> Path:
    """Draw the artifact: error by size, and error by cancellation; reads nothing else."""
    record = _provenance.read(path, KIND)
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, both = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    for axes, key, head in ((both[0], "sizes", "n"), (both[1], "cancellation", "delta")):
        x = [row[head] for row in record[key]]
        for index, name in enumerate(record["engines"]):
            points = [row["summary"][name] for row in record[key]]
            if not points or None in points:
                continue
            # An error of exactly 0 has no place on a logarithmic axis; it is drawn at a tenth of the unit roundoff.
            low = [max(point["median"], 1e-17) for point in points]
            high = [max(point["max"], 1e-17) for point in points]
            # The double-double value rounded is nearly always the exact one rounded: one must not hide the other.
            style = {"ms": 7, "mfc": "none"} if name == "gbsjax_dd" else {"ms": 3}
            axes.plot(x, low, "o-", color=f"C{index}", label=name.replace("_", " "), **style)
            axes.fill_between(x, low, high, color=f"C{index}", alpha=0.15, lw=0)
        kappa = [1.1e-16 * row["summary"]["kappa"]["median"] for row in record[key]]
        axes.plot(x, kappa, "--", color="0.5", label="u kappa")
        axes.set_yscale("log")
    both[0].set(xlabel="matrix size n", ylabel="relative error: median, band to the largest", title="random complex")
    both[1].set(xlabel="delta", xscale="log", title="cancellation, n = 6")
    both[1].invert_xaxis()
    both[0].legend(fontsize="small")
    return _provenance.save_figure(figure, path.with_suffix(".png"))


def main() -> None:
    parser = _arguments.parser(__doc__ or "", "outputs/accuracy")
    parser.add_argument("--sizes", type=_arguments.span, default="2-12", help="matrix sizes")
    parser.add_argument("--seeds", type=_arguments.positive, default=8, help="matrices a size")
    parser.add_argument("--dps", type=_arguments.positive, default=60, help="decimal digits of the truth")
    options = parser.parse_args()
    if options.dps < 30:
        raise ValueError(f"--dps must be 30 or more to judge float64, got {options.dps}.")
    path = options.plot or run(options.sizes, options.seeds, options.dps, options.out, options.tag)
    print(f"artifact: {path}\nfigure:   {plot(path)}")


if __name__ == "__main__":
    _arguments.main(main)
