"""The table of known answers agrees with the exact reference."""

import pytest

import gbsjax_ref
from tests.known import HEAVY_DECIMAL, HEAVY_PERMANENT, KNOWN


@pytest.mark.parametrize("case", KNOWN, ids=lambda case: case.name)
def test_table(case):
    exact = gbsjax_ref.permanent_exact(case.matrix, rows=case.rows, cols=case.cols)
    assert (exact.real, exact.imag) == (case.permanent, 0)


def test_heavy_collision_of_decimals():
    exact = gbsjax_ref.permanent_exact(HEAVY_DECIMAL, rows=[16, 16], cols=[16, 16])
    assert exact.relative_error(float(HEAVY_PERMANENT)) < 1e-15
