"""The demo's fit: true parameters within their errors, and a distribution nearer the truth than the counts."""

import jax
import numpy as np
import pytest

from gbsjax import _demo


@pytest.mark.full
def test_demo_recovers_the_device(tmp_path):
    # What a user has; optax itself does not run under strict promotion.
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        result = _demo.run(out=tmp_path, seed=7, shots=10_000, steps=300)
    assert result["after"] < result["shot_noise"] < 0.1 < result["before"]
    assert np.abs(result["pulls"]).max() < 3.5
    assert {path.name for path in tmp_path.iterdir()} == {"recovered.png", "fit.png"}
