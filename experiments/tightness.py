"""How far certified bounds exceed the true error, by function, regime and size; and that none is violated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from experiments import _arguments, _certified, _provenance

KIND = "tightness"
TIERS = ("fp64", "dd")
QUANTILES = (0.05, 0.5, 0.95)
MOST_ROWS = 5000


def _summary(rows: list[dict[str, Any]], tier: str) -> dict[str, Any]:
    # A value that happens to be exact has no ratio.
    known = [row[tier] for row in rows if row[tier]["bound"] is not None]
    ratios = [row["bound"] / row["error"] for row in known if row["error"]]
    return {
        "matrices": len(rows),
        "violations": sum(not row[tier]["holds"] for row in rows),
        "ratio": [float(q) for q in np.quantile(ratios, QUANTILES)] if ratios else None,
        "certified_to_1e-10": float(np.mean([row["bound"] <= 1e-10 for row in known])) if known else None,
    }


def run(
    names: list[str], sizes: list[int], seeds: int, dps: int, backend: str | None, out: Path, tag: str | None
) -> Path:
    """Measure, print a table, write the artifact; returns its path. Raises where a bound is violated."""
    options = {"functions": names, "sizes": sizes, "seeds": seeds, "dps": dps, "backend": backend, "tiers": TIERS}
    record = _provenance.artifact(KIND, options)
    record["quantiles"] = QUANTILES
    rows = _certified.measure(names, sizes, seeds, dps, backend, TIERS)
    record["summary"] = [
        {"function": name, "regime": regime, "n": n, "tier": tier} | _summary(rows, tier)
        for (name, regime, n), rows in _certified.grouped(rows, "function", "regime", "n").items()
        for tier in TIERS
    ]
    # Tens of thousands of rows are no artifact to keep: their quantiles are.
    record["rows"] = rows if len(rows) <= MOST_ROWS else []
    show(record)
    path = _provenance.write(record, out, tag)
    violations = sum(cell["violations"] for cell in record["summary"])
    if violations:
        raise ValueError(f"{violations} bounds are violated: see {path}.")
    return path


def show(record: dict[str, Any]) -> None:
    table = Table(
        "function", "regime", "n", "matrices", "violations", "bound / error: 5%, median, 95%", "to 1e-10",
        title="float64: how far the certified bound exceeds the true error",
    )  # fmt: skip
    for cell in record["summary"]:
        if cell["tier"] == "fp64":
            ratio = ", ".join(f"{q:.3g}" for q in cell["ratio"] or [])
            certified = "" if cell["certified_to_1e-10"] is None else f"{cell['certified_to_1e-10']:.0%}"
            head = (cell["function"], cell["regime"], cell["n"], cell["matrices"], cell["violations"])
            table.add_row(*map(str, head), ratio, certified)
    Console(width=110).print(table)
    counted = sum(cell["matrices"] for cell in record["summary"] if cell["tier"] == "fp64")
    violated = sum(cell["violations"] for cell in record["summary"])
    Console().print(f"{counted} matrices, two tiers: {violated} violations")


def plot(path: Path) -> Path:
    """Draw the artifact: bound over error by size; reads nothing else."""
    record = _provenance.read(path, KIND)
    from matplotlib import ticker

    figure, panels = _certified.panels(record)
    for name, axes in panels:
        cells = [cell for cell in record["summary"] if cell["function"] == name and cell["tier"] == "fp64"]
        for regime in dict.fromkeys(cell["regime"] for cell in cells):
            known = [cell for cell in cells if cell["regime"] == regime and cell["ratio"]]
            x = [cell["n"] for cell in known]
            low, middle, high = np.array([cell["ratio"] for cell in known]).T
            axes.plot(x, middle, "o-", ms=3, color=_certified.COLORS[regime], label=regime)
            axes.fill_between(x, low, high, color=_certified.COLORS[regime], alpha=0.1, lw=0)
        axes.axhline(1, color="0.4", lw=0.8)
        axes.set(xlabel="matrix size n", title=name.replace("_", " "), yscale="log")
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        axes.legend(fontsize="x-small")
    panels[0][1].set_ylabel("certified bound / true error: median, 5%-95%")
    return _provenance.save_figure(figure, path.with_suffix(".png"))


def main() -> None:
    _certified.main(__doc__ or "", "outputs/certificates", run, plot, "4,6,8,10", 40)


if __name__ == "__main__":
    _arguments.main(main)
