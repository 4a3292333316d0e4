"""Through a collector into ``tooltrace serve --otlp``: ten thousand spans, the same rows, none lost and none twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.collector.conftest import MakeApplication, MakeCollector
from tests.collector.harness import Application, Receiver
from tests.collector.test_demo import rows
from tests.waiting import until
from tooltrace.errors import StoreMissing

CALLS = 10_000


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    one = Receiver(tmp_path / "received.duckdb")
    one.start()
    yield one
    one.kill()


def count(store: Path, table: str = "tool_calls") -> int:
    try:
        with tt.connect(store) as db:
            return int(db.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])
    except StoreMissing:
        return 0


def outcomes(store: Path) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in rows(store, "outcomes"))


def arrives(receiver: Receiver, agent: Application) -> None:
    """All that ``agent`` has recorded, as it was recorded."""
    for table in ("tool_calls", "outcomes"):
        made = count(agent.store, table)
        until(lambda made=made, table=table: count(receiver.store, table) >= made > 0)
    assert agent.end() == 0
    assert count(agent.store) == CALLS
    assert by_id(receiver.store) == by_id(agent.store)
    assert outcomes(receiver.store) == outcomes(agent.store)


def by_id(store: Path) -> dict[str, dict[str, Any]]:
    found = rows(store)
    ids = {row["span_id"]: row for row in found}
    assert len(ids) == len(found), "a row came twice"
    return ids


@pytest.mark.parametrize(("encoding", "protocol"), [("proto", "grpc"), ("json", "http/protobuf")])
def test_the_same_rows_arrive(
    collector: MakeCollector, application: MakeApplication, receiver: Receiver, encoding: str, protocol: str
) -> None:
    agent = application(collector("to-tooltrace.yaml", TOOLTRACE=receiver.endpoint, ENCODING=encoding), protocol)
    agent.make(CALLS - 600)
    agent.make(600, 30_000)
    arrives(receiver, agent)


def test_kills_on_the_way_cost_nothing(
    collector: MakeCollector, application: MakeApplication, receiver: Receiver
) -> None:
    between = collector("to-tooltrace.yaml", TOOLTRACE=receiver.endpoint)
    agent = application(between, "grpc")
    for _ in range(5):
        agent.make(CALLS // 5)
        before = count(receiver.store)
        until(lambda: count(receiver.store) > before)
        receiver.kill()
        between.kill()
        between.start()
        receiver.start()
    arrives(receiver, agent)
