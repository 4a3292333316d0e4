"""``tooltrace export otlp`` sends the history, each span once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.collector.conftest import MakeCollector
from tests.collector.harness import Application, quiet
from tests.collector.test_demo import rows, tooltrace


def record(store: Path, calls: int) -> None:
    """In a process that exports nothing."""
    agent = Application(store, quiet())
    agent.make(calls)
    assert agent.end() == 0


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_history_is_sent_once(collector: MakeCollector, tmp_path: Path, protocol: str) -> None:
    one, store = collector("to-file.yaml"), tmp_path / "t.duckdb"
    export = ["export", "otlp", "--endpoint", one.endpoint(protocol), "--protocol", protocol, "--store", str(store)]
    packed = {**quiet(), "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}
    for calls, env in ((1500, packed), (0, quiet()), (100, quiet())):  # all, nothing, what is new
        record(store, calls)
        tooltrace(*export, env=env)
    one.stop()
    stored = rows(store)
    assert len(stored) == 1600
    assert Counter(span["spanId"] for span in one.spans()) == Counter(row["span_id"] for row in stored)
    points = [point for metric in one.metrics() for point in metric["histogram"]["dataPoints"]]
    assert sum(int(point["count"]) for point in points) == 1600
