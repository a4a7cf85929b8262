"""Certificates hold against exact rationals and Arb balls; `auto` climbs for those elements that need it."""

from fractions import Fraction

import flint
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gbsjax
import gbsjax_ref
from experiments import _inputs
from experiments._certified import TRUTH
from gbsjax._permanent import api

FUNCTIONS = [getattr(gbsjax, name) for name in TRUTH]
TORONTONIANS = (gbsjax.torontonian, gbsjax.loop_torontonian)


def beyond(value, bound, truth):
    """How much farther than its bound a value is from the truth: exactly, 0 or less where the bound holds."""
    value, bound = complex(value), Fraction(float(bound))
    error = (Fraction(value.real) - truth.real) ** 2 + (Fraction(value.imag) - truth.imag) ** 2
    return error - bound**2


def check(function, inputs, tiers=("fp64", "dd")):
    truths = [TRUTH[function.__name__](*arguments, dps=60) for arguments in inputs]
    for tier in tiers:
        found = gbsjax.evaluate(function, *(np.stack(column) for column in zip(*inputs, strict=True)), precision=tier)
        for value, bound, truth in zip(found.value.tolist(), found.error_bound.tolist(), truths, strict=True):
            assert bound == np.inf or beyond(value, bound, truth) <= 0, (function.__name__, tier)


def inputs_of(function, n, seeds):
    families = _inputs.FAMILIES[function.__name__].values()
    return [_inputs.arguments(family, seed, n) for family in families for seed in seeds]


@pytest.mark.parametrize(
    ("function", "n"),
    [
        (gbsjax.permanent, 4),
        (gbsjax.hafnian, 4),
        *(
            pytest.param(*case, marks=pytest.mark.full)
            for case in [
                (gbsjax.loop_hafnian, 4),
                (gbsjax.permanent, 8),
                (gbsjax.hafnian, 8),
                (gbsjax.torontonian, 4),
                (gbsjax.loop_torontonian, 2),
            ]
        ),
    ],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_bounds_hold(function, n):
    check(function, inputs_of(function, n, range(4)))


@pytest.mark.full
@pytest.mark.parametrize("n", [1, 5])
def test_bounds_of_real_permanents(n):
    check(gbsjax.permanent, [(_inputs.badly_scaled(_inputs.generator(k, n), n).real,) for k in range(6)])


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_no_violation_in_twenty_thousand(function):
    sizes = (2, 3, 4, 5, 6) if function is gbsjax.permanent else (2, 4, 6)
    families = len(_inputs.FAMILIES[function.__name__])
    each = -(-20000 // families // len(sizes))
    for n in sizes:
        for first in range(0, each, 100):
            check(function, inputs_of(function, n, range(first, first + 100)))


def test_bounds_hold_against_arb():
    # Another arithmetic of another library: balls of 200 bits, expanded along rows.
    flint.ctx.prec = 200

    def permanent(rows):
        if not rows:
            return flint.acb(1)
        rest = rows[1:]
        return sum(
            (entry * permanent([row[:j] + row[j + 1 :] for row in rest]) for j, entry in enumerate(rows[0])),
            flint.acb(0),
        )

    matrices = [_inputs.unitary(_inputs.generator(k), 4) for k in range(3)]
    matrices.append(_inputs.cancelling(_inputs.generator(9), 4, 1e-12))
    for tier in ("fp64", "dd", "exact"):
        found = gbsjax.evaluate(gbsjax.permanent, np.stack(matrices), precision=tier)
        for matrix, value, bound in zip(matrices, found.value.tolist(), found.error_bound.tolist(), strict=True):
            ball = permanent([[flint.acb(x.real, x.imag) for x in row] for row in matrix.tolist()])
            error = abs(ball - flint.acb(value.real, value.imag))
            # Certainly no larger, whatever the ball's own radius.
            assert error <= flint.arb(bound)


@pytest.mark.full
def test_collisions():
    matrix = _inputs.unitary(_inputs.generator(1), 3)
    rows, cols = np.array([[4, 1, 0], [1, 1, 0]]), np.array([[2, 2, 1], [0, 1, 1]])
    symmetric = _inputs.symmetric(_inputs.generator(2), 3)
    repeats = np.array([[4, 1, 1], [1, 1, 0]])
    for tier in ("fp64", "dd"):
        found = gbsjax.evaluate(gbsjax.permanent, matrix, rows=rows, cols=cols, precision=tier)
        for k in range(2):
            truth = gbsjax_ref.permanent_exact(matrix, rows=rows[k], cols=cols[k])
            assert beyond(found.value[k], found.error_bound[k], truth) <= 0
        found = gbsjax.evaluate(gbsjax.loop_hafnian, symmetric, repeats=repeats, precision=tier)
        for k in range(2):
            truth = gbsjax_ref.loop_hafnian_exact(symmetric, repeats=repeats[k])
            assert beyond(found.value[k], found.error_bound[k], truth) <= 0


@pytest.mark.full
def test_bounds_are_useful():
    # Medians over physical input; the study of tightness has the distribution.
    for function, n, most in ((gbsjax.permanent, 8, 150), (gbsjax.hafnian, 8, 500)):
        physical = _inputs.FAMILIES[function.__name__]["physical"]
        matrices = [physical(_inputs.generator(k, n), n) for k in range(30)]
        found = gbsjax.evaluate(function, np.stack(matrices), precision="fp64")
        truths = [TRUTH[function.__name__](matrix, dps=60) for matrix in matrices]
        errors = [
            truth.relative_error(value) * abs(value) for truth, value in zip(truths, found.value.tolist(), strict=True)
        ]
        assert np.median(np.asarray(found.error_bound) / np.array(errors, float)) <= most
        assert (np.asarray(found.error_bound) <= 1e-10 * np.abs(found.value)).mean() >= 0.95


@pytest.mark.full
def test_torontonians_of_clicks_end_at_dd():
    matrix = _inputs.click_matrix(_inputs.generator(1), 3, squeezing=1e-3)
    clicks = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 1]])
    found = gbsjax.evaluate(gbsjax.torontonian, matrix, clicks=clicks, rtol=1e-12)
    assert found.tier.tolist() == ["dd", "fp64", "fp64", "dd"]
    for k, pattern in enumerate(clicks):
        rows = np.flatnonzero(np.tile(pattern, 2))
        truth = TRUTH["torontonian"](matrix[np.ix_(rows, rows)], dps=60)
        assert beyond(found.value[k], found.error_bound[k], truth) <= 0
        assert found.error_bound[k] <= 1e-12 * abs(found.value[k])
    # Far beyond what double-double knows: it says so.
    hopeless = gbsjax.evaluate(gbsjax.torontonian, matrix, clicks=clicks, rtol=1e-30)
    assert hopeless.tier.tolist() == ["dd", "fp64", "dd", "dd"]
    some = clicks.any(axis=1)
    assert np.all((np.asarray(hopeless.error_bound) > 1e-30 * abs(np.asarray(hopeless.value)))[some])
    with pytest.raises(ValueError, match=r"must be one of \['auto', 'fp64', 'dd'\], got 'exact'"):
        gbsjax.evaluate(gbsjax.torontonian, matrix, precision="exact")
    with pytest.raises(TypeError, match="must be one of \\['permanent', 'hafnian', 'loop_hafnian'\\]"):
        gbsjax.count(gbsjax.torontonian, np.eye(2, dtype=int))


