"""The demo's model: probabilities that are probabilities, and a fit that goes downhill to the shot noise."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from gbsjax import _demo


@pytest.fixture(autouse=True)
def _users_promotion():
    # What a user has; optax itself does not run under strict promotion.
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.mark.full
def test_probabilities_sum_to_one_at_any_loss():
    device = _demo.random_device(jax.random.key(0))
    known = _demo.outcomes()
    assert jnp.allclose(device.unitary() @ device.unitary().conj().T, jnp.eye(_demo.MODES), atol=1e-14)
    for survival in (-3.0, 0.0, 30.0):
        lossy = eqx.tree_at(lambda d: d.survival, device, jnp.asarray(survival))
        assert jnp.allclose(jnp.sum(_demo.probabilities(lossy, known)), 1, atol=1e-12)


def test_hong_ou_mandel(monkeypatch):
    monkeypatch.setattr(_demo, "MODES", 2)
    monkeypatch.setattr(_demo, "INPUTS", (0, 1))
    device = _demo.Interferometer(jnp.array([jnp.pi / 4]), jnp.array([0.3]), jnp.asarray(40.0))
    known = _demo.outcomes()
    found = dict(zip(map(tuple, known.patterns.tolist()), _demo.probabilities(device, known).tolist(), strict=True))
    assert found[1, 1] == pytest.approx(0, abs=1e-15)
    assert found[2, 0] == pytest.approx(0.5)


@pytest.mark.full
def test_demo_recovers_the_distribution(tmp_path):
    result = _demo.run(out=tmp_path, data=None, seed=7, steps=400)
    assert result["after"] < 1.2 * result["shot_noise"] < 0.1 < result["before"]
    assert abs(result["survival"] - _demo.SURVIVAL) < 0.01
    assert {path.name for path in tmp_path.iterdir()} == {"likelihood.png", "probabilities.png"}
