"""The loop of a fit: steps of an optimiser, minibatches, early stop, checkpoints."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gbsjax.fit._parameters import flatten
from gbsjax.fit._result import Fit


def fit(
    model: Any,
    loss: Callable[[Any], jax.Array],
    *,
    free: Callable[[Any], Any] | None = None,
    steps: int = 500,
    learning_rate: float = 0.05,
    optimiser: Any = None,
    batch: int | None = None,
    seed: int = 0,
    patience: int | None = None,
    tolerance: float = 1e-9,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 50,
    progress: bool = True,
) -> Fit:
    """Fit a model of a device to data by gradient descent.

    Args:
        model: an Equinox module. For the losses of this package, calling it gives a `gaussian.GaussianState`; `Device`
            is one.
        loss: a `Likelihood`, `LeastSquares`, or any function of a model to a real number.
        free: of a model, the part or the tuple of parts that may move. None is every floating-point array.
        steps: at most this many.
        learning_rate: of Adam, which decays to 0 along a cosine; not read where an optimiser is given.
        optimiser: an Optax transformation; those with a line search (`optax.lbfgs()`) work too. None is Adam.
        batch: shots a step, drawn with replacement, for a `Likelihood`; None is all of them.
        seed: of the minibatches.
        patience: stop after so many steps in which the lowest loss did not fall; None never does.
        tolerance: a fall that counts, relative to the loss.
        checkpoint: a file. The fit is written there, whole or not at all, and continued from there to the same result
            to the last bit.
        every: steps between writing it.
        progress: a bar on a terminal.

    Returns:
        A `Fit`: the fitted model, the history of the loss, estimates with standard errors, a plot.

    Raises:
        ValueError: no free parameter, a loss that is not finite, minibatches of a loss without shots, or a checkpoint
            of another fit.

    Notes:
        The whole step is compiled once. Ctrl-C writes the checkpoint and ends the fit.

    Examples:
        >>> from gbsjax import distribution, fit
        >>> device = fit.Device(squeezing=[0.5])
        >>> rates = fit.LeastSquares(distribution.click_rates, [0.5], 0.01)
        >>> found = fit.fit(device, rates, steps=200, progress=False)
        >>> round(float(found.model.squeezing[0]), 3)  # 1 - 1 / cosh r = 0.5
        1.317
    """
    import optax

    if steps < 1 or every < 1:
        raise ValueError(f"fit: steps and every must be 1 or more, got {steps} and {every}.")
    if batch is not None and not hasattr(loss, "part"):
        raise ValueError("fit: batch needs a loss of shots, such as click_likelihood. Leave batch out.")
    start, model_of = flatten(model, free)
    chosen = optimiser or optax.adam(optax.cosine_decay_schedule(learning_rate, steps))
    chosen = optax.with_extra_args_support(chosen)
    key = jax.random.key(seed)

    @jax.jit
    def step(x: jax.Array, state: Any, number: jax.Array) -> tuple[jax.Array, Any, jax.Array]:
        def objective(x: jax.Array) -> jax.Array:
            if batch is None:
                return loss(model_of(x))
            # From the number of the step alone: a fit that is continued draws the same.
            shots: Any = loss
            index = jax.random.randint(jax.random.fold_in(key, number), (batch,), 0, shots.shots)
            return shots.part(model_of(x), index)

        value, slope = jax.value_and_grad(objective)(x)
        updates, state = chosen.update(slope, state, x, value=value, grad=slope, value_fn=objective)
        return optax.apply_updates(x, updates), state, value  # pyright: ignore[reportReturnType]

    settings = {"steps": steps, "batch": batch, "seed": seed, "learning_rate": learning_rate, "tolerance": tolerance}
    settings |= {"optimiser": str(jax.tree.structure(chosen.init(start))), "patience": patience}
    run = _Run(start, chosen.init(start), settings, None if checkpoint is None else Path(checkpoint))
    if run.resumed():
        _, _, first = step(start, chosen.init(start), jnp.asarray(0))
        run.refuse_another(float(first))
    stopped = "steps"
    with _bar(progress, steps) as show:
        try:
            while len(run.history) < steps:
                if _stalled(run.history, patience, tolerance):
                    stopped = "patience"
                    break
                x, state, value = step(run.x, run.state, jnp.asarray(len(run.history)))
                if not np.isfinite(value) or not np.isfinite(x).all():
                    raise ValueError(
                        f"fit: the loss is {float(value)} at step {len(run.history)}, or its gradient is not finite. "
                        "At the first step: a pattern of the data has probability 0 under the model (no squeezing? too "
                        "little loss?). Later: lower the learning rate, or use precision='dd' for many clicks."
                    )
                run.x, run.state = x, state
                run.history.append(float(value))
                show(len(run.history), run.history[-1])
                if len(run.history) % every == 0:
                    run.write()
        finally:
            run.write()
    return Fit(model_of(run.x), loss, np.array(run.history), stopped, free)


def _stalled(history: list[float], patience: int | None, tolerance: float) -> bool:
    if patience is None or len(history) <= patience:
        return False
    before = min(history[:-patience])
    return min(history[-patience:]) > before - tolerance * abs(before)


class _Run:
    """Where a fit is: the parameters, the optimiser's state, the losses so far; on disk where a file is given."""

    def __init__(self, x: jax.Array, state: Any, settings: dict[str, Any], path: Path | None) -> None:
        self.start, self.x, self.state, self.path = x, x, state, path
        self.settings = json.dumps(settings, sort_keys=True)
        self.history: list[float] = []

    def resumed(self) -> bool:
        """Take up what is on disk, if it is of a fit like this one."""
        if self.path is None or not self.path.exists():
            return False
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                found = dict(archive)
            leaves = [found[f"state{k}"] for k in range(len(jax.tree.leaves(self.state)))]
            settings, start = str(found["settings"]), found["start"]
        except Exception as error:
            raise ValueError(f"{self.path}: not a readable checkpoint ({' '.join(str(error).split())}).") from None
        if settings != self.settings or not np.array_equal(start, np.asarray(self.start)):
            raise ValueError(
                f"{self.path}: is of a fit with other settings or another first model: {settings}, and not "
                f"{self.settings}. Remove it, or name another file."
            )
        self.x, self.history = jnp.asarray(found["x"]), found["history"].tolist()
        self.state = jax.tree.unflatten(jax.tree.structure(self.state), [jnp.asarray(leaf) for leaf in leaves])
        return bool(self.history)

    def refuse_another(self, first: float) -> None:
        if first != self.history[0]:
            raise ValueError(
                f"{self.path}: is of a fit whose loss began at {self.history[0]!r}, and this one's at {first!r}: "
                "of other data, another model or another machine. Remove it, or name another file."
            )

    def write(self) -> None:
        if self.path is None:
            return
        arrays = {f"state{k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(self.state))}
        arrays |= {"x": np.asarray(self.x), "start": np.asarray(self.start), "history": np.array(self.history)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        with partial.open("wb") as file:
            np.savez(file, settings=np.array(self.settings), allow_pickle=False, **arrays)
        partial.replace(self.path)


@contextlib.contextmanager
def _bar(wanted: bool, steps: int) -> Iterator[Callable[[int, float], None]]:
    if not wanted:
        yield lambda done, value: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, transient=True, console=Console(stderr=True)) as bar:
        task = bar.add_task("compiling", total=steps)
        yield lambda done, value: bar.update(task, completed=done, description=f"loss {value:.6g}")
