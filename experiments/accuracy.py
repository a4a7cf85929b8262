"""How accurate every function is in every tier, against exact rationals, by regime and size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from experiments import _arguments, _certified, _provenance

KIND = "accuracy"
TIERS = ("fp64", "dd", "exact")


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    kappas = [row["fp64"]["kappa"] for row in rows if row["fp64"]["kappa"]]
    summary: dict[str, Any] = {"matrices": len(rows), "kappa": float(np.median(kappas)) if kappas else None}
    for tier in TIERS:
        errors = [row[tier]["error"] for row in rows if tier in row and row[tier]["error"] is not None]
        summary[tier] = {"median": float(np.median(errors)), "max": max(errors)} if errors else None
    return summary


def run(
    names: list[str], sizes: list[int], seeds: int, dps: int, backend: str | None, out: Path, tag: str | None
) -> Path:
    """Measure, print a table, write the artifact; returns its path."""
    options = {"functions": names, "sizes": sizes, "seeds": seeds, "dps": dps, "backend": backend, "tiers": TIERS}
    record = _provenance.artifact(KIND, options)
    record["rows"] = _certified.measure(names, sizes, seeds, dps, backend, TIERS)
    record["summary"] = [
        {"function": name, "regime": regime, "n": n} | _summary(rows)
        for (name, regime, n), rows in _certified.grouped(record["rows"], "function", "regime", "n").items()
    ]
    show(record)
    return _provenance.write(record, out, tag)


def show(record: dict[str, Any]) -> None:
    table = Table("function", "regime", "n", "kappa", *TIERS, title="Relative error: median (largest)")
    for cell in record["summary"]:
        errors = [f"{cell[t]['median']:.1e} ({cell[t]['max']:.1e})" if cell[t] else "" for t in TIERS]
        kappa = "" if cell["kappa"] is None else f"{cell['kappa']:.1e}"
        table.add_row(cell["function"], cell["regime"], str(cell["n"]), kappa, *errors)
    Console(width=120).print(table)


def plot(path: Path) -> Path:
    """Draw the artifact: the errors of all matrices over kappa; reads nothing else."""
    record = _provenance.read(path, KIND)
    figure, panels = _certified.panels(record)
    for name, axes in panels:
        rows = [row for row in record["rows"] if row["function"] == name and row["fp64"]["kappa"]]
        for color, tier in enumerate(TIERS):
            # An error of exactly 0 has no place on a logarithmic axis; it is drawn below the unit roundoff.
            known = [row for row in rows if tier in row and row[tier]["error"] is not None]
            points = [(row["fp64"]["kappa"], max(row[tier]["error"], 1e-18)) for row in known]
            if not points:
                continue
            style = {"ms": 5, "mfc": "none", "mew": 0.6} if tier == "dd" else {"ms": 2}
            axes.loglog(*np.array(points).T, "o", color=f"C{color}", label=tier, **style)
        axes.set(xlabel="kappa", title=name.replace("_", " "))
    panels[0][1].set_ylabel("relative error")
    panels[0][1].legend(fontsize="small")
    return _provenance.save_figure(figure, path.with_suffix(".png"))


def main() -> None:
    _certified.main(__doc__ or "", "outputs/accuracy", run, plot, "4,8,12", 8)


if __name__ == "__main__":
    _arguments.main(main)
