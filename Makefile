# `make demo` and `make test` are all a newcomer needs: each makes .venv, installs what it needs, and runs.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV ?= .venv
EXTRAS ?= dev,peers
BIN := $(VENV)/bin
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PYTEST := $(BIN)/python -m pytest -p no:cacheprovider -n $(JOBS) --dist worksteal

.PHONY: demo test check slow docs clean

$(VENV)/.%: pyproject.toml
	@$(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info[:2] < (3, 14), "gbsjax needs Python 3.11 to 3.13, found " + sys.version + "; name one with make PYTHON=..."'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --upgrade pip
	$(BIN)/python -m pip install -qq -e '.[$*]'
	@touch $@

demo: $(VENV)/.plot
	$(BIN)/gbsjax demo

test: $(VENV)/.$(EXTRAS)
	$(PYTEST)

check: $(VENV)/.$(EXTRAS)
	$(PYTEST) -m 'not slow and not full'

slow: $(VENV)/.$(EXTRAS)
	$(PYTEST) -m slow

docs: $(VENV)/.$(EXTRAS)
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build dist site *.egg-info
