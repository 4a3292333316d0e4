"""A store to deliver from, and receivers to deliver to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.exporters.otlp.receiver import GrpcReceiver, HttpReceiver
from tooltrace.store.files.paths import StorePaths


@pytest.fixture
def paths(tmp_path: Path) -> StorePaths:
    return StorePaths.of(tmp_path / "s.duckdb")


@pytest.fixture
def receiver() -> Iterator[HttpReceiver]:
    made = HttpReceiver()
    yield made
    made.stop()


@pytest.fixture
def by_grpc() -> Iterator[GrpcReceiver]:
    made = GrpcReceiver()
    yield made
    made.stop()


@pytest.fixture(params=["http/protobuf", "grpc"])
def either(request: pytest.FixtureRequest) -> Iterator[tuple[HttpReceiver | GrpcReceiver, str]]:
    made = HttpReceiver() if request.param == "http/protobuf" else GrpcReceiver()
    yield made, request.param
    made.stop()
