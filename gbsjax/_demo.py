"""The demo: a Gaussian boson sampler is simulated, and its device fitted to the clicks it showed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from gbsjax import distribution
from gbsjax.fit import Bounded, Device, Estimate, Fit, click_likelihood, fit
from gbsjax.gaussian import Mesh

MODES = 6


def device(seed: int) -> Device:
    """Squeezed light of different strength in a random mesh, each output with a loss of its own."""
    one, two, three = jax.random.split(jax.random.key(seed), 3)
    squeezing = jax.random.uniform(one, (MODES,), minval=0.5, maxval=1.0)
    survival = jax.random.uniform(two, (MODES,), minval=0.5, maxval=0.9)
    return Device(squeezing, mesh=Mesh.random(three, MODES), survival=survival)


def free(model: Device) -> tuple[Any, ...]:
    """The mesh is known; what the light is and what is lost is not."""
    return model.squeezing, model.survival


def first_guess(truth: Device) -> Device:
    """All sources alike, all outputs alike."""
    alike = jnp.full(MODES, 0.7)
    return eqx.tree_at(free, truth, (alike, Bounded(alike)))


def clicks_of(model: Device, shots: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Simulated shots (shots, modes), and the probabilities that they were drawn from."""
    law = np.asarray(distribution.click_distribution(model())).reshape(-1)
    patterns = np.indices((2,) * MODES).reshape(MODES, -1).T
    return np.repeat(patterns, np.random.default_rng(seed).multinomial(shots, law / law.sum()), axis=0), law


def figure(path: Path, estimates: dict[str, Estimate], truth: dict[str, np.ndarray], guess: dict[str, float]) -> Path:
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(9, 4), layout="constrained")
    for axes, (name, (value, error)) in zip(drawn.subplots(1, 2), estimates.items(), strict=True):
        place = np.arange(len(value))
        axes.axhline(guess[name], color="0.8", lw=1, label="first guess")
        axes.plot(place, truth[name], "_", ms=18, mew=2, color="C1", label="true")
        axes.errorbar(
            place, value, yerr=1.96 * error, fmt="o", ms=4, capsize=3, color="C0", label="fitted, 95% interval"
        )
        axes.set(xlabel="mode", ylabel={"squeezing": "squeezing r", "survival": "survival probability"}[name])
        axes.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    drawn.savefig(partial, format="png", dpi=150)
    partial.replace(path)
    return path


def run(out: Path, seed: int, shots: int, steps: int) -> dict[str, Any]:
    """The whole demo; returns the distances and pulls that it prints."""
    console = Console()
    truth = device(seed)
    clicks, law = clicks_of(truth, shots, seed)
    console.print(
        f"{MODES} squeezed modes in a known mesh, each output with its own loss, threshold detectors: {shots} shots, "
        f"{len(np.unique(clicks, axis=0))} different patterns.\nFitting {2 * MODES} parameters by maximum likelihood:"
    )
    guess = first_guess(truth)
    start = time.perf_counter()
    found: Fit = fit(guess, click_likelihood(clicks), free=free, steps=steps)
    elapsed = time.perf_counter() - start
    estimates = found.estimates()
    values = {"squeezing": truth.squeezing, "survival": truth.survival.value}  # pyright: ignore[reportOptionalMemberAccess]
    known = {name: np.asarray(value) for name, value in values.items()}
    table = Table("parameter", "true", "fitted", "standard error", "off, in errors", title="Recovered device")
    pulls = []
    for name, (value, error) in estimates.items():
        for k in range(MODES):
            pulls.append(float((value[k] - known[name][k]) / error[k]))
            row = (f"{known[name][k]:.3f}", f"{value[k]:.3f}", f"{error[k]:.3f}", f"{pulls[-1]:+.1f}")
            table.add_row(f"{name} {k}", *row)
    console.print(table)

    def distance(law_of: np.ndarray) -> float:
        return float(np.abs(law_of - law).sum() / 2)

    after, before = (np.asarray(distribution.click_distribution(model())).reshape(-1) for model in (found.model, guess))
    seen = np.bincount(clicks @ (1 << np.arange(MODES)[::-1]), minlength=2**MODES) / shots
    result = {"pulls": pulls, "before": distance(before), "after": distance(after), "shot_noise": distance(seen)}
    laws = Table("distribution of the patterns", "total variation distance to the true one")
    laws.add_row("first guess", f"{result['before']:.4f}")
    laws.add_row("fitted device", f"{result['after']:.4f}")
    laws.add_row("the measured frequencies themselves", f"{result['shot_noise']:.4f}")
    console.print(laws)
    inside = sum(abs(pull) < 1.96 for pull in pulls)
    console.print(f"{inside} of {len(pulls)} true values lie in their 95% intervals. {elapsed:.1f} s with compilation.")
    flat = {"squeezing": 0.7, "survival": 0.7}
    paths = [figure(out / "recovered.png", estimates, known, flat), found.plot(out / "fit.png")]
    console.print("figures: " + ", ".join(str(path) for path in paths), soft_wrap=True)
    return result
