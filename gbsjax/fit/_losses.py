"""What a fit minimises: negative log-likelihoods of patterns, squares of residuals, and sums of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from gbsjax import distribution
from gbsjax.gaussian import GaussianState


class Loss(Protocol):
    """A loss that also gives the information in the data. Any callable of a model will do for the fit alone."""

    def __call__(self, model: Any) -> jax.Array:
        """Negative log-likelihood up to a constant."""
        ...

    def whitened(self, model: Any) -> jax.Array:
        """A vector whose Jacobian J by the parameters gives the information (Gauss-Newton) J^T J."""
        ...


class Likelihood:
    """Negative log-likelihood of independent patterns: - sum over shots of log P(pattern).

    Equal patterns are evaluated once.

    Args:
        log_probability: of a state and integer patterns (k, m), as `distribution.click_log_probability`; also called
            with total= and traced patterns where a fit takes minibatches.
        patterns: (shots, m) integers, one row a shot.
        selected: of a state, the log-probability that a pattern is one that could be in the data, where some could not:
            a sampler that stops at a photon number, a record of a band. None is all patterns.

    Attributes:
        shots: how many.

    Raises:
        TypeError, ValueError: patterns that are not.
    """

    def __init__(
        self,
        log_probability: Callable[..., jax.Array],
        patterns: Any,
        *,
        selected: Callable[[Any], jax.Array] | None = None,
    ) -> None:
        self.patterns = np.asarray(patterns)
        if self.patterns.ndim != 2 or not np.issubdtype(self.patterns.dtype, np.integer):
            raise ValueError(
                f"Likelihood: patterns must be integers of shape (shots, modes), got {self.patterns.dtype} "
                f"{self.patterns.shape}."
            )
        if not len(self.patterns):
            raise ValueError("Likelihood: patterns has no shot.")
        self.log_probability, self.selected = log_probability, selected
        self.shots = len(self.patterns)
        self.total = int(self.patterns.astype(int).sum(axis=1).max())
        self.distinct, counts = np.unique(self.patterns, axis=0, return_counts=True)
        self.counts = counts.astype(float)

    def _logs(self, state: GaussianState, patterns: Any, **options: Any) -> jax.Array:
        found = self.log_probability(state, patterns, **options)
        return found if self.selected is None else found - self.selected(state)

    def __call__(self, model: Any) -> jax.Array:
        found = self._logs(model(), self.distinct)
        return -jnp.sum(jnp.asarray(self.counts, found.dtype) * found)

    def part(self, model: Any, index: jax.Array) -> jax.Array:
        """The loss as estimated from the shots of the given indices."""
        found = self._logs(model(), jnp.asarray(self.patterns)[index], total=self.total)
        return -jnp.mean(found) * self.shots

    def whitened(self, model: Any) -> jax.Array:
        found = self._logs(model(), self.distinct)
        return jnp.asarray(np.sqrt(self.counts), found.dtype) * found


def click_likelihood(
    clicks: Any, *, selected: Callable[[Any], jax.Array] | None = None, precision: str = "fp64"
) -> Likelihood:
    """Negative log-likelihood of patterns of threshold detectors.

    Args:
        clicks: (shots, m), 1 for a mode that clicked, integers.
        selected: see `Likelihood`.
        precision: "fp64" or "dd", as for `gbsjax.torontonian`.

    Returns:
        A `Likelihood`.

    Raises:
        TypeError, ValueError: clicks that are not.

    Notes:
        A step costs a torontonian and its gradient for every distinct pattern.

    Examples:
        >>> from gbsjax import fit
        >>> fit.click_likelihood([[0, 1], [1, 1], [0, 1]]).distinct.tolist()
        [[0, 1], [1, 1]]
    """

    def log_probability(state: GaussianState, patterns: Any, **options: Any) -> jax.Array:
        return distribution.click_log_probability(state, patterns, precision=precision, **options)

    return Likelihood(log_probability, clicks, selected=selected)


def photon_likelihood(
    counts: Any, *, selected: Callable[[Any], jax.Array] | None = None, precision: str = "fp64"
) -> Likelihood:
    """Negative log-likelihood of patterns of photon-number detectors.

    Args:
        counts: (shots, m) photons in each mode, integers.
        selected: see `Likelihood`.
        precision: "fp64" or "dd", as for `gbsjax.hafnian`.

    Returns:
        A `Likelihood`.

    Raises:
        TypeError, ValueError: counts that are not.

    Notes:
        A step costs a hafnian and its gradient for every distinct pattern.

    Examples:
        >>> from gbsjax import fit
        >>> fit.photon_likelihood([[2, 0], [0, 2]]).shots
        2
    """

    def log_probability(state: GaussianState, patterns: Any, **options: Any) -> jax.Array:
        return distribution.photon_log_probability(state, patterns, precision=precision, **options)

    return Likelihood(log_probability, counts, selected=selected)


class LeastSquares:
    """Half the sum of squared residuals (predicted - measured) / error.

    Args:
        predict: of a state: `distribution.click_rates`, a click or photon covariance, a number distribution, or any
            function to a real array. Of a symmetric matrix take one triangle.
        measured: what was measured, the shape of predict's.
        errors: standard errors, a number or that shape. They are independent of each other, as far as this loss knows.

    Raises:
        ValueError: errors that are not positive, or measured that is not finite.
    """

    def __init__(self, predict: Callable[[Any], jax.Array], measured: Any, errors: Any) -> None:
        self.predict = predict
        self.measured = np.asarray(measured)
        self.errors = np.broadcast_to(np.asarray(errors), self.measured.shape)
        if not (self.errors > 0).all():
            raise ValueError(f"LeastSquares: errors must be above 0, got {self.errors.min()}.")
        if not np.isfinite(self.measured).all():
            raise ValueError("LeastSquares: measured must be finite, got NaN or Inf. Leave those out.")

    def whitened(self, model: Any) -> jax.Array:
        found = self.predict(model())
        if found.shape != self.measured.shape:
            raise ValueError(
                f"LeastSquares: measured must have predict's shape {found.shape}, got {self.measured.shape}."
            )
        measured, errors = (jnp.asarray(x, found.dtype) for x in (self.measured, self.errors))
        return ((found - measured) / errors).reshape(-1)

    def __call__(self, model: Any) -> jax.Array:
        return jnp.sum(self.whitened(model) ** 2) / 2
