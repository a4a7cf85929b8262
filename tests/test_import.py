"""Importing changes nothing global and brings in nothing heavy."""

import subprocess
import sys

CODE = """
import sys, jax
before = dict(jax.config.values)
import gbsjax
assert dict(jax.config.values) == before
heavy = {"equinox", "matplotlib", "optax", "typer", "rich", "mpmath", "thewalrus", "jax.experimental.pallas"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
import gbsjax_ref
assert "jaxlib" in sys.modules
"""


def test_import_is_quiet_and_light():
    run = subprocess.run([sys.executable, "-W", "error", "-c", CODE], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_reference_needs_no_jax():
    code = "import sys, gbsjax_ref; assert not {'jax', 'gbsjax'} & set(sys.modules)"
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
