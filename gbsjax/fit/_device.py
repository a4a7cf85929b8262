"""A device as a model: sources, interferometer, loss, noise; and its description in TOML."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from gbsjax import _checks
from gbsjax.fit._parameters import Bounded, Positive
from gbsjax.gaussian import GaussianState, Mesh, _inputs, squeezed, two_mode_squeezed

SOURCES = ("squeezed", "two_mode_squeezed")


class Device(eqx.Module):
    """Squeezed sources, an interferometer or a measured transmission, displacement, loss, and noise, in this order.

    What is None is not there. Every array is a parameter; `fit(.., free=)` chooses among them.

    Attributes:
        squeezing: (s,) squeezing r of the sources.
        phase: (s,) their phases in radians.
        source: "squeezed", one mode a source, or "two_mode_squeezed", source k feeding modes 2 k and 2 k + 1.
        mesh: a `gaussian.Mesh`.
        transmission: (inputs, outputs) measured or designed amplitudes. Not a parameter.
        calibration: factor on the squared amplitudes of the transmission, from 0 to where its largest singular value
            is 1.
        displacement: (m,) complex, in the output modes.
        survival: probability that a photon is not lost at the output, a number or (m,).
        noise: mean photons of classical noise at the output, a number or (m,).
    """

    squeezing: Float[Array, " s"]
    phase: Float[Array, " s"] | None
    mesh: Mesh | None
    calibration: Bounded | None
    displacement: Inexact[Array, " m"] | None
    survival: Bounded | None
    noise: Positive | None
    transmission: Any = eqx.field(static=True)
    source: str = eqx.field(static=True)

    def __init__(
        self,
        squeezing: Any,
        *,
        phase: Any = None,
        source: str = "squeezed",
        mesh: Mesh | None = None,
        transmission: Any = None,
        calibration: Any = None,
        displacement: Any = None,
        survival: Any = None,
        noise: Any = None,
    ) -> None:
        name = "Device"
        _checks.choice(name, "source", source, SOURCES)
        self.source, self.mesh = source, mesh
        self.squeezing = _inputs.reals(name, "squeezing", squeezing, 1)
        self.phase = None if phase is None else _inputs.reals(name, "phase", phase, 1)
        if mesh is not None and transmission is not None:
            raise ValueError(f"{name}: mesh and transmission are two interferometers, got both. Pass one.")
        self.transmission = None if transmission is None else _Fixed(transmission)
        self.calibration = None
        if calibration is not None:
            if self.transmission is None:
                raise ValueError(f"{name}: calibration scales a transmission, and there is none.")
            most = 1 / np.linalg.norm(self.transmission.array, 2) ** 2
            self.calibration = Bounded(calibration, 0.0, float(most))
        self.displacement = None if displacement is None else _inputs.entries(name, "displacement", displacement, 1)
        self.survival = None if survival is None else Bounded(survival)
        self.noise = None if noise is None else Positive(noise)
        # Shapes that do not fit are found here and not in the middle of a fit.
        jax.eval_shape(lambda: self())

    def __call__(self) -> GaussianState:
        make = squeezed if self.source == "squeezed" else two_mode_squeezed
        state = make(self.squeezing, self.phase)
        if self.mesh is not None:
            state = state.interfere(self.mesh.unitary())
        if self.transmission is not None:
            matrix = jnp.asarray(self.transmission.array)
            if self.calibration is not None:
                matrix = matrix * jnp.sqrt(self.calibration.value).astype(matrix.dtype)
            state = state.through(matrix)
        if self.displacement is not None:
            state = state.displace(self.displacement)
        if self.survival is not None:
            state = state.lose(self.survival.value)
        return state if self.noise is None else state.add_noise(self.noise.value)


class _Fixed:
    """A constant matrix that Equinox may compare and hash."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)
        if self.array.ndim != 2 or not np.isfinite(self.array).all():
            raise ValueError(f"Device: transmission must be a finite matrix, got shape {self.array.shape}.")
        self.array = self.array.astype(complex if np.iscomplexobj(self.array) else float)
        self._key = (self.array.shape, self.array.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Fixed) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


# Parameters by the word that a description's [fit] uses.
FREE = ("squeezing", "phase", "mesh", "calibration", "displacement", "survival", "noise")
_SECTIONS = {
    "source": {"kind", "squeezing", "phase"},
    "interferometer": {"theta", "phi", "phases", "transmission", "calibration"},
    "displacement": {"real", "imaginary"},
    "loss": {"survival"},
    "noise": {"photons"},
    "detectors": {"kind"},
    "fit": {"parameters"},
}


class Description(eqx.Module):
    """A device read from a file, its detectors, and which of its parameters are to be fitted."""

    device: Device
    detectors: str = eqx.field(static=True)
    parameters: tuple[str, ...] = eqx.field(static=True)

    def free(self, device: Device) -> tuple[Any, ...]:
        return tuple(getattr(device, name) for name in self.parameters)


