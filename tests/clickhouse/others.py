"""Tool spans as other libraries make them, and what a view cannot say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.clickhouse.compare import Row, same
from tests.ingest.spans.conftest import mcp, span, tool
from tests.ingest.spans.test_conventions import DIALECTS, NAMES, langfuse, openinference
from tooltrace.otel.span_data import SpanData

RESOURCE = {"service.name": "shop", "host.name": "here", "process.pid": 7}
GIVEN = {"a": 1, "b": [2, {"c": 'it\'s \\ "q" 日本'}], "d": None, "e": 0.5}


def differing(columns: Sequence[str], mine: Sequence[Row], theirs: Sequence[Row]) -> list[Any]:
    """Where rows of a view differ from the store's, but for what a view cannot know: which rule would have read the result,
    which tooltrace, and of which call with its id an attempt is."""
    rule, recorder, status = map(columns.index, ("rule", "recorder_version", "status"))
    found: list[Any] = [] if len(mine) == len(theirs) else [("rows", len(mine), len(theirs))]
    for row, other in zip(mine, theirs, strict=False):
        by_rule = row[rule] not in ("span_status", "exception", None)
        left_out = {
            recorder,
            *map(columns.index, ("attempt", "first_span_id", "flags", "linked_by")),
            *((rule, columns.index("rule_grade")) if by_rule else ()),
        }
        assert other[recorder] is None
        grade = "certain" if other[status] == "error" else "unread"
        assert not by_rule or other[rule : rule + 2] == ("span_status", grade)
        cells = enumerate(zip(row, other, strict=True))
        found += [
            (row[columns.index("span_id")], columns[at], a, b)
            for at, (a, b) in cells
            if at not in left_out and not same(a, b)
        ]
    return found


def plain() -> list[SpanData]:
    """Calls of which the view is to say what the store does, but for rules."""
    made = [*_of_every_dialect(), *_endings(), *_oddities()]
    return [replace(form, resource=RESOURCE, trace_id=f"{place + 1:032x}") for place, form in enumerate(made)]


def _of_every_dialect() -> list[SpanData]:
    results: tuple[Any, ...] = (3, "words", "", "3", None, True, [1, 2], {"a": {"b": "\n"}})
    made = []
    for dialect in DIALECTS:
        name = NAMES.get(dialect, "execute_tool {}").format("add")
        made += [span(name, attributes=dialect("add", GIVEN, result=result)) for result in results]
        made += [span(name, attributes=dialect("add", given)) for given in (GIVEN, {}, "plain", [1, 2], 5, None)]
        made.append(span(name, attributes=dialect("add", GIVEN), error=("FileNotFoundError", "no such file: a.txt")))
        made.append(span(name, attributes=dialect("add", GIVEN, result="half"), error=("httpx.ReadTimeout", "late")))
        made.append(span(name, attributes=dialect("add", GIVEN), status="error", description="boom"))
    return made


def _endings() -> list[SpanData]:
    thrown = (
        "asyncio.exceptions.CancelledError", "GeneratorExit", "langgraph.errors.GraphInterrupt", "builtins.ValueError", "UnicodeDecodeError",
        "openai.RateLimitError", "requests.exceptions.ConnectionError", "my.OwnError", "KeyError", "TimeoutError", "sqlite3.OperationalError",
    )  # fmt: skip
    made = [tool(error=(kind, "why"), call_id="c") for kind in thrown]
    made += [
        tool(status="error", attributes={"error.type": kind}, description="boom")
        for kind in ("_OTHER", "TIMEOUT", "timeout", "404", "503", "TimeoutError", "pkg.mod.HTTPError")
    ]
    made += [
        tool(status="error"),
        tool(status="ok", attributes={"error.type": "TimeoutError"}),
        tool(error=("ValueError", "")),
    ]
    made.append(tool(status="error", description="boom\nTraceback (most recent call last):\n  secret"))
    failed = langfuse("add", GIVEN) | {"langfuse.observation.level": "ERROR"}
    made.append(span("add", attributes=failed | {"langfuse.observation.status_message": "no"}))
    made.append(span("add", attributes=failed, description="why", status="error"))
    made.append(tool(attributes={"pydantic_ai.tool.deferral.name": "ApprovalRequired"}, arguments=GIVEN))
    return made


def _oddities() -> list[SpanData]:
    return [
        tool(attributes={"gen_ai.tool.call.id": " c9 ", "gen_ai.agent.name": "", "gen_ai.conversation.id": "chat", "x": "y", "n": "5"}),
        tool(attributes={"gen_ai.tool.type": "datastore", "gen_ai.tool.description": "what it does", "gen_ai.tool.call.result": "[not json"}),
        span("execute_tool by_name", attributes={"gen_ai.operation.name": "execute_tool"}),
        span("execute", attributes={"gen_ai.operation.name": "execute_tool"}, scope=None),
        mcp(), mcp(None), span("MCP send tools/call add", attributes={"rpc.method": "tools/call", "rpc.response.status_code": "-32602"}, status="error"),
        span("chain.tool", attributes={"traceloop.span.kind": "tool"}),
        span("search", attributes={"openinference.span.kind": "tool", "input.value": "3", "output.value": "3", "tool_call.id": "c2"}),
        span("search", attributes=openinference("search", GIVEN) | {"session.id": "chat", "agent.name": "clerk"}),
        span("search", attributes=langfuse("search", GIVEN) | {"session.id": "chat", "langfuse.version": "2"}),
        span("late", attributes={"gen_ai.tool.name": "late"}, scope=None),
    ]  # fmt: skip


def no_calls() -> list[SpanData]:
    """Spans that are not tool calls."""
    attribute_sets: list[dict[str, Any]] = [
        {}, {"gen_ai.operation.name": "chat"}, {"gen_ai.operation.name": "chat", "gen_ai.tool.name": "add"}, {"openinference.span.kind": "LLM"},
        {"openinference.span.kind": "CHAIN", "gen_ai.tool.name": "add"}, {"mcp.method.name": "tools/list"}, {"traceloop.span.kind": "agent"},
        {"langfuse.observation.type": "span"}, {"gen_ai.operation.name": "execute_tool", "logfire.span_type": "pending_span"},
        {"tool_arguments": "{}"},
    ]  # fmt: skip
    return [
        span("running", attributes=attributes, trace_id=f"{place + 9000:032x}")
        for place, attributes in enumerate(attribute_sets)
    ]
