"""What `gbsjax fit` does: fit, print the estimates, write the result."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import time
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np
from rich.console import Console
from rich.table import Table

from gbsjax import distribution
from gbsjax.fit import Description, Fit, LeastSquares, click_likelihood, fit, photon_likelihood, save_device


def loss_of(kind: str, detectors: str, patterns: np.ndarray) -> Any:
    if kind == "squares":
        clicked = (patterns > 0).mean(axis=0)
        # Never seen, or always: half a shot away.
        shy = np.clip(clicked, 0.5 / len(patterns), 1 - 0.5 / len(patterns))
        return LeastSquares(distribution.click_rates, clicked, np.sqrt(shy * (1 - shy) / len(patterns)))
    return click_likelihood(patterns) if detectors == "threshold" else photon_likelihood(patterns)


def _nulls(errors: np.ndarray) -> Any:
    """Nested lists, with None where an error is not finite: JSON has no such number."""
    held = errors.astype(object)
    held[~np.isfinite(errors)] = None
    return held.tolist()


def table_of(found: Fit) -> tuple[Table, dict[str, Any]]:
    """The estimates to look at, and to keep; null is not determined."""
    table, kept = Table("parameter", "estimate", "standard error"), {}
    for name, (value, error) in found.estimates().items():
        kept[name] = {
            "value": value.tolist(),
            "error": _nulls(error),
        }
        for index in np.ndindex(value.shape):
            label = name + "".join(f"[{i}]" for i in index)
            spread = f"{error[index]:.2g}" if np.isfinite(error[index]) else "not determined by the data"
            table.add_row(label, f"{value[index]:.6g}", spread)
    return table, kept


def run(
    described: Description, patterns: np.ndarray, files: dict[str, str], kind: str, out: Path, options: dict[str, Any]
) -> None:
    console = Console()
    out.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    loss = loss_of(kind, described.detectors, patterns)
    found = fit(described.device, loss, free=described.free, checkpoint=out / "checkpoint.npz", **options)
    elapsed = time.perf_counter() - start
    table, estimates = table_of(found)
    lost = found.unidentified()
    record = {
        **files,
        "sha256": hashlib.sha256(patterns.tobytes()).hexdigest(),
        "shots": len(patterns),
        "detectors": described.detectors,
        "loss": kind,
        "options": options,
        "gbsjax": importlib.metadata.version("gbsjax"),
        "stopped": found.stopped,
        "steps": len(found.history),
        "loss_first": float(found.history[0]),
        "loss_last": found.value,
        "estimates": estimates,
        "directions_not_determined": lost.tolist(),
    }
    fitted = eqx.tree_at(lambda d: d.device, described, found.model)
    paths = [save_device(out / "device.toml", fitted), found.plot(out / "fit.png"), out / "result.json"]
    partial = out / ".result.json.part"
    partial.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n")
    partial.replace(paths[-1])
    console.print(table)
    console.print(
        f"{len(patterns)} shots, {len(found.history)} steps ({found.stopped}) in {elapsed:.1f} s: loss "
        f"{record['loss_first']:.6g} -> {record['loss_last']:.6g}."
    )
    if len(lost):
        console.print(f"{len(lost)} direction(s) of the parameters are not determined by these data.")
    console.print("written: " + ", ".join(str(path) for path in paths), soft_wrap=True)
