"""Fit the light of a recorded photonic experiment to its click rates: what improves, held out, and what does not."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import gbsjax
from experiments import _arguments, _provenance
from experiments._fitting import minimised, plain
from gbsjax import distribution
from gbsjax.fit import Bounded, LeastSquares
from gbsjax.gaussian import GaussianState, two_mode_squeezed

KIND = "fit_recorded"
FILES = (
    "T_full.npy",
    "squeezing_parameters.txt",
    "empirical_click_rates.npy",
    "events_band13_32.npy",
    "click_probs_squeezed_0.npy",
    "click_probs_squashed_0.npy",
)
# What the rates may be off by, the same for all detectors: about what the best of these models leaves over. It is an
# assumption: the data come without errors.
RATE_ERROR = 0.006
# How far squeezings may move from their stated values, where they may.
SPREAD = 0.05
FOLDS, PARTITIONS = 5, 4


class Source(eqx.Module):
    """Two-mode squeezed light through the measured transmission.

    Attributes:
        squeezing: (sources,).
        calibration: factor on all squared amplitudes, up to where the largest singular value is 1.
        coherence: factor on the pair moments <a_i a_j>, 1 for pure sources; less for light of several modes, or for
            phases of the interferometer that wandered.
        transmission: (inputs, outputs).
    """

    squeezing: jax.Array
    calibration: Bounded
    coherence: Bounded
    transmission: jax.Array

    def light(self) -> GaussianState:
        state = two_mode_squeezed(self.squeezing)
        return GaussianState(state.number, self.coherence.value * state.pair, state.displacement, False, False)

    def __call__(self) -> GaussianState:
        return self.light().through(self.transmission * jnp.sqrt(self.calibration.value))

    def rates(self) -> jax.Array:
        """Click rates detector by detector: the moments between detectors are not needed."""
        light = self.light()

        def one(amplitudes: jax.Array) -> jax.Array:
            return distribution.click_rates(light.through(amplitudes[:, None]))[0]

        return jax.vmap(one)((self.transmission * jnp.sqrt(self.calibration.value)).T)


class Trial(eqx.Module):
    """What may move, and whether squeezings are held near their stated values."""

    name: str = eqx.field(static=True)
    free: Callable[[Source], Any] = eqx.field(static=True)
    held: bool = eqx.field(static=True, default=False)


TRIALS = (
    Trial("calibration", lambda s: s.calibration),
    Trial("squeezings", lambda s: s.squeezing),
    Trial("calibration, squeezings", lambda s: (s.calibration, s.squeezing)),
    Trial("calibration, coherence", lambda s: (s.calibration, s.coherence)),
    Trial("calibration, coherence, squeezings", lambda s: (s.calibration, s.coherence, s.squeezing)),
    Trial(f"calibration, coherence, squeezings +- {SPREAD}", lambda s: (s.calibration, s.coherence, s.squeezing), True),
)
CHOSEN = "calibration, coherence"


def _read(data: Path) -> dict[str, np.ndarray]:
    missing = [name for name in FILES if not (data / name).is_file()]
    if missing:
        raise ValueError(f"{data}: no {', '.join(missing)}; --data takes the folder of the recorded experiment.")
    return {
        name: np.loadtxt(data / name) if name.endswith(".txt") else np.load(data / name, allow_pickle=False)
        for name in FILES
    }


def stated(transmission: np.ndarray, squeezing: np.ndarray) -> Source:
    """As the experiment describes itself, but off the bound of coherence, where its derivative vanishes."""
    most = 1 / float(np.linalg.norm(transmission, 2)) ** 2
    return Source(jnp.asarray(squeezing), Bounded(1.0, 0.0, most), Bounded(0.9), jnp.asarray(transmission))


class Squares(LeastSquares):
    """Residuals of the rates of some detectors, and of squeezings from stated values where they are held."""

    def __init__(self, rates: np.ndarray, used: jax.Array | np.ndarray, held: np.ndarray | None) -> None:
        super().__init__(distribution.click_rates, rates, RATE_ERROR)
        self.used, self.held = used, held

    def whitened(self, model: Source) -> jax.Array:
        off = (model.rates() - self.measured) / self.errors * self.used
        return off if self.held is None else jnp.concatenate([off, (model.squeezing - self.held) / SPREAD])


class Copies(eqx.Module):
    """Models side by side, one for each fold: fitted at once, compiled once."""

    many: Source

    def __call__(self) -> Any:
        return self


def held_out(model: Source, rates: np.ndarray, trial: Trial, seed: int) -> list[float]:
    """RMS error of the rates of detectors that were not fitted, a number for each partition into folds."""
    fold = np.stack([np.random.default_rng([seed, p]).permutation(len(rates)) % FOLDS for p in range(PARTITIONS)])
    used = (fold[:, None, :] != np.arange(FOLDS)[None, :, None]).reshape(-1, len(rates))
    arrays, rest = eqx.partition(model, lambda x: eqx.is_inexact_array(x) and x.ndim < 2)
    stacked = jax.tree.map(lambda x: jnp.stack([x] * len(used)), arrays)
    axes = jax.tree.map(lambda x: 0 if eqx.is_inexact_array(x) and x.ndim < 2 else None, model)
    held = np.asarray(model.squeezing) if trial.held else None

    def loss(copies: Copies) -> jax.Array:
        def one(source: Source, used: jax.Array) -> jax.Array:
            return Squares(rates, used, held)(source)

        return jnp.sum(eqx.filter_vmap(one, in_axes=(axes, 0))(copies.many, jnp.asarray(used, float)))

    found = minimised(Copies(eqx.combine(stacked, rest)), loss, lambda copies: trial.free(copies.many))
    predicted = eqx.filter_jit(eqx.filter_vmap(Source.rates, in_axes=(axes,)))(found.model.many)
    off = (np.asarray(predicted) - rates[None, :]) * ~used
    return [float(x) for x in np.sqrt((off.reshape(PARTITIONS, -1) ** 2).sum(axis=1) / len(rates))]


def _rms(off: np.ndarray) -> float:
    return float(np.sqrt((off**2).mean()))


def _trial(model: Source, rates: np.ndarray, trial: Trial, seed: int) -> tuple[dict[str, Any], Source]:
    start = time.perf_counter()
    loss = Squares(rates, np.ones(len(rates)), np.asarray(model.squeezing) if trial.held else None)
    found = minimised(model, loss, trial.free)
    estimates = found.estimates()
    lost = found.unidentified()
    predicted = np.asarray(jax.jit(Source.rates)(found.model))
    row: dict[str, Any] = {"name": trial.name, "parameters": int(sum(v.value.size for v in estimates.values()))}
    row |= {"rms": _rms(predicted - rates), "held_out_rms": held_out(model, rates, trial, seed)}
    row["estimates"] = plain(estimates)
    levels = np.linalg.eigvalsh(found.information / np.sqrt(np.outer(*[np.diagonal(found.information)] * 2)))
    row |= {"directions_not_determined": len(lost), "condition": float(levels.max() / max(levels.min(), 1e-300))}
    row |= {"rates": predicted.tolist(), "wall_s": time.perf_counter() - start}
    return row, found.model


def _law(model: Source, samples: int, seed: int) -> dict[str, list[float]]:
    found = distribution.total_clicks(model(), samples=samples, seed=seed)
    return {"probabilities": np.asarray(found.probabilities).tolist(), "errors": np.asarray(found.errors).tolist()}


def score(
    models: dict[str, Source], events: np.ndarray, laws: dict[str, Any], clicks: list[int]
) -> list[dict[str, Any]]:
    """Log-probabilities of recorded events by certified double-double torontonians, alone and given their number of
    clicks."""
    rows = []
    chosen = [int(e) for e in np.flatnonzero(np.isin(events.sum(axis=1), clicks))]
    vacuum = {name: model().clicks() for name, model in models.items()}
    for event in track(chosen, "events"):
        modes = np.flatnonzero(events[event])
        index = np.concatenate([modes, modes + events.shape[1]])
        row: dict[str, Any] = {"event": event, "clicks": len(modes)}
        for name, (log_p0, matrix, _) in vacuum.items():
            found = gbsjax.evaluate(gbsjax.torontonian, np.asarray(matrix)[np.ix_(index, index)], precision="dd")
            value, bound = float(found.value), float(found.error_bound)
            log = float(log_p0) + float(np.log(value))
            given = log - float(np.log(laws[name]["probabilities"][len(modes)]))
            row[name] = {"log_probability": log, "relative_bound": bound / abs(value), "log_given_clicks": given}
        rows.append(row)
    return rows


def run(data: Path, samples: int, clicks: list[int], seed: int, out: Path, tag: str | None) -> Path:
    """Fit, print tables, write the artifact; returns its path."""
    jax.config.update("jax_enable_x64", True)
    start = time.perf_counter()
    files = _read(data)
    transmission, rates = files["T_full.npy"], files["empirical_click_rates.npy"]
    before = stated(transmission, files["squeezing_parameters.txt"])
    options = {"data": list(FILES), "rate_error": RATE_ERROR, "spread": SPREAD, "folds": FOLDS, "seed": seed}
    record = _provenance.artifact(KIND, options | {"partitions": PARTITIONS, "samples": samples, "clicks": clicks})
    pure = eqx.tree_at(lambda s: s.coherence, before, Bounded(1 - 1e-12))
    unfitted = np.asarray(jax.jit(Source.rates)(pure))
    record |= {"rates": rates.tolist(), "unfitted": {"rms": _rms(unfitted - rates), "rates": unfitted.tolist()}}
    record["trials"], fitted = [], {}
    for trial in track(TRIALS, "fits"):
        begin = before if "coherence" in trial.name else pure
        row, fitted[trial.name] = _trial(begin, rates, trial, seed)
        record["trials"].append(row)
    # Outputs permuted: the same numbers, which belong to other detectors.
    mixed = np.random.default_rng(seed).permutation(transmission.shape[1])
    control = stated(transmission[:, mixed], files["squeezing_parameters.txt"])
    chosen = next(trial for trial in TRIALS if trial.name == CHOSEN)
    record["permuted"] = _trial(control, rates, chosen, seed)[0]
    models = {"unfitted": pure, "calibration": fitted["calibration"], "fitted": fitted[CHOSEN]}
    record["laws"] = {name: _law(model, samples, seed) for name, model in models.items()}
    for name in ("squeezed", "squashed"):
        law = files[f"click_probs_{name}_0.npy"]
        record["laws"][f"published, {name}"] = {"probabilities": law[0].tolist(), "errors": law[1].tolist()}
    record["fit_wall_s"] = time.perf_counter() - start
    record["events"] = (
        score(models, files["events_band13_32.npy"].astype(int), record["laws"], clicks) if clicks else []
    )
    record["wall_s"] = time.perf_counter() - start
    show(record)
    return _provenance.write(record, out, tag)


def show(record: dict[str, Any]) -> None:
    console = Console(width=120)
    table = Table("free", "parameters", "RMS", "held out: mean (range)", "condition", title="Error of the click rates")
    table.add_row("nothing", "0", f"{record['unfitted']['rms']:.4f}", "", "")
    for row in [*record["trials"], record["permuted"] | {"name": f"{CHOSEN}; outputs permuted"}]:
        held = row["held_out_rms"]
        spread = f"{np.mean(held):.4f} ({min(held):.4f}-{max(held):.4f})"
        table.add_row(row["name"], str(row["parameters"]), f"{row['rms']:.4f}", spread, f"{row['condition']:.1e}")
    console.print(table)
    chosen = next(row for row in record["trials"] if row["name"] == CHOSEN)
    for name, estimate in chosen["estimates"].items():
        console.print(f"{name} {estimate['value']:.4f} +- {estimate['error']:.4f} at rate errors of {RATE_ERROR}")
    laws = Table("law of the number of clicks", "mean", "standard deviation", "distance to the published squeezed law")
    published = np.array(record["laws"]["published, squeezed"]["probabilities"])
    for name, law in record["laws"].items():
        p, n = np.array(law["probabilities"]), np.arange(len(law["probabilities"]))
        mean = float((p * n).sum())
        deviation, distance = float(np.sqrt((p * (n - mean) ** 2).sum())), float(np.abs(p - published).sum() / 2)
        laws.add_row(name, f"{mean:.2f}", f"{deviation:.2f}", f"{distance:.4f}")
    console.print(laws)
    if record["events"]:
        events = Table("event", "clicks", "unfitted log P", "fitted log P", "given its clicks", "", "largest bound")
        for row in record["events"]:
            one, two = row["unfitted"], row["fitted"]
            events.add_row(
                *(str(row["event"]), str(row["clicks"])),
                *(f"{part['log_probability']:.3f}" for part in (one, two)),
                *(f"{part['log_given_clicks']:.3f}" for part in (one, two)),
                f"{max(one['relative_bound'], two['relative_bound']):.1e}",
            )
        console.print(events)
    console.print(f"{record['fit_wall_s']:.0f} s for the fits and laws, {record['wall_s']:.0f} s with the events")


def plot(path: Path) -> Path:
    """Draw the artifact: rates, held-out errors, laws of the click number; reads nothing else."""
    record = _provenance.read(path, KIND)
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    rates = np.array(record["rates"])
    chosen = next(row for row in record["trials"] if row["name"] == CHOSEN)
    calibrated = next(row for row in record["trials"] if row["name"] == "calibration")
    series = (("unfitted", record["unfitted"], "0.6"), ("calibration", calibrated, "C1"), (CHOSEN, chosen, "C0"))
    for name, row, color in series:
        left.plot(row["rates"], rates - np.array(row["rates"]), ".", color=color, label=f"{name}: {row['rms']:.4f}")
    left.axhline(0, color="0.3", lw=0.8)
    left.set(xlabel="predicted click rate", ylabel="measured - predicted")
    left.set_ylim(top=0.055)
    left.legend(fontsize="small", title="RMS", loc="upper left")
    rows = record["trials"]
    for k, row in enumerate(rows):
        middle.plot(row["held_out_rms"], [k] * len(row["held_out_rms"]), "o", ms=4, color="C0")
        middle.plot(row["rms"], k, "|", ms=14, color="C3")
    middle.plot([], [], "o", ms=4, color="C0", label="held out, by partition")
    middle.plot([], [], "|", ms=14, color="C3", label="in sample")
    labels = [row["name"].replace(", squ", ",\nsqu") for row in rows]
    middle.set_yticks(range(len(rows)), labels, fontsize=8)
    middle.invert_yaxis()
    middle.set(xlabel="RMS error of the click rates")
    middle.legend(fontsize="small")
    styles = {"unfitted": ("0.6", "-"), "fitted": ("C0", "-"), "published, squeezed": ("k", ":")}
    styles["published, squashed"] = ("C2", ":")
    for name, (color, style) in styles.items():
        law = np.array(record["laws"][name]["probabilities"])
        right.plot(law, style, color=color, label=name)
    right.set(xlabel="clicks in all", ylabel="probability", xlim=(10, 75))
    right.set_ylim(top=0.095)
    right.legend(fontsize="small", loc="upper right")
    return _provenance.save_figure(figure, path.with_suffix(".png"))


def main() -> None:
    parser = _arguments.parser(__doc__ or "", "outputs/fitting")
    parser.add_argument("--data", type=Path, default=None, help="folder of the recorded experiment (needed)")
    parser.add_argument("--samples", type=_arguments.positive, default=200_000, help="of each law of the click number")
    parser.add_argument(
        "--clicks", type=_arguments.span, default=None, help="score recorded events with so many clicks"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the folds, the samples and the control")
    options = parser.parse_args()
    if options.plot:
        print(f"figure:   {plot(options.plot)}")
        return
    if options.data is None:
        raise ValueError(f"--data is needed: a folder with {', '.join(FILES)}.")
    path = run(options.data, options.samples, options.clicks or [], options.seed, options.out, options.tag)
    print(f"artifact: {path}\nfigure:   {plot(path)}")


if __name__ == "__main__":
    _arguments.main(main)
