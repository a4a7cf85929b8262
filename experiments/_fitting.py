"""What the studies that fit devices share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gbsjax.fit import Fit, fit


def minimised(model: Any, loss: Any, free: Callable[[Any], Any] | None = None) -> Fit:
    """A fit by L-BFGS until the loss no longer falls."""
    import optax

    return fit(model, loss, free=free, steps=80, optimiser=optax.lbfgs(), patience=8, tolerance=1e-10, progress=False)


def plain(estimates: dict[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, dict[str, Any]]:
    """Estimates for an artifact; the error is null where the data do not determine the value."""
    kept = {}
    for name, (value, error) in estimates.items():
        held = np.array(error, dtype=object)
        held[~np.isfinite(error)] = None
        kept[name] = {"value": value.tolist(), "error": held.tolist()}
    return kept
