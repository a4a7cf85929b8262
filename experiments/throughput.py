"""Evaluations a second of gbsjax and its peers on the same cores, by size and batch: value, gradient, first call."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

# Thread pools read these once, when they start: they are set before any engine is imported.
THREADS = str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
for _name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, THREADS)

from rich.console import Console  # noqa: E402
from rich.progress import track  # noqa: E402
from rich.table import Table  # noqa: E402

from experiments import _arguments, _engines, _provenance, _timing  # noqa: E402

KIND = "throughput"
CHECKSUM_RTOL = 1e-7


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
    function: str, sizes: list[int], batches: list[int], repeats: int, seconds: float, out: Path, tag: str | None
) -> Path:
    """Time every cell of one function, print the ratios, write the artifact; returns its path."""
    import jax

    jax.config.update("jax_enable_x64", True)
    options = {"function": function, "sizes": sizes, "batches": batches, "repeats": repeats, "seconds": seconds}
    record = _provenance.artifact(KIND, options | {"dtype": "complex128", "checksum_rtol": CHECKSUM_RTOL})
    record["rows"] = []
    # Peers take a batch one by one, and those of the other functions are slower than of the permanent.
    most = 2.0**28 if function == "permanent" else 2.0**23
    cells = [(n, b) for n in sizes for b in batches if b == 1 or b * _engines.work(function, n) <= most]
    for n, batch in track(cells, f"{function}, value"):
        timed = _timing.interleaved(_engines.values(function, _engines.inputs(function, n, batch)), repeats, seconds)
        _timing.agree(timed, CHECKSUM_RTOL)
        record["rows"] += _rows(timed, {"function": function, "what": "value", "n": n, "batch": batch}, batch)
    limit = 2.0**34 if function == "permanent" else 2.0**30
    cells = [
        (n, b)
        for n, b in cells
        if function != "hafnian_patterns" and b <= 64 and b * _engines.work(function, n) * n**2 <= limit
    ]
    for n, batch in track(cells, f"{function}, gradient"):
        timed = _timing.interleaved(_engines.gradients(function, _engines.inputs(function, n, batch)), repeats, seconds)
        _timing.agree(timed, CHECKSUM_RTOL)
        record["rows"] += _rows(timed, {"function": function, "what": "gradient", "n": n, "batch": batch}, batch)
    show(record)
    return _provenance.write(record, out, tag or function)


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
        if not cells:
            continue
        names = sorted({name for cell in cells.values() for name in cell}, key=lambda name: (name[0] != "g", name))
        threads = record["environment"]["threads"]
        head = f"{record['options']['function']}, {what}"
        table = Table("batch", "n", title=f"{head}: microseconds each, median (x gbsjax jit); threads {threads}")
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
    from matplotlib import pyplot

    values, gradients = _cells(record, "value"), _cells(record, "gradient")
    batches = sorted({batch for batch, _ in values})
    # A study of one batch has one panel of values, one without gradients has none of them.
    choices = [(values, batch, "value") for batch in dict.fromkeys((batches[0], batches[-1]))]
    if gradients:
        choices.append((gradients, batches[0], "gradient"))
    figure, panels = pyplot.subplots(
        1, len(choices), figsize=(4 * len(choices), 4), layout="constrained", sharey=True, squeeze=False
    )
    modes = record["options"]["function"] in ("hafnian_patterns", "torontonian", "loop_torontonian")
    names = sorted({row["engine"] for row in record["rows"]}, key=lambda name: (name[0] != "g", name))
    for axes, (cells, batch, what) in zip(panels[0], choices, strict=True):
        for index, name in enumerate(names):
            points = [
                (n, 1e6 * cell[name]["median_s"] / b) for (b, n), cell in cells.items() if b == batch and name in cell
            ]
            if points:
                axes.semilogy(*zip(*points, strict=True), "o-", ms=3, color=f"C{index}", label=name)
        axes.set(xlabel="modes" if modes else "matrix size n", title=f"{what}, batch {batch}")
        sizes = sorted({n for b, n in cells if b == batch})
        axes.set_xticks(sizes)
        axes.set_xlim(sizes[0] - 1, sizes[-1] + 1)
        axes.grid(alpha=0.3)
    panels[0][0].set_ylabel("microseconds a matrix, median")
    panels[0][0].legend(fontsize="small")
    return _provenance.save_figure(figure, path.with_suffix(".png"))


def main() -> None:
    parser = _arguments.parser(__doc__ or "", "outputs/throughput")
    parser.add_argument("--functions", default="permanent", help=f"comma-separated, of {', '.join(_engines.FUNCTIONS)}")
    parser.add_argument("--sizes", type=_arguments.span, default=None, help="sizes (modes); each function has its own")
    parser.add_argument("--batches", type=_arguments.span, default="1,64,1024", help="matrices a call")
    parser.add_argument("--repeats", type=_arguments.positive, default=15, help="samples an engine and cell")
    parser.add_argument("--seconds", type=float, default=2.0, help="time an engine and cell may take beyond 3 samples")
    options = parser.parse_args()
    functions = options.functions.split(",")
    unknown = [name for name in functions if name not in _engines.FUNCTIONS]
    if unknown:
        raise ValueError(f"--functions knows {', '.join(_engines.FUNCTIONS)}, got {', '.join(unknown)}.")
    if options.plot:
        print(f"figure:   {plot(options.plot)}")
        return
    for function in functions:
        sizes = options.sizes or _engines.SIZES[function]
        path = run(function, sizes, options.batches, options.repeats, options.seconds, options.out, options.tag)
        print(f"artifact: {path}\nfigure:   {plot(path)}")


if __name__ == "__main__":
    _arguments.main(main)
