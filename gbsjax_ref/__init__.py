"""Independent truth for gbsjax: slow, obvious, and exact wherever it can be.

Imports mpmath, numpy and the standard library only, and shares no code with the library that it judges.
"""

from ._exact import ExactComplex as ExactComplex
from ._permanent import permanent_by_permutations as permanent_by_permutations
from ._permanent import permanent_exact as permanent_exact
from ._permanent import permanent_minors_exact as permanent_minors_exact
from ._permanent_glynn import permanent_condition as permanent_condition
from ._permanent_glynn import permanent_mpmath as permanent_mpmath
from ._permanent_numpy import permanent_glynn as permanent_glynn
from ._permanent_numpy import permanent_ryser as permanent_ryser
