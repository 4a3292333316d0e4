"""Calls read from the attributes that each instrumentation was observed to write."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.ingest.spans.conftest import Take, calls_of, data, span
from tooltrace.core.records import Span, ToolCall
from tooltrace.ingest.spans.conventions.enclosing import stated_context
from tooltrace.otel.attributes import MODEL_NAMES
from tooltrace.otel.span_data import EventData

ADD = {"tool": "add", "status": "success", "ending": "returned", "arguments": {"a": 1, "b": 2}, "result": 3}
POST = {"tool": "post", "status": "error", "ending": "returned", "code": "not_in_channel", "rule_grade": "certain"}
READ = {
    "tool": "read",
    "status": "error",
    "ending": "raised",
    "code": "NOT_FOUND",
    "error_type": "FileNotFoundError",
    "error_message": "no such file: a.txt",
    "retryable": None,
}
OFF = {"ok": False, "error": "not_in_channel"}
EXCEPTION = {
    "exception.type": "FileNotFoundError",
    "exception.message": "no such file: a.txt",
    "exception.escaped": "False",
}
RAISED: dict[str, Any] = {"status": "error", "events": (EventData(name="exception", time_ns=1, attributes=EXCEPTION),)}


def gen_ai(name: str, arguments: Any, **result: Any) -> dict[str, Any]:
    span_attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": json.dumps(arguments),
        "gen_ai.agent.name": "clerk",
        "gen_ai.conversation.id": "chat",
    }
    return span_attributes | {f"gen_ai.tool.call.{key}": json.dumps(value) for key, value in result.items()}


def pydantic_ai_2(name: str, arguments: Any, **result: Any) -> dict[str, Any]:
    span_attributes = {k: v for k, v in gen_ai(name, arguments).items() if "arguments" not in k}
    span_attributes |= {"tool_arguments": json.dumps(arguments), "logfire.msg": f"running tool: {name}"}
    return span_attributes | {"tool_response": json.dumps(value) for value in result.values()}


def openinference(name: str, arguments: Any, **result: Any) -> dict[str, Any]:
    span_attributes = {
        "openinference.span.kind": "TOOL",
        "tool.name": name,
        "tool.description": "what it does",
        "input.value": json.dumps(arguments),
        "input.mime_type": "application/json",
    }
    out = {"output.value": json.dumps(value) for value in result.values()}
    return span_attributes | out | ({"output.mime_type": "application/json"} if out else {})


def message(content: Any, status: str = "success") -> dict[str, Any]:
    fields = {"content": content, "type": "tool", "name": "add", "id": None, "tool_call_id": "c1", "artifact": None}
    return {**fields, "additional_kwargs": {}, "response_metadata": {}, "status": status}


def traceloop(name: str, arguments: Any, **result: Any) -> dict[str, Any]:
    span_attributes = {
        "traceloop.workflow.name": "w",
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": name,
        "traceloop.entity.input": json.dumps({"args": [], "kwargs": arguments}),
    }
    return span_attributes | {"traceloop.entity.output": json.dumps(value) for value in result.values()}


def traceloop_langchain(name: str, arguments: Any, **result: Any) -> dict[str, Any]:
    arguments_json = json.dumps(
        {
            "input_str": str(arguments),
            "tags": [],
            "metadata": {},
            "inputs": arguments,
            "kwargs": {"color": "green", "name": None, "tool_call_id": "c1"},
        }
    )
    span_attributes = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": name,
        "traceloop.entity.input": arguments_json,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.arguments": arguments_json,
    }
    for value in result.values():
        out = json.dumps({"output": value, "kwargs": {"tags": [], "color": "green", "name": name}})
        span_attributes |= {"traceloop.entity.output": out, "gen_ai.tool.call.result": out}
    return span_attributes


def langfuse(name: str, arguments: Any, **result: Any) -> dict[str, Any]:
    span_attributes = {
        "langfuse.observation.type": "tool",
        "langfuse.observation.input": json.dumps({"args": [], "kwargs": arguments}),
    }
    return span_attributes | {"langfuse.observation.output": json.dumps(value) for value in result.values()}


def logfire_mcp(name: str, arguments: Any, **result: Any) -> dict[str, Any]:
    request = {"method": "tools/call", "params": {"name": name, "arguments": arguments}}
    span_attributes = {"rpc.system": "jsonrpc", "rpc.method": "tools/call", "request": json.dumps(request)}
    return span_attributes | {"response": json.dumps(value) for value in result.values()}


def ai_sdk(name: str, arguments: Any, **result: Any) -> dict[str, Any]:
    attributes = {"ai.operationId": "ai.toolCall", "ai.toolCall.name": name, "ai.toolCall.id": "c1"}
    attributes |= {"ai.toolCall.args": json.dumps(arguments), "ai.telemetry.functionId": "clerk"}
    return attributes | {"ai.toolCall.result": json.dumps(value) for value in result.values()}


def logfire_agents(name: str, arguments: Any, **result: Any) -> dict[str, Any]:
    attributes = {"logfire.msg_template": "Function: {name}", "name": name, "input": json.dumps(arguments)}
    return attributes | {"output": json.dumps(value) for value in result.values()}


DIALECTS = [
    *(gen_ai, pydantic_ai_2, openinference, traceloop, traceloop_langchain, langfuse, logfire_mcp),
    *(ai_sdk, logfire_agents),
]
NAMES = {langfuse: "{}", traceloop: "{}.tool", pydantic_ai_2: "running tool", logfire_mcp: "MCP request: tools/call {}"}
NAMES |= {ai_sdk: "ai.toolCall", logfire_agents: "Function: {{name}}"}


def read(take: Take, dialect: Any, name: str, *arguments: Any, result: Any = ..., **fields: Any) -> ToolCall:
    returned = {} if result is ... else {"result": result}
    attributes = dialect(name, *arguments, **returned)
    (call,) = calls_of(take(span(NAMES.get(dialect, "execute_tool {}").format(name), attributes=attributes, **fields)))
    return call


def shown(call: ToolCall, names: Any) -> dict[str, Any]:
    return {n: data(getattr(call, n)) if n in ("arguments", "result") else getattr(call, n) for n in names}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_success_has_arguments_and_result(take: Take, dialect: Any) -> None:
    call = read(take, dialect, "add", {"a": 1, "b": 2}, result=3)
    assert shown(call, ADD) == ADD
    assert call.duration_ms is not None
    assert call.pid is None, "where it was made nobody said"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_failure_described_only_in_the_result(take: Take, dialect: Any) -> None:
    call = read(take, dialect, "post", {"text": "hi"}, result=OFF)
    assert shown(call, POST) == POST


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each is not langfuse])
def test_an_exception_is_read_as_the_recorder_reads_one(take: Take, dialect: Any) -> None:
    call = read(take, dialect, "read", {"path": "a.txt"}, **RAISED)
    assert shown(call, READ) == READ
    assert call.result is None
    assert "Traceback" not in str(call), "a stack cannot be redacted"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_attributes_that_became_fields_are_not_attributes(take: Take, dialect: Any) -> None:
    call = read(take, dialect, "add", {"a": "needle", "b": 2}, result={"found": "straw"})
    assert "needle" not in (call.attributes or "")
    assert "straw" not in (call.attributes or "")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_metadata_alone_has_neither_arguments_nor_results(take: Take, dialect: Any) -> None:
    name = NAMES.get(dialect, "execute_tool {}").format("add")
    form = span(name, attributes={**dialect("add", {"a": "needle"}, result={"found": "straw"}), "user.note": "needle"})
    (call,) = calls_of(take(form, capture="metadata"))
    assert (call.tool, call.status) == ("add", "success")
    assert "needle" not in str(call)
    assert "straw" not in str(call)


def test_langfuse_marks_a_failure_by_its_level(take: Take) -> None:
    span_attributes = {**langfuse("look", {"q": 1}), "langfuse.observation.level": "ERROR"}
    span_attributes |= {"langfuse.observation.status_message": "connection refused", "langfuse.version": "3"}
    (call,) = calls_of(take(span("look", attributes=span_attributes, status="error", description="connection refused")))
    assert (call.tool, call.status, call.code) == ("look", "error", "NETWORK_ERROR")
    assert (call.error_message, call.tool_version) == ("connection refused", "3")


def test_a_message_of_langchain_is_opened(take: Take) -> None:
    failed = {"type": "tool", "data": message("handled: timeout", "error")}
    call = read(take, openinference, "add", {"a": 1}, result=failed, status="ok")
    assert (call.status, call.ending, call.code, call.call_id) == ("error", "returned", "TIMEOUT", "c1")
    assert call.rule == "langchain"


def test_a_number_is_text_unless_it_is_marked_as_json(take: Take) -> None:
    span_attributes = {"openinference.span.kind": "TOOL", "input.value": "007", "output.value": "3"}
    (call,) = calls_of(take(span("agent_number", attributes=span_attributes)))
    assert (call.tool, data(call.arguments), data(call.result)) == ("agent_number", {"input": "007"}, "3")


def test_json_of_traceloop_is_decoded_once(take: Take) -> None:
    assert data(read(take, traceloop, "add", {"a": 1}, result="3").result) == "3"


def test_conventions_without_arguments_and_result(take: Take) -> None:
    span_attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "c9"}
    (call,) = calls_of(take(span("execute_tool find", attributes=span_attributes)))
    assert (call.tool, call.call_id, call.status, call.rule) == ("find", "c9", "success", "span_status")
    assert (call.arguments, call.result, call.agent, call.tool_type) == (None, None, None, None)


def test_an_announcement_is_not_a_call(take: Take) -> None:
    span_attributes = {**gen_ai("add", {}), "logfire.span_type": "pending_span"}
    (record,) = take(span("execute_tool add", attributes=span_attributes))
    assert isinstance(record, Span)


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.operation.name": "chat", "gen_ai.tool.name": "add"},
        {"openinference.span.kind": "LLM", "gen_ai.tool.name": "add"},
        {"traceloop.span.kind": "workflow", "traceloop.entity.name": "add"},
        {"langfuse.observation.type": "generation"},
        {"mcp.method.name": "tools/list"},
        {"http.request.method": "GET"},
        {},
    ],
)
def test_other_spans_stay_spans(take: Take, attributes: dict[str, Any]) -> None:
    (record,) = take(span("work", attributes=attributes))
    assert isinstance(record, Span)
    assert (data(record.attributes) or {}) == attributes


def test_one_span_in_two_dialects_is_one_call(take: Take) -> None:
    span_attributes = {**gen_ai("add", {"a": 1}, result=3), **openinference("add", {"a": 1}, result=3)}
    (call,) = calls_of(take(span("execute_tool add", attributes=span_attributes)))
    assert (call.call_id, call.tool_description, data(call.result)) == ("c1", "what it does", 3)


def test_mcp_without_a_name_in_its_attributes(take: Take) -> None:
    span_attributes = {"mcp.method.name": "tools/call", "jsonrpc.request.id": "2"}
    (call,) = calls_of(take(span("MCP send tools/call add", attributes=span_attributes, kind="client")))
    assert (call.tool, call.tool_type, call.status) == ("add", "extension", "success")


def test_traceloops_form_of_an_mcp_result_is_read(take: Take) -> None:
    span_attributes = {"traceloop.span.kind": "tool", "traceloop.entity.name": "read", "error.type": "tool_error"}
    span_attributes |= {"traceloop.entity.input": json.dumps({"tool_name": "read", "arguments": {"path": "a"}})}
    span_attributes |= {"traceloop.entity.output": json.dumps({"result": "file not found", "is_error": True})}
    (call,) = calls_of(take(span("read.tool", attributes=span_attributes, status="error")))
    assert (call.status, call.ending, call.code, data(call.arguments)) == (
        "error",
        "returned",
        "NOT_FOUND",
        {"path": "a"},
    )


def test_resource_and_scope_are_recorded(take: Take) -> None:
    resource = {"service.name": "shop", "host.name": "box", "process.pid": 7}
    (call,) = calls_of(take(span("execute_tool add", attributes=gen_ai("add", {}), resource=resource, scope="acme")))
    assert (call.service, call.host, call.pid) == ("shop", "box", 7)
    assert data(call.attributes) == {"otel.scope.name": "acme"}


@pytest.mark.parametrize(
    ("arguments", "read_as"),
    [
        ({"args": [], "sanitize_inputs_outputs": True, "kwargs": {"city": "Oslo"}}, {"city": "Oslo"}),
        ({"kwargs": {"city": "Oslo"}}, {"city": "Oslo"}),
        ({"args": ["x"], "kwargs": {"city": "Oslo"}}, {"city": "Oslo", "args": ["x"]}),
        ({"kwargs": "text"}, {"kwargs": "text"}),
        ({"kwargs": {"city": "Oslo"}, "other": 1}, {"kwargs": {"city": "Oslo"}, "other": 1}),
        ({"args": {"city": "Oslo"}}, {"args": {"city": "Oslo"}}),
    ],
)
def test_wrappers_of_arguments_are_removed(take: Take, arguments: Any, read_as: Any) -> None:
    assert data(read(take, openinference, "add", arguments).arguments) == read_as


def test_the_one_parameter_of_a_claude_agent_sdk_tool_is_its_arguments(take: Take) -> None:
    scope = "openinference.instrumentation.claude_agent_sdk"
    call = read(take, openinference, "add", {"args": {"city": "Oslo"}}, scope=scope)
    assert data(call.arguments) == {"city": "Oslo"}


@pytest.mark.parametrize(
    ("parameters", "read_as"),
    [
        ({"properties": {"city": {"type": "string"}}}, {"city": "Oslo"}),
        ({"city": {"type": "string"}}, {"city": "Oslo"}),
        ({"properties": {"city": {}, "day": {}}}, {"input": "Oslo"}),
        (None, {"input": "Oslo"}),
    ],
)
def test_a_single_text_gets_the_name_of_the_only_parameter(take: Take, parameters: Any, read_as: Any) -> None:
    attributes = openinference("weather", {}) | {"input.value": "Oslo"}
    attributes.pop("input.mime_type")
    if parameters is not None:
        attributes["tool.parameters"] = json.dumps(parameters)
    (call,) = calls_of(take(span("weather", attributes=attributes)))
    assert data(call.arguments) == read_as


@pytest.mark.parametrize(("is_error", "status"), [(False, "success"), (True, "error")])
def test_a_tool_output_of_llama_index_is_its_raw_output(take: Take, is_error: bool, status: str) -> None:
    output = {"blocks": [{"text": "no such city"}], "tool_name": "add", "raw_input": {}, "raw_output": {"n": 1}}
    call = read(take, openinference, "add", {}, result={**output, "is_error": is_error})
    assert (call.status, call.text if is_error else data(call.result)) == (
        status,
        "no such city" if is_error else {"n": 1},
    )


def test_placeholders_of_google_adk_are_unknown(take: Take) -> None:
    def adk(arguments: str, response: str) -> ToolCall:
        attributes = gen_ai("add", {}) | {"gen_ai.tool.call.id": "<not specified>"}
        del attributes["gen_ai.tool.call.arguments"]
        attributes |= {"gcp.vertex.agent.tool_call_args": arguments, "gcp.vertex.agent.tool_response": response}
        (call,) = calls_of(take(span("execute_tool add", attributes=attributes)))
        assert call.call_id == call.span_id
        return call

    assert (adk("{}", "{}").arguments, adk("{}", "{}").result) == (None, None)
    read_back = adk('{"a": 1}', '{"result": "<not specified>"}')
    assert (data(read_back.arguments), read_back.result) == ({"a": 1}, None)
    assert data(adk('{"a": 1}', '{"n": 2}').result) == {"n": 2}


def test_a_failed_tool_of_strands_without_an_exception_has_its_text(take: Take) -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add", "gen_ai.tool.status": "error"}
    answer = {"message": '[{"text": "no such city"}]', "id": "c1"}
    events = (EventData(name="gen_ai.choice", time_ns=1, attributes=answer),)
    (call,) = calls_of(take(span("execute_tool add", attributes=attributes, events=events)))
    assert (call.status, call.ending, call.text) == ("error", "returned", "no such city")


def test_the_nearest_enclosing_span_that_states_an_agent_or_a_conversation_counts(take: Take) -> None:
    chat = span(
        "chat", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner", "session.id": "s"}
    )
    agent = span("agent", chat, attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"})
    step = span("step", agent)
    call = span(
        "execute_tool add", step, attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"}
    )
    stated = span(
        "execute_tool add",
        step,
        attributes={
            **call.attributes,
            "gen_ai.agent.name": "own",
            "gen_ai.conversation.id": "mine",
            "gen_ai.tool.call.id": "c2",
        },
    )
    found = calls_of(take(chat, agent, step, call, stated))
    assert [(one.agent, one.conversation_id) for one in found] == [("clerk", "s"), ("own", "mine")]


@pytest.mark.parametrize(
    ("attributes", "stated"),
    [
        ({"session.id": "browser", "agent.name": "java"}, (None, None)),
        ({"session.id": "s", "gen_ai.system": "x"}, (None, "s")),
        ({"openinference.span.kind": "AGENT", "agent.name": "clerk", "session.id": "s"}, ("clerk", "s")),
        (
            {"openinference.span.kind": "CHAIN", "metadata": '{"lc_agent_name": "clerk", "thread_id": "t"}'},
            ("clerk", "t"),
        ),
        ({"openinference.span.kind": "CHAIN", "metadata": "not JSON"}, (None, None)),
        ({"metadata": '{"lc_agent_name": "clerk"}'}, (None, None)),
        ({"traceloop.association.properties.lc_agent_name": "clerk"}, ("clerk", None)),
        ({"traceloop.association.properties.thread_id": "t"}, (None, "t")),
        ({"logfire.msg_template": "Agent run: {name!r}", "name": "clerk"}, ("clerk", None)),
        ({"logfire.msg_template": "OpenAI Agents trace: {name}", "name": "desk", "group_id": "g"}, (None, "g")),
        ({"ai.operationId": "ai.generateText", "ai.telemetry.functionId": "clerk"}, ("clerk", None)),
        ({"ai.telemetry.metadata.chatId": "c"}, (None, "c")),
        ({"langfuse.session.id": "s"}, (None, "s")),
        ({"gen_ai.agent.name": 7.5, "gen_ai.conversation.id": ["x"]}, (None, None)),
    ],
)
def test_agent_and_conversation_are_read_from_the_span(attributes: dict[str, Any], stated: Any) -> None:
    assert stated_context(attributes) == (*stated, None)


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_the_model_is_that_of_the_nearest_enclosing_span_that_names_one(name: str, take: Take) -> None:
    run = span("invoke_agent", attributes={name: "outer"})
    chat = span("chat", run, attributes={name: "m", "gen_ai.operation.name": "chat"})
    step = span("step", chat)
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"}
    inside = span("execute_tool add", step, attributes={**tool, "gen_ai.tool.call.id": "c1"})
    beside = span("execute_tool add", run, attributes={**tool, "gen_ai.tool.call.id": "c2"})
    own = span(
        "execute_tool add", chat, attributes={**tool, "gen_ai.tool.call.id": "c3", "gen_ai.request.model": "own"}
    )
    found = calls_of(take(run, chat, step, inside, beside, own))
    assert [one.model for one in found] == ["m", "outer", "own"]


def test_release_and_environment_are_those_of_the_resource(take: Take) -> None:
    resource = {"service.name": "shop", "service.version": "1.2", "deployment.environment.name": "staging"}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"}
    known, unknown = calls_of(
        take(span("execute_tool add", attributes=tool, resource=resource), span("execute_tool add", attributes=tool))
    )
    assert (known.service, known.release, known.environment) == ("shop", "1.2", "staging")
    assert (unknown.release, unknown.environment) == (None, None)
