"""The demo: a boson sampling experiment is simulated, and its interferometer fitted to the counts."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from gbsjax._permanent.api import permanent

MODES = 6
INPUTS = (0, 1, 3, 4)
SHOTS = 20_000
STARTS = 12
SURVIVAL = 0.8


class BadData(Exception):
    """One line that names the file and the fault."""


class Interferometer(eqx.Module):
    """A rectangular mesh of beamsplitters (W. R. Clements et al., Optica 3 (2016) 1460) with one loss for all photons.

    theta and phi have one entry a beamsplitter, layer by layer; a photon survives with probability sigmoid(survival).
    """

    theta: jax.Array
    phi: jax.Array
    survival: jax.Array

    def unitary(self) -> jax.Array:
        """(modes, modes) amplitudes from input (column) to output (row)."""
        matrix = jnp.eye(MODES, dtype=complex)
        pairs = [(i, i + 1) for layer in range(MODES) for i in range(layer % 2, MODES - 1, 2)]
        for index, (i, j) in enumerate(pairs):
            c, s = jnp.cos(self.theta[index]), jnp.sin(self.theta[index])
            phase = jnp.exp(1j * self.phi[index])
            first, second = matrix[i], matrix[j]
            matrix = matrix.at[i].set(phase * c * first - s * second).at[j].set(phase * s * first + c * second)
        return matrix


def random_device(key: jax.Array) -> Interferometer:
    splitters = MODES * (MODES - 1) // 2
    one, two = jax.random.split(key)
    theta = jax.random.uniform(one, (splitters,), minval=0.2, maxval=1.4)
    return Interferometer(theta, jax.random.uniform(two, (splitters,), maxval=2 * jnp.pi), jnp.asarray(0.0))


class Outcomes(NamedTuple):
    """Every output pattern, and every pair (pattern, photons that survived) that leads to it."""

    patterns: np.ndarray  # (outcomes, modes)
    outcome: np.ndarray  # (pairs,) index into patterns
    out: np.ndarray  # (pairs, modes) the pattern again
    survivors: np.ndarray  # (pairs, modes) input photons that were not lost


def outcomes() -> Outcomes:
    patterns, pairs = [], []
    for photons in range(len(INPUTS) + 1):
        for chosen in itertools.combinations_with_replacement(range(MODES), photons):
            patterns.append(np.bincount(chosen, minlength=MODES))
            for kept in itertools.combinations(INPUTS, photons):
                pairs.append((len(patterns) - 1, np.bincount(kept, minlength=MODES)))
    table = np.array(patterns)
    outcome = np.array([index for index, _ in pairs])
    return Outcomes(table, outcome, table[outcome], np.array([kept for _, kept in pairs]))


def probabilities(device: Interferometer, outcomes: Outcomes) -> jax.Array:
    """The probability of every pattern: |permanent|^2 / prod n_i!, summed over which photons were lost."""
    amplitudes = permanent(device.unitary(), rows=outcomes.out, cols=outcomes.survivors)
    factorials = np.array([math.prod(math.factorial(n) for n in pattern) for pattern in outcomes.out])
    kept = outcomes.survivors.sum(axis=1)
    survival = jax.nn.sigmoid(device.survival)
    weights = survival**kept * (1 - survival) ** (len(INPUTS) - kept) / factorials
    return jnp.zeros(len(outcomes.patterns)).at[outcomes.outcome].add(weights * jnp.abs(amplitudes) ** 2)


def fit(
    counts: np.ndarray, known: Outcomes, starts: Interferometer, steps: int, advance: Callable[[int], None]
) -> tuple[Interferometer, np.ndarray]:
    """Maximum likelihood by Adam, all starts at once; the devices, and the loss by step and start (steps, starts)."""

    def loss(device: Interferometer) -> jax.Array:
        return -jnp.sum(jax.scipy.special.xlogy(frequencies, probabilities(device, known)))

    frequencies = counts / counts.sum()
    optimiser = optax.adam(optax.cosine_decay_schedule(0.1, steps))
    chunk = 20

    @jax.jit
    def some(devices, state):
        def step(carry, _):
            devices, state = carry
            losses, slopes = jax.vmap(jax.value_and_grad(loss))(devices)
            updates, state = optimiser.update(slopes, state)
            return (optax.apply_updates(devices, updates), state), losses

        return jax.lax.scan(step, (devices, state), None, length=chunk)

    devices, state, history = starts, optimiser.init(starts), []  # pyright: ignore[reportArgumentType]
    for _ in range(-(-steps // chunk)):
        (devices, state), losses = some(devices, state)
        history.append(np.asarray(losses))
        advance(chunk)
    return devices, np.concatenate(history)


def figures(out: Path, history: np.ndarray, truth: float, measured: np.ndarray, fitted: np.ndarray) -> list[Path]:
    """The likelihood curve and measured against fitted probabilities, each written whole or not at all."""
    try:
        import matplotlib
    except ImportError:
        raise BadData("the figures need matplotlib; pip install 'gbsjax[plot]', or run make demo.") from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    out.mkdir(parents=True, exist_ok=True)
    paths = [out / "likelihood.png", out / "probabilities.png"]
    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    # No model can do better than the measured frequencies themselves: the zero of the axis.
    seen = measured[measured > 0]
    floor = -float(np.sum(seen * np.log(seen)))
    axes.semilogy(history - floor, color="0.75", lw=0.8)
    axes.semilogy(history[:, history[-1].argmin()] - floor, color="C0", lw=2, label="best of the starts")
    axes.axhline(truth - floor, color="C1", ls="--", label="the true device")
    axes.set(xlabel="step", ylabel="negative log-likelihood per shot,\nabove the best that any model could do")
    axes.legend()
    figure.savefig(paths[0].with_suffix(".part"), format="png", dpi=150)
    pyplot.close(figure)
    figure, axes = pyplot.subplots(figsize=(5, 5), layout="constrained")
    error = np.sqrt(np.maximum(measured * (1 - measured), 1 / SHOTS) / SHOTS)
    axes.errorbar(fitted, measured, yerr=error, fmt=".", color="C0", ecolor="0.8", label="output patterns")
    top = 1.1 * max(measured.max(), fitted.max())
    axes.plot([0, top], [0, top], color="0.4", lw=0.8, label="equal")
    axes.set(xlabel="fitted probability", ylabel=f"measured frequency ({SHOTS} shots)", xlim=(0, top), ylim=(0, top))
    axes.legend()
    figure.savefig(paths[1].with_suffix(".part"), format="png", dpi=150)
    pyplot.close(figure)
    for path in paths:
        path.with_suffix(".part").replace(path)
    return paths


def _first_look(console: Console) -> None:
    ones = jnp.ones((20, 20))
    start = time.perf_counter()
    value = float(permanent(ones))
    first = time.perf_counter() - start
    start = time.perf_counter()
    permanent(ones).block_until_ready()
    console.print(f"permanent of the all-ones 20 x 20 matrix: {value:.17g}   (20! = {math.factorial(20)})")
    console.print(f"  {first:.2f} s with compilation, {1e3 * (time.perf_counter() - start):.1f} ms without")
    slopes = jax.grad(permanent)(jnp.ones((5, 5)))
    console.print(f"its gradient at 5 x 5: every entry is 4! = {float(slopes[0, 0]):.0f}\n")


def _read_transmission(path: Path) -> np.ndarray:
    try:
        transmission = np.load(path, allow_pickle=False)
    except Exception as error:
        raise BadData(f"{path}: not a readable transmission matrix ({' '.join(str(error).split())}).") from None
    if transmission.ndim != 2 or not np.iscomplexobj(transmission) or min(transmission.shape) < 12:
        raise BadData(f"{path}: holds {transmission.dtype} {transmission.shape}, not complex amplitudes.")
    return transmission


def _measured_matrix(console: Console, transmission: np.ndarray, seed: int) -> None:
    table = Table(
        "photons", "patterns", "median |permanent|^2", "ms in all", title="Photon patterns of the measured matrix"
    )
    generator = np.random.default_rng(seed)
    for photons in (2, 4, 6, 8, 10, 12):
        pick = [generator.permutation(transmission.shape[1])[:photons] for _ in range(200)]
        submatrices = np.stack([transmission[:photons, outputs] for outputs in pick])
        permanent(submatrices).block_until_ready()
        start = time.perf_counter()
        values = np.asarray(permanent(submatrices))
        elapsed = 1e3 * (time.perf_counter() - start)
        table.add_row(str(photons), "200", f"{np.median(np.abs(values) ** 2):.3g}", f"{elapsed:.2f}")
    console.print(table)


def run(out: Path, data: Path | None, seed: int, steps: int) -> dict[str, float]:
    """The whole demo; returns the distances that its table shows."""
    console = Console()
    # Read before the work: a damaged file should not cost a minute.
    transmission = None if data is None else _read_transmission(data / "T_full.npy")
    _first_look(console)
    known = outcomes()
    truth = eqx.tree_at(lambda d: d.survival, random_device(jax.random.key(seed)), jnp.log(SURVIVAL / (1 - SURVIVAL)))
    # The patterns stay concrete: they are not arguments of the compiled function but part of it.
    compiled = jax.jit(lambda device: probabilities(device, known))
    exact = np.asarray(compiled(truth))
    counts = np.random.default_rng(seed).multinomial(SHOTS, exact / exact.sum())
    measured = counts / SHOTS
    console.print(
        f"A {MODES}-mode interferometer, photons in modes {INPUTS}, each lost with probability {1 - SURVIVAL:.1f}: "
        f"{SHOTS} shots over {len(exact)} patterns.\nFitting {2 * len(truth.theta) + 1} parameters from {STARTS} "
        f"random starts ({len(known.outcome)} permanents and their gradients a step and start):"
    )
    starts = jax.vmap(random_device)(jax.random.split(jax.random.key(seed + 1), STARTS))
    with Progress(console=console) as progress:
        task = progress.add_task("fit", total=steps)
        devices, history = fit(counts, known, starts, steps, lambda n: progress.advance(task, n))
    best = int(history[-1].argmin())
    before, after = (np.asarray(compiled(jax.tree.map(lambda x: x[best], device))) for device in (starts, devices))
    truth_loss = -float(np.sum(measured * np.log(exact)))

    def distance(p: np.ndarray, q: np.ndarray) -> float:
        return float(np.abs(p - q).sum() / 2)

    result = {
        "before": distance(before, exact),
        "after": distance(after, exact),
        "shot_noise": distance(measured, exact),
        "survival": float(jax.nn.sigmoid(devices.survival[best])),
    }
    paths = figures(out, history, truth_loss, measured, after)
    table = Table("distribution", "total variation distance to the true one", title="Fit of the interferometer")
    table.add_row("first guess", f"{result['before']:.4f}")
    table.add_row("fitted device", f"{result['after']:.4f}")
    table.add_row("the measured frequencies themselves", f"{result['shot_noise']:.4f}")
    console.print(table)
    console.print(f"survival of a photon: fitted {result['survival']:.4f}, true {SURVIVAL}")
    if transmission is not None:
        _measured_matrix(console, transmission, seed)
    console.print("figures: " + ", ".join(str(path) for path in paths), soft_wrap=True)
    return result
