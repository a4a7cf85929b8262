"""Fit a device to what was measured, by gradient descent, with standard errors."""

from ._device import Description as Description
from ._device import Device as Device
from ._device import load_device as load_device
from ._device import save_device as save_device
from ._fit import fit as fit
from ._losses import LeastSquares as LeastSquares
from ._losses import Likelihood as Likelihood
from ._losses import click_likelihood as click_likelihood
from ._losses import photon_likelihood as photon_likelihood
from ._parameters import Bounded as Bounded
from ._parameters import Positive as Positive
from ._result import Estimate as Estimate
from ._result import Fit as Fit
