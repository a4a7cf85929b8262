"""Number types: what a subset-sum program computes with. A number type knows nothing of permanents."""

from ._certified import Parts as Parts
from ._certified import Sizes as Sizes
from ._certified import on_grid as on_grid
from ._double_double import DoubleDouble as DoubleDouble
from ._exponential import expm1 as expm1
from ._numbers import Field as Field
from ._numbers import Numbers as Numbers
from ._planes import Planes as Planes
from ._planes import aligned as aligned
from ._planes import together as together
from ._residues import Residues as Residues
from ._tiers import ADD as ADD
from ._tiers import ARGUMENT as ARGUMENT
from ._tiers import BOUND as BOUND
from ._tiers import DIVIDE as DIVIDE
from ._tiers import EXACT as EXACT
from ._tiers import EXPM1 as EXPM1
from ._tiers import MULTIPLY as MULTIPLY
from ._tiers import SQUARE_ROOT as SQUARE_ROOT
from ._tiers import UNIT as UNIT
from ._tiers import WORDS as WORDS
from ._tiers import Precision as Precision
from ._tiers import Tier as Tier
from ._tiers import of_tier as of_tier
from ._tiers import words as words
