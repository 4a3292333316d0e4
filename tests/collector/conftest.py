"""The collector, where it has been built."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.collector.build import binary
from tests.collector.harness import Application, Collector
from tests.needs import missing

MakeCollector = Callable[..., Collector]
MakeApplication = Callable[[Collector, str], Application]


def there(path: Path, name: str) -> Path:
    """``path``. Where it is missing the test is skipped, and fails where ``$TOOLTRACE_REQUIRE`` has the ``name``."""
    if not path.exists():
        missing(name, f"nothing at {path}: `make {name}` brings it")
    return path


def receivers() -> Path:
    """The Python of the environment that has Phoenix and ClickHouse's engine."""
    python = os.environ.get("TOOLTRACE_RECEIVERS")
    return (
        Path(python) if python else missing("receivers", "no Phoenix and no engine: `make test-collector` brings them")
    )


@pytest.fixture(scope="session")
def otelcol() -> Path:
    """The program."""
    return there(binary(), "collector")


@pytest.fixture
def collector(otelcol: Path, tmp_path: Path) -> Iterator[MakeCollector]:
    """Makes a running collector of a configuration in ``docs/collector``; it ends with the test."""
    made: list[Collector] = []

    def make(config: str, *more: str, **env: str) -> Collector:
        folder = tmp_path / f"collector-{len(made)}"
        folder.mkdir()
        made.append(Collector(otelcol, config, folder, env, list(more)))
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.kill()


@pytest.fixture
def application(tmp_path: Path) -> Iterator[MakeApplication]:
    """Makes a process that records in ``sent.duckdb`` and sends to a collector by a protocol."""
    made: list[Application] = []

    def make(to: Collector, protocol: str) -> Application:
        made.append(Application(tmp_path / "sent.duckdb", to.environment(protocol)))
        return made[-1]

    yield make
    for one in made:
        one.process.kill()
        one.process.communicate()
