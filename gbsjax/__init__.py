"""gbsjax: the matrix functions behind photonic sampling, batched, compiled and differentiable in JAX."""

from ._evaluate import Evaluation as Evaluation
from ._evaluate import condition as condition
from ._evaluate import count as count
from ._evaluate import evaluate as evaluate
from ._hafnian.api import hafnian as hafnian
from ._hafnian.api import loop_hafnian as loop_hafnian
from ._hafnian.api import low_rank_hafnian as low_rank_hafnian
from ._hafnian.api import submatrix as submatrix
from ._permanent.api import permanent as permanent
from ._progress import show_progress as show_progress
from ._select import Selection as Selection
from ._select import select as select
from ._torontonian.api import loop_torontonian as loop_torontonian
from ._torontonian.api import torontonian as torontonian
