"""Rules for results of MCP and JSON-RPC; reader of the content blocks that MCP shares with the model APIs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

from tooltrace.core.codes import ToolErrorCode as C
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.exceptions.services import JSON_RPC as JSON_RPC_CODES
from tooltrace.normalize.member_reader import MemberReader
from tooltrace.normalize.response_builders import build_error, build_response, has_members, has_only
from tooltrace.normalize.result_view import view_of
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import guess_code_from_message, lookup_code, snake_case
from tooltrace.normalize.transports.http_status import of_status

KINDS = ("mcp.types.CallToolResult", "mcp_types._types.CallToolResult", "mcp.types.InputRequiredResult",
         "mcp_types._types.InputRequiredResult", "fastmcp.client.client.CallToolResult",
         "fastmcp.tools.tool.ToolResult", "fastmcp.tools.base.ToolResult")  # fmt: skip
"""Result classes of mcp 1 and 2 and of fastmcp 2 to 4; other results are recognised by their members."""

_ROOTS = ("mcp.types.JSONRPCMessage", "mcp.types.ServerResult")
_ERRORS = ("mcp.types.ErrorData", "mcp_types.jsonrpc.ErrorData")
_MEMBERS = ("content", "details", "_meta", "meta", "resultType", "result_type")
_TEXTS = ("text", "input_text", "output_text")


class MessageContent(NamedTuple):
    """Parts of a message's content."""

    text: str
    """The texts, one per line; other blocks appear as their type in angle brackets."""
    data: Any = None
    """Data of the JSON blocks; or the content itself, if it is neither a text nor a list."""
    rest: list[Any] | None = None
    """The blocks that the text does not represent in full."""


@builtin("mcp", "certain", Matches(members=("jsonrpc", "is_error")), opens="certain")
def MCP_NOT_ERROR(view: ResultView) -> ToolResponse | None:
    """Read a ``CallToolResult`` in JSON that states ``isError: false``; the objects of SDKs have it by default."""
    data = view.data["result"] if has_members(view.data, "jsonrpc", "result") else view.data
    if view.kinds or not isinstance(data, dict) or members_of(data).get("is_error") is not False:
        return None
    return None if _is_returned_text(data) else MCP.read(view)


def _is_returned_text(data: dict[str, Any]) -> bool:
    """Whether a server's framework made the result of a text that the tool's function returned.

    The framework repeats the text as ``{"result": …}``, and its flag is the default: the tool stated nothing.
    """
    structured, blocks = members_of(data).get("structured_content"), data.get("content")
    if not isinstance(structured, dict) or not isinstance(blocks, list) or len(blocks) != 1 or len(structured) != 1:
        return False
    text = blocks[0].get("text") if isinstance(blocks[0], dict) else None
    return isinstance(text, str) and structured.get("result") == text


@builtin(
    "mcp",
    "certain",
    Matches(kinds=(*KINDS, *_ROOTS), members=("jsonrpc", "content", "structured_content", "result_type")),
    opens="all",
)
def MCP(view: ResultView) -> ToolResponse | None:
    """Read a ``CallToolResult``, alone or as the result in a JSON-RPC message."""
    data, also = _unrooted(view), {}
    if has_members(data, "jsonrpc", "result") and data.get("error") is None:
        data, also = data["result"], {name: value for name, value in data.items() if name not in ("jsonrpc", "result")}
    if not isinstance(data, dict) or not (view.is_a(*KINDS) or _is_result(data)):
        return None
    return _call_tool_result(members_of(data), also)


def _unrooted(view: ResultView) -> Any:
    """Return the value inside a union type of mcp 1; else the data."""
    return view.data["root"] if view.is_a(*_ROOTS) and has_members(view.data, "root") else view.data


def _is_result(data: dict[str, Any]) -> bool:
    members = members_of(data)
    # mcp 2: the server asks for input instead of answering.
    if members.pop("result_type") == "input_required":
        return True
    if "type" in data or "role" in data or ("content" not in data and "structured_content" not in members):
        return False
    if isinstance(members.pop("is_error"), bool):
        return True
    spelled = MemberReader(data)  # a null mark counts too
    has_mark = any(name in spelled for name in ("is_error", "structured_content")) or "_meta" in data
    return is_blocks(data.get("content")) and (has_mark or has_only(data, _MEMBERS))


