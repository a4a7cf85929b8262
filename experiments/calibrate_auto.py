"""Which float64 values can be trusted: a rule on kappa against the certificate, judged by the true errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from experiments import _arguments, _certified, _provenance

KIND = "calibrate_auto"
REGIMES = ("physical", "lossy", "adversarial", "hidden")
# The rule of other libraries, and the error from which on a trusted value was trusted in vain.
TRUSTED_KAPPA = 1e8
WRONG = 1e-6


def _trusted(row: dict[str, Any], rule: str) -> bool:
    found = row["fp64"]
    if rule == "kappa":
        return found["kappa"] is not None and found["kappa"] < TRUSTED_KAPPA
    return found["bound"] is not None and found["bound"] <= WRONG


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    known = [row for row in rows if row["fp64"]["error"] is not None]
    pairs = [(row["fp64"]["kappa"], row["fp64"]["error"]) for row in known]
    logs = np.log10(np.array([(kappa, error) for kappa, error in pairs if kappa and error]))
    # One of a few points, or of points of one place, means nothing.
    spread = len(logs) > 2 and logs.std(axis=0).min() > 0
    summary: dict[str, Any] = {"matrices": len(rows), "correlation": None}
    if spread:
        summary["correlation"] = float(np.corrcoef(logs.T)[0, 1])
    for rule in ("kappa", "certificate"):
        errors = [row["fp64"]["error"] for row in known if _trusted(row, rule)]
        summary[rule] = {
            "trusted": len(errors),
            "worst_error": max(errors, default=None),
            "false_trust": sum(error > WRONG for error in errors),
        }
    return summary


def run(
    names: list[str], sizes: list[int], seeds: int, dps: int, backend: str | None, out: Path, tag: str | None
) -> Path:
    """Measure, print a table, write the artifact; returns its path. Raises where the certificate was wrong."""
    options = {"functions": names, "sizes": sizes, "seeds": seeds, "dps": dps, "backend": backend}
    record = _provenance.artifact(KIND, options | {"trusted_kappa": TRUSTED_KAPPA, "wrong": WRONG})
    record["rows"] = _certified.measure(names, sizes, seeds, dps, backend, ("fp64",), REGIMES)
    record["summary"] = [
        {"function": name, "regime": regime} | _summary(rows)
        for (name, regime), rows in _certified.grouped(record["rows"], "function", "regime").items()
    ]
    show(record)
    path = _provenance.write(record, out, tag)
    wrong = sum(cell["certificate"]["false_trust"] for cell in record["summary"])
    wrong += sum(not row["fp64"]["holds"] for row in record["rows"])
    if wrong:
        raise ValueError(f"{wrong} certificates are wrong: see {path}.")
    return path


def show(record: dict[str, Any]) -> None:
    table = Table(
        "function", "regime", "matrices", "correlation", "kappa < 1e8: trusted, worst error, false",
        "certificate <= 1e-6: the same", title="Which float64 values are trusted, and how far they are off",
    )  # fmt: skip
    for cell in record["summary"]:
        rules = []
        for rule in ("kappa", "certificate"):
            found = cell[rule]
            worst = "-" if found["worst_error"] is None else f"{found['worst_error']:.1e}"
            rules.append(f"{found['trusted']}, {worst}, {found['false_trust']}")
        correlation = "" if cell["correlation"] is None else f"{cell['correlation']:.2f}"
        table.add_row(cell["function"], cell["regime"], str(cell["matrices"]), correlation, *rules)
    Console(width=120).print(table)


def plot(path: Path) -> Path:
    """Draw the artifact: true error, and certified bound, over kappa; reads nothing else."""
    record = _provenance.read(path, KIND)
    options = record["options"]
    figure, panels = _certified.panels(record)
    for name, axes in panels:
        for regime in REGIMES:
            rows = [row["fp64"] for row in record["rows"] if row["function"] == name and row["regime"] == regime]
            rows = [row for row in rows if row["kappa"] and row["error"]]
            color = _certified.COLORS[regime]
            kappa = [row["kappa"] for row in rows]
            axes.loglog(kappa, [row["error"] for row in rows], ".", ms=4, color=color, label=f"{regime}: error")
            axes.loglog(kappa, [row["bound"] for row in rows], "_", ms=4, color=color, alpha=0.5)
        axes.loglog([], [], "_", color="0.4", label="certified bound")
        axes.axvline(options["trusted_kappa"], color="0.4", lw=0.8, ls="--")
        axes.axhline(options["wrong"], color="0.4", lw=0.8)
        axes.set(xlabel="kappa", title=name.replace("_", " "))
    panels[0][1].set_ylabel("relative to the exact value")
    panels[0][1].legend(fontsize="x-small")
    return _provenance.save_figure(figure, path.with_suffix(".png"))


def main() -> None:
    _certified.main(__doc__ or "", "outputs/certificates", run, plot, "4,6,8,10", 40)


if __name__ == "__main__":
    _arguments.main(main)
