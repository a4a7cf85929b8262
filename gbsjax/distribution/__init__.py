"""What detectors see of a Gaussian state: probabilities of patterns, whole distributions, moments, total numbers."""

from ._full import Distribution as Distribution
from ._full import click_distribution as click_distribution
from ._full import photon_amplitudes as photon_amplitudes
from ._full import photon_distribution as photon_distribution
from ._moments import click_covariance as click_covariance
from ._moments import click_rates as click_rates
from ._moments import mean_photons as mean_photons
from ._moments import photon_covariance as photon_covariance
from ._patterns import amplitude as amplitude
from ._patterns import click_log_probability as click_log_probability
from ._patterns import click_probability as click_probability
from ._patterns import photon_log_probability as photon_log_probability
from ._patterns import photon_probability as photon_probability
from ._totals import ClickNumbers as ClickNumbers
from ._totals import total_clicks as total_clicks
from ._totals import total_photons as total_photons
