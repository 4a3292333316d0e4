"""Results of agent frameworks: HelloAgents, MCP of both generations, LangChain, Agno."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel

from .entries import given


class ToolStatus(Enum):
    SUCCESS = "success"
    PARTIAL = "partial"
    ERROR = "error"


@dataclass
class HelloResponse:
    status: ToolStatus
    text: str
    data: dict[str, Any]
    error_info: dict[str, str] | None = None
    stats: dict[str, Any] | None = None
    context: dict[str, Any] | None = None


for _kind, _name in ((ToolStatus, "ToolStatus"), (HelloResponse, "ToolResponse")):
    _kind.__module__, _kind.__name__, _kind.__qualname__ = "hello_agents.tools.response", _name, _name


def hello(status: str, text: str, data: dict[str, Any] | None = None, code: str = "", **rest: Any) -> Any:
    """A HelloAgents response; its error's message is its text, as its own constructors have it."""
    error = {"code": code, "message": text} if code else None
    return HelloResponse(ToolStatus(status), text, data or {}, error, **rest)


given(
    "hello_success", lambda: hello("success", "计算结果: 3", {"expression": "1+2", "result": 3}, stats={"time_ms": 2})
)
given(
    "hello_success_log",
    lambda: hello(
        "success",
        "读取 1 行（共 1 行，8 字节）",
        {"content": "ERROR db: connection refused\n", "lines": 1, "file_size_bytes": 29},
    ),
)
given("hello_success_codes", lambda: hello("success", "错误码说明：NOT_FOUND 表示资源不存在，TIMEOUT 表示超时。"))
given(
    "hello_success_empty",
    lambda: hello("success", "未找到匹配的文件", {"matches": [], "total": 0}, stats={"time_ms": 9}),
)
given(
    "hello_partial",
    lambda: hello("partial", "找到 1200 条匹配，结果已截断到前 100 条", {"matches": ["a.py:1"], "truncated": True}),
)
given(
    "hello_partial_timeout",
    lambda: hello("partial", "搜索超时，返回已找到的 3 条结果", {"matches": ["a", "b", "c"], "aborted_by": "timeout"}),
)
given(
    "hello_not_found",
    lambda: hello("error", "路径 'q.txt' 不存在", code="NOT_FOUND", context={"params_input": {"path": "q.txt"}}),
)
given(
    "hello_circuit_open",
    lambda: hello(
        "error",
        "工具 'search' 当前被禁用，由于连续失败。299 秒后可用。",
        code="CIRCUIT_OPEN",
        context={"tool_name": "search", "circuit_status": {"state": "open", "failure_count": 3}},
    ),
)
given(
    "hello_execution_error",
    lambda: hello("error", "函数执行失败: division by zero", code="EXECUTION_ERROR", stats={"time_ms": 0}),
)
given("hello_conflict", lambda: hello("error", "文件自上次读取后被修改。当前 mtime=17, 缓存 mtime=15", code="CONFLICT"))


TextOne = create_model(
    "TextContent",
    __module__="mcp.types",
    type=(str, ...),
    text=(str, ...),
    annotations=(Any, None),
    meta=(Any, Field(None, alias="_meta")),
)
CallOne = create_model(
    "CallToolResult",
    __module__="mcp.types",
    __config__=ConfigDict(extra="allow"),
    meta=(Any, Field(None, alias="_meta")),
    content=(list[Any], ...),
    structuredContent=(Any, None),
    isError=(bool, False),
)
TextTwo = create_model(
    "TextContent",
    __module__="mcp_types._types",
    __config__=ConfigDict(alias_generator=to_camel, populate_by_name=True),
    type=(str, "text"),
    text=(str, ...),
    annotations=(Any, None),
    meta=(Any, Field(None, alias="_meta")),
)
CallTwo = create_model(
    "CallToolResult",
    __module__="mcp_types._types",
    __config__=ConfigDict(alias_generator=to_camel, populate_by_name=True),
    meta=(Any, Field(None, alias="_meta")),
    content=(list[Any], ...),
    structured_content=(Any, Field(None, alias="structuredContent")),
    is_error=(bool, Field(default=False, alias="isError")),
    result_type=(str, Field("complete", alias="resultType")),
)


def mcp_one(text: str, structured: Any = None, *, error: bool = False) -> BaseModel:
    return CallOne(content=[TextOne(type="text", text=text)], structuredContent=structured, isError=error)


def mcp_two(text: str, structured: Any = None, *, error: bool = False) -> BaseModel:
    return CallTwo(content=[TextTwo(text=text)], structured_content=structured, is_error=error)


