"""Fits that find what was put in, errors that are right, constraints that hold, and runs that can be cut anywhere."""

import signal
import subprocess
import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from gbsjax import distribution, fit, gaussian


@pytest.fixture(autouse=True)
def _users_promotion():
    # What a user has; optax itself does not run under strict promotion.
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


class Line(eqx.Module):
    """A model of no physics, whose information is known: y = slope x + offset, and a third parameter of no effect."""

    slope: jax.Array
    offset: jax.Array
    idle: jax.Array

    def __call__(self):
        return self


X = np.array([0.0, 1.0, 2.0, 3.0])
Y = np.array([1.0, 3.1, 4.9, 7.0])
LINE = Line(jnp.array(0.0), jnp.array(0.0), jnp.array(0.5))


def squares(model):
    return jnp.sum((model.slope * X + model.offset - Y) ** 2) / (2 * 0.1**2)


def test_errors_of_a_straight_line_are_the_textbooks():
    loss = fit.LeastSquares(lambda line: line.slope * X + line.offset, Y, 0.1)
    found = fit.fit(LINE, loss, steps=30, optimiser=optax.lbfgs(), progress=False)
    design = np.stack([X, np.ones(4)], axis=1) / 0.1
    covariance = np.linalg.inv(design.T @ design)
    best = covariance @ design.T @ Y / 0.1
    estimates = found.estimates(lambda m: {"slope": m.slope, "sum": m.slope + m.offset, "idle": m.idle})
    assert np.isclose(estimates["slope"].value, best[0], rtol=1e-7)
    assert np.isclose(estimates["slope"].error, np.sqrt(covariance[0, 0]), rtol=1e-10)
    assert np.isclose(estimates["sum"].error, np.sqrt(covariance.sum()), rtol=1e-10)
    assert estimates["idle"].error == np.inf
    assert np.allclose(np.abs(found.unidentified()), [[0, 0, 1]])
    assert np.allclose(found.hessian(), found.information)


def test_a_loss_of_ones_own_has_errors_from_its_hessian():
    found = fit.fit(LINE, squares, steps=30, optimiser=optax.lbfgs(), progress=False)
    assert np.isclose(found.information[0, 0], (X**2).sum() / 0.01)
    assert found.value == pytest.approx(found.history[-1], rel=1e-6)


def test_early_stop_and_free_parameters():
    found = fit.fit(LINE, squares, free=lambda m: m.offset, steps=400, patience=5, tolerance=1e-3, progress=False)
    assert found.stopped == "patience"
    assert len(found.history) < 400
    assert found.model.slope == 0
    assert float(found.model.offset) > 3
    assert list(found.estimates()) == ["offset"]


@pytest.mark.parametrize("value", [0.1, [0.2, 0.9]])
def test_constrained_parameters(value):
    assert np.allclose(fit.Bounded(value, -1.0, 2.0).value, value, atol=1e-15)
    assert np.allclose(fit.Positive(value).value, value, rtol=1e-15)
    far = eqx.tree_at(lambda p: p.raw, fit.Bounded(value), jnp.full(np.shape(value), 800.0))
    assert (np.asarray(far.value) <= 1).all()


def shots(state, number, seed):
    law = np.asarray(distribution.click_distribution(state)).reshape(-1)
    patterns = np.indices((2,) * state.modes).reshape(state.modes, -1).T
    return np.repeat(patterns, np.random.default_rng(seed).multinomial(number, law / law.sum()), axis=0)


SPLIT = np.array([[0.8, 0.6], [-0.6, 0.8]])
TRUE = fit.Device([0.8, 0.6], transmission=SPLIT, survival=0.7)
FIRST = fit.Device([0.5, 0.5], transmission=SPLIT, survival=0.5)


@pytest.mark.full
def test_a_lossy_device_is_recovered_from_clicks():
    loss = fit.click_likelihood(shots(TRUE(), 100_000, 1))
    found = fit.fit(FIRST, loss, steps=40, optimiser=optax.lbfgs(), progress=False)
    estimates = found.estimates()
    for name, true in (("squeezing", [0.8, 0.6]), ("survival", 0.7)):
        value, error = estimates[name]
        assert (np.abs(value - true) < 4 * error).all()
        assert (error < 0.25).all()
    # The Gauss-Newton form is the Hessian up to what the model does not explain.
    assert np.allclose(found.hessian(), found.information, atol=0.05 * np.abs(found.information).max())
    # With clicks of one mode alone, squeezing and loss are one number.
    alone = fit.LeastSquares(distribution.click_rates, [0.2], 0.001)
    one = fit.fit(fit.Device([0.5], survival=0.5), alone, steps=5, progress=False)
    assert all(np.isinf(e.error).all() for e in one.estimates().values())
    assert len(one.unidentified()) == 1


@pytest.mark.full
def test_minibatches_of_photons_estimate_the_whole():
    counts = np.array([[0, 0], [1, 1], [2, 0], [0, 0], [3, 1]])
    loss = fit.photon_likelihood(counts)
    whole, part = loss(FIRST), loss.part(FIRST, jnp.arange(5))
    assert np.isclose(whole, part, rtol=1e-13)
    selected = fit.photon_likelihood(
        counts, selected=lambda s: jnp.log(distribution.total_photons(s, 5).probabilities.sum())
    )
    assert selected(FIRST) < whole


SCRIPT = """
import sys, jax, numpy as np, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
from gbsjax import fit
clicks = np.array([[0, 0], [0, 1], [1, 1], [1, 0], [0, 0], [0, 0]])
device = fit.Device([0.5, 0.4], survival=0.5)
options = {"steps": 400, "batch": 3, "seed": 4, "checkpoint": sys.argv[1], "every": 7, "progress": False}
found = fit.fit(device, fit.click_likelihood(clicks), **options)
np.save(sys.argv[2], np.concatenate([found.model.squeezing, found.history]))
"""


