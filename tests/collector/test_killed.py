"""The collector is killed and started again while calls are made: every span arrives, and arrives once."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.collector.conftest import MakeApplication, MakeCollector
from tests.collector.harness import Collector
from tests.collector.test_demo import rows
from tests.waiting import until

BATCH = 512
"""Records that go in one request, at most."""


def arrived(collector: Collector) -> int:
    return len({span["spanId"] for span in collector.spans(torn=True)})


def counted(collector: Collector) -> int:
    """The calls in the duration histogram."""
    points = [point for metric in collector.metrics() for point in metric["histogram"]["dataPoints"]]
    return sum(int(point["count"]) for point in points)


def has_all(collector: Collector, calls: int) -> bool:
    """Whether every signal of ``calls`` calls is there; each is delivered by itself. One call in five has an event."""
    return arrived(collector) == counted(collector) == calls and len(collector.logs()) == calls // 5


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_away_for_a_while(collector: MakeCollector, application: MakeApplication, protocol: str) -> None:
    one = collector("to-file.yaml")
    agent = application(one, protocol)
    agent.make(500)
    until(lambda: has_all(one, 500))
    one.kill()
    agent.make(500)
    until(lambda: "cannot deliver" in agent.errors)
    agent.make(500)
    one.start()
    agent.make(500)
    until(lambda: has_all(one, 2000))
    assert agent.end() == 0
    one.stop()
    stored = rows(agent.store)
    assert len(stored) == 2000
    assert Counter(span["spanId"] for span in one.spans()) == Counter(row["span_id"] for row in stored)
    events = Counter(log.get("eventName") for log in one.logs())
    assert events == {"gen_ai.execute_tool.exception": 200, "gen_ai.evaluation.result": 200}
    assert counted(one) == 2000
    lines = agent.errors.splitlines()
    assert len({line.partition(" now ")[0] for line in lines}) == len(lines), "each signal says once that it waits"


def test_killed_in_the_middle_of_requests(collector: MakeCollector, application: MakeApplication) -> None:
    """Unacknowledged requests are repeated: at most one for each kill."""
    one, kills = collector("to-file.yaml"), 5
    agent = application(one, "http/protobuf")
    for number in range(kills):
        agent.make(3000)
        until(lambda: arrived(one) > 3000 * number)
        one.kill()
        one.start()
    until(lambda: arrived(one) == 3000 * kills)
    assert agent.end() == 0
    one.stop()
    times = Counter(span["spanId"] for span in one.spans(torn=True))
    assert times.keys() == {row["span_id"] for row in rows(agent.store)}
    assert times.total() - len(times) <= kills * BATCH


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_requests_that_the_collector_finds_too_large(
    collector: MakeCollector, application: MakeApplication, protocol: str
) -> None:
    """It takes 20 MiB by HTTP and 4 MiB by gRPC, if nothing else is said."""
    one = collector("to-file.yaml")
    agent = application(one, protocol)
    agent.make(1000, 30_000)
    until(lambda: arrived(one) == 1000)
    assert agent.end() == 0
    one.stop()
    assert Counter(span["spanId"] for span in one.spans()).total() == 1000
    assert not rows(agent.store, "losses")
