"""What a fit found: the model, the history, estimates with standard errors, and what the data do not determine."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gbsjax.fit._parameters import flatten, natural

# An eigenvalue of the information below this share of the largest is rounding: no parameter is known along it.
UNIDENTIFIED = 1e-10


class Estimate(NamedTuple):
    """A value and its standard error, inf where the data do not determine it."""

    value: np.ndarray
    error: np.ndarray


@dataclass(frozen=True)
class Fit:
    """A fitted model and what is known of it.

    Attributes:
        model: the fitted model.
        loss: the loss that was minimised.
        history: (steps,) its values, of the minibatch where there was one.
        stopped: "steps", or "patience" where it no longer fell.
        free: what was free to move, as given to `fit`.
    """

    model: Any
    loss: Any
    history: np.ndarray
    stopped: str
    free: Callable[[Any], Any] | None = None

    @cached_property
    def value(self) -> float:
        """The loss of the fitted model, over all data."""
        vector, model_of = flatten(self.model, self.free)
        return float(jax.jit(lambda x: self.loss(model_of(x)))(vector))

    @cached_property
    def information(self) -> np.ndarray:
        """(parameters, parameters) information matrix by the free parameters as the optimiser moves them.

        Its Gauss-Newton form, of first derivatives, for the losses of this package; the Hessian for a loss of yours.
        """
        vector, model_of = flatten(self.model, self.free)
        if not hasattr(self.loss, "whitened"):
            return np.asarray(jax.jit(jax.hessian(lambda x: self.loss(model_of(x))))(vector))
        jacobian = _jacobian(lambda x: self.loss.whitened(model_of(x)), vector)
        return jacobian.T @ jacobian

    def hessian(self) -> np.ndarray:
        """(parameters, parameters) second derivatives of the loss: the observed information, slower to compile."""
        vector, model_of = flatten(self.model, self.free)
        slope = jax.grad(lambda x: self.loss(model_of(x)))
        return _jacobian(slope, vector)

    def estimates(
        self, quantities: Callable[[Any], Any] | None = None, *, information: np.ndarray | None = None
    ) -> Any:
        """Values and standard errors, to first order in the parameters.

        Args:
            quantities: of a model, a real array or a tree of them. None is every free parameter by name, constrained
                ones in their own units.
            information: None takes `information`; `hessian()` is another.

        Returns:
            What quantities returns, with an `Estimate` in the place of each array. The error is inf for a quantity that
            moves along a direction in which the loss does not.

        Notes:
            Standard errors are those of maximum likelihood with independent data, or of the errors that least squares
            were given; they know nothing of what the model leaves out.
        """
        known = self.information if information is None else information
        vector, model_of = flatten(self.model, self.free)
        wanted = quantities or natural

        def of(x: jax.Array) -> Any:
            return jax.tree.map(lambda y: jnp.asarray(y, vector.dtype), wanted(model_of(x)))

        values = jax.jit(of)(vector)
        leaves, structure = jax.tree.flatten(values)
        sizes = np.cumsum([leaf.size for leaf in leaves])[:-1]
        slopes = _jacobian(lambda x: jnp.concatenate([y.reshape(-1) for y in jax.tree.leaves(of(x))]), vector)
        errors = np.split(_errors(known, slopes), sizes)
        found = [Estimate(np.asarray(y), e.reshape(y.shape)) for y, e in zip(leaves, errors, strict=True)]
        estimates = jax.tree.unflatten(structure, found)
        if quantities is None:
            moves = np.split(np.abs(slopes).max(axis=1, initial=0) > 0, sizes)
            return {name: estimates[name] for name, moved in zip(estimates, moves, strict=True) if moved.any()}
        return estimates

    def unidentified(self) -> np.ndarray:
        """(k, parameters) orthonormal directions along which the loss does not change, parameters scaled to have one
        information each: what the data cannot determine."""
        return _spectrum(self.information)[2].T

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """The history of the loss, and the estimates with their standard errors, as a PNG file."""
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        figure = Figure(figsize=(9, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        steps = np.arange(len(self.history))
        left.plot(steps, self.history - self.history.min() + _resolution(self.history), lw=1)
        left.set(xlabel="step", ylabel="loss above its lowest", yscale="log")
        start = 0
        for name, (value, error) in self.estimates().items():
            flat, bars = np.ravel(value), np.ravel(error)
            known = np.isfinite(bars)
            place = start + np.arange(len(flat))
            line = right.errorbar(place[known], flat[known], yerr=bars[known], fmt=".", capsize=2, label=name)
            right.plot(place[~known], flat[~known], "x", color=line.lines[0].get_color())
            start += len(flat)
        right.set(xlabel="parameter (x: not determined)", ylabel="estimate and standard error")
        right.xaxis.set_major_locator(MaxNLocator(integer=True))
        right.legend(fontsize="small")
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.part")
        figure.savefig(partial, format="png", dpi=150)
        partial.replace(target)
        return target


def _resolution(history: np.ndarray) -> float:
    return float(np.finfo(history.dtype).eps * np.abs(history).max(initial=1.0))


def _jacobian(function: Callable[[jax.Array], jax.Array], x: jax.Array) -> np.ndarray:
    """(outputs, parameters), a few tangents at a time to bound the memory."""

    @jax.jit
    def columns(x: jax.Array) -> jax.Array:
        def column(tangent: jax.Array) -> jax.Array:
            return jax.jvp(function, (x,), (tangent,))[1]

        return jax.lax.map(column, jnp.eye(len(x), dtype=x.dtype), batch_size=min(8, len(x)))

    return np.asarray(columns(x)).T


def _spectrum(information: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the information, each parameter scaled to have 1: the scales, a square root of the covariance, and the
    directions that are not identified, as columns."""
    scale = np.sqrt(np.diagonal(information))
    scale = np.where(scale > 0, scale, 1.0)
    levels, axes = np.linalg.eigh(information / np.outer(scale, scale))
    known = levels > UNIDENTIFIED * max(levels.max(initial=0), 0)
    return scale, axes[:, known] / np.sqrt(levels[known]), axes[:, ~known]


def _errors(information: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    scale, root, lost = _spectrum(information)
    moved = slopes / scale
    errors = np.linalg.norm(moved @ root, axis=1)
    # Rounding leaves a little along every direction.
    undetermined = np.linalg.norm(moved @ lost, axis=1) > 1e-6 * np.linalg.norm(moved, axis=1)
    return np.where(undetermined, np.inf, errors)
