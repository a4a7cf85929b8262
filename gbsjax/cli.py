"""The `gbsjax` command."""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from gbsjax._files import Refused, read_matrix, read_patterns

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
FUNCTIONS = ("permanent", "hafnian", "loop_hafnian", "torontonian")


def _as_json(value: complex | float) -> Any:
    if isinstance(value, complex):
        return {"re": _as_json(value.real), "im": _as_json(value.imag)}
    # JSON has no Inf.
    return value if np.isfinite(value) else str(value)


@app.command("eval")
def evaluate(
    function: Annotated[str, typer.Argument(help=f"One of: {', '.join(FUNCTIONS)}.")],
    matrix: Annotated[Path, typer.Argument(help="A square matrix: .npy, .npz (one array), .csv or .mtx.")],
    bound: Annotated[bool, typer.Option("--bound", help="To 10 digits, with a rigorous bound of the error.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Evaluate a matrix function on the matrix in a file: value, error bound where asked, time."""
    if function not in FUNCTIONS:
        raise Refused(f"function must be one of {', '.join(FUNCTIONS)}, got {function!r}.")
    entries = read_matrix(matrix)
    import jax

    jax.config.update("jax_enable_x64", True)
    import gbsjax

    called = getattr(gbsjax, function)

    def timed() -> tuple[Any, float]:
        start = time.perf_counter()
        with gbsjax.show_progress(function):
            found = gbsjax.evaluate(called, entries) if bound else jax.block_until_ready(called(entries))
        return found, time.perf_counter() - start

    try:
        (_, first), (found, second) = timed(), timed()
    except ValueError as error:
        raise Refused(f"{matrix}: {error}") from None
    value = (found.value if bound else found).item()
    report: dict[str, Any] = {"function": function, "file": str(matrix), "shape": list(entries.shape)}
    report |= {"dtype": str(entries.dtype), "value": _as_json(value)}
    if bound:
        report["error_bound"] = _as_json(found.error_bound.item())
        report |= {"condition": _as_json(found.condition.item()), "tier": found.tier}
    report |= {"first_call_s": first, "second_call_s": second}
    if as_json:
        print(json.dumps(report))
        return
    print(f"{function} of {matrix} ({entries.shape[0]} x {entries.shape[1]}, {entries.dtype})")
    print(f"  value         {value!r}")
    if bound:
        print(f"  error bound   {float(report['error_bound']):.3g}")
        print(f"  condition     {float(report['condition']):.3g}")
        print(f"  tier          {report['tier']}")
    print(f"  time          {first:.3g} s with compilation, {second:.3g} s without")


def _device(path: Path) -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    from gbsjax.fit import load_device

    try:
        return load_device(path)
    except ValueError as error:
        raise Refused(str(error)) from None


MODEL = "A device in TOML: sources, interferometer, loss, detectors, and what to fit."
PATTERNS = "One shot a row: .npy, .npz (one array), .csv or .mtx of 0/1 or counts."


@app.command()
def probs(
    patterns: Annotated[Path, typer.Argument(help=PATTERNS)],
    model: Annotated[Path, typer.Option(help=MODEL)],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of CSV.")] = False,
) -> None:
    """Probabilities of patterns, as a device with these parameters would show them: CSV on the standard output."""
    described = _device(model)
    from gbsjax import distribution

    state = described.device()
    threshold = described.detectors == "threshold"
    wanted = read_patterns(patterns, state.modes, threshold)
    of = distribution.click_log_probability if threshold else distribution.photon_log_probability
    logs = np.asarray(of(state, wanted))
    if as_json:
        found = {"file": str(patterns), "model": str(model), "detectors": described.detectors}
        values = {"probability": np.exp(logs), "log_probability": logs}
        print(json.dumps(found | {name: [_as_json(float(x)) for x in array] for name, array in values.items()}))
        return
    print("pattern,probability,log_probability")
    for pattern, log in zip(wanted.tolist(), logs.tolist(), strict=True):
        print(f"{' '.join(map(str, pattern))},{float(np.exp(log))!r},{log!r}")


@app.command("fit")
def fit_device(
    data: Annotated[Path, typer.Argument(help=PATTERNS)],
    model: Annotated[Path, typer.Option(help=MODEL)],
    out: Annotated[Path, typer.Option(help="A folder for the result; a fit that was stopped goes on from there.")],
    loss: Annotated[
        str, typer.Option(help="likelihood of the patterns, or squares of the click rates.")
    ] = "likelihood",
    steps: Annotated[int, typer.Option(min=1, help="Steps at most.")] = 500,
    learning_rate: Annotated[float, typer.Option(help="Of Adam, at the start.")] = 0.05,
    batch: Annotated[int | None, typer.Option(min=1, help="Shots a step; all, if not given.")] = None,
    patience: Annotated[int | None, typer.Option(min=1, help="Stop after so many steps without a fall.")] = None,
    seed: Annotated[int, typer.Option(help="Of the minibatches.")] = 0,
) -> None:
    """Fit a device to measured patterns: estimates with standard errors, the fitted device, a figure."""
    if loss not in ("likelihood", "squares"):
        raise Refused(f"--loss must be likelihood or squares, got {loss!r}.")
    if (out / "result.json").exists():
        raise Refused(f"{out / 'result.json'}: is there already, and is not written over. Name another folder.")
    described = _device(model)
    from gbsjax import _fit_command

    patterns = read_patterns(data, described.device().modes, described.detectors == "threshold")
    options = {"steps": steps, "learning_rate": learning_rate, "batch": batch, "patience": patience, "seed": seed}
    try:
        _fit_command.run(described, patterns, {"data": str(data), "model": str(model)}, loss, out, options)
    except (ValueError, ImportError) as error:
        raise Refused(str(error)) from None


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the figures go.")] = Path("outputs/demo"),
    seed: Annotated[int, typer.Option(help="Seed of the device, the clicks and the first guess.")] = 7,
    shots: Annotated[int, typer.Option(min=100, help="Simulated shots.")] = 10_000,
    steps: Annotated[int, typer.Option(min=1, help="Steps of the fit.")] = 300,
) -> None:
    """Simulate a Gaussian boson sampler, fit the device to its clicks, and draw true against recovered parameters."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from gbsjax import _demo

    try:
        _demo.run(out=out, seed=seed, shots=shots, steps=steps)
    except ImportError as error:
        raise Refused(f"the figures need {error.name}; pip install 'gbsjax[plot]', or run make demo.") from None


def _version(wanted: bool) -> None:
    if wanted:
        print(f"gbsjax {importlib.metadata.version('gbsjax')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Matrix functions of photonic sampling: evaluate, differentiate, fit."""


def main() -> None:
    try:
        app()
    except Refused as error:
        print(f"gbsjax: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("gbsjax: stopped.", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