@pytest.mark.full
def test_killed_at_random_steps_and_resumed_to_the_same_bits(tmp_path):
    def command(name):
        return [sys.executable, "-c", SCRIPT, tmp_path / f"{name}.npz", tmp_path / f"{name}.npy"]

    subprocess.run(command("whole"), check=True)
    steps = np.sort(np.random.default_rng().integers(7, 390, size=3))
    for wanted in steps:
        run = subprocess.Popen(command("cut"))
        while run.poll() is None and _steps(tmp_path / "cut.npz") < wanted:
            time.sleep(0.0005)
        run.send_signal(signal.SIGKILL)
        run.wait()
    subprocess.run(command("cut"), check=True)
    assert np.load(tmp_path / "cut.npy").tobytes() == np.load(tmp_path / "whole.npy").tobytes(), steps


def _steps(path):
    if not path.exists():
        return 0
    with np.load(path) as archive:
        return len(archive["history"])


def test_checkpoints_of_other_fits_are_refused(tmp_path):
    path = tmp_path / "line.npz"
    options = {"checkpoint": path, "progress": False}
    one = fit.fit(LINE, squares, steps=20, **options)
    again = fit.fit(LINE, squares, steps=20, **options)
    assert one.history.tobytes() == again.history.tobytes()
    with pytest.raises(ValueError, match="other settings"):
        fit.fit(LINE, squares, steps=21, **options)
    with pytest.raises(ValueError, match="whose loss began"):
        fit.fit(LINE, lambda m: 2 * squares(m), steps=20, **options)
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not a readable checkpoint"):
        fit.fit(LINE, squares, steps=20, **options)
    assert [p.name for p in tmp_path.iterdir()] == ["line.npz"]


def test_ctrl_c_keeps_what_was_done(tmp_path):
    path = tmp_path / "line.npz"

    def interrupted(done):
        if done == 13:
            raise KeyboardInterrupt

    whole = fit.fit(LINE, squares, steps=30, progress=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gbsjax.fit._fit._stalled", lambda history, *_: interrupted(len(history)))
        with pytest.raises(KeyboardInterrupt):
            fit.fit(LINE, squares, steps=30, checkpoint=path, progress=False)
    assert _steps(path) == 13
    rest = fit.fit(LINE, squares, steps=30, checkpoint=path, progress=False)
    assert rest.history.tobytes() == whole.history.tobytes()


DESCRIPTION = """
[source]
squeezing = "r.txt"
phase = [0.1, 0.2]

[interferometer]
transmission = "t.npy"
calibration = 1.1

[displacement]
real = [0.1, 0.2]
imaginary = [0.0, 0.3]

[loss]
survival = [0.9, 0.8]

[noise]
photons = 0.01

[detectors]
kind = "number"

[fit]
parameters = ["calibration", "noise"]
"""


def test_devices_in_files(tmp_path):
    (tmp_path / "r.txt").write_text("0.5\n0.4\n")
    np.save(tmp_path / "t.npy", 0.7 * np.eye(2) + 0j)
    (tmp_path / "d.toml").write_text(DESCRIPTION)
    found = fit.load_device(tmp_path / "d.toml")
    assert found.detectors == "number"
    assert [float(part.value) for part in found.free(found.device)] == pytest.approx([1.1, 0.01])
    again = fit.load_device(fit.save_device(tmp_path / "again.toml", found))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(again), strict=True):
        assert np.allclose(one, other, rtol=1e-14)
    assert found.device.transmission == again.device.transmission
    assert again.device().modes == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("squeezing = ", "not a readable TOML"),
        ("[sources]\n", "is not one of"),
        ("[source]\nr = [1.0]\n", "knows"),
        ("[source]\nkind = 'squeezed'\n", "needs squeezing"),
        ("[source]\nsqueezing = [0.1]\nkind = 'single'\n", "source must be one of"),
        ("[source]\nsqueezing = [0.1]\n[interferometer]\ntheta = []\n", "together"),
        ("[source]\nsqueezing = [0.1]\n[interferometer]\ntransmission = 'none.npy'\n", "none.npy"),
        ("[source]\nsqueezing = [0.1]\n[loss]\nsurvival = 1.0\n", "strictly between"),
        ("[source]\nsqueezing = [0.1]\n[fit]\nparameters = ['noise']\n", "parameters must be one of"),
    ],
)
def test_descriptions_with_faults_are_named(tmp_path, text, message):
    path = tmp_path / "d.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as raised:
        fit.load_device(path)
    assert str(raised.value).startswith(str(path))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit.Bounded(1.0), "strictly between"),
        (lambda: fit.Positive(0.0), "above 0"),
        (lambda: fit.click_likelihood(np.zeros((3, 2))), "integers of shape"),
        (lambda: fit.click_likelihood(np.zeros((0, 2), int)), "no shot"),
        (lambda: fit.LeastSquares(distribution.click_rates, [0.1], 0.0), "above 0"),
        (lambda: fit.fit(LINE, squares, steps=0), "1 or more"),
        (lambda: fit.fit(LINE, squares, batch=3), "loss of shots"),
        (lambda: fit.fit(LINE, squares, free=lambda m: ()), "no free parameter"),
        (lambda: fit.fit(LINE, lambda m: m.slope / 0 * jnp.nan, progress=False), "not finite"),
        (lambda: fit.Device([0.1], calibration=1.0), "there is none"),
        (lambda: fit.Device([0.1], transmission=np.eye(1), mesh=gaussian.Mesh([], [], [0.0])), "Pass one"),
    ],
)
def test_bad_input_says_what_to_do(call, message):
    with pytest.raises(ValueError, match=message):
        call()
