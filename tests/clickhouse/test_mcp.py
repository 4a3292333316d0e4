"""The MCP server and the briefing over a store in ClickHouse."""

from __future__ import annotations

from typing import Any

import pytest

import tooltrace as tt
from tests.clickhouse.compare import address
from tests.clickhouse.conftest import Fill
from tests.mcp_server.histories import outage
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

    async with mcp_client.Client(make_server(ServedStore(open_store(where)))) as client:

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
        assert advice["same_arguments"]["computed"]["failed"] == 1
        counted = await answer("sql", query="SELECT tool, count(*) AS n FROM tool_calls GROUP BY 1 ORDER BY 1")
        assert [row["computed"] for row in counted["rows"]] == [[100], [100]]
        wrong = await client.call_tool("sql", {"query": "SELECT nope FROM tool_calls"})
        assert wrong.is_error
        thrown = await client.call_tool("sql", {"query": "SELECT CAST(error_message AS INTEGER) FROM tool_calls"})
        assert "no response" not in thrown.content[0].text


def test_the_briefing_is_the_same_as_from_a_local_store(where: Any) -> None:
    text = tt.briefing(store=open_store(where))
    assert '- "fetch" fails more than usual: 25 of 40 calls failed' in text
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
