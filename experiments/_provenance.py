"""Self-describing artifacts: what ran, where, and how; written whole or not at all, never over another."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

PACKAGES = ("jax", "jaxlib", "numpy", "gbsjax", "mpmath", "thewalrus", "numba", "piquasso", "exqalibur")
ROOT = Path(__file__).resolve().parent.parent


def _git(*arguments: str) -> str | None:
    try:
        run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.strip()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None)


def artifact(kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """The head of an artifact. What is not known is null."""
    import jax

    changed = _git("status", "--porcelain", "--", ".", ":!outputs", ":!docs")
    return {
        "kind": kind,
        "created_utc": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "HEAD"),
        "dirty": None if changed is None else bool(changed),
        "environment": {
            "python": platform.python_version(),
            "system": platform.system(),
            "machine": platform.machine(),
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "device": jax.devices()[0].device_kind,
            "packages": {package: _version(package) for package in PACKAGES},
            "threads": {name: os.environ.get(name) for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")},
        },
        "options": options,
    }


def write(record: dict[str, Any], out: Path, tag: str | None) -> Path:
    """Write the record under a name of its own: <kind>-<time>[-tag][-2..].json."""
    out.mkdir(parents=True, exist_ok=True)
    stamp = record["created_utc"].replace(":", "").replace("-", "").split("+")[0] + "Z"
    stem = "-".join([record["kind"], stamp, *([tag] if tag else [])])
    partial = out / f".{stem}.{os.getpid()}.part"
    text = json.dumps(record, indent=1, allow_nan=False) + "\n"
    partial.write_text(text)
    try:
        for attempt in range(1, 1000):
            path = out / (f"{stem}.json" if attempt == 1 else f"{stem}-{attempt}.json")
            try:
                os.link(partial, path)  # fails where the name is taken: nothing is ever overwritten
            except FileExistsError:
                continue
            return path
        raise FileExistsError(f"{out}: a thousand artifacts are called {stem}.")
    finally:
        partial.unlink()


def read(path: Path, kind: str) -> dict[str, Any]:
    """An artifact of the given kind; ValueError in one line otherwise."""
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: not a readable artifact ({error}).") from None
    if not isinstance(record, dict) or record.get("kind") != kind:
        raise ValueError(f"{path}: not an artifact of kind {kind!r}.")
    return record


def save_figure(figure: Any, path: Path) -> Path:
    partial = path.with_suffix(".part")
    figure.savefig(partial, format="png", dpi=150)
    partial.replace(path)
    return path
