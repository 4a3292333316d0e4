# `make demo` runs the demo; `make test` checks style and types and runs the tests. noxfile.py has the environments beside .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NOX := $(BIN)/nox --session

CORES := $(shell $(PYTHON) -c 'import os; print(os.cpu_count() or 1)')
# Tests of the shards wait for a quarter of their time, so that three of them keep two cores busy.
WORKERS ?= $(shell expr $(CORES) \* 3 / 2)
PYTEST := $(BIN)/python -m pytest --dist worksteal --numprocesses
MINUTES ?= 5

# Shards of tests that need nothing but the tests' environment, a browser and strace. tests/shards.py has the names.
SHARDS := processes browser docs

# Tests start hundreds of Python processes: compile each module once, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all test-shards ci check docs site $(SHARDS:%=test-%) test-simulations test-thorough test-frameworks dist \
	check-workflows collector campaign crash soak fuzz bench bench-promises bench-analyses bench-instructions bench-peers codemirror clean

demo: $(VENV)/.demo
	$(BIN)/tooltrace demo

test: check
	$(PYTEST) $(CORES)

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.test
	$(BIN)/python -m docs.generate
	$(BIN)/python -m docs.translations

# build/site/index.html; fails at a broken link, a missing reference and a page that the sidebar does not have.
site: $(VENV)/.test
	$(BIN)/python -m docs.site

# Everything, in a new environment.
ci:
	.ci/run

test-all: test test-shards

# All that `make test` leaves out; side by side where one alone would leave a core idle.
test-shards: $(VENV)/.test
	$(MAKE) $(SHARDS:%=test-%) test-simulations test-long
	$(MAKE) collector
	$(MAKE) --jobs=2 --output-sync=target test-collector test-clickhouse
	$(MAKE) test-dist check-workflows test-lowest test-secrets
	$(MAKE) --jobs=2 --output-sync=target test-frameworks campaign

test-docs: site

$(SHARDS:%=test-%): test-%: $(VENV)/.test
	$(PYTEST) $(WORKERS) -m '$* and not simulations'

# Statistics over many histories, all cases of each grid, and properties with more examples.
test-simulations: $(VENV)/.test
	HYPOTHESIS_PROFILE=full $(PYTEST) $(WORKERS) -m 'simulations or hypothesis'

# Tests of more than a third of a second of CPU time each, without those of the other shards.
test-long: $(VENV)/.test
	$(PYTEST) $(WORKERS) -m 'long and not ($(SHARDS:%=% or) simulations)'

# Properties with many more examples than in `make test`.
test-thorough: $(VENV)/.test
	HYPOTHESIS_PROFILE=thorough $(PYTEST) $(WORKERS) -m hypothesis

# All frameworks, one after the other.
test-frameworks: $(VENV)/.test
	$(BIN)/nox --tags frameworks

# Any other shard, and the framework NAME: a session of noxfile.py.
test-%: $(VENV)/.test
	$(NOX) $*

dist: $(VENV)/.test
	$(NOX) build

check-workflows: $(VENV)/.test
	$(NOX) workflows

collector:
	$(PYTHON) tests/collector/build.py

# Each for MINUTES. Kills, damage, full disks, stopped processes, a failing receiver and lost calls.
campaign: $(VENV)/.test
	$(BIN)/python -m tests.campaign --minutes $(MINUTES)

# Losses of power at random system calls of a store on a simulated disk. Needs strace.
crash: $(VENV)/.test
	$(BIN)/python -m tests.crash --minutes $(MINUTES)

# One agent with readers, a receiver and every kind of maintenance: each call is stored, lost or pending, and memory,
# files and descriptors do not grow.
soak: $(VENV)/.test
	$(BIN)/python -m tests.soak --minutes $(MINUTES)

# Random and hostile objects, journal lines, OTLP requests, files and SQL: no crash, no exception, and no cost beyond the budget.
fuzz: $(VENV)/.test
	$(BIN)/python -X faulthandler -m tests.fuzz --minutes $(MINUTES)

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

bench-promises: $(VENV)/.test
	$(BIN)/python -m benchmarks.promises

bench-analyses: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check arize-phoenix-sqlean
	$(BIN)/python -m benchmarks analyses

# The instructions of a call in the calling thread. Needs valgrind.
bench-instructions: $(VENV)/.test
	$(BIN)/python -m benchmarks.instructions

# The same calls in other libraries, in one run. Nothing leaves the machine.
bench-peers: $(VENV)/.test
	$(BIN)/nox --tags peers
	$(BIN)/python -m benchmarks.peers

# The editor of the SQL page, from the versions of package-lock.json: the same bytes each time. Needs Node.js and npm.
codemirror:
	mkdir -p build/codemirror
	cp dashboards/codemirror/* build/codemirror/
	cd build/codemirror && npm ci --ignore-scripts --no-audit --no-fund && npm run build
	cp build/codemirror/codemirror.min.js dashboards/vendor/

clean:
	rm -rf $(VENV) .nox build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.demo $(VENV)/.test: $(VENV)/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tooltrace needs Python 3.11 or newer, and $(PYTHON) is older: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