def is_blocks(value: Any) -> bool:
    """Whether ``value`` is a list of blocks that name their types."""
    return isinstance(value, list) and bool(value) and all(_is_typed(item) for item in value)


def _is_typed(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("type"), str)


def _call_tool_result(members: MemberReader, also: dict[str, Any]) -> ToolResponse:
    content_ = members.pop("content")
    structured = members.pop("structured_content")
    failed, odd = flag(members, "is_error")
    awaits = members.pop("result_type", only=str)
    rest = members.remaining() or {}
    # The SDKs call the member ``meta``, the protocol ``_meta``: the record has the protocol's name.
    if "meta" in rest and "_meta" not in rest:
        rest["_meta"] = rest.pop("meta")
    if isinstance(structured, dict) and rest.get("data") in (structured, structured.get("result", structured)):
        rest.pop("data", None)  # fastmcp's client repeats the structured content
    context = context_of(rest, also, is_error=odd)
    if awaits == "input_required":
        return build_response("partial", content(content_).text, structured, reason="input required", next_action="ask_user",
                      context=context_of(context, content=content_))  # fmt: skip
    context = context_of(context, result_type=awaits if awaits != "complete" else None)
    return reply(content_, structured, failed=failed, kind="tool_error", also=context)


@builtin("json_rpc", "certain", Matches(kinds=(*_ERRORS, *_ROOTS), members=("jsonrpc",)), opens="all")
def JSON_RPC(view: ResultView) -> ToolResponse | None:
    """Read a JSON-RPC 2.0 answer, or the error object of one in the form of MCP's classes."""
    if view.is_a(*_ERRORS) and isinstance(view.data, dict):
        return _rpc_error(view.data, None)
    data = _unrooted(view)
    if not has_members(data, "jsonrpc") or "method" in data or not ("error" in data or "result" in data):
        return None
    also = bare({name: value for name, value in data.items() if name not in ("jsonrpc", "error", "result")})
    if data.get("error") is not None:
        return _rpc_error(data["error"], context_of(also, result=data.get("result")))
    result = data.get("result")
    return build_response("success", result if isinstance(result, str) else "", None if isinstance(result, str) else result,
                  context=also)  # fmt: skip


def _rpc_error(error: Any, also: Mapping[str, Any] | None) -> ToolResponse:
    if not isinstance(error, dict):
        return fault(error if isinstance(error, str) else "", None if isinstance(error, str) else error, context=also)
    members = members_of(error)
    number = members.pop("code", only=int)
    message = members.pop("message", only=str) or ""
    data = members.pop("data")
    return build_error(message, _rpc_code(number, message), type=None if number is None else str(number), data=data,
                   context=context_of(also, error=members.remaining()))  # fmt: skip


def _rpc_code(number: int | None, message: str) -> str:
    worded = guess_code_from_message(message)
    if number == -32602 and message.lower().startswith("unknown tool"):  # the wording of MCP's specification
        return C.NOT_FOUND
    # Other servers may use these numbers differently, so a message with known words has precedence.
    if number in (-32000, -32001, -32002) and worded != C.EXECUTION_ERROR:
        return worded
    if number is not None and 400 <= number < 600:
        return of_status(number).code
    known = None if number is None else JSON_RPC_CODES.get(number)
    return known or (C.API_ERROR if worded == C.EXECUTION_ERROR else worded)


RULES = (MCP_NOT_ERROR, MCP, JSON_RPC)


def content(value: Any) -> MessageContent:
    """Read a text, a list of blocks, or any value in their place."""
    if value is None or isinstance(value, str):
        return MessageContent(value or "")
    if not isinstance(value, list):
        return MessageContent("", value)
    parsed = [item["json"] for item in value if _is_json(item)]
    blocks = [item for item in value if item is not None and not _is_json(item)]
    rest = [bare(item) for item in blocks if not _is_text_only(item)]
    text = "\n".join(filter(None, map(_text, blocks)))
    return MessageContent(text, parsed[0] if len(parsed) == 1 else parsed or None, rest or None)


