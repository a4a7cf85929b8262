"""Values with their certificates, and the ladder that climbs to the tier that an accuracy asks for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gbsjax import _checks, _exact
from gbsjax._hafnian import api as hafnians
from gbsjax._permanent import api as permanents
from gbsjax._scaling import Certified
from gbsjax._torontonian import api as torontonians
from gbsjax.numbers import BOUND, EXACT

TIERS = ("fp64", "dd", "exact")
# Sums of products, which have exact values.
RATIONAL = (permanents.permanent, hafnians.hafnian, hafnians.loop_hafnian)
FUNCTIONS = (*RATIONAL, torontonians.torontonian, torontonians.loop_torontonian)
# Axes of an argument that are not batch.
OWN = {"matrix": 2, "loops": 1, "gamma": 1, "rows": 1, "cols": 1, "repeats": 1, "clicks": 1}
# Elements that are evaluated again go in groups of so many, the rest one by one: two programs serve any number.
GROUP = 32


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What `evaluate` returns; all fields have the shape of the batch.

    Attributes:
        value: float64 or complex128.
        error_bound: |value - exact value| is no larger, whatever the entries: proved, not estimated.
        condition: kappa, the sum of the sizes of the terms over the size of the value.
        tier_index: which tier ran, an index of ("fp64", "dd", "exact").
    """

    value: jax.Array
    error_bound: jax.Array
    condition: jax.Array
    tier_index: jax.Array

    @property
    def tier(self) -> Any:
        """Names of the tiers that ran: a string, or an array of strings for a batch."""
        names = np.array(TIERS)[np.asarray(self.tier_index)]
        return str(names) if names.ndim == 0 else names


def _known(name: str, function: Callable[..., Any], functions: tuple[Callable[..., Any], ...] = FUNCTIONS) -> None:
    if function not in functions:
        raise TypeError(
            f"{name}: function must be one of {[f.__name__ for f in functions]} of gbsjax, got {function!r}."
        )


# Arguments by position.
_BY_POSITION = {hafnians.loop_hafnian: ("matrix", "loops"), torontonians.loop_torontonian: ("matrix", "gamma")}


