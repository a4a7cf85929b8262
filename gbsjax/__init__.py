"""gbsjax: the matrix functions behind photonic sampling, batched, compiled and differentiable in JAX."""

from ._permanent.api import permanent as permanent