def reply(
    content_: Any,
    data: Any = None,
    *,
    failed: bool = False,
    kind: str | None = None,
    also: Mapping[str, Any] | None = None,
    **fields: Any,
) -> ToolResponse:
    """Build the response of a message with the content ``content_``.

    ``kind``: the error's type, if the message names none. ``also``: members for ``context``.
    """
    text, content_data, rest = content(content_)
    context = context_of(also, content=rest, **({} if data is None else {"content_data": content_data}))
    data = content_data if data is None else data
    return fault(text, data, kind=kind, context=context, **fields) if failed else build_response(
        "success", text, data, context=context, **fields
    )  # fmt: skip


def fault(text: str, data: Any = None, *, kind: str | None = None, **fields: Any) -> ToolResponse:
    """Build an error from ``text``, or from an error's usual members in ``data`` or in a text that is JSON.

    Text and data are both kept.
    """
    reading = _read_error_body(data) or _read_error_body(view_of(text).data)
    message = reading.pop("message", None) or text
    type_ = reading.pop("type", None)
    code = reading.pop("code", None) or (type_ and lookup_code(type_)) or guess_code_from_message(message)
    return build_error(message, code, type=type_ or kind, text=text, data=data, **reading, **fields)


def _read_error_body(data: Any) -> dict[str, Any]:
    """Return an object's description of an error, by the usual names; {} without code and message."""
    if not isinstance(data, dict):
        return {}
    members = MemberReader(data["error"] if isinstance(data.get("error"), dict) else data)
    code = members.pop("code", "error_code", "status_code", only=(str, int))
    if isinstance(code, int):
        code = of_status(code).code if 400 <= code < 600 else None
    reading = {
        "message": members.pop("message", "error", "msg", "detail", "error_message", only=str),
        "code": code,
        "type": members.pop("type", "error_type", only=str),
        "retryable": members.pop("retryable", "is_retryable", only=bool),
        "suggestion": members.pop("suggestion", "hint", only=str),
        "user_message": members.pop("user_message", only=str),
    }
    return {name: value for name, value in reading.items() if value is not None} if code or reading["message"] else {}


def context_of(*contexts: Mapping[str, Any] | None, **more: Any) -> dict[str, Any]:
    """Merge members that are not None; a name that is in use gets an underscore."""
    out: dict[str, Any] = {}
    for name, value in chain.from_iterable((each or {}).items() for each in (*contexts, more)):
        free = name
        while free in out:
            free += "_"
        if value is not None:
            out[free] = value
    return out


def members_of(data: Mapping[str, Any]) -> MemberReader:
    """Return the members of ``data`` that are not null.

    If a name has several spellings, the one in snake case has precedence.
    """
    items = [(name, value) for name, value in data.items() if value is not None]
    return MemberReader(dict(sorted(items, key=lambda item: item[0] != snake_case(item[0]))))


def flag(members: MemberReader, name: str) -> tuple[bool, Any]:
    """Return whether a member is true (also "true" or 1), and the member's value if it is not a boolean."""
    value = members.pop(name)
    # Some servers and gateways send booleans as texts or numbers.
    is_true = value is True or value == 1 or (isinstance(value, str) and value.lower() == "true")
    return is_true, None if isinstance(value, bool) else value


def bare(item: Any) -> Any:
    """Return an object without its nulls; any other value as it is."""
    return {name: value for name, value in item.items() if value is not None} if isinstance(item, dict) else item


def _is_json(item: Any) -> bool:
    return has_members(item, "json") and has_only(item, ("json",))


def _is_text_only(item: Any) -> bool:
    """Whether a block holds nothing more than its text."""
    block = bare(item)
    return isinstance(item, str) or (
        has_members(block, "text") and has_only(block, ("type", "text")) and is_text(block)
    )


def is_text(item: Any) -> bool:
    """Whether ``item`` is a block of text."""
    return has_members(item, "text") and isinstance(item["text"], str) and item.get("type", "text") in _TEXTS


def _text(item: Any) -> str:
    if isinstance(item, str):
        return item
    if not isinstance(item, dict):
        return ""
    for holder in (item, item.get("resource")):
        if isinstance(holder, dict) and isinstance(holder.get("text"), str):
            return str(holder["text"])
    return f"<{item['type']}>" if isinstance(item.get("type"), str) else ""
