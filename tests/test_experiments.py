"""The studies in small: artifacts that describe themselves, are never overwritten, and can be drawn again."""

import json
import sys

import numpy as np
import pytest

from experiments import (
    _arguments,
    _certified,
    _inputs,
    _provenance,
    _timing,
    accuracy,
    accuracy_permanent,
    accuracy_torontonian,
    calibrate_auto,
    tightness,
)


def test_inputs_are_seeded_and_what_they_say():
    assert np.array_equal(
        _inputs.gaussian(_inputs.generator(1, 2), 3, 3), _inputs.gaussian(_inputs.generator(1, 2), 3, 3)
    )
    matrix = _inputs.unitary(_inputs.generator(0), 5)
    assert np.allclose(matrix @ matrix.conj().T, np.eye(5))
    assert np.linalg.norm(_inputs.lossy(_inputs.generator(0), 4), 2) < 1
    block = _inputs.cancelling(_inputs.generator(0), 4, 1e-3)[:2, :2]
    assert np.isclose(block[0, 0] * block[1, 1] + block[0, 1] * block[1, 0], 2e-3)


def test_artifact_is_never_overwritten(tmp_path):
    record = _provenance.artifact("trial", {"seed": 1})
    first, second = (_provenance.write(record, tmp_path, "a") for _ in range(2))
    assert first != second
    assert sorted(tmp_path.iterdir()) == sorted([first, second])
    assert _provenance.read(first, "trial")["environment"]["packages"]["jax"]
    with pytest.raises(ValueError, match="not an artifact of kind 'other'"):
        _provenance.read(first, "other")
    (tmp_path / "half.json").write_text('{"kind": ')
    with pytest.raises(ValueError, match="not a readable artifact"):
        _provenance.read(tmp_path / "half.json", "trial")


def test_no_nan_reaches_an_artifact(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        _provenance.write(_provenance.artifact("trial", {}) | {"x": float("nan")}, tmp_path, None)
    assert not list(tmp_path.iterdir())


@pytest.mark.full
def test_accuracy_study_in_small(tmp_path, monkeypatch, capsys):
    arguments = ["study", "--sizes", "2", "--seeds", "2", "--dps", "40", "--out", str(tmp_path), "--tag", "small"]
    monkeypatch.setattr(sys, "argv", arguments)
    accuracy_permanent.main()
    (path,) = tmp_path.glob("*-small.json")
    assert path.with_suffix(".png").stat().st_size > 10_000
    record = json.loads(path.read_text())
    assert {"kind", "created_utc", "commit", "environment", "options", "sizes", "cancellation"} <= set(record)
    assert "_s" not in "".join(record["sizes"][0]["rows"][0])
    assert [row["n"] for row in record["sizes"]] == [2]
    hardest = record["cancellation"][-1]
    assert hardest["delta"] == pytest.approx(1e-14)
    # The expected finding: at this cancellation float64 keeps one to four digits.
    assert 1e-4 < hardest["summary"]["gbsjax_fp64"]["max"] < 1e-1
    assert hardest["summary"]["gbsjax_dd"]["max"] < 2.3e-16
    assert hardest["summary"]["gbsjax_exact"]["max"] < 1.6e-16
    assert "kappa" in capsys.readouterr().out


@pytest.mark.full
def test_studies_of_certificates_in_small(tmp_path, capsys):
    arguments = (["permanent", "hafnian"], [4], 3, 30, None, tmp_path, None)
    record = json.loads((path := tightness.run(*arguments)).read_text())
    assert {(row["function"], row["n"]) for row in record["rows"]} == {("permanent", 4), ("hafnian", 4)}
    assert sum(cell["violations"] for cell in record["summary"]) == 0
    assert all(row["dd"]["bound"] < 1e-15 for row in record["rows"] if row["regime"] == "physical")
    assert tightness.plot(path).exists()
    record = json.loads((path := calibrate_auto.run(*arguments)).read_text())
    assert all(cell["certificate"]["false_trust"] == 0 for cell in record["summary"])
    physical = [cell for cell in record["summary"] if cell["regime"] == "physical"]
    assert all(cell["certificate"]["trusted"] == cell["matrices"] for cell in physical)
    assert calibrate_auto.plot(path).exists()
    assert "0 violations" in capsys.readouterr().out
    record = json.loads((path := accuracy.run(*arguments)).read_text())
    assert all(row["exact"]["error"] <= 2.0**-53 for row in record["rows"])
    assert accuracy.plot(path).exists()
    with pytest.raises(ValueError, match="got determinant"):
        _certified.functions("permanent,determinant")


@pytest.mark.full
def test_torontonian_study_in_small(tmp_path, capsys, monkeypatch):
    with pytest.raises(ValueError, match=r"no T_full\.npy, squeezing_parameters\.txt"):
        accuracy_torontonian.device(tmp_path)
    np.save(tmp_path / "T_full.npy", np.sqrt(0.5) * _inputs.unitary(_inputs.generator(0), 4))
    np.savetxt(tmp_path / "squeezing_parameters.txt", [1.0, 1.2])
    np.save(tmp_path / "events_band13_32.npy", np.array([[1, 1, 0, 1], [1, 1, 1, 0]], np.int8))
    monkeypatch.setattr(accuracy_torontonian, "MOST_EXACT", 1)
    path = accuracy_torontonian.run(tmp_path, [1, 2], 2, 30, tmp_path, None)
    record = json.loads(path.read_text())
    assert [row["k"] for row in record["rows"]] == [1, 1, 2, 2]
    assert ["reference_numpy" in row["errors"] for row in record["rows"]] == [True, True, False, False]
    assert all(row["errors"]["gbsjax_fp64"] <= row["bounds"]["fp64"] + 1e-16 for row in record["rows"])
    assert all(row["bounds"]["dd"] < 1e-15 for row in record["rows"])
    assert all(row["errors"]["gbsjax_fp64"] < 1e-15 * row["kappa"] * row["cond"] for row in record["rows"])
    assert accuracy_torontonian.plot(path).exists()
    assert "kappa" in capsys.readouterr().out


def test_timing_stops_at_wrong_numbers():
    timed = _timing.interleaved({"one": lambda: np.ones(2), "other": lambda: np.ones(2) * 1.1}, 3, 0.1)
    assert len(timed["one"].samples_s) == 3
    with pytest.raises(ValueError, match="checksums disagree"):
        _timing.agree(timed, 1e-8)
    _timing.agree({"one": timed["one"]}, 1e-8)


@pytest.mark.full
@pytest.mark.parametrize("function", ["permanent", "torontonian"])
def test_throughput_study_in_small(tmp_path, function):
    throughput = pytest.importorskip("experiments.throughput", reason="needs the experiments extra")
    path = throughput.run(function, [4], [1, 8], 3, 0.1, tmp_path, None)
    record = json.loads(path.read_text())
    engines = {row["engine"] for row in record["rows"]}
    assert {"gbsjax jit", "gbsjax eager", "The Walrus"} <= engines
    assert all(row["first_call_s"] > 0 and len(row["samples_s"]) >= 3 for row in record["rows"])
    assert throughput.plot(path).exists()


def test_spans():
    assert _arguments.span("2-4,8") == [2, 3, 4, 8]
    with pytest.raises(Exception, match="not a list of sizes"):
        _arguments.span("two")


def test_bad_options_are_one_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["study", "--dps", "5"])
    with pytest.raises(SystemExit) as stop:
        _arguments.main(accuracy_permanent.main)
    assert stop.value.code == 2
    assert capsys.readouterr().err == "error: --dps must be 30 or more to judge float64, got 5.\n"
