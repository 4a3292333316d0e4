# Two commands: `make demo` shows what tooltrace does, `make test` shows that it works.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# The frameworks that are traced without changing a tool, as the tests want them: each in an environment of its own.
FRAMEWORKS := agno hello-agents
agno := agno==3.1.10
hello-agents := hello-agents==1.0.0

.PHONY: demo test check bench bench-analyses clean frameworks $(FRAMEWORKS:%=test-%)

demo: $(VENV)/.demo
	$(BIN)/tooltrace demo

test: check
	$(BIN)/python -m pytest

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

frameworks: $(FRAMEWORKS:%=test-%)

test-agno test-hello-agents: test-%: $(VENV)-%/.ready
	$(VENV)-$*/bin/python -c 'import $(subst -,_,$*)'
	$(VENV)-$*/bin/python -m pytest tests/integrations/$(subst -,_,$*) tests/importing
	$(VENV)-$*/bin/python examples/$(subst -,_,$*)_agent.py

$(FRAMEWORKS:%=$(VENV)-%/.ready): $(VENV)-%/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)-$*
	$(VENV)-$*/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]' '$($*)' \
		hypothesis pytest pytest-asyncio pytest-timeout
	touch $@

bench-analyses: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check arize-phoenix-sqlean
	$(BIN)/python -m benchmarks --analyses

clean:
	rm -rf $(VENV) $(FRAMEWORKS:%=$(VENV)-%) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.demo $(VENV)/.test: $(VENV)/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tooltrace needs Python 3.11 or newer, and $(PYTHON) is older: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
