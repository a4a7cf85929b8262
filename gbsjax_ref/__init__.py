"""Independent truth for gbsjax: slow, obvious, and exact wherever it can be.

Imports mpmath, numpy and the standard library only, and shares no code with the library that it judges.
"""

from ._exact import ExactComplex as ExactComplex
from ._fock import fock_amplitudes as fock_amplitudes
from ._fock import fock_clicks as fock_clicks
from ._fock import fock_mixture as fock_mixture
from ._fock import fock_output as fock_output
from ._fock import fock_probabilities as fock_probabilities
from ._fock import fock_squeezed as fock_squeezed
from ._fock import fock_two_mode_squeezed as fock_two_mode_squeezed
from ._hafnian import hafnian_exact as hafnian_exact
from ._hafnian import hafnian_majorant as hafnian_majorant
from ._hafnian import loop_hafnian_exact as loop_hafnian_exact
from ._hafnian import loop_hafnian_majorant as loop_hafnian_majorant
from ._hafnian_kan import hafnian_kan as hafnian_kan
from ._hafnian_kan import loop_hafnian_kan as loop_hafnian_kan
from ._hafnian_matchings import hafnian_by_matchings as hafnian_by_matchings
from ._hafnian_matchings import loop_hafnian_by_matchings as loop_hafnian_by_matchings
from ._hafnian_numpy import hafnian_numpy as hafnian_numpy
from ._hafnian_numpy import loop_hafnian_numpy as loop_hafnian_numpy
from ._permanent import permanent_by_permutations as permanent_by_permutations
from ._permanent import permanent_exact as permanent_exact
from ._permanent import permanent_minors_exact as permanent_minors_exact
from ._permanent_glynn import permanent_condition as permanent_condition
from ._permanent_glynn import permanent_mpmath as permanent_mpmath
from ._permanent_numpy import permanent_glynn as permanent_glynn
from ._permanent_numpy import permanent_ryser as permanent_ryser
from ._torontonian import cond_identity_minus as cond_identity_minus
from ._torontonian import loop_torontonian_condition as loop_torontonian_condition
from ._torontonian import loop_torontonian_mpmath as loop_torontonian_mpmath
from ._torontonian import torontonian_condition as torontonian_condition
from ._torontonian import torontonian_mpmath as torontonian_mpmath
from ._torontonian_numpy import loop_torontonian_numpy as loop_torontonian_numpy
from ._torontonian_numpy import torontonian_numpy as torontonian_numpy
from ._torontonian_subsets import loop_torontonian_by_subsets as loop_torontonian_by_subsets
from ._torontonian_subsets import torontonian_by_subsets as torontonian_by_subsets
