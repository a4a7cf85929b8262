"""What the studies of certificates share: values, bounds and true errors of seeded matrices, by function and regime."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

import gbsjax_ref
from experiments import _arguments, _inputs

# Each takes the arguments and decimal digits, which exact numbers do not need.
TRUTH: dict[str, Callable[..., gbsjax_ref.ExactComplex]] = {
    "permanent": lambda matrix, dps: gbsjax_ref.permanent_exact(matrix),
    "hafnian": lambda matrix, dps: gbsjax_ref.hafnian_exact(matrix),
    "loop_hafnian": lambda matrix, dps: gbsjax_ref.loop_hafnian_exact(matrix),
    "torontonian": lambda *arguments, dps: _rational(gbsjax_ref.torontonian_mpmath(*arguments, dps=dps)),
    "loop_torontonian": lambda *arguments, dps: _rational(gbsjax_ref.loop_torontonian_mpmath(*arguments, dps=dps)),
}
COLORS = {"physical": "C0", "lossy": "C1", "displaced": "C4", "collisions": "C2", "adversarial": "C3"}
COLORS |= {"badly scaled": "C5", "hidden": "C6"}


def _rational(number: Any) -> gbsjax_ref.ExactComplex:
    """An mpmath number as the rational that it is."""
    mantissa, exponent = number.man_exp
    return gbsjax_ref.ExactComplex(Fraction(mantissa) * Fraction(2) ** exponent, Fraction(0))


def functions(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in TRUTH]
    if unknown:
        raise ValueError(f"--functions takes {', '.join(TRUTH)}, got {', '.join(unknown)}.")
    return names


def _cells(names: list[str], sizes: list[int], regimes: tuple[str, ...] | None) -> Iterator[tuple[str, str, int]]:
    for name in names:
        for n in sizes:
            if n % 2 and name in ("hafnian", "torontonian", "loop_torontonian"):
                continue
            for regime in _inputs.FAMILIES[name]:
                if regimes is None or regime in regimes:
                    yield name, regime, n


def measure(
    names: list[str],
    sizes: list[int],
    seeds: int,
    dps: int,
    backend: str | None,
    tiers: tuple[str, ...],
    regimes: tuple[str, ...] | None = None,
) -> list[dict[str, Any]]:
    """One row a matrix: kappa, and for every tier the relative error and the relative bound, in units of the truth.

    The truth is exact, for the float64 entries as stored. A row whose exact value is 0 has null errors and bounds.
    """
    import jax

    import gbsjax

    jax.config.update("jax_enable_x64", True)
    rows = []
    cells = list(_cells(names, sizes, regimes))
    with Progress() as progress:
        task = progress.add_task("matrices", total=len(cells) * seeds)
        for name, regime, n in cells:
            family, function = _inputs.FAMILIES[name][regime], getattr(gbsjax, name)
            inputs = [_inputs.arguments(family, seed, n) for seed in range(seeds)]
            stacks = [np.stack(column) for column in zip(*inputs, strict=True)]
            found = {
                tier: gbsjax.evaluate(function, *stacks, precision=tier, backend=backend)
                for tier in tiers
                if tier != "exact" or name not in ("torontonian", "loop_torontonian")
            }
            for seed, arguments in enumerate(inputs):
                truth = TRUTH[name](*arguments, dps=dps)
                size = truth.modulus(dps)
                row: dict[str, Any] = {"function": name, "regime": regime, "n": n, "seed": seed}
                for tier, evaluation in found.items():
                    value, bound = complex(evaluation.value[seed]), float(evaluation.error_bound[seed])
                    error = abs(gbsjax_ref.ExactComplex(*_difference(value, truth)).modulus(dps))
                    row[tier] = {
                        "kappa": _finite(evaluation.condition[seed]),
                        "error": float(error / size) if size else None,
                        "bound": float(bound / size) if size and np.isfinite(bound) else None,
                        "holds": bool(error <= bound),
                    }
                rows.append(row)
                progress.advance(task)
    return rows


def _difference(value: complex, truth: gbsjax_ref.ExactComplex) -> tuple[Any, Any]:
    return Fraction(value.real) - truth.real, Fraction(value.imag) - truth.imag


def _finite(x: Any) -> float | None:
    return float(x) if np.isfinite(x) else None


def grouped(rows: list[dict[str, Any]], *keys: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def panels(record: dict[str, Any]) -> tuple[Any, list[tuple[str, Any]]]:
    """A figure with one panel for every function of an artifact."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(row["function"] for row in record["summary"]))
    figure, axes = pyplot.subplots(
        1, len(names), figsize=(1 + 3.8 * len(names), 4), layout="constrained", sharey=True, squeeze=False
    )
    return figure, list(zip(names, axes[0], strict=True))


def main(what: str, out: str, run: Callable[..., Path], plot: Callable[[Path], Path], sizes: str, seeds: int) -> None:
    """The command line of a study of certificates."""
    parser = _arguments.parser(what, out)
    parser.add_argument("--functions", default=",".join(TRUTH), help="comma-separated")
    parser.add_argument(
        "--sizes", type=_arguments.span, default=sizes, help="matrix sizes; hafnians take the even ones"
    )
    parser.add_argument("--seeds", type=_arguments.positive, default=seeds, help="matrices a function, regime and size")
    parser.add_argument("--dps", type=_arguments.positive, default=60, help="decimal digits of the errors")
    parser.add_argument("--backend", default=None, help="who runs gbsjax; None chooses")
    given = parser.parse_args()
    names = functions(given.functions)
    path = given.plot or run(names, given.sizes, given.seeds, given.dps, given.backend, given.out, given.tag)
    print(f"artifact: {path}\nfigure:   {plot(path)}")
