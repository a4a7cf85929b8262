"""Number types: what a subset-sum program computes with. A number type knows nothing of permanents."""

from ._double_double import DoubleDouble as DoubleDouble
from ._numbers import Numbers as Numbers
from ._planes import Planes as Planes
from ._planes import together as together
from ._residues import Residues as Residues
