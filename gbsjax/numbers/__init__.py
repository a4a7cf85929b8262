"""Number types: what a subset-sum program computes with. A number type knows nothing of permanents."""

from ._planes import Planes as Planes
from ._planes import together as together
