"""The MCP server and the briefing over a store in ClickHouse."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import tooltrace as tt
from tests.clickhouse.compare import address
from tests.clickhouse.conftest import Fill
from tests.mcp_server.histories import arguments, call, check_clustered, clustered, outage
from tooltrace.core.records import Outcome
from tooltrace.store.base import open_store

mcp_client: Any = pytest.importorskip("mcp.client", reason="needs mcp 2.3: pip install 'tooltrace-recorder[mcp]'")


@pytest.fixture(scope="module")
def where(engine: Any, fill: Fill) -> Any:
    fill("outage", outage())
    return address(engine, "outage")


async def test_every_tool_answers(where: Any) -> None:
    from tooltrace.mcp_server.served_store import ServedStore
    from tooltrace.mcp_server.server import make_server

    async with mcp_client.Client(make_server(ServedStore(open_store(where)), record=False)) as client:

        async def answer(tool: str, /, **given: Any) -> Any:
            result = await client.call_tool(tool, given)
            assert not result.is_error, result.content[0].text
            return result.structured_content

        rates = await answer("ask", question="failure_rate", since="24h", tool="fetch")
        assert rates["rows"][0]["computed"][:3] == [40, 25, 0.625]
        listed = await answer("attempts", status="error", limit=1)
        ids = dict(zip(listed["columns"]["copied"], listed["rows"][0]["copied"], strict=True))
        assert (await answer("call", call_id=ids["call_id"]))["attempts"][0]["copied"]["code"] == "TIMEOUT"
        assert (await answer("conversation", id=ids["conversation"]))["about"]["steps"] == 2
        assert (await answer("find", text="b.example", limit=3))["rows"]
        assert (await answer("compare", what="24h", tool="fetch"))["rows"]
        advice = await answer("advice", tool="fetch", arguments={"url": "https://b.example/0", "depth": 1})
        assert advice["fails_with"][0]["copied"]["value"] == "b.example"
        assert advice["worked_after_failure"][0]["copied"]["tool"] == "search"
        assert advice["same_arguments"]["computed"]["failed"]["k"] == 1
        counted = await answer("sql", query="SELECT tool, count(*) AS n FROM tool_calls GROUP BY 1 ORDER BY 1")
        assert [row["computed"] for row in counted["rows"]] == [[100], [100]]
        wrong = await client.call_tool("sql", {"query": "SELECT nope FROM tool_calls"})
        assert wrong.is_error
        thrown = await client.call_tool("sql", {"query": "SELECT CAST(error_message AS INTEGER) FROM tool_calls"})
        assert "no response" not in thrown.content[0].text


async def test_intervals_of_advice_and_loops_are_those_of_a_local_store(engine: Any, fill: Fill) -> None:
    from tooltrace.mcp_server.served_store import ServedStore
    from tooltrace.mcp_server.server import make_server

    start = datetime.now(UTC) - timedelta(minutes=5)
    looping = [
        call(tool="read", conversation_id="loop", started_at=start + timedelta(seconds=number), arguments=arguments(q=1), text="-")
        for number in range(4)
    ]  # fmt: skip
    fill("clustered", [*clustered(), *looping])
    server = make_server(ServedStore(open_store(address(engine, "clustered"))), record=False)
    async with mcp_client.Client(server) as client:
        found = await client.call_tool("advice", {"tool": "fetch", "arguments": {"site": "b"}})
        check_clustered(found.structured_content)
        steps = (await client.call_tool("conversation", {"id": "loop"})).structured_content
        assert steps["loops"][0]["computed"]["repeats"] == 4
        at = steps["columns"]["computed"].index("loop")
        assert [row["computed"][at] for row in steps["rows"]] == [1, 1, 1, 1]


async def test_the_servers_own_calls_are_inserted_where_no_collector_is_named(
    engine: Any, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tooltrace.mcp_server.served_store import ServedStore
    from tooltrace.mcp_server.server import make_server

    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    fill("own", [call()])
    store = open_store(address(engine, "own"))
    found: list[Any] = []
    async with mcp_client.Client(make_server(ServedStore(store))) as client:
        assert not (await client.call_tool("ask", {"question": "ranking", "since": "7d"})).is_error
        assert (await client.call_tool("call", {"call_id": "none"})).is_error
        while len(found) < 2:
            await asyncio.sleep(0.2)
            with store.connect() as db:
                found = db.sql(
                    "SELECT tool, status, agent, service, arguments ->> '$.question' FROM tool_calls "
                    "WHERE starts_with(tool, 'tooltrace.') ORDER BY started_at"
                ).fetchall()
    assert found == [
        ("tooltrace.ask", "success", "mcp", "tooltrace-mcp", "ranking"),
        ("tooltrace.call", "error", "mcp", "tooltrace-mcp", None),
    ]


def test_the_briefing_is_the_same_as_from_a_local_store(where: Any) -> None:
    text = tt.briefing(store=open_store(where))
    assert re.search(r'- "fetch" failed in 6[12]\.\d % of 4[01] calls', text)
    assert '"search" worked 25 of 25 times' in text


def test_labels_of_agents_do_not_count(engine: Any, fill: Fill) -> None:
    records = outage()[:2]
    labels = [
        Outcome(call_id=call.call_id, correct=True, labeler=labeler, labeled_at=call.started_at, target_kind="call")
        for call, labeler in zip(records, ("agent:x", "ann"), strict=True)
    ]
    fill("agents", [*records, *labels])
    with open_store(address(engine, "agents")).connect() as db:
        assert db.sql("SELECT span_id FROM judged").fetchall() == [(records[1].span_id,)]
