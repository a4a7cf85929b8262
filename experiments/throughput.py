"""Evaluations a second of gbsjax and its peers on the same cores, by size and batch: value, gradient, first call."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Thread pools read these once, when they start: they are set before any engine is imported.
THREADS = str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
for _name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, THREADS)

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import track  # noqa: E402
from rich.table import Table  # noqa: E402

from experiments import _arguments, _inputs, _provenance, _timing  # noqa: E402

KIND = "throughput"
FUNCTIONS = ("permanent",)
CHECKSUM_RTOL = 1e-8
Engine = Callable[[], np.ndarray]


def value_engines(matrices: np.ndarray) -> dict[str, Engine]:
    """Every engine's fastest documented way to the permanents of a batch; peers have no batch and loop."""
    import jax
    import thewalrus

    from gbsjax import permanent

    single = len(matrices) == 1
    array = jax.numpy.asarray(matrices[0] if single else matrices)
    compiled = jax.jit(permanent)
    engines: dict[str, Engine] = {
        "gbsjax jit": lambda: np.atleast_1d(compiled(array)),
        "gbsjax eager": lambda: np.atleast_1d(permanent(array)),
        "The Walrus": lambda: np.array([thewalrus.perm(matrix) for matrix in matrices]),
    }
    if importlib.util.find_spec("exqalibur"):
        import exqalibur

        kernel = exqalibur.permanent_cx  # pyright: ignore[reportAttributeAccessIssue]

        # Its "glynn" is the faster of its two methods at every size here; "ryser" loses digits (docs, accuracy).
        engines["exqalibur"] = lambda: np.array([kernel(matrix, "glynn") for matrix in matrices])
    if importlib.util.find_spec("piquasso"):
        from piquasso._math.permanent import permanent as piquasso_permanent

        once = np.ones(matrices.shape[-1], np.uint64)
        engines["Piquasso"] = lambda: np.array([piquasso_permanent(matrix, once, once) for matrix in matrices])
    return engines


def gradient_engines(matrices: np.ndarray) -> dict[str, Engine]:
    """All n^2 derivatives: gbsjax in one pass, The Walrus as n^2 permanents of minors."""
    import jax
    import thewalrus

    from gbsjax import permanent

    array = jax.numpy.asarray(matrices)
    compiled = jax.jit(jax.vmap(jax.grad(permanent, holomorphic=True)))
    n = matrices.shape[-1]

    def minors() -> np.ndarray:
        keep = [[k for k in range(n) if k != i] for i in range(n)]
        return np.array(
            [[[thewalrus.perm(m[np.ix_(keep[i], keep[j])]) for j in range(n)] for i in range(n)] for m in matrices]
        )

    return {"gbsjax jit": lambda: np.asarray(compiled(array)), "The Walrus": minors}


def _rows(timed: dict[str, _timing.Timed], head: dict[str, Any], batch: int) -> list[dict[str, Any]]:
    return [
        head
        | {
            "engine": name,
            "first_call_s": one.first_s,
            "median_s": one.median_s,
            "quartiles_s": list(one.quartiles_s),
            "samples_s": one.samples_s,
            "evaluations_per_s": batch / one.median_s,
            "checksum": [one.checksum.real, one.checksum.imag],
        }
        for name, one in timed.items()
    ]


def run(
    functions: list[str], sizes: list[int], batches: list[int], repeats: int, seconds: float, out: Path, tag: str | None
) -> Path:
    """Time every cell, print the ratios, write the artifact; returns its path."""
    import jax

    jax.config.update("jax_enable_x64", True)
    options = {"functions": functions, "sizes": sizes, "batches": batches, "repeats": repeats, "seconds": seconds}
    record = _provenance.artifact(KIND, options | {"dtype": "complex128", "checksum_rtol": CHECKSUM_RTOL})
    record["rows"] = []
    cells = [(n, batch) for n in sizes for batch in batches if batch * 2.0**n * n <= 2.0**28]
    for n, batch in track(cells, "value"):
        matrices = _inputs.gaussian(_inputs.generator(0, n, batch), batch, n, n)
        timed = _timing.interleaved(value_engines(matrices), repeats, seconds)
        _timing.agree(timed, CHECKSUM_RTOL)
        record["rows"] += _rows(timed, {"function": "permanent", "what": "value", "n": n, "batch": batch}, batch)
    cells = [(n, batch) for n, batch in cells if batch * 2.0**n * n**3 <= 2.0**34 and batch <= 64]
    for n, batch in track(cells, "gradient"):
        matrices = _inputs.gaussian(_inputs.generator(0, n, batch), batch, n, n)
        engines = gradient_engines(matrices)
        if batch * 2.0**n * n**3 > 2.0**27:
            engines.pop("The Walrus")  # n^2 permanents a matrix: minutes for what gbsjax does in milliseconds
        timed = _timing.interleaved(engines, repeats, seconds)
        _timing.agree(timed, CHECKSUM_RTOL)
        record["rows"] += _rows(timed, {"function": "permanent", "what": "gradient", "n": n, "batch": batch}, batch)
    show(record)
    return _provenance.write(record, out, tag)


