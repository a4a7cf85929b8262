"""Every public function says what it is, what it takes, returns and raises, what it costs, and shows an example."""

import doctest
import inspect
import types

import jax
import pytest

import gbsjax
import gbsjax_ref
from gbsjax import distribution, fit, gaussian

PHYSICS = (gaussian, distribution, fit)
SECTIONS = {
    **dict.fromkeys(PHYSICS, ("Args", "Returns", "Raises", "Examples")),
    gbsjax: ("Args", "Returns", "Raises", "Notes", "Examples"),
    gbsjax_ref: ("Args", "Returns", "Raises", "Notes"),
}


def public(module: types.ModuleType) -> list[tuple[types.ModuleType, str]]:
    return [(module, name) for name, thing in vars(module).items() if not name.startswith("_") and callable(thing)]


@pytest.mark.parametrize(
    ("module", "name"),
    [part for module in SECTIONS for part in public(module)],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_sections(module, name):
    thing = getattr(module, name)
    text = inspect.getdoc(thing)
    assert text, f"{name} has no docstring"
    if inspect.isclass(thing):
        return
    assert text.splitlines()[0].endswith(".")
    missing = [section for section in SECTIONS[module] if f"\n{section}:\n" not in text]
    assert not missing, f"{name} lacks {missing}"
    for parameter in inspect.signature(thing).parameters:
        assert f"    {parameter}: " in text, f"{name} does not explain {parameter}"


def test_public_names_are_what_the_modules_re_export():
    functions = {"permanent", "hafnian", "loop_hafnian", "low_rank_hafnian", "torontonian", "loop_torontonian"}
    assert {name for _, name in public(gbsjax)} == functions | {
        *("submatrix", "select", "Selection", "show_progress"),
        *("evaluate", "Evaluation", "condition", "count"),
    }
    assert "_permanent" in vars(gbsjax)


@pytest.mark.parametrize(
    "module", [gbsjax, *(pytest.param(module, marks=pytest.mark.full) for module in PHYSICS)], ids=lambda m: m.__name__
)
def test_examples_run(module):
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        for _, name in public(module):
            if inspect.isclass(getattr(module, name)):
                continue
            for test in doctest.DocTestFinder(recurse=False).find(getattr(module, name), name, globs={}):
                assert test.examples
                assert doctest.DocTestRunner().run(test).failed == 0
