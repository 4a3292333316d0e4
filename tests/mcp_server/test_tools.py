"""The tools of the MCP server, through the SDK's own client, on a real store."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from benchmarks.story import BROKEN_CODE, BROKEN_MESSAGE, BROKEN_TOOL, BROKEN_VERSION, LAST_VERSION, make_story
from tests.mcp_server.conftest import Connect
from tests.mcp_server.histories import arguments, call, check_clustered, clustered, write
from tests.stores import create_empty_store
from tooltrace.redact.snapshot import Json

MODES = {"auto": "2026-07-28", "legacy": "2025-11-25"}


async def answer(client: Any, tool: str, /, **given: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, given)
    assert not result.is_error, result.content[0].text
    return dict(result.structured_content)


async def error(client: Any, tool: str, /, **given: Any) -> str:
    result = await client.call_tool(tool, given)
    assert result.is_error
    assert result.structured_content is None
    return str(result.content[0].text)


def row(found: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """A row as a dict, computed and copied columns together."""
    one = found["rows"][number]
    columns = found["columns"]
    return dict(zip(columns["computed"] + columns["copied"], one["computed"] + one["copied"], strict=True))


@pytest.mark.parametrize("mode", MODES)
async def test_one_server_speaks_both_versions_of_the_protocol(
    connected: Connect, outage_store: Path, mode: str
) -> None:
    async with connected(outage_store, mode) as client:
        assert client.protocol_version == MODES[mode]
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["findings", "ask", "compare", "sql", "attempts", "call", "find", "conversation", "advice"]
        found = await answer(client, "ask", question="failure_rate", since="24h", tool="fetch")
        assert row(found)["attempts"] == 40


async def test_the_text_and_the_structured_content_are_the_same_json(connected: Connect, outage_store: Path) -> None:
    async with connected(outage_store) as client:
        for tool, given in (("ask", {"question": "errors"}), ("attempts", {}), ("advice", {"tool": "fetch"})):
            result = await client.call_tool(tool, given)
            assert len(result.content) == 1
            assert json.loads(result.content[0].text) == result.structured_content


async def test_ask_answers_with_n_and_interval_and_never_hides_too_few(connected: Connect, outage_store: Path) -> None:
    async with connected(outage_store) as client:
        found = await answer(client, "ask", question="failure_rate", since="24h")
        rows = {row(found, number)["tool"]: row(found, number) for number in range(2)}
        assert (rows["fetch"]["failures"], rows["fetch"]["rate"], rows["fetch"]["too_few"]) == (25, 0.625, False)
        assert rows["fetch"]["low"] < 0.625 < rows["fetch"]["high"]
        assert found["columns"]["copied"] == ["tool"]
        assert found["written_by"] == {"tool": "application"}
        conversations = await answer(client, "ask", question="failure_rate", since="24h", by="conversation")
        assert "too_few" in conversations["columns"]["computed"]
        assert conversations["about"]["too_few"].endswith("give no verdict on them")


async def test_attempts_are_a_skeleton_and_pages_follow_each_other(connected: Connect, outage_store: Path) -> None:
    async with connected(outage_store) as client:
        seen: list[str] = []
        before = None
        while True:
            page = await answer(client, "attempts", status="error", limit=10, before=before)
            seen += [row(page, number)["span_id"] for number in range(len(page["rows"]))]
            before = page["about"].get("next_before")
            if before is None or not page["rows"]:
                break
        assert len(seen) == len(set(seen)) == 25
        assert (
            row(page if page["rows"] else await answer(client, "attempts", status="error"))["error"]
            == "no response in 5 s"
        )
        success = await answer(client, "attempts", status="success", limit=1)
        assert "error" not in success["columns"]["copied"], "the result of a success is not part of the list"


async def test_call_shows_one_call_in_full(connected: Connect, outage_store: Path) -> None:
    async with connected(outage_store) as client:
        first = row(await answer(client, "attempts", status="error", limit=1))
        found = await answer(client, "call", call_id=first["call_id"])
        [attempt] = found["attempts"]
        assert attempt["computed"]["status"] == "error"
        assert json.loads(attempt["copied"]["arguments"])["depth"] == 1
        assert found["written_by"]["arguments"] == "model"
        assert found["written_by"]["error_message"] == "tool"
        assert found["cut"] is None
        only = await answer(client, "call", call_id=first["call_id"], fields=["code"])
        assert only["attempts"] == [{"computed": {}, "copied": {"code": "TIMEOUT"}}]


async def test_fields_equal_to_the_text_are_named_instead_of_repeated(connected: Connect, tmp_path: Path) -> None:
    same = call(call_id="same", text='a "page"', result=Json(json.dumps('a "page"')), seen_text='a "page"')
    other = call(call_id="other", text="a page", result=Json("[1]"), seen_text="another page")
    async with connected(write(create_empty_store(tmp_path / "t.duckdb"), same, other)) as client:
        found = await answer(client, "call", call_id="same")
        assert found["about"]["same_as_text"] == ["result", "seen_text"]
        assert {"result", "seen_text"}.isdisjoint(found["attempts"][0]["copied"])
        asked = await answer(client, "call", call_id="same", fields=["result", "seen_text"])
        assert asked["attempts"][0]["copied"] == {"result": '"a \\"page\\""', "seen_text": 'a "page"'}
        different = await answer(client, "call", call_id="other")
        assert "same_as_text" not in different["about"]
        assert different["attempts"][0]["copied"]["seen_text"] == "another page"


async def test_an_answer_without_rows_has_no_columns(connected: Connect, outage_store: Path) -> None:
    async with connected(outage_store) as client:
        found = await answer(client, "ask", question="failure_rate", tool="nothing")
        assert (found["columns"], found["rows"]) == ({"computed": [], "copied": []}, [])


async def test_a_long_text_is_read_by_pages(connected: Connect, tmp_path: Path) -> None:
    text = "".join(f"{number:07} " for number in range(7_000))
    store = write(create_empty_store(tmp_path / "t.duckdb"), call(call_id="long", text=text, seen_text=text))
    async with connected(store) as client:
        whole = await answer(client, "call", call_id="long")
        assert [page["field"] for page in whole["cut"]["texts"]] == ["text"]
        assert whole["about"]["same_as_text"] == ["seen_text"]
        assert "offset=" in whole["cut"]["more"]
        read, offset = "", 0
        while offset < len(text):
            page = await answer(client, "call", call_id="long", fields=["text"], offset=offset)
            part = page["attempts"][0]["copied"]["text"]
            read, offset = read + part, offset + len(part)
        assert read == text


LOOPING = {
    "repeat": ("repeat", ["fetch", "fetch", "read", "fetch"], {"arguments": arguments(q=1), "text": "nothing"}, [1, 1, None, 1]),
    "error": ("error", ["fetch", "fetch", "read", "fetch"], {"status": "error", "code": "TIMEOUT", "error_message": "late"}, [1, 1, None, 1]),
    "alternation": ("alternation", ["a", "b", "a", "b", "a", "b", "read"], {"arguments": arguments(q=1), "text": "nothing"}, [1] * 6 + [None]),
}  # fmt: skip


@pytest.mark.parametrize("kind", LOOPING)
async def test_a_conversation_has_one_line_a_step_and_marks_the_loops_of_the_query(
    connected: Connect, tmp_path: Path, kind: str
) -> None:
    _, tools, fields, marks = LOOPING[kind]
    start = datetime.now(UTC) - timedelta(minutes=5)
    records = []
    for number, tool in enumerate(tools):
        looping = (
            {"arguments": arguments(q=number), **fields} if tool != "read" else {"arguments": arguments(page=number)}
        )
        moment = start + timedelta(seconds=number)
        records.append(call(tool=tool, conversation_id="c", started_at=moment, **looping))
    later = {"tool": tools[0], "conversation_id": "c", "text": "something", "arguments": arguments(q="other")}
    records.append(call(**later, started_at=start + timedelta(seconds=30)))
    store = write(create_empty_store(tmp_path / "t.duckdb"), *records)
    async with connected(store) as client:
        found = await answer(client, "conversation", id="c")
        assert (found["about"]["steps"], found["about"]["loops"]) == (len(records), 1)
        [loop] = found["loops"]
        [defined] = tt.query("loops", conversation="c", store=store).dicts()
        assert loop["computed"]["kind"] == defined["kind"] == kind
        assert loop["computed"]["repeats"] == defined["repeats"] == 3
        assert loop["copied"] == {"tools": defined["tools"]}
        at = found["columns"]["computed"].index("loop")
        assert [each["computed"][at] for each in found["rows"]] == [*marks, None]
        assert row(await answer(client, "conversation", id="c", step=4))["step"] == 4


async def test_equal_requests_with_different_results_are_not_a_loop(connected: Connect, tmp_path: Path) -> None:
    """Equal arguments alone are not a loop: the query ``loops`` looks at results too."""
    start = datetime.now(UTC) - timedelta(minutes=5)
    records = [
        call(tool="next", conversation_id="c", started_at=start + timedelta(seconds=number), arguments=arguments(q=1),
             text=f"page {number}")
        for number in range(5)
    ]  # fmt: skip
    async with connected(write(create_empty_store(tmp_path / "t.duckdb"), *records)) as client:
        found = await answer(client, "conversation", id="c")
        assert (found["about"]["loops"], found["loops"]) == (0, [])
        assert "loop" not in found["columns"]["computed"]


async def test_find_searches_and_compare_compares(connected: Connect, outage_store: Path) -> None:
    async with connected(outage_store) as client:
        found = await answer(client, "find", text="b.example/1", tool="fetch", limit=100)
        assert row(found)["field"] == "arguments"
        assert row(found)["match"] == "b.example/1"
        assert "match" in found["columns"]["copied"]
        assert {row(found, number)["tool"] for number in range(len(found["rows"]))} == {"fetch"}
        compared = await answer(client, "compare", what="24h", tool="fetch")
        assert {row(compared, number)["measure"] for number in range(len(compared["rows"]))} >= {"failure_rate"}
        assert all(row(compared, number)["verdict"] for number in range(len(compared["rows"])))


@pytest.mark.long
async def test_findings_are_those_of_the_python_api(connected: Connect, outage_store: Path) -> None:
    expected = tt.diagnose(store=outage_store)
    async with connected(outage_store) as client:
        found = await answer(client, "findings")
        only = await answer(client, "findings", tool="search")
    at = found["columns"]["copied"].index("sentence")
    assert [row["copied"][at] for row in found["rows"]] == [one.sentence for one in expected]
    assert expected[0].tool == "fetch"
    assert len(only["rows"]) == sum("search" in one.tools for one in expected)


async def test_advice_states_the_evidence_on_a_call(connected: Connect, outage_store: Path) -> None:
    async with connected(outage_store) as client:
        found = await answer(client, "advice", tool="fetch", arguments={"depth": 1, "url": "https://b.example/0"})
        assert (found["now"]["finding"]["kind"], found["now"]["finding"]["copied"]["tool"]) == ("regressed", "fetch")
        assert re.match(r"\{tool\} failed in 6[12]\.\d % of 4[01] calls \(", found["now"]["finding"]["sentence"])
        assert found["now"]["failure_rate"]["failures"] == 25
        assert found["errors"][0]["copied"]["code"] == "TIMEOUT"
        assert found["fails_with"][0]["copied"] == {"argument": "url", "value": "b.example"}
        assert found["fails_with"][0]["computed"]["with"] | {"low": 0, "high": 0} == {
            "k": 24, "n": 24, "share": 1.0, "low": 0, "high": 0, "clusters": 24, "design_effect": 1.0, "too_few": False,
        }  # fmt: skip
        assert found["worked_after_failure"][0]["copied"] == {"tool": "search"}
        same = found["same_arguments"]["computed"]
        assert (same["failed"]["k"], same["failed"]["n"], same["of_attempts_read"]) == (1, 1, 40)
        assert same["failed"]["too_few"] is True
        assert found["same_arguments"]["last_failures"][0]["copied"]["code"] == "TIMEOUT"
        fine = await answer(client, "advice", tool="search")
        assert "finding" not in fine["now"]
        assert "same_arguments" not in fine


@pytest.mark.long
async def test_intervals_of_advice_count_conversations(connected: Connect, tmp_path: Path) -> None:
    store = write(create_empty_store(tmp_path / "t.duckdb"), *clustered())
    async with connected(store) as client:
        check_clustered(await answer(client, "advice", tool="fetch", arguments={"site": "b"}))
        rates = row(await answer(client, "ask", question="failure_rate", since="24h", tool="fetch"))
        shown = (await answer(client, "advice", tool="fetch"))["now"]["failure_rate"]
        assert all(shown[name] == rates[name] for name in ("low", "high", "clusters", "design_effect", "too_few"))


@pytest.mark.long
async def test_sql_runs_in_the_sandbox(connected: Connect, outage_store: Path) -> None:
    async with connected(outage_store) as client:
        found = await answer(client, "sql", query="SELECT tool, count(*) AS n FROM tool_calls GROUP BY 1 ORDER BY 1")
        assert [row(found, number) for number in range(2)] == [
            {"n": 100, "tool": "fetch"},
            {"n": 100, "tool": "search"},
        ]
        assert "only the store can be read" in await error(
            client, "sql", query="SELECT * FROM read_text('/etc/hostname')"
        )
        assert "nope" in await error(client, "sql", query="SELECT nope FROM tool_calls")


async def test_labels_of_agents_are_kept_apart_from_truth(connected: Connect, tmp_path: Path) -> None:
    store = write(create_empty_store(tmp_path / "t.duckdb"), call(call_id="a"), call(call_id="b"))
    async with connected(store) as client:
        assert "unknown tool" in await error(client, "label", call_id="a", correct=True)
    async with connected(store, allow_label=True) as client:
        [label] = [tool for tool in (await client.list_tools()).tools if tool.name == "label"]
        assert label.annotations.read_only_hint is False
        assert label.annotations.destructive_hint is False
        found = await answer(client, "label", call_id="a", correct=True, reason="it is")
        assert found["about"] == {"recorded": True, "labeler": "agent:mcp", "counts_as_truth": False, "sent": None}
        assert "nothing was recorded" in await error(client, "label", call_id="missing", correct=True)
    async with connected(store, allow_label=True, labeler="judge") as client:
        await answer(client, "label", call_id="b", correct=False)
    with tt.connect(store) as db:
        labels = db.execute("SELECT call_id, labeler, labeler_kind, correct FROM outcomes ORDER BY call_id").fetchall()
        assert labels == [("a", "agent:mcp", "agent", True), ("b", "judge", "agent", False)]
        judged = db.execute("SELECT call_id, judged.correct FROM judged JOIN tool_calls USING (span_id)").fetchall()
        assert judged == [("b", False)]


@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("ask", {"question": "failurerate"}, ["'failurerate'", "did you mean 'failure_rate'"]),
        ("ask", {}, ["needs the argument 'question'"]),
        ("ask", {"question": "errors", "lim": 3}, ["no argument 'lim'", "did you mean 'limit'"]),
        ("ask", {"question": "errors", "limit": 100_000}, ["from 1 to 200"]),
        ("ask", {"question": "errors", "limit": True}, ["a whole number"]),
        ("ask", {"question": "errors", "since": "yesterday"}, ["'since'", "7d"]),
        ("ask", {"question": "errors", "by": "tol"}, ["did you mean 'tool'"]),
        ("attempts", {"before": "x"}, ["about.next_before"]),
        ("call", {"call_id": "none"}, ["unknown call id"]),
        ("call", {"call_id": "x", "fields": ["reslt"]}, ["did you mean 'result'"]),
        ("call", {"call_id": "x", "offset": 3}, ["exactly one field"]),
        ("conversation", {"id": "none"}, ["no conversation with this id"]),
        ("compare", {"what": "?"}, ["version:A version:B"]),
        ("nothing", {}, ["the tools are findings, ask,"]),
    ],
)  # fmt: skip
async def test_an_error_says_what_to_do(
    connected: Connect, outage_store: Path, tool: str, given: dict[str, Any], words: list[str]
) -> None:
    async with connected(outage_store) as client:
        message = await error(client, tool, **given)
        assert all(word in message for word in words), message


@pytest.mark.parametrize("mode", MODES)
async def test_an_error_is_on_the_wire_what_a_tool_error_of_the_sdk_is(
    connected: Connect, outage_store: Path, mode: str
) -> None:
    client_class = pytest.importorskip("mcp.client").Client
    mcpserver = pytest.importorskip("mcp.server.mcpserver")
    from mcp.server.mcpserver.exceptions import ToolError

    async with connected(outage_store, mode) as client:
        ours = await client.call_tool("call", {"call_id": "none"})
    message = ours.content[0].text
    reference = mcpserver.MCPServer("reference")

    @reference.tool()
    def call() -> str:
        raise ToolError(message)

    async with client_class(reference, mode=mode) as client:
        theirs = await client.call_tool("call", {})
    found, expected = (
        each.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta"}) for each in (ours, theirs)
    )
    assert message == "unknown call id: attempts() lists calls, find() searches them"
    assert found["isError"] is True
    assert expected["content"][0].pop("text") == f"Error executing tool call: {found['content'][0].pop('text')}"
    assert found == expected


async def test_a_store_without_records_answers_with_no_rows(connected: Connect, tmp_path: Path) -> None:
    async with connected(tmp_path / "none.duckdb") as client:
        assert (await answer(client, "ask", question="ranking"))["rows"] == []
        assert (await answer(client, "attempts"))["rows"] == []
        assert (await answer(client, "advice", tool="fetch"))["errors"] == []
    assert not (tmp_path / "none.duckdb").exists()


async def test_resources_and_prompts_are_served(connected: Connect, outage_store: Path) -> None:
    async with connected(outage_store) as client:
        assert [str(each.uri) for each in (await client.list_resources()).resources] == [
            "tooltrace://schema",
            "tooltrace://queries",
        ]
        assert len((await client.list_resource_templates()).resource_templates) == 2

        async def text(uri: str) -> str:
            return str((await client.read_resource(uri)).contents[0].text)

        assert "CREATE TABLE tool_calls" in await text("tooltrace://schema")
        assert "-- Which errors happen most often" in await text("tooltrace://queries/errors")
        assert "errors: Which errors" in await text("tooltrace://queries")
        some = row(await answer(client, "attempts", limit=1))["call_id"]
        assert json.loads(await text(f"tooltrace://call/{some}"))["attempts"]
        for unknown in ("tooltrace://call/none", "tooltrace://nothing", "tooltrace://queries/nothing"):
            with pytest.raises(Exception, match="no"):
                await text(unknown)
        prompts = (await client.list_prompts()).prompts
        assert [prompt.name for prompt in prompts] == ["what_broke", "review_results"]
        broke = await client.get_prompt("what_broke", {"since": "2h"})
        assert "since='2h'" in broke.messages[0].content.text
        with pytest.raises(Exception, match="must be a time span"):
            await client.get_prompt("what_broke", {"since": "x'); ignore"})
        review = await client.get_prompt("review_results", {"tool": 'a"\u202e\n' + "b" * 1_000})
        text = review.messages[0].content.text
        assert 'of the tool "a\\"' in text
        assert "\u202e" not in text
        assert len(text) < 1_600


async def test_the_schema_resource_is_valid_sql() -> None:
    import duckdb

    from tooltrace.mcp_server.prompts import ddl

    with duckdb.connect() as con:
        con.execute(ddl())
        assert con.execute("SELECT count(*) FROM tool_calls").fetchone() == (0,)


async def test_the_servers_own_calls_are_in_the_history(connected: Connect, tmp_path: Path) -> None:
    store = write(create_empty_store(tmp_path / "t.duckdb"), call(call_id="secret-free"))
    async with connected(store, record=True) as client:
        await answer(client, "ask", question="ranking", since="7d")
        await error(client, "call", call_id="none")
    with tt.connect(store) as db:
        found = db.execute(
            "SELECT tool, status, agent, service, arguments ->> '$.question', result FROM tool_calls "
            "WHERE starts_with(tool, 'tooltrace.') ORDER BY started_at"
        ).fetchall()
    assert found == [
        ("tooltrace.ask", "success", "mcp", "tooltrace-mcp", "ranking", None),
        ("tooltrace.call", "error", "mcp", "tooltrace-mcp", None, None),
    ]


@pytest.mark.long
async def test_an_answer_begins_with_its_verdict_without_texts_of_a_trace(connected: Connect, tmp_path: Path) -> None:
    store = tmp_path / "story.duckdb"
    make_story(store)
    async with connected(store) as client:
        ranking = await answer(client, "ask", question="ranking", since="7d")
        errors = await answer(client, "ask", question="errors", since="7d")
        compared = await answer(client, "compare", what=f"version:{LAST_VERSION} version:{BROKEN_VERSION}")
        silent = await answer(client, "ask", question="ranking", until="2020-01-01")
    assert list(ranking)[0] == "about"
    assert list(ranking["about"])[0] == "verdict"
    [first] = ranking["about"]["verdict"]
    assert first["text"].startswith("{group} is first: 1")
    assert first["copied"] == {"group": BROKEN_TOOL, "code": BROKEN_CODE, "message": BROKEN_MESSAGE}
    assert errors["about"]["verdict"][0]["copied"]["message"] == BROKEN_MESSAGE
    assert "{measure} was" in compared["about"]["verdict"][0]["text"]
    assert silent["about"]["verdict"] == []


@pytest.mark.parametrize(
    ("reason", "stored"),
    [
        ("api_key=" + "x9Kq" * 9, "api_key=[redacted]"),
        ("</td><script>alert(1)</script>\x1b[31m\x00", "</td><script>alert(1)</script>\x1b[31m\x00"),
        ("'; DROP TABLE outcomes; --", "'; DROP TABLE outcomes; --"),
        ("=HYPERLINK(1)", "=HYPERLINK(1)"),
        ("y" * 3_000_000, None),
    ],
    ids=["a secret", "markup", "SQL", "a formula", "3 MB"],
)
async def test_a_label_with_a_hostile_reason(
    connected: Connect, tmp_path: Path, reason: str, stored: str | None
) -> None:
    store = write(create_empty_store(tmp_path / "t.duckdb"), call(call_id="a"))
    async with connected(store, allow_label=True) as client:
        result = await client.call_tool("label", {"call_id": "a", "correct": True, "reason": reason})
    with tt.connect(store) as db:
        rows = db.execute("SELECT reason FROM outcomes").fetchall()
    if stored is None:
        assert result.is_error or len(rows[0][0]) <= 65_536
    else:
        assert rows == [(stored,)]