def load_device(path: str | os.PathLike[str]) -> Description:
    """Device described in a TOML file.

    Sections: [source] kind, squeezing, phase; [interferometer] transmission (the name of a .npy file beside this one,
    rows are inputs) and calibration, or theta, phi and phases of a `gaussian.Mesh`; [displacement] real, imaginary;
    [loss] survival; [noise] photons; [detectors] kind = "threshold" or "number"; [fit] parameters, names of what may
    move. All but [source] may be left out. squeezing may be the name of a text file of numbers.

    Args:
        path: of the file.

    Returns:
        A `Description`: device, detectors, parameters, and free for `fit`.

    Raises:
        ValueError: one line that names the file and the fault.

    Notes:
        The page on fitting shows one.

    Examples:
        >>> import pathlib, tempfile
        >>> from gbsjax import fit
        >>> file = pathlib.Path(tempfile.mkdtemp(), "device.toml")
        >>> _ = file.write_text("[source]\\nsqueezing = [0.5, 0.4]\\n")
        >>> fit.load_device(file).device().modes
        2
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            found = tomllib.load(stream)
    except (OSError, ValueError) as error:
        raise ValueError(f"{file}: not a readable TOML file ({' '.join(str(error).split())}).") from None
    for section, content in found.items():
        if section not in _SECTIONS or not isinstance(content, dict):
            raise ValueError(f"{file}: [{section}] is not one of {sorted(_SECTIONS)}.")
        if unknown := sorted(set(content) - _SECTIONS[section]):
            raise ValueError(f"{file}: [{section}] has {unknown}, and knows {sorted(_SECTIONS[section])}.")
    if "squeezing" not in found.get("source", {}):
        raise ValueError(f"{file}: [source] needs squeezing, a list of numbers or the name of a text file.")
    try:
        return _described(file.parent, found)
    except (OSError, TypeError, ValueError) as error:
        raise ValueError(f"{file}: {' '.join(str(error).split())}") from None


def _described(folder: Path, found: dict[str, Any]) -> Description:
    source, optics = dict(found["source"]), dict(found.get("interferometer", {}))
    kind = source.pop("kind", "squeezed")
    squeezing = source.pop("squeezing")
    if isinstance(squeezing, str):
        squeezing = np.atleast_1d(np.loadtxt(folder / squeezing))
    options: dict[str, Any] = {"phase": source.get("phase"), "calibration": optics.pop("calibration", None)}
    mesh = None
    if "transmission" in optics:
        options["transmission"] = np.load(folder / optics.pop("transmission"), allow_pickle=False)
    if optics:
        if set(optics) != {"theta", "phi", "phases"}:
            raise ValueError(f"[interferometer] needs theta, phi and phases together, got {sorted(optics)}.")
        mesh = Mesh(*(_floats(optics[name]) for name in ("theta", "phi", "phases")))
    if "displacement" in found:
        parts = found["displacement"]
        options["displacement"] = _floats(parts["real"]) + 1j * _floats(parts.get("imaginary", [0.0]))
    options["survival"] = found.get("loss", {}).get("survival")
    options["noise"] = found.get("noise", {}).get("photons")
    numbers = {name: _floats(x) if isinstance(x, list) else x for name, x in options.items()}
    device = Device(_floats(squeezing), source=kind, mesh=mesh, **numbers)
    detectors = found.get("detectors", {}).get("kind", "threshold")
    _checks.choice("[detectors]", "kind", detectors, ("threshold", "number"))
    present = [name for name in FREE if getattr(device, name) is not None]
    parameters = found.get("fit", {}).get("parameters", present)
    for name in parameters:
        _checks.choice("[fit]", "parameters", name, present)
    return Description(device, detectors, tuple(parameters))


def _floats(x: Any) -> np.ndarray:
    return np.asarray(x, dtype=float)


def save_device(path: str | os.PathLike[str], description: Description) -> Path:
    """Write a device to a TOML file that `load_device` reads to the same numbers; a transmission goes beside it.

    Args:
        path: of the file.
        description: what `load_device` gave, perhaps with a fitted device.

    Returns:
        The path.

    Raises:
        OSError: where it cannot be written.

    Notes:
        Written whole or not at all. Numbers are written with all their digits; constrained ones come back up to
        rounding.

    Examples:
        >>> import pathlib, tempfile
        >>> from gbsjax import fit
        >>> file = pathlib.Path(tempfile.mkdtemp(), "device.toml")
        >>> _ = file.write_text("[source]\\nsqueezing = [0.5, 0.4]\\n")
        >>> fit.save_device(file, fit.load_device(file)).read_text().splitlines()[:2]
        ['[source]', 'kind = "squeezed"']
    """
    file, device = Path(path), description.device
    sections: dict[str, dict[str, Any]] = {
        "source": {"kind": device.source, "squeezing": device.squeezing, "phase": device.phase}
    }
    if device.mesh is not None:
        mesh = device.mesh
        sections["interferometer"] = {"theta": mesh.theta, "phi": mesh.phi, "phases": mesh.phases}
    if device.transmission is not None:
        matrix = file.with_suffix(".transmission.npy")
        partial = matrix.with_suffix(".part")
        with partial.open("wb") as stream:
            np.save(stream, device.transmission.array)
        partial.replace(matrix)
        sections["interferometer"] = {"transmission": matrix.name, "calibration": device.calibration}
    if device.displacement is not None:
        sections["displacement"] = {"real": device.displacement.real, "imaginary": device.displacement.imag}
    sections |= {"loss": {"survival": device.survival}, "noise": {"photons": device.noise}}
    sections |= {"detectors": {"kind": description.detectors}, "fit": {"parameters": list(description.parameters)}}
    lines = []
    for section, content in sections.items():
        present = {name: x for name, x in content.items() if x is not None}
        if present:
            lines += [f"[{section}]", *(f"{name} = {_toml(x)}" for name, x in present.items()), ""]
    partial = file.with_name(f".{file.name}.part")
    partial.write_text("\n".join(lines))
    partial.replace(file)
    return file


def _toml(x: Any) -> str:
    if isinstance(x, Bounded | Positive):
        x = x.value
    if isinstance(x, str):
        return f'"{x}"'
    if isinstance(x, list):
        return "[" + ", ".join(map(_toml, x)) + "]"
    return str(np.asarray(x).tolist())