def test_a_torontonian_that_is_nearly_singular_says_that_nothing_is_known():
    found = gbsjax.evaluate(gbsjax.torontonian, np.diag([1 - 2.0**-53] * 2), precision="fp64")
    assert float(found.error_bound) == np.inf
    assert np.isnan(jax.jit(lambda m: gbsjax.evaluate(gbsjax.torontonian, m, precision="fp64").value)(np.eye(2) * 2))


def test_auto_climbs_where_it_must():
    batch = [_inputs.unitary(_inputs.generator(k), 4) for k in range(4)]
    batch[1] = _inputs.cancelling(_inputs.generator(8), 4, 1e-12)
    batch[2] = np.kron(np.eye(2), [[0.1, 0.2], [0.2, -0.4]]).astype(
        complex
    )  # the stored entries cancel to the last bit
    batch.append(np.zeros((4, 4), complex))
    batch.append(np.full((4, 4), np.nan, complex))
    found = gbsjax.evaluate(gbsjax.permanent, np.stack(batch))
    assert found.tier.tolist() == ["fp64", "dd", "exact", "fp64", "exact", "fp64"]
    assert np.isnan(found.value[-1])
    assert np.isnan(found.error_bound[-1])
    assert complex(found.value[4]) == float(found.error_bound[4]) == 0
    for k in range(5):
        truth = gbsjax_ref.permanent_exact(batch[k])
        assert beyond(found.value[k], found.error_bound[k], truth) <= 0
        assert found.error_bound[k] <= 1e-10 * abs(found.value[k])
    # More elements that need more: the same programs.
    before = api._evaluate._cache_size()
    batch[0] = batch[3] = batch[1]
    again = gbsjax.evaluate(gbsjax.permanent, np.stack(batch))
    assert api._evaluate._cache_size() == before
    assert again.tier.tolist() == ["dd", "dd", "exact", "dd", "exact", "fp64"]