def _cells(record: dict[str, Any], what: str) -> dict[tuple[int, int], dict[str, dict[str, Any]]]:
    cells: dict[tuple[int, int], dict[str, dict[str, Any]]] = {}
    for row in record["rows"]:
        if row["what"] == what:
            cells.setdefault((row["batch"], row["n"]), {})[row["engine"]] = row
    return dict(sorted(cells.items()))


def show(record: dict[str, Any]) -> None:
    values = _cells(record, "value")
    for what in ("value", "gradient"):
        cells = _cells(record, what)
        names = sorted({name for cell in cells.values() for name in cell}, key=lambda name: (name[0] != "g", name))
        threads = record["environment"]["threads"]
        table = Table(
            "batch", "n", title=f"permanent, {what}: microseconds each, median (x gbsjax jit); threads {threads}"
        )
        for name in names:
            table.add_column(name, no_wrap=True)
        table.add_column("first call, s")
        if what == "gradient":
            table.add_column("x value")
        for (batch, n), cell in cells.items():
            base = cell["gbsjax jit"]
            row = [str(batch), str(n)]
            for name in names:
                if name not in cell:
                    row.append("")
                    continue
                each = 1e6 * cell[name]["median_s"] / batch
                row.append(
                    f"{each:.3g}"
                    + ("" if name == "gbsjax jit" else f" ({cell[name]['median_s'] / base['median_s']:.1f})")
                )
            row.append(f"{base['first_call_s']:.2f}")
            if what == "gradient":
                row.append(f"{base['median_s'] / values[batch, n]['gbsjax jit']['median_s']:.1f}")
            table.add_row(*row)
        Console(width=140).print(table)


def plot(path: Path) -> Path:
    """Draw the artifact: microseconds each by size, single and in the largest batch; reads nothing else."""
    record = _provenance.read(path, KIND)
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot, ticker

    values, gradients = _cells(record, "value"), _cells(record, "gradient")
    batches = sorted({batch for batch, _ in values})
    figure, panels = pyplot.subplots(1, 3, figsize=(12, 4), layout="constrained", sharey=True)
    choices = [(values, batches[0], "value"), (values, batches[-1], "value"), (gradients, batches[0], "gradient")]
    names = sorted({row["engine"] for row in record["rows"]}, key=lambda name: (name[0] != "g", name))
    for axes, (cells, batch, what) in zip(panels, choices, strict=True):
        for index, name in enumerate(names):
            points = [
                (n, 1e6 * cell[name]["median_s"] / b) for (b, n), cell in cells.items() if b == batch and name in cell
            ]
            if points:
                axes.semilogy(*zip(*points, strict=True), "o-", ms=3, color=f"C{index}", label=name)
        axes.set(xlabel="matrix size n", title=f"{what}, batch {batch}")
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("microseconds a matrix, median")
    panels[0].legend(fontsize="small")
    return _provenance.save_figure(figure, path.with_suffix(".png"))


def main() -> None:
    parser = _arguments.parser(__doc__ or "", "outputs/throughput")
    parser.add_argument("--functions", default="permanent", help=f"comma-separated, of {', '.join(FUNCTIONS)}")
    parser.add_argument("--sizes", type=_arguments.span, default="4-22", help="matrix sizes")
    parser.add_argument("--batches", type=_arguments.span, default="1,64,4096", help="matrices a call")
    parser.add_argument("--repeats", type=_arguments.positive, default=15, help="samples an engine and cell")
    parser.add_argument("--seconds", type=float, default=2.0, help="time an engine and cell may take beyond 3 samples")
    options = parser.parse_args()
    functions = options.functions.split(",")
    unknown = [name for name in functions if name not in FUNCTIONS]
    if unknown:
        raise ValueError(f"--functions knows {', '.join(FUNCTIONS)}, got {', '.join(unknown)}.")
    path = options.plot or run(
        functions, options.sizes, options.batches, options.repeats, options.seconds, options.out, options.tag
    )
    print(f"artifact: {path}\nfigure:   {plot(path)}")


if __name__ == "__main__":
    _arguments.main(main)