def _arguments(function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """All by name; floats of 32 bits as the 64-bit numbers that they are."""
    names = _BY_POSITION.get(function, ("matrix",))
    if len(arguments) > len(names):
        raise TypeError(f"{function.__name__} takes {list(names)} by position, got {len(arguments)} arguments.")
    given = dict(zip(names, arguments, strict=False)) | options
    for name in ("matrix", "loops", "gamma"):
        if given.get(name) is not None:
            given[name] = _wide(given[name])
    return given


def _wide(x: Any) -> Any:
    if not _checks.is_traced(x):
        x = np.asarray(x) if not isinstance(x, jax.Array) else x
        small = x.dtype == object and all(isinstance(k, int) and abs(k) <= 2**53 for k in np.ravel(x))
        if small or x.dtype == bool or (np.issubdtype(x.dtype, np.integer) and np.abs(x).max(initial=0) <= 2**53):
            return np.asarray(x).astype(np.float64)
    wide = {np.dtype("float32"): np.float64, np.dtype("complex64"): np.complex128}.get(x.dtype)
    if wide is None or not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        return x
    return x.astype(wide)


def _kappa(size: Any, value: Any) -> jax.Array:
    value = jnp.abs(jnp.asarray(value))
    # Nothing is lost where there are no terms.
    return jnp.where((size == 0) & (value == 0), 1, size / value)


def condition(function: Callable[..., Any], *arguments: Any, **options: Any) -> jax.Array:
    """Condition kappa: by how much the terms of a value exceed it, the digits that float64 may lose.

    kappa = sum |terms| / |value|, the terms being those of the program: of Glynn's formula for the permanent, of the
    matchings for hafnians (kappa = haf |A| / |haf A|), of the subsets of modes for torontonians. An indicator:
    roundings before the terms are made escape it. `evaluate` bounds the error.

    Args:
        function: gbsjax.permanent, hafnian, loop_hafnian, torontonian or loop_torontonian.
        arguments: the matrix, and what else the function takes.
        options: as the function takes them, without precision.

    Returns:
        (*batch,) float64, 1 or more up to rounding; inf for a value of 0.

    Raises:
        TypeError: another function, or what the function raises.
        ValueError: what the function raises.

    Notes:
        Cost: one and a half to three times the value. Where float64 has no digit of the value, none of kappa either:
        it then is large, and not more. Works under jit and vmap; not differentiable.

    Examples:
        >>> import jax, jax.numpy as jnp, gbsjax
        >>> jax.config.update("jax_enable_x64", True)
        >>> round(float(gbsjax.condition(gbsjax.hafnian, jnp.ones((4, 4)))), 6)
        1.0
    """
    _known("condition", function)
    found = function(**_arguments(function, arguments, options), precision=BOUND["fp64"])
    return _kappa(found.size, found.value)


def count(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Count of an integer matrix, exact whatever its size: perfect matchings, permutations, cycle covers.

    Args:
        function: gbsjax.permanent, hafnian or loop_hafnian.
        arguments: the matrix, integers (NumPy or Python integers of any size) or booleans, and what else the function
            takes; loops are integers too.
        options: as the function takes them (rows, cols; repeats, support, bandwidth), without precision.

    Returns:
        A Python integer; for a batch an object array of them.

    Raises:
        TypeError: another function, entries that are not integers, or traced entries.
        ValueError: what the function raises.

    Notes:
        Cost: that of precision="exact": the number of digits of a bound of the answer, over 7, times a real evaluation.
        For sparse graphs give `support=matrix != 0`.

    Examples:
        >>> import numpy as np, gbsjax
        >>> gbsjax.count(gbsjax.permanent, np.ones((25, 25), int))
        15511210043330985984000000
    """
    _known("count", function, RATIONAL)
    names = ("matrix", "loops") if function is hafnians.loop_hafnian else ("matrix",)
    given = dict(zip(names, arguments, strict=False)) | options
    for name in ("matrix", "loops"):
        if given.get(name) is not None and not _exact.is_whole(_exact.entries("count", name, given[name])):
            raise TypeError(
                f"count: {name} must be integers, got {np.asarray(given[name]).dtype}. Convert with .astype(int) if "
                "they are whole numbers, or use precision='exact' for a rounded value."
            )
    found = function(**given, precision=EXACT)
    integers = np.vectorize(lambda exact: exact.integer(), otypes=[object])(found)
    return integers.item() if integers.ndim == 0 else integers


def evaluate(
    function: Callable[..., Any], *arguments: Any, rtol: float = 1e-10, precision: str = "auto", **options: Any
) -> Evaluation:
    """Evaluation of a matrix function with a rigorous bound of its error, to the accuracy asked for.

    Three tiers: "fp64"; "dd", double-double; and "exact", the exact value of the entries as stored, rounded once, which
    torontonians do not have. "auto" takes, for every element of a batch, the first whose bound is at most rtol times
    the size of the value, or else the last.

    Args:
        function: gbsjax.permanent, hafnian, loop_hafnian, torontonian or loop_torontonian.
        arguments: the matrix (*batch, n, n), and what else the function takes. 32-bit floats, and integers up to 2^53,
            are taken as the float64 that they are.
        rtol: the relative accuracy that "auto" looks for, more than 0.
        precision: "auto", or one tier by name.
        options: as the function takes them (rows, cols; loops, repeats, bandwidth, support; gamma, clicks), without
            precision.

    Returns:
        An Evaluation: value, error_bound, condition, tier_index, each (*batch,); `tier` has the names. The bound may
        exceed rtol |value| for a named tier, for a value of 0 in floats, and for torontonians: it is then what is
        known, inf where nothing is. NaN for the elements of a batch that have a NaN or Inf entry.

    Raises:
        TypeError: another function; a traced matrix with "auto" or "exact", which look at values: under jit name
            "fp64" or "dd"; what the function raises.
        ValueError: an unknown precision, "exact" for a torontonian, rtol that is not positive, what the function
            raises.

    Notes:
        Cost: "fp64" takes 1.3 to 3 times the plain value, "dd" 4 to 15 times (25 for a
        torontonian of 14 modes), "exact" some 50 to 100 times (n = 12 to 16), and "auto" the first for the batch and
        the others for what is left. The values of "fp64" have the accuracy of the plain ones, not always their last
        bit. The proofs are in the documentation. Not differentiable.

    Examples:
        >>> import jax, jax.numpy as jnp, gbsjax
        >>> jax.config.update("jax_enable_x64", True)
        >>> found = gbsjax.evaluate(gbsjax.permanent, jnp.array([[0.1, 0.2], [0.3, 0.4]]))
        >>> bool(abs(found.value - 0.1) <= found.error_bound), found.tier
        (True, 'fp64')
    """
    name = "evaluate"
    _known(name, function)
    tiers = TIERS if function in RATIONAL else TIERS[:2]
    _checks.choice(name, "precision", precision, ("auto", *tiers))
    if not rtol > 0:
        raise ValueError(f"{name}: rtol must be more than 0, got {rtol}.")
    given = _arguments(function, arguments, options)
    if precision in BOUND:
        return _at_tier(function(**given, precision=BOUND[precision]), TIERS.index(precision))
    traced = [key for key, x in given.items() if _checks.is_traced(x)]
    if traced:
        raise TypeError(
            f"{name}: precision={precision!r} looks at values, and {', '.join(traced)} is traced (inside jit, vmap or "
            "grad). Call it outside, or name a tier: precision='fp64' or 'dd'."
        )
    if given["matrix"].dtype == object or np.issubdtype(given["matrix"].dtype, np.integer):
        # Integers that float64 does not hold.
        exact = function(**given, precision=EXACT)
        unknown = jnp.full(exact.shape, jnp.nan)
        return _at_tier(_exactly(exact, False, unknown), 2)
    found = function(**given, precision=BOUND["fp64"])
    value, bound, size = (np.array(x).reshape(-1) for x in found)
    ran = np.zeros(value.shape, np.int8)
    batch = np.shape(found.value)
    for tier in range(1, len(tiers)):
        if precision == "exact":
            risky = np.full(value.shape, tier == 2)
        else:
            risky = ~(bound <= rtol * np.abs(value)) & ~np.isnan(value)
        (left,) = np.nonzero(risky)
        if len(left):
            again = _again(function, given, batch, left, tier, size[left])
            value[left], bound[left] = again.value, again.bound
            ran[left] = tier
    shaped = [jnp.asarray(x.reshape(batch)) for x in (value, bound, size, ran)]
    return Evaluation(shaped[0], shaped[1], _kappa(shaped[2], shaped[0]), shaped[3])


def _at_tier(found: Certified, tier: int) -> Evaluation:
    index = jnp.full(jnp.shape(found.value), tier, jnp.int8)
    return Evaluation(found.value, found.bound, _kappa(found.size, found.value), index)


def _exactly(exact: np.ndarray, is_complex: bool, size: Any) -> Certified:
    value = _exact.as_floats(exact, is_complex)
    # Each part is rounded once; the last term is the least number there is.
    bound = np.abs(value) * 2.0**-53 * (1 + 2.0**-50) + 2.0**-1074
    kept = [number is not None and number.is_float() for number in exact.flat]
    return Certified(jnp.asarray(value), jnp.asarray(np.where(np.reshape(kept, bound.shape), 0, bound)), size)


def _again(
    function: Callable[..., Any], given: dict[str, Any], batch: tuple[int, ...], left: np.ndarray, tier: int, size: Any
) -> Certified:
    """The elements `left` of a batch, at another tier."""

    def some(places: np.ndarray) -> dict[str, Any]:
        chosen = dict(given)
        for key, own in OWN.items():
            if given.get(key) is not None:
                x = np.asarray(given[key])
                whole = np.broadcast_to(x, (*batch, *x.shape[x.ndim - own :]))
                chosen[key] = whole.reshape(-1, *x.shape[x.ndim - own :])[places]
        return chosen

    if given.get("clicks") is not None:
        # All groups padded alike: one program.
        given = given | {"total": int(np.sum(given["clicks"], axis=-1).max())}
    if TIERS[tier] == "exact":
        return _exactly(function(**some(left), precision=EXACT), np.iscomplexobj(given["matrix"]), size)
    full = len(left) // GROUP * GROUP
    groups = [*left[:full].reshape(-1, GROUP), *left[full:].reshape(-1, 1)]
    parts = [function(**some(places), precision=BOUND[TIERS[tier]]) for places in groups]
    return Certified(*(jnp.concatenate(column) for column in zip(*parts, strict=True)))
