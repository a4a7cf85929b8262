"""Gaussian states of light and the devices that make them, as Equinox modules."""

from ._interferometers import Mesh as Mesh
from ._sources import coherent as coherent
from ._sources import squeezed as squeezed
from ._sources import thermal as thermal
from ._sources import two_mode_squeezed as two_mode_squeezed
from ._sources import vacuum as vacuum
from ._state import GaussianState as GaussianState
from ._state import Vacuum as Vacuum
from ._state import from_covariance as from_covariance
from ._state import from_ket as from_ket
