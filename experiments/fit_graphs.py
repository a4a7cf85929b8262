"""Score published samples of graphs by the model they are said to come from, and fit its scale and vertex weights."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments import _arguments, _provenance
from experiments._fitting import minimised, plain
from gbsjax import distribution
from gbsjax.fit import Bounded, Fit, LeastSquares, Likelihood
from gbsjax.gaussian import GaussianState, from_ket

KIND = "fit_graphs"
# Stated with the samples: mean photons, and whether detectors count.
SETS = {"mutag_0": (6, True), "mutag_1": (6, True), "mutag_2": (6, True), "mutag_3": (6, True)}
SETS |= {"tace_as": (8, False), "planted": (8, False)}
SOURCE = "Samples: Strawberry Fields (Xanadu, Apache License 2.0)."


class Weighted(NamedTuple):
    """A state and the logarithms of what each photon in a mode multiplies its amplitudes by."""

    state: GaussianState
    logs: jax.Array


class Graph(eqx.Module):
    """The state of B = c W A W for an adjacency matrix A (Banchi, Quesada, Arrazola, Phys. Rev. A 102 (2020) 012417).

    Attributes:
        scale: c, up to where the largest singular value of c A is 1.
        weights: (vertices,) diagonal of W, up to where that of c W A W may be 1.
        adjacency: (vertices, vertices) 0 and 1.
    """

    scale: Bounded
    weights: Bounded
    adjacency: np.ndarray

    def __init__(self, adjacency: np.ndarray, scale: float) -> None:
        most = 1 / np.linalg.norm(adjacency, 2)
        self.scale = Bounded(scale, 0.0, float(most))
        self.weights = Bounded(np.ones(len(adjacency)), 0.0, float(np.sqrt(most / scale)))
        self.adjacency = adjacency

    def __call__(self) -> Weighted:
        w = self.weights.value * jnp.sqrt(self.scale.value)
        return Weighted(from_ket(w[:, None] * jnp.asarray(self.adjacency, w.dtype) * w[None, :]), jnp.log(w))


def scale_of(adjacency: np.ndarray, photons: float) -> float:
    """The scale c at which the state has so many mean photons: sum (c l)^2 / (1 - (c l)^2) over the eigenvalues l."""
    levels = np.linalg.eigvalsh(adjacency.astype(float))
    low, high = 0.0, 1 / np.abs(levels).max()
    for _ in range(200):
        middle = (low + high) / 2
        square = (middle * levels) ** 2
        low, high = (middle, high) if (square / (1 - square)).sum() < photons else (low, middle)
    return low


def forbidden(adjacency: np.ndarray, clicks: np.ndarray) -> np.ndarray:
    """Which patterns (shots, vertices) a graph without loops cannot show: photons come in pairs along edges, so every
    vertex that clicks has a neighbour that does."""
    alone = (clicks > 0) & (clicks @ adjacency == 0)
    return np.asarray(alone.any(axis=1))


def up_to(modes: int, most: int) -> np.ndarray:
    """All click patterns with at most so many clicks, (patterns, modes)."""
    chosen = [subset for k in range(most + 1) for subset in itertools.combinations(range(modes), k)]
    return np.array([[i in subset for i in range(modes)] for subset in map(set, chosen)], dtype=int)


def photon_logs(patterns: np.ndarray, begin: Weighted) -> Callable[[Weighted, Any], jax.Array]:
    """Log-probabilities of these patterns for any weights. Hafnians of W A W are hafnians of A times a product of
    weights: they are evaluated once, and no step of a fit needs another."""
    base = np.asarray(distribution.photon_log_probability(begin.state, patterns))
    base = base - float(begin.state.ket().log_p0) - 2 * patterns @ np.asarray(begin.logs)

    def logs(made: Weighted, _: Any) -> jax.Array:
        return jnp.asarray(base) + made.state.ket().log_p0 + 2 * jnp.asarray(patterns, float) @ made.logs

    return logs


def photon_losses(samples: np.ndarray, begin: Weighted, most: int) -> dict[str, Likelihood]:
    def likelihood(shots: np.ndarray, cutoff: int | None) -> Likelihood:
        def selected(made: Weighted) -> jax.Array:
            return jnp.log(jnp.sum(distribution.total_photons(made.state, (cutoff or 0) + 1).probabilities))

        logs = photon_logs(np.unique(shots, axis=0), begin)
        return Likelihood(logs, shots, selected=None if cutoff is None else selected)

    totals = samples.sum(axis=1)
    top = int(totals.max())
    return {
        "all": likelihood(samples, None),
        f"all, given at most {top} photons": likelihood(samples, top),
        f"up to {most}, given so": likelihood(samples[totals <= most], most),
    }


def click_losses(samples: np.ndarray, allowed: np.ndarray, most: int) -> dict[str, Any]:
    """The naive one is least squares of all rates with the covariance of the shots."""
    few = up_to(samples.shape[1], most)
    root = np.linalg.cholesky(np.cov(samples.T) / len(samples))

    def rates(made: Weighted) -> jax.Array:
        return jax.scipy.linalg.solve_triangular(jnp.asarray(root), distribution.click_rates(made.state), lower=True)

    def logs(made: Weighted, patterns: Any) -> jax.Array:
        return distribution.click_log_probability(made.state, patterns)

    def selected(made: Weighted) -> jax.Array:
        return jnp.log(jnp.sum(distribution.click_probability(made.state, few)))

    chosen = samples[(samples.sum(axis=1) <= most) & allowed]
    return {
        "all": LeastSquares(rates, np.linalg.solve(root, samples.mean(axis=0)), 1.0),
        f"up to {most}, given so": Likelihood(logs, chosen, selected=selected),
    }


def _fits(graph: Graph, losses: dict[str, Any]) -> list[dict[str, Any]]:
    """For each loss the scale alone, and all weights. Twice the fall of the loss is chi-squared if the simpler one is
    true (Wilks): from the stated scale to the fitted one, and from there to weights."""
    rows = []
    for data, loss in losses.items():
        scale: Fit = minimised(graph, loss, lambda g: g.scale)
        photons = scale.estimates(lambda g: distribution.mean_photons(g().state).sum())
        weights: Fit = minimised(graph, loss, lambda g: g.weights)
        row: dict[str, Any] = (
            {"data": data} | plain(scale.estimates()) | plain({"mean_photons": photons}) | plain(weights.estimates())
        )
        row["scale"] |= {"chi2": 2 * (float(scale.history[0]) - scale.value), "freedom": 1}
        row["weights"] |= {"chi2": 2 * (scale.value - weights.value), "freedom": len(graph.adjacency) - 1}
        rows.append(row)
    return rows


def _tail(chi2: float, freedom: int) -> float:
    """Probability of a larger chi-squared."""
    return float(jax.scipy.special.gammaincc(freedom / 2, max(chi2, 0.0) / 2)) if freedom else 1.0


def _chi2(seen: np.ndarray, expected: np.ndarray) -> tuple[float, int]:
    """Chi-squared and its cells: patterns, those expected less than five times together with others as likely."""
    order = np.argsort(-expected)
    seen, reached = seen[order], np.cumsum(expected[order])
    # A cell ends where it has five; the last one takes what is left.
    ends, begin = [], 0.0
    for k, total in enumerate(reached):
        if total - begin >= 5 and reached[-1] - total >= 5:
            ends.append(k + 1)
            begin = total
    e = np.diff(np.concatenate([[0.0], reached[[end - 1 for end in ends]], reached[-1:]]))
    s = np.array([part.sum() for part in np.split(seen, ends)])
    return float(((s - e) ** 2 / e).sum()), len(e)


def _shapes(graph: Graph, samples: np.ndarray, counting: bool, totals: range) -> list[dict[str, Any]]:
    """For each total: seen over predicted frequency, and chi-squared of all patterns with that total, given it. The
    latter does not know of truncation, nor does it know the scale where photons are counted."""
    state, sums = graph().state, samples.sum(axis=1)
    rows = []
    for total in totals:
        if counting:
            chosen = itertools.combinations_with_replacement(range(state.modes), total)
            patterns = np.array([np.bincount(np.array(c, dtype=int), minlength=state.modes) for c in chosen])
            law = np.asarray(distribution.photon_probability(state, patterns))
        else:
            few = up_to(state.modes, total)
            patterns = few[few.sum(axis=1) == total]
            law = np.asarray(distribution.click_probability(state, patterns))
            law = np.where(forbidden(graph.adjacency, patterns), 0, law)
        here = samples[sums == total]
        place = {pattern.tobytes(): k for k, pattern in enumerate(patterns)}
        seen = np.bincount([place[shot.tobytes()] for shot in here], minlength=len(patterns))
        row: dict[str, Any] = {"total": total, "seen": len(here), "predicted": float(law.sum() * len(samples))}
        if law.sum() > 0 and len(here):
            chi2, cells = _chi2(seen, law / law.sum() * len(here))
            row |= {"patterns": int((law > 0).sum()), "chi2": chi2, "cells": cells, "tail": _tail(chi2, cells - 1)}
        rows.append(row)
    return rows


def _score(graph: Graph, samples: np.ndarray, counting: bool, seed: int) -> dict[str, Any]:
    """Nats for a shot by the stated model, and by modes that know nothing of each other, each with the rate seen."""
    distinct, index = np.unique(samples, axis=0, return_inverse=True)
    state = graph().state
    row: dict[str, Any] = {"shots": len(samples), "distinct": len(distinct)}
    means = samples.mean(axis=0)
    if counting:
        logs = np.asarray(distribution.photon_log_probability(state, distinct))
        alone = (distinct * np.log(means / (1 + means)) - np.log1p(means)).sum(axis=1)
        never = ~np.isfinite(logs)
    else:
        never = forbidden(graph.adjacency, distinct)
        logs = np.where(never, -np.inf, np.asarray(distribution.click_log_probability(state, distinct)))
        alone = (distinct * np.log(means) + (1 - distinct) * np.log1p(-means)).sum(axis=1)
        # Long sums cancel: some of them once more, with twice the digits.
        many = np.flatnonzero(~never & (distinct.sum(axis=1) >= 12))
        some = np.random.default_rng(seed).permutation(many)[:20]
        if len(some):
            again = distribution.click_log_probability(state, distinct[some], precision="dd")
            row["checked"] = {"patterns": len(some), "largest_difference": float(np.abs(again - logs[some]).max())}
    shots = np.bincount(index.reshape(-1))
    possible = np.where(never, 0, shots)
    row |= {"forbidden_shots": int(shots[never].sum()), "forbidden_clicks": (shots[never] @ distinct[never]).tolist()}
    row |= {"log_probability": float(possible @ np.where(never, 0, logs) / possible.sum())}
    return row | {"independent_log_probability": float(possible @ alone / possible.sum())}


def study(name: str, samples: np.ndarray, adjacency: np.ndarray, most: int, seed: int) -> dict[str, Any]:
    """Score and fit one set of samples."""
    photons, counting = SETS[name]
    graph = Graph(adjacency, scale_of(adjacency, photons))
    allowed = np.ones(len(samples), bool) if counting else ~forbidden(adjacency, samples)
    losses = photon_losses(samples, graph(), most) if counting else click_losses(samples, allowed, most)
    row: dict[str, Any] = {"name": name, "modes": len(adjacency), "counting": counting, "stated_photons": photons}
    row |= {"stated_scale": float(graph.scale.value), "score": _score(graph, samples, counting, seed)}
    state = graph().state
    expected = distribution.mean_photons(state) if counting else distribution.click_rates(state)
    row |= {"mean_seen": float(samples.sum(axis=1).mean()), "mean_predicted": float(expected.sum())}
    return row | {"totals": _shapes(graph, samples, counting, range(most + 1)), "fits": _fits(graph, losses)}


def run(data: Path, names: list[str], shots: int | None, most: int, seed: int, out: Path, tag: str | None) -> Path:
    """Score and fit, print tables, write the artifact; returns its path."""
    jax.config.update("jax_enable_x64", True)
    record = _provenance.artifact(KIND, {"sets": names, "shots": shots, "most": most, "seed": seed, "source": SOURCE})
    record["sets"] = []
    for name in track(names, "sets"):
        path = data / f"{name}.npz"
        if not path.is_file():
            raise ValueError(f"{path}: no such file; --data takes the folder of the graph samples.")
        with np.load(path, allow_pickle=False) as archive:
            samples, adjacency = (archive[key].astype(int) for key in ("samples", "adjacency"))
        record["sets"].append(study(name, samples[:shots], adjacency, most, seed))
    show(record)
    return _provenance.write(record, out, tag)


def show(record: dict[str, Any]) -> None:
    console = Console(width=120)
    scores = Table("set", "shots", "impossible", "nats a shot", "independent modes", "mean seen", "predicted")
    for row in record["sets"]:
        score = row["score"]
        scores.add_row(
            *(row["name"], str(score["shots"]), str(score["forbidden_shots"]), f"{score['log_probability']:.3f}"),
            *(f"{x:.3f}" for x in (score["independent_log_probability"], row["mean_seen"], row["mean_predicted"])),
        )
    shapes = Table("set", "total", "seen", "predicted", "patterns", "chi-squared, given the total", "p")
    fits = Table("set", "data", "c / stated", "mean photons", "p", "weights: mean", "chi-squared", "p")
    for row in record["sets"]:
        for part in row["totals"]:
            if "chi2" in part:
                shapes.add_row(
                    *(row["name"], str(part["total"]), str(part["seen"]), f"{part['predicted']:.1f}"),
                    *(str(part["patterns"]), f"{part['chi2']:.1f} / {part['cells'] - 1}", f"{part['tail']:.2g}"),
                )
        for found in row["fits"]:
            scale, weights, photons = found["scale"], found["weights"], found["mean_photons"]
            stated = row["stated_scale"]
            fits.add_row(
                *(row["name"], found["data"], f"{scale['value'] / stated:.4f} +- {scale['error'] / stated:.4f}"),
                *(f"{photons['value']:.3f} +- {photons['error']:.3f}", f"{_tail(scale['chi2'], 1):.2g}"),
                *(f"{np.mean(weights['value']):.4f}", f"{weights['chi2']:.1f} / {weights['freedom']}"),
                f"{_tail(weights['chi2'], weights['freedom']):.2g}",
            )
    for table in (scores, shapes, fits):
        console.print(table)


def plot(path: Path) -> Path:
    """Draw the artifact: totals, scales and weights of every set; reads nothing else."""
    record = _provenance.read(path, KIND)
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
    rows = record["sets"]
    for k, row in enumerate(rows):
        parts = [part for part in row["totals"] if part["predicted"] > 0 and part["seen"]]
        ratio = np.array([part["seen"] / part["predicted"] for part in parts])
        error = ratio / np.sqrt([part["seen"] for part in parts])
        place = np.array([part["total"] for part in parts]) + 0.08 * (k - len(rows) / 2)
        left.errorbar(place, ratio, yerr=1.96 * error, fmt="o", ms=3, capsize=2, label=row["name"])
    left.axhline(1, color="0.6", lw=0.8)
    left.set(xlabel="photons or clicks in all", ylabel="seen / predicted by the stated model")
    left.legend(fontsize="small")
    colors: dict[str, str] = {}
    for k, row in enumerate(rows):
        for j, found in enumerate(row["fits"]):
            kind = "all" if found["data"] == "all" else "all, truncated" if "all" in found["data"] else "few, given so"
            label = None if kind in colors else kind
            color = colors.setdefault(kind, {"all": "C3", "all, truncated": "C1"}.get(kind, "C0"))
            value, error = (found["scale"][key] / row["stated_scale"] for key in ("value", "error"))
            middle.errorbar(
                value, k + 0.2 * (j - 1), xerr=1.96 * error, fmt="o", ms=4, capsize=2, color=color, label=label
            )
            off = (np.array(found["weights"]["value"]) - 1) / np.array(found["weights"]["error"], float)
            right.plot(off, [k + 0.2 * (j - 1)] * len(off), ".", color=color)
    middle.axvline(1, color="0.6", lw=0.8)
    for x in (-2, 0, 2):
        right.axvline(x, color="0.6", lw=0.8, ls="-" if x == 0 else ":")
    for axes in (middle, right):
        axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
        axes.invert_yaxis()
    middle.set(xlabel="fitted scale c / stated, 95% interval")
    middle.legend(fontsize="small")
    right.set(xlabel="(fitted weight - 1) / standard error, every vertex")
    figure.text(0.995, 0.005, SOURCE, ha="right", fontsize=6, color="0.4")
    return _provenance.save_figure(figure, path.with_suffix(".png"))


def main() -> None:
    parser = _arguments.parser(__doc__ or "", "outputs/fitting")
    parser.add_argument("--data", type=Path, default=None, help="folder of the graph samples (needed)")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--shots", type=_arguments.positive, default=None, help="only the first so many of each set")
    parser.add_argument("--most", type=_arguments.positive, default=4, help="photons or clicks in all of the exact fit")
    parser.add_argument("--seed", type=int, default=0, help="of which sums are checked with twice the digits")
    options = parser.parse_args()
    if options.plot:
        print(f"figure:   {plot(options.plot)}")
        return
    if options.data is None:
        raise ValueError(f"--data is needed: a folder with {', '.join(f'{name}.npz' for name in SETS)}.")
    path = run(options.data, options.sets, options.shots, options.most, options.seed, options.out, options.tag)
    print(f"artifact: {path}\nfigure:   {plot(path)}")


if __name__ == "__main__":
    _arguments.main(main)
