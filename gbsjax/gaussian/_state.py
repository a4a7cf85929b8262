"""A Gaussian state by its moments, what devices do to it, and the matrices its probabilities are made of.

Moments of the mode operators and not of quadratures: they have no hbar and no order, transform by one product each,
and nothing is factorised, so derivatives exist for zero, equal and thermal squeezing alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, Float, Inexact

from gbsjax import _checks
from gbsjax.gaussian import _inputs
from gbsjax.gaussian._inputs import HBAR


class Vacuum(NamedTuple):
    """What the probabilities of a state are made of: log P(nothing seen), a matrix, and a vector; None without
    displacement."""

    log_p0: jax.Array
    matrix: jax.Array
    vector: jax.Array | None


class GaussianState(eqx.Module):
    """A Gaussian state of m modes: its moments.

    Every number is of the mode operators a_i. A device acts by `through`, `interfere`, `lose`, `displace`, `add_noise`
    and `reduced`, each of which returns a new state. Transmissions have inputs as rows and outputs as columns.

    Attributes:
        number: (m, m) N_ij = <a_i^dagger a_j> without the displacement, Hermitian, in photons.
        pair: (m, m) M_ij = <a_i a_j> without the displacement, symmetric.
        displacement: (m,) <a_i>.
        pure: whether the state is declared pure, which halves the matrices of photon patterns. Sources and unitary
            interferometers keep it, loss and noise end it; it is never guessed from numbers.
        displaced: whether the displacement is read. Without, probabilities are hafnians and torontonians without loops.
    """

    number: Inexact[Array, "m m"]
    pair: Inexact[Array, "m m"]
    displacement: Inexact[Array, " m"]
    pure: bool = eqx.field(static=True, default=False)
    displaced: bool = eqx.field(static=True, default=True)

    @property
    def modes(self) -> int:
        return self.displacement.shape[-1]

    def through(self, transmission: Inexact[Any, "m k"]) -> GaussianState:
        """The state behind a passive device: a_j out = sum_i T_ij a_i in, and vacuum for what is missing.

        Args:
            transmission: (m, k) amplitudes from input i to output j; singular values up to 1 (concrete values beyond
                by more than 64 u raise). Not a unitary that keeps a state pure: `interfere`.

        Raises:
            ValueError: another number of rows than modes, or more light out than in.
        """
        matrix = self._transmission("through", transmission)
        if not _checks.is_traced(matrix):
            largest = float(np.linalg.norm(np.asarray(matrix), 2)) if matrix.size else 0.0
            if not largest <= 1 + 64 * float(jnp.finfo(matrix.dtype).eps) / 2:
                raise ValueError(
                    f"through: transmission must have singular values up to 1, got {largest!r}: more light out than "
                    "in. Rows are inputs; scale the matrix if it was measured."
                )
        return self._mixed(matrix, pure=False)

    def interfere(self, unitary: Inexact[Any, "m m"]) -> GaussianState:
        """The state behind a lossless interferometer: a_j out = sum_i U_ij a_i in; a pure state stays pure.

        Args:
            unitary: (m, m), rows are inputs. (Where a_out = U a_in in matrix form is meant, pass the transpose.)

        Raises:
            ValueError: another shape, or not unitary within 64 m u (concrete values).
        """
        matrix = self._transmission("interfere", unitary)
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"interfere: unitary must be square, got {matrix.shape}. Use through for a part of it.")
        if not _checks.is_traced(matrix):
            square = np.asarray(matrix)
            gap = float(np.abs(square @ square.conj().T - np.eye(len(square))).max(initial=0))
            if not gap <= 64 * len(square) * float(jnp.finfo(matrix.dtype).eps) / 2:
                raise ValueError(
                    f"interfere: unitary must satisfy U U^dagger = 1 up to rounding, got a deviation of {gap:.3g}. Use "
                    "through for a lossy or measured transmission."
                )
        return self._mixed(matrix, pure=self.pure)

    def _transmission(self, name: str, matrix: Any) -> jax.Array:
        found = _inputs.entries(name, "the matrix", matrix, 2)
        if found.shape[0] != self.modes:
            raise ValueError(
                f"{name}: the matrix must have {self.modes} rows, one an input mode, got {found.shape}. Transpose it "
                "if its columns are the inputs."
            )
        return found

    def _mixed(self, matrix: jax.Array, pure: bool) -> GaussianState:
        number, pair, displacement, t = _alike(self.number, self.pair, self.displacement, matrix)
        number, pair = _hermitian(t.conj().T @ number @ t), _symmetric(t.T @ pair @ t)
        return GaussianState(number, pair, t.T @ displacement, pure, self.displaced)

    def lose(self, survival: Any, thermal: Any = 0.0) -> GaussianState:
        """The state after loss: each photon survives with the given probability.

        Args:
            survival: probabilities in 0..1, a number or (m,).
            thermal: mean photons of the environment that takes the place of what is lost, a number or (m,).

        Raises:
            ValueError: outside 0..1, negative, or not one entry a mode.

        Notes:
            With a vector, amplitudes scale with sqrt(survival), whose derivative at survival 0 is infinite.
        """
        kept = _inputs.a_per_mode("lose", "survival", survival, self.modes)
        _inputs.within("lose", "survival", kept, 0, 1)
        bath = _inputs.a_per_mode("lose", "thermal", thermal, self.modes)
        _inputs.within("lose", "thermal", bath, 0, np.inf)
        own = self.number.dtype
        both = (kept if kept.ndim == 0 else jnp.outer(jnp.sqrt(kept), jnp.sqrt(kept))).astype(own)
        noise = jnp.broadcast_to((1 - kept) * bath, (self.modes,)).astype(own)
        mean = jnp.sqrt(kept).astype(own) * self.displacement
        return GaussianState(both * self.number + jnp.diag(noise), both * self.pair, mean, False, self.displaced)

    def displace(self, alpha: Inexact[Any, " m"]) -> GaussianState:
        """The state with its mean amplitudes moved by alpha, (m,): D(alpha) acts last."""
        by = _inputs.entries("displace", "alpha", alpha, 1)
        if len(by) != self.modes:
            raise ValueError(f"displace: alpha must have {self.modes} entries, one a mode, got {len(by)}.")
        number, pair, displacement, by = _alike(self.number, self.pair, self.displacement, by)
        return GaussianState(number, pair, displacement + by, self.pure, True)

    def add_noise(self, photons: Any) -> GaussianState:
        """The state with classical noise of the given mean photons in each mode, a number or (m,)."""
        noise = _inputs.a_per_mode("add_noise", "photons", photons, self.modes)
        _inputs.within("add_noise", "photons", noise, 0, np.inf)
        own = jnp.broadcast_to(noise, (self.modes,)).astype(self.number.dtype)
        return GaussianState(self.number + jnp.diag(own), self.pair, self.displacement, False, self.displaced)

    def reduced(self, modes: Any) -> GaussianState:
        """The state of some modes, the others traced out: modes is a list of different indices, in the order wanted."""
        index = np.asarray(modes, dtype=int).reshape(-1)
        if len(set(index.tolist())) != len(index) or not ((index >= 0) & (index < self.modes)).all():
            raise ValueError(f"reduced: modes must be different indices in 0..{self.modes - 1}, got {index.tolist()}.")
        block = np.ix_(index, index)
        whole = self.pure and len(index) == self.modes
        return GaussianState(self.number[block], self.pair[block], self.displacement[index], whole, self.displaced)

    def beside(self, other: GaussianState) -> GaussianState:
        """The product of this state and another one, whose modes come after."""
        zero = np.zeros((self.modes, other.modes))

        def joined(a: jax.Array, b: jax.Array) -> jax.Array:
            a, b, gap = _alike(a, b, jnp.asarray(zero, dtype=jnp.real(a).dtype))
            return jnp.block([[a, gap], [gap.T, b]])

        mean = jnp.concatenate(_alike(self.displacement, other.displacement))
        number, pair, mean = _alike(joined(self.number, other.number), joined(self.pair, other.pair), mean)
        return GaussianState(number, pair, mean, self.pure and other.pure, self.displaced or other.displaced)

    def covariance(self, *, hbar: float = HBAR, order: str = "xxpp") -> Float[Array, "2m 2m"]:
        """Covariance matrix of the quadratures x = sqrt(hbar/2) (a + a^dagger), p = -i sqrt(hbar/2) (a - a^dagger).

        Args:
            hbar: [x, p] = i hbar; the vacuum has covariance hbar/2.
            order: "xxpp", all positions before all momenta, or "xpxp".
        """
        scale = _inputs.positive_hbar("covariance", hbar)
        n, m = self.number, self.pair
        half = jnp.eye(self.modes, dtype=jnp.real(n).dtype) / 2
        xx, pp = jnp.real(n) + jnp.real(m) + half, jnp.real(n) - jnp.real(m) + half
        xp = jnp.imag(m) + jnp.imag(n)
        index = np.argsort(_inputs.to_xxpp("covariance", order, self.modes))
        return scale * jnp.block([[xx, xp], [xp.T, pp]])[np.ix_(index, index)]

    def means(self, *, hbar: float = HBAR, order: str = "xxpp") -> Float[Array, " 2m"]:
        """Means of the quadratures, (2 m,); conventions as in `covariance`."""
        scale = np.sqrt(2 * _inputs.positive_hbar("means", hbar))
        both = jnp.concatenate([jnp.real(self.displacement), jnp.imag(self.displacement)])
        return scale * both[np.argsort(_inputs.to_xxpp("means", order, self.modes))]

    def check(self) -> GaussianState:
        """This state, if it is one: ValueError where no Gaussian state has these moments (concrete values only)."""
        moments = np.asarray(_block(self.number, self.pair))
        if not np.isfinite(moments).all() or not np.isfinite(np.asarray(self.displacement)).all():
            raise ValueError("check: the moments must be finite, got NaN or Inf.")
        slack = 64 * float(jnp.finfo(moments.dtype).eps) * max(1.0, float(np.abs(moments).max(initial=0)))
        number, pair = np.asarray(self.number), np.asarray(self.pair)
        for what, gap in (
            ("number must be Hermitian", np.abs(number - number.conj().T)),
            ("pair must be symmetric", np.abs(pair - pair.T)),
        ):
            if gap.max(initial=0) > slack:
                raise ValueError(f"check: {what}, got a deviation of {gap.max():.3g}.")
        # <(u.a + v.a^dagger)^dagger (..)> >= 0: vacuum noise is added to the antinormal half only.
        uncertain = moments + np.diag([1.0] * self.modes + [0.0] * self.modes)
        lowest = float(np.linalg.eigvalsh(uncertain)[0]) if self.modes else 0.0
        if lowest < -slack * max(1, self.modes):
            raise ValueError(
                f"check: no state has these moments: uncertainty needs [[1 + N^T, M], [M^*, N]] >= 0, got an "
                f"eigenvalue of {lowest:.3g}. For a covariance matrix, check hbar and the order of the quadratures."
            )
        return self

    def husimi(self) -> Inexact[Array, "2m 2m"]:
        """Q = [[1 + N^T, M], [M^*, 1 + N]], the covariance of the Husimi function, order a_1 .. a_m, a_1^dagger .."""
        return _block(self.number, self.pair) + jnp.eye(2 * self.modes, dtype=self.number.dtype)

    @eqx.filter_jit
    def clicks(self) -> Vacuum:
        """log p0, O = 1 - Q^-1 (2 m, 2 m) and gamma = beta^dagger Q^-1 (2 m,): P(clicks S) = p0 ltor(O_S, gamma_S)."""
        factor = cho_factor(self.husimi(), lower=True)
        # (Q - 1) Q^-1 and not 1 - Q^-1: weak light keeps its digits.
        o = _hermitian(cho_solve(factor, _block(self.number, self.pair)))
        log_p0 = -jnp.sum(jnp.log(jnp.real(jnp.diagonal(factor[0]))))
        if not self.displaced:
            return Vacuum(log_p0, o, None)
        beta = jnp.concatenate([self.displacement, self.displacement.conj()])
        gamma = cho_solve(factor, beta).conj()
        return Vacuum(log_p0 - jnp.real(gamma @ beta) / 2, o, gamma)

    @eqx.filter_jit
    def photons(self) -> Vacuum:
        """log p0, A = X O (2 m, 2 m) and gamma (2 m,): P(n) = p0 lhaf(A_n, gamma_n) / prod n_i!."""
        log_p0, o, gamma = self.clicks()
        return Vacuum(log_p0, _symmetric(jnp.roll(o, self.modes, axis=0)), gamma)

    @eqx.filter_jit
    def ket(self) -> Vacuum:
        """log p0, B (m, m) and zeta (m,) of a pure state, which is exp(a^dagger B a^dagger / 2 + zeta a^dagger)|0>
        up to a factor.

        Raises:
            ValueError: the state is not declared pure.

        Notes:
            <n|state> = exp(log_p0 / 2 + i phase) lhaf(B_n, zeta_n) / sqrt(prod n_i!), phase = Im(alpha^dagger B
            conj(alpha)) / 2: that of D(alpha) S |0> where <0|S|0> > 0.
        """
        if not self.pure:
            raise ValueError(
                "ket: the state must be pure, got one with pure=False. Build it from sources and interfere, or declare "
                "pure=True where you know it."
            )
        factor = cho_factor(jnp.eye(self.modes, dtype=self.number.dtype) + self.number.T, lower=True)
        b = _symmetric(cho_solve(factor, self.pair))
        log_p0 = -jnp.sum(jnp.log(jnp.real(jnp.diagonal(factor[0]))))
        if not self.displaced:
            return Vacuum(log_p0, b, None)
        alpha = self.displacement
        zeta = alpha - b @ alpha.conj()
        return Vacuum(log_p0 - jnp.real(alpha.conj() @ zeta), b, zeta)


def from_covariance(
    covariance: Float[Any, "2m 2m"],
    means: Float[Any, " 2m"] | None = None,
    *,
    hbar: float = HBAR,
    order: str = "xxpp",
    pure: bool = False,
) -> GaussianState:
    """Gaussian state of a covariance matrix of quadratures.

    Args:
        covariance: (2 m, 2 m), real symmetric; the vacuum is hbar/2 times the identity.
        means: (2 m,) mean quadratures; None is zero.
        hbar: [x, p] = i hbar.
        order: "xxpp", all positions before all momenta (The Walrus, Piquasso's xxpp), or "xpxp".
        pure: your declaration that the state is pure.

    Returns:
        A `GaussianState`.

    Raises:
        TypeError: complex input.
        ValueError: an odd number of rows, not symmetric, no state (concrete values), or an unknown order.

    Notes:
        Sums and differences of the entries, divided by hbar: for hbar = 2 the way to `covariance` and back changes no
        bit beyond rounding of the sums. Cost O(m^2), and O(m^3) for the check.

    Examples:
        >>> import jax.numpy as jnp
        >>> from gbsjax import gaussian
        >>> gaussian.from_covariance(3 * jnp.eye(2)).number.real.tolist()  # one thermal photon
        [[1.0]]
    """
    name = "from_covariance"
    matrix = _inputs.reals(name, "covariance", covariance, 2)
    _checks.square(name, "covariance", matrix, "Two rows a mode.")
    if matrix.shape[0] % 2:
        raise ValueError(f"{name}: covariance must have two rows a mode, got {matrix.shape[0]}.")
    _checks.symmetric(name, "covariance", matrix)
    modes = matrix.shape[0] // 2
    mean = jnp.zeros(2 * modes, matrix.dtype) if means is None else _inputs.reals(name, "means", means, 1)
    if len(mean) != 2 * modes:
        raise ValueError(f"{name}: means must have {2 * modes} entries, got {len(mean)}.")
    index = _inputs.to_xxpp(name, order, modes)
    scale = 2 * _inputs.positive_hbar(name, hbar)
    matrix, mean = matrix[np.ix_(index, index)] / scale, mean[index] / np.sqrt(scale)
    xx, xp, pp = matrix[:modes, :modes], matrix[:modes, modes:], matrix[modes:, modes:]
    half = jnp.eye(modes, dtype=matrix.dtype) / 2
    number = jax.lax.complex(xx + pp - half, xp - xp.T)
    pair = jax.lax.complex(xx - pp, xp + xp.T)
    mean = jax.lax.complex(mean[:modes], mean[modes:])
    state = GaussianState(number, pair, mean, pure, means is not None)
    return state if _checks.is_traced(number) or _checks.is_traced(mean) else state.check()


def from_ket(matrix: Inexact[Any, "m m"], loops: Inexact[Any, " m"] | None = None) -> GaussianState:
    """Pure Gaussian state proportional to exp(sum B_ij a_i^dagger a_j^dagger / 2 + sum zeta_i a_i^dagger) |0>.

    The state whose photon patterns have probabilities |lhaf(B_n, zeta_n)|^2: a graph is encoded by B = c times its
    adjacency matrix (K. Bradler et al., Phys. Rev. A 98 (2018) 032310).

    Args:
        matrix: (m, m) B, symmetric, singular values below 1.
        loops: (m,) zeta; None is zero.

    Returns:
        A pure `GaussianState`, real where both are real.

    Raises:
        ValueError: not square, not symmetric, a singular value of 1 or more (concrete values), or loops of another
            length.

    Notes:
        N^T = (1 - B B^*)^-1 B B^*, M = (1 - B B^*)^-1 B. O(m^3).

    Examples:
        >>> import jax.numpy as jnp
        >>> from gbsjax import gaussian
        >>> bool(gaussian.from_ket(jnp.array([[0.0, 0.5], [0.5, 0.0]])).pure)
        True
    """
    name = "from_ket"
    b = _inputs.entries(name, "matrix", matrix, 2)
    _checks.square(name, "matrix", b, "One row a mode.")
    _checks.symmetric(name, "matrix", b)
    if not _checks.is_traced(b) and b.size:
        largest = float(np.linalg.norm(np.asarray(b), 2))
        if not largest < 1:
            raise ValueError(f"{name}: matrix must have singular values below 1, got {largest!r}. Scale it down.")
    zeta = jnp.zeros(len(b), b.dtype) if loops is None else _inputs.entries(name, "loops", loops, 1)
    if len(zeta) != len(b):
        raise ValueError(f"{name}: loops must have {len(b)} entries, one a mode, got {len(zeta)}.")
    b, zeta = _alike(_symmetric(b), zeta)
    square = b @ b.conj()
    factor = cho_factor(jnp.eye(len(b), dtype=b.dtype) - square, lower=True)
    # alpha - B conj(alpha) = zeta has the solution (1 - B B^*)^-1 (zeta + B conj(zeta)).
    alpha = cho_solve(factor, zeta + b @ zeta.conj())
    number, pair = _hermitian(cho_solve(factor, square)).T, _symmetric(cho_solve(factor, b))
    return GaussianState(number, pair, alpha, True, loops is not None)


def _block(number: jax.Array, pair: jax.Array) -> jax.Array:
    return jnp.block([[number.T, pair], [pair.conj(), number]])


def _hermitian(x: jax.Array) -> jax.Array:
    return (x + x.conj().T) / 2


def _symmetric(x: jax.Array) -> jax.Array:
    return (x + x.T) / 2


def _alike(*arrays: jax.Array) -> tuple[jax.Array, ...]:
    """All of them complex if one is, in the widest precision among them."""
    dtype = np.result_type(*(x.dtype for x in arrays))
    return tuple(x.astype(dtype) for x in arrays)