@pytest.mark.full
def test_groups_of_elements():
    batch = np.stack([_inputs.cancelling(_inputs.generator(k), 3, 1e-12) for k in range(40)])
    found = gbsjax.evaluate(gbsjax.permanent, batch)
    assert set(found.tier) == {"dd"}
    assert np.array_equal(found.value, gbsjax.permanent(batch, precision="dd"))


@pytest.mark.full
def test_the_cliff():
    errors = {"fp64": [], "dd": [], "exact": []}
    for seed in range(8):
        matrix = _inputs.cancelling(_inputs.generator(seed), 6, 1e-14)
        truth = gbsjax_ref.permanent_exact(matrix)
        for tier, found in errors.items():
            value = complex(gbsjax.permanent(matrix, precision=tier))
            found.append(float(truth.relative_error(value)))
            assert tier != "exact" or value == complex(truth)
    assert 1e-4 < np.median(errors["fp64"]) < 1e-1
    assert max(errors["dd"]) < 2e-16


@pytest.mark.full
def test_condition():
    matrix = _inputs.unitary(_inputs.generator(3), 5)
    # The reference sums signs over columns.
    expected = gbsjax_ref.permanent_condition(matrix.T)
    assert float(gbsjax.condition(gbsjax.permanent, matrix)) == pytest.approx(float(expected), rel=1e-6)
    symmetric = _inputs.symmetric(_inputs.generator(3), 6)
    expected = float(gbsjax_ref.hafnian_majorant(symmetric)) / abs(complex(gbsjax.hafnian(symmetric)))
    for found in (
        gbsjax.condition(gbsjax.hafnian, symmetric),
        gbsjax.evaluate(gbsjax.hafnian, symmetric, precision="dd").condition,
    ):
        assert float(found) == pytest.approx(expected, rel=1e-8)
    assert gbsjax.condition(gbsjax.hafnian, np.ones((3, 3))) == 1


@pytest.mark.full
def test_under_jit_and_vmap():
    batch = np.stack([_inputs.unitary(_inputs.generator(k), 3) for k in range(3)])
    for tier in ("fp64", "dd"):
        one = jax.jit(jax.vmap(lambda m, tier=tier: gbsjax.evaluate(gbsjax.permanent, m, precision=tier)))
        found, expected = one(batch), gbsjax.evaluate(gbsjax.permanent, batch, precision=tier)
        assert np.allclose(found.value, expected.value, rtol=1e-13)
        assert np.allclose(found.error_bound, expected.error_bound, rtol=0.5)
        assert found.tier.tolist() == [tier] * 3


@pytest.mark.full
def test_narrow_input_is_taken_as_it_is():
    matrix = np.asarray([[0.1, 0.2], [0.3, 0.4]], np.float32)
    found = gbsjax.evaluate(gbsjax.permanent, matrix)
    assert found.value.dtype == jnp.float64
    assert float(found.value) == complex(gbsjax_ref.permanent_exact(matrix.astype(float))).real
    assert gbsjax.evaluate(gbsjax.permanent, np.eye(3, dtype=int)).value == 1
    big = gbsjax.evaluate(gbsjax.permanent, np.array([[2**60 + 1]]))
    assert (big.value, big.tier) == (2.0**60, "exact")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gbsjax.evaluate(gbsjax.permanent, np.ones((2, 2)), precision="fp32"), ValueError, "'auto', 'fp64'"),
        (lambda: gbsjax.evaluate(gbsjax.permanent, np.ones((2, 2)), rtol=0), ValueError, "rtol must be more than 0"),
        (lambda: gbsjax.evaluate(np.sum, np.ones((2, 2))), TypeError, "must be one of ['permanent'"),
        (
            lambda: jax.jit(lambda m: gbsjax.evaluate(gbsjax.permanent, m).value)(np.ones((2, 2))),
            TypeError,
            "name a tier: precision='fp64' or 'dd'",
        ),
        (
            lambda: jax.grad(lambda m: gbsjax.evaluate(gbsjax.permanent, m, precision="fp64").value)(np.ones((2, 2))),
            TypeError,
            "certificates have no derivative",
        ),
        (
            lambda: jax.grad(lambda m: gbsjax.numbers.words(gbsjax.hafnian, m)[1])(np.ones((2, 2))),
            TypeError,
            "have no derivative",
        ),
    ],
)
def test_message(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert message in str(raised.value)
