"""Records that a collector accepted arrive although it is stopped or killed: its queue is on the disk."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.collector.conftest import MakeApplication, MakeCollector
from tests.collector.harness import Collector
from tests.collector.test_demo import rows
from tests.waiting import until

SENDING = str(Path(__file__).with_name("sending.py"))
CALLS = 2000


def send(to: Collector, store: Path, protocol: str = "http/protobuf", calls: int = CALLS) -> None:
    """Record ``calls`` in ``store`` and send them, in a process that has ended when this returns."""
    command = [sys.executable, SENDING, str(store), str(calls)]
    done = subprocess.run(command, env=to.environment(protocol), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["proto", "json"])
def test_the_receiver_is_away_and_the_collector_is_killed(
    collector: MakeCollector, tmp_path: Path, encoding: str
) -> None:
    receiver = collector("to-file.yaml")
    receiver.kill()
    between = collector("to-tooltrace.yaml", TOOLTRACE=receiver.endpoint("http/protobuf"), ENCODING=encoding)
    store = tmp_path / "t.duckdb"
    send(between, store)
    between.kill()
    between.start()
    receiver.start()
    until(lambda: len(receiver.spans()) >= CALLS)
    between.stop()
    receiver.stop()
    arrived = Counter(span["spanId"] for span in receiver.spans())
    assert arrived == Counter(row["span_id"] for row in rows(store))


def test_a_full_queue_loses_no_records(collector: MakeCollector, application: MakeApplication, tmp_path: Path) -> None:
    """The collector says so, and what it does not take waits with the sender."""
    receiver = collector("to-file.yaml")
    receiver.kill()
    small = ["yaml:exporters::otlp_http/tooltrace::sending_queue::queue_size: 2"]
    between = collector("to-tooltrace.yaml", *small, TOOLTRACE=receiver.endpoint("http/protobuf"))
    agent = application(between, "grpc")
    agent.make(5000)
    until(lambda: "cannot deliver" in agent.errors)
    receiver.start()
    until(lambda: len(receiver.spans()) >= 5000)
    assert agent.end() == 0
    between.stop()
    receiver.stop()
    assert Counter(span["spanId"] for span in receiver.spans()) == Counter(row["span_id"] for row in rows(agent.store))
    assert not rows(agent.store, "losses")


def test_a_stopped_collector_passes_on_its_queue(collector: MakeCollector, tmp_path: Path) -> None:
    """In memory, with the batch processor; and the debug exporter shows what came."""
    held = "{batch: {timeout: 600s, send_batch_size: 1000000}}"
    traces = "{processors: [memory_limiter, batch], exporters: [file/traces, debug]}"
    more = f"yaml:{{processors: {held}, exporters: {{debug: {{verbosity: detailed}}}}, service: {{pipelines: {{traces: {traces}}}}}}}"
    one, store = collector("to-file.yaml", more), tmp_path / "t.duckdb"
    send(one, store, "grpc")
    assert not one.spans()
    one.stop()
    assert Counter(span["spanId"] for span in one.spans()) == Counter(row["span_id"] for row in rows(store))
    assert "gen_ai.tool.name: Str(double)" in (one.folder / "collector.log").read_text()
