"""The command: values, bounds, JSON, and one clear line for a bad file."""

import json
import math
import sys

import jax
import numpy as np
import pytest

from gbsjax import cli


@pytest.fixture
def command(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["gbsjax", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def ones(tmp_path):
    path = tmp_path / "ones.npy"
    np.save(path, np.ones((6, 6)))
    return path


def test_value_bound_and_time(command, ones):
    code, out, _ = command("eval", "permanent", ones, "--bound")
    assert code == 0
    assert "720.0" in out
    assert "error bound" in out
    assert "with compilation" in out


def test_json(command, ones):
    code, out, _ = command("eval", "permanent", ones, "--json", "--bound")
    report = json.loads(out)
    assert code == 0
    assert abs(report["value"] - math.factorial(6)) <= report["error_bound"] < 1e-6
    assert report["second_call_s"] > 0


def test_every_format(command, tmp_path):
    matrix = np.array([[1, 2j], [3, 4]])
    np.save(tmp_path / "a.npy", matrix)
    np.savez(tmp_path / "a.npz", matrix=matrix)
    (tmp_path / "a.csv").write_text("1,2i\n3, 4\n")
    (tmp_path / "a.mtx").write_text(
        "%%MatrixMarket matrix coordinate complex general\n2 2 4\n1 1 1 0\n1 2 0 2\n2 1 3 0\n2 2 4 0\n"
    )
    for suffix in ("npy", "npz", "csv", "mtx"):
        code, out, err = command("eval", "permanent", tmp_path / f"a.{suffix}", "--json")
        assert code == 0, err
        assert json.loads(out)["value"] == {"re": 4.0, "im": 6.0}


def test_version_and_help(command):
    assert command("--version")[1].startswith("gbsjax ")
    assert "eval" in command("--help")[1]


BAD = {
    "missing.npy": None,
    "noise.npy": b"\x93NUMPY not really",
    "pickle.npy": b"\x80\x04]\x94.",
    "noise.npz": b"PK\x03\x04 broken",
    "ragged.csv": b"1,2\n3\n",
    "words.csv": b"a,b\nc,d\n",
    "tall.csv": b"1\n2\n",
    "nan.csv": b"nan,1\n1,1\n",
    "empty.csv": b"",
    "broken.mtx": b"%%MatrixMarket matrix array real general\n2 2\n1\n",
    "matrix.txt": b"1",
    "huge.csv": ("\n".join([",".join(["1"] * 60)] * 60)).encode(),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_file_is_one_line_and_exit_2(command, tmp_path, name):
    path = tmp_path / name
    if BAD[name] is not None:
        path.write_bytes(BAD[name])
    before = sorted(tmp_path.iterdir())
    code, out, err = command("eval", "permanent", path)
    assert code == 2
    assert out == ""
    assert err.startswith(f"gbsjax: {path}")
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_two_arrays_and_integers_beyond_float64(command, tmp_path):
    np.savez(tmp_path / "two.npz", a=np.ones((2, 2)), b=np.ones((2, 2)))
    assert "exactly one" in command("eval", "permanent", tmp_path / "two.npz")[2]
    np.save(tmp_path / "big.npy", np.array([[2**53 + 1]]))
    assert "2^53" in command("eval", "permanent", tmp_path / "big.npy")[2]


def test_unknown_function_and_command(command, ones):
    assert command("eval", "determinant", ones)[0] == 2
    assert command("nothing")[0] == 2


DEVICE = """
[source]
squeezing = [0.6]

[loss]
survival = 0.7

[fit]
parameters = ["squeezing"]
"""


@pytest.fixture
def device(tmp_path):
    path = tmp_path / "device.toml"
    path.write_text(DEVICE)
    return path


def test_probabilities_of_patterns(command, tmp_path, device):
    (tmp_path / "p.csv").write_text("0\n1\n")
    code, out, _ = command("probs", tmp_path / "p.csv", "--model", device)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "pattern,probability,log_probability"
    assert sum(float(line.split(",")[1]) for line in lines[1:]) == pytest.approx(1)
    code, out, _ = command("probs", tmp_path / "p.csv", "--model", device, "--json")
    assert [math.exp(x) for x in json.loads(out)["log_probability"]] == pytest.approx(json.loads(out)["probability"])


@pytest.mark.full
def test_fit_of_a_file(command, tmp_path, device):
    # No click in three of four shots: 1 / sqrt(1 + s (2 - s) sinh^2 r) = 3/4 at survival s.
    np.save(tmp_path / "clicks.npy", np.array([[0], [0], [1], [0]] * 50, dtype=np.uint8))
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        arguments = ("fit", tmp_path / "clicks.npy", "--model", device, "--out", tmp_path / "out", "--steps", 200)
        code, out, _ = command(*arguments)
        assert code == 0
        assert "squeezing[0]" in out
        found = json.loads((tmp_path / "out" / "result.json").read_text())
        sinh = math.sinh(found["estimates"]["squeezing"]["value"][0])
        assert 1 / math.sqrt(1 + 0.7 * 1.3 * sinh**2) == pytest.approx(0.75, abs=1e-4)
        names = {"result.json", "device.toml", "fit.png", "checkpoint.npz"}
        assert {path.name for path in (tmp_path / "out").iterdir()} == names
        code, _, err = command(*arguments)
    assert code == 2
    assert "not written over" in err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.csv", "0,1\n", "the device has 1 modes"),
        ("p.csv", "0.5\n", "whole numbers"),
        ("p.csv", "2\n", "threshold detectors"),
        ("p.csv", "", "p.csv"),
        ("p.txt", "0\n", "must end in"),
    ],
)
def test_patterns_with_faults_are_one_line(command, tmp_path, device, name, content, message):
    (tmp_path / name).write_text(content)
    for order in (["probs"], ["fit", "--out", tmp_path / "out"]):
        code, _, err = command(order[0], tmp_path / name, "--model", device, *order[1:])
        assert code == 2
        assert message in err
        assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_device_with_faults_is_one_line(command, tmp_path, ones):
    (tmp_path / "device.toml").write_text("[source]\n")
    code, _, err = command("probs", ones, "--model", tmp_path / "device.toml")
    assert code == 2
    assert "needs squeezing" in err


@pytest.mark.parametrize(("function", "value"), [("hafnian", 15), ("loop_hafnian", 76)])
def test_other_functions(command, ones, function, value):
    code, out, _ = command("eval", function, ones, "--json")
    assert code == 0
    assert json.loads(out)["value"] == value


@pytest.mark.full
def test_a_bound_of_a_torontonian(command, tmp_path):
    np.save(tmp_path / "o.npy", np.diag([0.5, 0.5]))
    code, out, _ = command("eval", "torontonian", tmp_path / "o.npy", "--bound", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["tier"] == "fp64"
    assert abs(found["value"] - 1) <= found["error_bound"] < 1e-14
