"""Certificates of the torontonians: rigorous bounds of what the tree loses. The steps are in docs/proofs.md."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from gbsjax._torontonian.program import Fold, Levels, Node, Pivot, combine, excess_of, fold
from gbsjax.numbers import (
    ADD,
    ARGUMENT,
    DIVIDE,
    EXPM1,
    MULTIPLY,
    SQUARE_ROOT,
    UNIT,
    Planes,
    expm1,
    together,
)

# Operations that underflow, and what they are still multiplied by.
FLOOR = 2.0**-900
# Changes of a term beyond which first order says nothing.
MOST = 1 / 8
# What is left of sums that may cancel, relative to their terms.
ROUNDING = 2.0**-40
# Squares below it are taken for it, as they may have underflowed.
SQUARE = 2.0**-1000


class Found(NamedTuple):
    """Of a node, over the subsets S of its modes, with A = I - O_S, x = A^-1 y and the term w; (lanes,) each."""

    value: Any
    # Sum of |w|, and what the value may be off.
    size: jax.Array
    error: jax.Array
    # Sum of |w| |A^-1|^2, and the largest |A^-1|, in the Frobenius norm.
    inverses: jax.Array
    inverse: jax.Array
    # By how much rounding may have changed the logarithm of any w, doubled.
    change: jax.Array
    # The Frobenius norm of O.
    norm: jax.Array
    ends: Ends | None


class Ends(NamedTuple):
    """With displacement: the sum of |w| |x|^2, the largest |x|, what rounding may have changed of the exponent's square
    root, and the norm of y."""

    solutions: jax.Array
    solution: jax.Array
    change: jax.Array
    norm: jax.Array


class Tier:
    """What operations lose."""

    def __init__(self, tier: str, kind: str) -> None:
        unit = UNIT[tier]
        self.relative_sums = tier == "fp64"
        self.add, self.divide, self.root = ADD[tier] * unit, DIVIDE[tier] * unit, SQUARE_ROOT[tier] * unit
        self.real, self.product = MULTIPLY[tier]["real"] * unit, MULTIPLY[tier][kind] * unit
        # Of |b|^2: two products and a sum, in double-double one operation.
        self.square = min(self.product, self.real + self.add) if self.relative_sums else self.product
        self.expm1, self.argument = EXPM1[tier] * unit, ARGUMENT[tier] * unit

    def sum(self, result: Any, operands: Any) -> Any:
        """What a sum may be off: relative to its size in float64, to that of its operands in double-double."""
        return self.add * (result if self.relative_sums else operands)

    @property
    def entry(self) -> float:
        """Of an entry (u (1 - d) + v conj(b)) / det times one of u, and the sum of two: relative to their sizes."""
        return max(self.add + self.real, self.product) + 2 * self.add + self.divide + self.product


class Seen(NamedTuple):
    """Of a node: its pivot; the block P = [[a, b], [conj b, d]] of its first mode, (2, 2, lanes); the products uu, vv
    and uv of the columns u and v below it, and the square of its norm, (.., lanes); the first two of y, and the square
    of its norm."""

    pivot: Pivot
    block: Any
    products: jax.Array
    ends: Any
    length: Any


def _sums(rows: jax.Array) -> jax.Array:
    """(lanes,) of (rows, lanes), as a product, which is vectorised over the lanes."""
    return jnp.matmul(jnp.ones(rows.shape[0], rows.dtype), rows, precision=lax.Precision.HIGHEST)


def look(node: Node, pivot: Pivot) -> Seen:
    matrix = node.matrix.rounded()
    u, v = matrix[2:, 0], matrix[2:, 1]
    across = u.conj() * v
    parts = [u.squared_modulus(), v.squared_modulus(), across.re, *([] if across.im is None else [across.im])]
    sums = _sums(jnp.concatenate(together(parts), axis=-1)).reshape(len(parts), -1)
    norm = _sums(matrix.map(lambda plane: plane.reshape(-1, plane.shape[-1])).squared_modulus())
    ends = length = None
    if node.ends is not None:
        ends, length = node.ends.rounded()[:2], _sums(node.ends.rounded().squared_modulus())
    return Seen(pivot, node.matrix[:2, :2], jnp.concatenate([sums, norm[None]]), ends, length)


class Weights(NamedTuple):
    """What a level of the tree needs of its first mode; (lanes,) each."""

    excess: Any
    weight: jax.Array
    # Losses: of the weight, and, where sums are relative to their operands, of what is left.
    of_excess: jax.Array
    of_rest: jax.Array
    # Relative losses, of the weight and of the determinant.
    change: jax.Array
    norm: jax.Array
    # Norms: of (I - P)^-1, and the square of that of C (I - P)^-1.
    block: jax.Array
    spectral: jax.Array
    ends: EndWeights | None


class EndWeights(NamedTuple):
    of_rest: jax.Array
    solved: jax.Array
    norm: jax.Array


def _root(square: jax.Array) -> jax.Array:
    return jnp.sqrt(square + SQUARE)


def weigh(tier: Tier, seen: Seen) -> Weights:
    """The names are those of the proofs."""
    diagonal = [seen.block[k, k].real() for k in (0, 1)]
    free_a, free_d = (abs((x.constant(1.0) - x).rounded().re) for x in diagonal)
    (a, d), off = (x.rounded().re for x in diagonal), seen.block[0, 1].rounded()
    b = _root(off.squared_modulus())
    uu, vv, *uv, norm = seen.products
    norm = _root(norm)
    less, det = seen.pivot.less.rounded().re, seen.pivot.det.rounded().re
    root, inverse, excess = jnp.sqrt(det), 1 / det, excess_of(seen.pivot)
    # One minus an entry, and what the determinant of the block may be off.
    by_a, by_d = (jnp.maximum(free, tier.sum(free, 1 + abs(x)) / tier.add) for free, x in ((free_a, a), (free_d, d)))
    product, square = abs(a * d), b * b
    lost = tier.real * product + tier.square * square + tier.sum(abs(a * d - square), product + square)
    lost = lost + tier.sum(abs(a + d), abs(a) + abs(d)) + tier.sum(abs(less), product + square + abs(a) + abs(d))
    of_det = (lost + tier.sum(det, 1 + abs(less))) * inverse
    # W = C (I - P)^-1.
    uv = Planes(uv[0], uv[1] if len(uv) == 2 else None)
    across = (off.conj() * uv).re
    left = free_d**2 * uu + square * vv + 2 * free_d * across
    right = square * uu + free_a**2 * vv + 2 * free_a * across
    both = Planes(free_d * uu + free_a * vv, None)
    cross = uv * Planes(free_a * free_d, None) + off * off * uv.conj() + off * both
    spectral = (left + right) / 2 + jnp.sqrt(((left - right) / 2) ** 2 + cross.squared_modulus())
    spectral = spectral + ROUNDING * (uu * (free_d**2 + square) + vv * (free_a**2 + square))
    spectral = spectral * inverse * inverse + SQUARE
    # What rounding adds to the matrix that is left.
    length_u, length_v = _root(uu), _root(vv)
    sizes = (uu * by_d + 2 * length_u * length_v * b + vv * by_a) * inverse
    gain = jnp.sqrt(spectral * (uu + vv))
    tiny = FLOOR * (1 + norm) ** 2 * (1 + inverse)
    of_rest = tier.entry * sizes + of_det * gain + tier.sum(0, norm + gain) + tiny
    # The weight of keeping the mode.
    weight, ends = 1 / root, None
    of_root, slope = tier.root + of_det / 2, weight / (1 + root)
    first = abs(less) * slope
    of_excess = lost * slope + first * (2 * of_root + tier.add + tier.real + tier.divide)
    if seen.ends is not None:
        y, z, length = (_root(x) for x in (seen.ends[0].squared_modulus(), seen.ends[1].squared_modulus(), seen.length))
        exponent = abs(seen.pivot.overlap.rounded().re) * inverse
        growth = expm1(Planes(exponent, None)).re
        of_overlap = (3 * tier.add + 2 * tier.product) * ((by_d * y * y + by_a * z * z) / 2 + y * b * z)
        of_exponent = of_overlap * inverse + (tier.divide + of_det + tier.argument) * exponent
        of_second = (1 + growth) * of_exponent + (tier.expm1 + tier.divide + of_root) * growth
        second = growth * weight
        of_excess = of_excess + of_second * weight + tier.sum(abs(excess.rounded().re), first + second)
        weight = weight + second
        shifted = ((length_u * by_d + length_v * b) * y + (length_v * by_a + length_u * b) * z) * inverse
        of_ends = (tier.entry + of_det) * shifted + tier.sum(0, length + shifted) + tiny
        solved = jnp.sqrt((free_d * y + b * z) ** 2 + (b * y + free_a * z) ** 2) * inverse
        ends = EndWeights(of_ends, solved, length)
    block = jnp.sqrt(free_a**2 + free_d**2 + 2 * square) * inverse
    found = Weights(excess, weight, of_excess, of_rest, of_det + of_excess / weight, norm, block, spectral, ends)
    planes, structure = jax.tree.flatten(found)
    return jax.tree.unflatten(structure, together(planes))


def _leaf(node: Node, weights: Weights) -> Found:
    one, zero = jnp.ones_like(weights.weight), jnp.zeros_like(weights.weight)
    ends = None if node.ends is None else Ends(zero, zero, zero, zero)
    return Found(weights.excess.constant(1.0), one, zero, zero, zero, zero, zero, ends)


def _step(tier: Tier, node: Node, weights: Weights, kept: Found, dropped: Found, present: jax.Array) -> Found:
    value = combine(weights.excess, kept.value, dropped.value, present)
    weight, block, spectral = weights.weight, weights.block, weights.spectral
    more = weights.of_rest + tier.sum(kept.norm, 0)
    inverses = jnp.sqrt(kept.size * kept.inverses)
    moved, change, ends = more * inverses / 2, more * kept.inverse, None
    if weights.ends is not None and kept.ends is not None and dropped.ends is not None:
        shift = weights.ends.of_rest + tier.sum(kept.ends.norm, 0)
        solved, solution = weights.ends.solved, kept.ends.solution
        solutions = jnp.sqrt(kept.size * kept.ends.solutions)
        moved = moved + more * kept.ends.solutions / 2 + shift * solutions
        change = change + more * solution**2 + 2 * shift * solution
        squares = solved**2 * kept.size + 2 * solved * jnp.sqrt(spectral) * solutions
        ends = Ends(
            weight * (squares + (1 + spectral) * kept.ends.solutions) + present * dropped.ends.solutions,
            jnp.maximum(solved + jnp.sqrt(1 + spectral) * solution, dropped.ends.solution),
            jnp.maximum(kept.ends.change + jnp.sqrt(kept.inverse) * (more * solution + shift), dropped.ends.change),
            weights.ends.norm,
        )
    up, down = abs(kept.value.rounded().re), present * abs(dropped.value.rounded().re)
    gained = abs(weights.excess.rounded().re) * up
    apart = abs(kept.value.rounded().re - present * dropped.value.rounded().re)
    of_sums = tier.sum(apart, up + down) + tier.sum(abs(value.rounded().re), gained + up + down)
    # Sums with the zeros of a mode that only pads lose nothing.
    of_value = weights.of_excess * up + tier.real * gained + present * of_sums
    squares = block**2 * kept.size + 2 * block * spectral * inverses
    found = Found(
        value,
        weight * kept.size + present * dropped.size,
        weight * (kept.error + moved) + present * dropped.error + of_value,
        weight * (squares + (1 + spectral) ** 2 * kept.inverses) + present * dropped.inverses,
        jnp.maximum(block + (1 + spectral) * kept.inverse, dropped.inverse),
        jnp.maximum(kept.change + change + weights.change, dropped.change),
        weights.norm,
        ends,
    )
    planes, structure = jax.tree.flatten(found)
    return jax.tree.unflatten(structure, together(planes))


def certified(
    node: Node, present: jax.Array, looped: int, tier: str, asymmetry: jax.Array, descend: Callable[[Node], Levels]
) -> Any:
    """The value, a bound of its error and the sum of the sizes of its terms, (lanes,), of O (2 m, 2 m, lanes) that is
    known but for `asymmetry`, (lanes,), in the Frobenius norm."""
    lost = Tier(tier, "real" if node.matrix.rounded().im is None else "complex")
    how = Fold(descend, look, functools.partial(weigh, lost), _leaf, functools.partial(_step, lost))
    found = fold(how, node, present, looped)
    moved, change = asymmetry * jnp.sqrt(found.size * found.inverses) / 2, asymmetry * found.inverse
    if found.ends is not None:
        bent = found.ends.change + asymmetry * jnp.sqrt(found.inverse) * found.ends.solution
        moved = moved + asymmetry * found.ends.solutions / 2 + found.size * bent**2 / 2
        change = change + asymmetry * found.ends.solution**2 + bent**2
    change = found.change + change
    error = (found.error + moved + FLOOR * found.size) * (1 + 8 * change)
    known = (change <= MOST) & jnp.isfinite(error)
    return found.value, jnp.where(known, error, jnp.inf), found.size
