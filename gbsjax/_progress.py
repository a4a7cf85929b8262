"""Progress of long evaluations: off unless asked for, because every report costs a call from the compiled program."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jax

# The open bars with their task, the innermost last.
_bars: list[tuple[Any, Any]] = []


@contextlib.contextmanager
def show_progress(description: str = "evaluating") -> Iterator[None]:
    """Progress bar of the large evaluations inside the `with` block.

    Hafnians by the matched-pair recursion (`method="pairs"`) and torontonians of many modes are sums over loops; each
    round of the outer loops advances the bar. Other evaluations are done before a bar would move.

    Args:
        description: the word beside the bar.

    Returns:
        A context manager. A function compiled inside it reports; one that a caller compiled before does not.

    Raises:
        ImportError: rich is not installed.

    Notes:
        A report costs some ten microseconds for each round of the order of ten milliseconds. Ctrl-C ends the evaluation
        as without it.

    Examples:
        >>> import jax.numpy as jnp, gbsjax
        >>> with gbsjax.show_progress():
        ...     float(gbsjax.hafnian(jnp.ones((4, 4))))
        3.0
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, TimeRemainingColumn(), transient=True, console=Console(stderr=True))
    _bars.append((bar, bar.add_task(description, total=None)))
    try:
        yield
        jax.effects_barrier()
    finally:
        _bars.pop()
        # Without a terminal, stopping a bar that never appeared would print an empty line.
        if bar.live.is_started:
            bar.stop()


def wanted() -> bool:
    """Whether a bar was asked for."""
    return bool(_bars)


def expect(rounds: int) -> None:
    """How many reports an evaluation will make; the bar appears."""
    if _bars:
        bar, task = _bars[-1]
        bar.reset(task, total=rounds)
        bar.start()


def _report(_: object) -> None:
    if _bars:
        bar, task = _bars[-1]
        bar.advance(task)


def advance(after: jax.Array) -> None:
    """Report one round when `after` is known; traced into the program."""
    jax.debug.callback(_report, after)