MCP_VALIDATION = (
    "Error executing tool add: 1 validation error for addArguments\na\n  Input should be a valid integer, unable to "
    "parse string as an integer [type=int_parsing, input_value='q', input_type=str]"
)

given("mcp1_success", lambda: mcp_one("3", {"result": 3}))
given("mcp1_unknown_tool", lambda: mcp_one("Unknown tool: nope", error=True))
given("mcp1_validation", lambda: mcp_one(MCP_VALIDATION, error=True))
given("mcp1_crash", lambda: mcp_one("Error executing tool boom: upstream gone", error=True))
given("mcp1_empty", lambda: CallOne(content=[]))
given(
    "mcp1_hidden_failure",
    lambda: mcp_one("Error executing ClusterHealthTool: AuthenticationException(401, 'Unauthorized')"),
)
given("mcp1_null_error", lambda: mcp_one('{"response": {"rows": 3, "error": null}}', {"response": {"error": None}}))
given("mcp2_success", lambda: mcp_two("3", {"result": 3}))
given("mcp2_crash", lambda: mcp_two("Error executing tool boom", error=True))
given("mcp2_timeout", lambda: mcp_two("Request timed out after 30 s waiting for the browser", error=True))
given("mcp2_talks", lambda: mcp_two("The page explains why `isError: true` is not the same as a protocol error."))
given("mcp2_error_report", lambda: mcp_two("## Open issues\n\n- #31 Error: disk full\n- #40 Crash on start"))
given(
    "mcp2_image",
    lambda: CallTwo(content=[{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]),
)


ToolMessage = create_model(
    "ToolMessage",
    __module__="langchain_core.messages.tool",
    content=(str | list[Any], ...),
    additional_kwargs=(dict[str, Any], {}),
    response_metadata=(dict[str, Any], {}),
    type=(str, "tool"),
    name=(str | None, None),
    id=(str | None, None),
    tool_call_id=(str, ...),
    artifact=(Any, None),
    status=(str, "success"),
)


def message(content: Any, **rest: Any) -> BaseModel:
    return ToolMessage(content=content, tool_call_id="call_1", **rest)


given("lc_success", lambda: message("2 rows", name="sql", artifact=[1, 2]))
given("lc_success_blocks", lambda: message([{"type": "text", "text": "the first part"}, {"type": "text", "text": "2"}]))
given("lc_error", lambda: message("no such row", name="sql", status="error"))
given(
    "lc_error_fix",
    lambda: message("Error: ValueError('boom')\n Please fix your mistakes.", name="sql", status="error"),
)
given(
    "lc_error_as_success", lambda: message("Error: TimeoutError('timed out')\n Please fix your mistakes.", name="sql")
)
given(
    "lc_unknown_tool",
    lambda: message("Error: nope is not a valid tool, try one of [sql, search].", name="nope", status="error"),
)
given("lc_talks", lambda: message("Errors and exceptions: an errata page lists 14 errors in the first printing."))
given("lc_artifact_errors", lambda: message("0 errors in 31 files", artifact={"errors": [], "failed": 0}))
given("lc_empty", lambda: message(""))

_MEDIA: dict[str, Any] = dict.fromkeys(("images", "videos", "audios", "files"), (Any, None))
AgnoResult = create_model(
    "ToolResult", __module__="agno.tools.function", content=(str, ...), metadata=(Any, None), **_MEDIA
)
AgnoExecution = create_model(
    "FunctionExecutionResult",
    __module__="agno.tools.function",
    status=(str, ...),
    result=(Any, None),
    error=(str | None, None),
    updated_session_state=(Any, None),
    **_MEDIA,
)

given("agno_result", lambda: AgnoResult(content="Image generated.", metadata={"model": "m"}))
given("agno_result_talks", lambda: AgnoResult(content="Found 3 issues titled 'Error: cannot open file'."))
given("agno_result_failed", lambda: AgnoResult(content="Error: FAL_API_KEY not set"))
given("agno_execution_success", lambda: AgnoExecution(status="success", result={"x": 1}))
given("agno_execution_none", lambda: AgnoExecution(status="success"))
given("agno_execution_failure", lambda: AgnoExecution(status="failure", error="boom"))
given("agno_execution_timeout", lambda: AgnoExecution(status="failure", error="Request timed out after 30 seconds"))
given("agno_execution_hidden", lambda: AgnoExecution(status="success", result='{"error": "Invalid JSON in payload"}'))
given("agno_execution_list", lambda: AgnoExecution(status="success", result='["error.log", "failed.txt"]'))
