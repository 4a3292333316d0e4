"""Rules for tool results of the model APIs (Anthropic, OpenAI, Gemini, Bedrock) and bare content blocks."""

from __future__ import annotations

from typing import Any

from tooltrace.core.codes import ToolErrorCode as C
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.member_reader import MemberReader
from tooltrace.normalize.protocols.mcp import (
    bare,
    content,
    context_of,
    fault,
    flag,
    is_blocks,
    is_text,
    members_of,
    reply,
)
from tooltrace.normalize.response_builders import build_error, build_response, has_members, has_only
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import guess_code_from_message, lookup_code
from tooltrace.normalize.transports.completed_process import exit_code

_HOSTED = {
    "execution_time_exceeded": C.TIMEOUT,
    "max_uses_exceeded": C.RATE_LIMIT,
    "url_not_allowed": C.PERMISSION_DENIED,
    "url_not_in_prior_context": C.PERMISSION_DENIED,
    "url_not_accessible": C.API_ERROR,
    "unsupported_content_type": C.INVALID_FORMAT,
    **dict.fromkeys(("file_not_found", "string_not_found", "model_not_found"), C.NOT_FOUND),
    **dict.fromkeys(
        ("invalid_tool_input", "query_too_long", "url_too_long", "prompt_too_long", "request_too_large"),
        C.INVALID_PARAM,
    ),
}
"""Codes for the ``error_code`` of Anthropic's own tools, where the table of codes does not have that name."""
_RESULTS = ("tool_result", "mcp_tool_result", "user.tool_result")
_CALL_OUTPUTS = (
    "function_call_output", "custom_tool_call_output", "computer_call_output", "shell_call_output",
    "local_shell_call_output", "apply_patch_call_output", "mcp_call",
)  # fmt: skip
_GEMINI = ("id", "name", "response", "parts", "scheduling", "willContinue", "will_continue")
_BEDROCK = ("toolUseId", "content", "status")
_UNREAD = {"rule_grade": "unread"}
"""Metadata of a message that states nothing about its outcome; its content may."""
_MEDIA = ("image", "audio", "resource", "resource_link", "document", "image_url", "input_image", "input_file")


@builtin("anthropic_tool_result", "certain", Matches(members=("type", "role"), arrays=True), opens="all")
def ANTHROPIC(view: ResultView) -> ToolResponse | None:
    """Read a ``tool_result`` block, which MCP's content of that name is too."""
    block = _one(view.data)
    if _typed(block, "tool_return") and has_members(block, "tool_call_id", "content", "is_error"):  # Letta's form
        return _result_block(block)
    if not _typed(block, *_RESULTS) or not ("content" in block or "tool_use_id" in members_of(block)):
        return None
    return _result_block(block)


@builtin(
    "bedrock_tool_result", "certain", Matches(members=("tool_result", "tool_use_id", "role"), arrays=True), opens="all"
)
def BEDROCK(view: ResultView) -> ToolResponse | None:
    """Read a ``toolResult`` of Bedrock's Converse API, in its block or bare."""
    block = _one(view.data)
    if has_members(block, "toolResult") and isinstance(block["toolResult"], dict):
        outer = {name: value for name, value in bare(block).items() if name != "toolResult"}
        return _result_block(block["toolResult"], **outer)
    if has_members(block, "toolUseId", "content") and has_only(block, _BEDROCK) and isinstance(block["content"], list):
        return _result_block(block)
    return None


def _result_block(block: dict[str, Any], **outer: Any) -> ToolResponse:
    members = members_of(block)
    members.pop("type", only=str)
    meta = _ids(members, "tool_use_id" if "tool_use_id" in members else "tool_call_id")
    content_, structured = members.pop("content"), members.pop("structured_content")
    failed, odd = flag(members, "is_error")
    status = members.pop("status", only=str)
    context = context_of(
        members.remaining(), outer, is_error=odd, status=status if status not in ("success", "error") else None
    )
    return reply(content_, structured, failed=failed or status == "error", kind="tool_error", also=context, meta=meta)


@builtin("anthropic_server_tool", "certain", Matches(members=("type", "role"), arrays=True))
def ANTHROPIC_SERVER(view: ResultView) -> ToolResponse | None:
    """Read the block, or its content, of one of Anthropic's own tools: code execution, editor, search, fetch."""
    block = _one(view.data)
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        return None
    if not block["type"].endswith("_tool_result") or not has_members(block, "content"):
        return _hosted(block, {}, {})
    members = members_of(block)
    members.pop("type")
    meta, content_ = _ids(members, "tool_use_id"), members.pop("content")
    context = members.remaining() or {}
    hosted = _hosted(content_, context, meta) if isinstance(content_, dict) else None
    text = content_ if isinstance(content_, str) else ""
    return hosted or build_response(
        "success", text, None if isinstance(content_, str) else content_, context=context, meta=meta
    )


def _hosted(block: dict[str, Any], context: dict[str, Any], meta: dict[str, Any]) -> ToolResponse | None:
    kind = block.get("type")
    if not isinstance(kind, str):
        return None
    if "_tool_" in kind and kind.endswith("_error") and isinstance(block.get("error_code"), str):
        return _hosted_error(members_of(block), context, meta)
    if kind.endswith("code_execution_result") and "return_code" in block:
        return _execution(block, context, meta)
    return None


def _hosted_error(members: MemberReader, context: dict[str, Any], meta: dict[str, Any]) -> ToolResponse:
    members.pop("type")
    word = members.pop("error_code")
    message = members.pop("error_message", only=str) or word
    code = _HOSTED.get(word) or lookup_code(word) or guess_code_from_message(message)
    spent = {"retryable": False, "next_action": "continue"} if word == "max_uses_exceeded" else {}
    return build_error(message, code, type=word, context=context_of(context, members.remaining()), meta=meta, **spent)


def _execution(block: dict[str, Any], context: dict[str, Any], meta: dict[str, Any]) -> ToolResponse:
    """Read the result of executed code; an exit code of 0 is a success."""
    data = {name: value for name, value in block.items() if name != "type"}
    text, errors = _printed([data])
    if not isinstance(data["return_code"], int) or data["return_code"] == 0:
        return build_response("success", text, data, context=context, meta=meta)
    return _exited(data["return_code"], errors, text, data=data, context=context, meta=meta)


def _printed(runs: list[Any]) -> tuple[str, str]:
    """Return the whole output of the programs, and only their ``stderr``."""
    outputs = [(name, run.get(name)) for run in runs if isinstance(run, dict) for name in ("stdout", "stderr")]
    texts = [(name, text) for name, text in outputs if isinstance(text, str) and text.strip()]
    return "\n".join(text for _, text in texts), "\n".join(text for name, text in texts if name == "stderr")


def _exited(status: int, errors: str, text: str, **fields: Any) -> ToolResponse:
    """Build the error of a failed program.

    Its code goes by the last line of ``stderr``, which says what went wrong; paths in the lines above would mislead.
    """
    last = errors.strip().rpartition("\n")[2]
    message = last if errors.startswith("Traceback (most recent call last)") else errors or text
    code = guess_code_from_message(last)
    return build_error(message, exit_code(status) if code == C.EXECUTION_ERROR else code, text=text, **fields)


@builtin("openai_tool_output", "certain", Matches(members=("type", "role"), arrays=True), opens="all")
def OPENAI(view: ResultView) -> ToolResponse | None:
    """Read a message of role ``tool``, or an output item of the Responses API."""
    item = _one(view.data)
    if _typed(item, *_CALL_OUTPUTS) and "output" in item:
        return _call_output(members_of(item), item["type"])
    if not has_members(item, "role", "content") or item["role"] not in ("tool", "function"):
        return None
    members = members_of(item)
    if not any(name in members for name in ("tool_call_id", "tool_name", "name")):
        return None
    members.pop("role")
    meta, content_ = _ids(members, "tool_call_id", "tool_name", "name"), members.pop("content")
    # OpenAI's message has neither member: then its content decides whether the tool failed.
    stated = members.get("is_error", "status") is not None
    failed, odd = flag(members, "is_error")
    status = members.pop("status", only=str)
    context = context_of(
        members.remaining(), is_error=odd, status=status if status not in ("success", "error") else None
    )
    meta = meta if stated else {**meta, **_UNREAD}
    return reply(content_, failed=failed or status == "error", also=context, meta=meta)


def _call_output(members: MemberReader, kind: str) -> ToolResponse:
    members.pop("type")
    output, status = members.pop("output"), members.pop("status", only=str)
    error = members.pop("error") if kind == "mcp_call" else None
    meta = _ids(members, "call_id", "tool_name", "name")
    context = context_of(
        members.remaining(), status=status if status not in ("completed", "failed", "incomplete") else None
    )
    if kind == "shell_call_output" and isinstance(output, list):
        return _shell(output, context, meta)
    if error is not None:
        error_text = content(error.get("content")).text if isinstance(error, dict) else error
        return fault(
            error_text if isinstance(error_text, str) else "",
            error,
            context=context_of(context, output=output),
            meta=meta,
        )
    if status == "incomplete":
        text, data, rest = content(output)
        return build_response(
            "partial", text, data, reason="incomplete", context=context_of(context, content=rest), meta=meta
        )
    meta = {**meta, **_UNREAD} if status is None else meta
    return reply(output, failed=status == "failed", also=context, meta=meta)


def _shell(runs: list[Any], context: dict[str, Any], meta: dict[str, Any]) -> ToolResponse:
    """Read commands, each with its outcome: an exit code or a timeout."""
    text, errors = _printed(runs)
    outcomes = [run["outcome"] for run in runs if has_members(run, "outcome") and isinstance(run["outcome"], dict)]
    if any(outcome.get("type") == "timeout" for outcome in outcomes):
        return build_error("the command timed out", C.TIMEOUT, text=text, data=runs, context=context, meta=meta)
    exits = [status for outcome in outcomes if isinstance(status := outcome.get("exit_code"), int) and status != 0]
    if exits:
        return _exited(exits[-1], errors, text, data=runs, context=context, meta=meta)
    return build_response("success", text, runs, context=context, meta=meta)


@builtin(
    "gemini_function_response",
    "certain",
    Matches(members=("function_response", "response", "role"), arrays=True),
    opens="all",
)
def GEMINI(view: ResultView) -> ToolResponse | None:
    """Read a ``functionResponse``, in its part or bare.

    Google's convention: ``error`` in the response is a failure, ``output`` the output; a response with neither is all
    output.
    """
    part = bare(_one(view.data))
    for name in ("functionResponse", "function_response"):
        if has_members(part, name) and isinstance(part[name], dict):
            return _function_response(part[name], {key: value for key, value in part.items() if key != name})
    if (
        not has_members(part, "name", "response")
        or not has_only(part, _GEMINI)
        or not isinstance(part["response"], dict)
    ):
        return None
    return _function_response(part, {})


def _function_response(block: dict[str, Any], outer: dict[str, Any]) -> ToolResponse:
    members = members_of(block)
    meta = _ids(members, "id", "name")
    response = members.pop("response")
    context = context_of(members.remaining(), outer)
    if not isinstance(response, dict) or not {"output", "error"} & set(response):
        return reply("", response, also=context, meta={**meta, **_UNREAD})
    output, error = response.get("output"), response.get("error")
    rest = {name: value for name, value in response.items() if name not in ("output", "error")}
    if not error or isinstance(error, int | float):
        return reply(output, also=context_of(context, rest, error=error), meta=meta)
    context = context_of(context, rest, output=output)
    return fault(
        error if isinstance(error, str) else "", None if isinstance(error, str) else error, context=context, meta=meta
    )


@builtin("content_blocks", "certain", Matches(members=("type",), arrays=True), opens="all")
def CONTENT_BLOCKS(view: ResultView) -> ToolResponse | None:
    """Read content blocks without a message around them, if at least one is a text; they state no outcome."""
    data = [view.data] if isinstance(view.data, dict) else view.data
    known = is_blocks(data) and all(is_text(item) or item["type"] in _MEDIA for item in data)
    return reply(data, meta=_UNREAD) if known and any(map(is_text, data)) else None


RULES = (ANTHROPIC, ANTHROPIC_SERVER, OPENAI, GEMINI, BEDROCK, CONTENT_BLOCKS)


def _typed(item: Any, *types: str) -> bool:
    return isinstance(item, dict) and item.get("type") in types


def _one(data: Any) -> Any:
    """Return the only item of a list, or of a message with a role and a content only; else ``data``."""
    inner = data
    if isinstance(data, dict) and len(data) == 2 and isinstance(data.get("role"), str):
        inner = data.get("content", data.get("parts"))
        inner = inner if isinstance(inner, list) and data["role"] != "tool" else data
    return inner[0] if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], dict) else data


def _ids(members: MemberReader, call: str, *tool: str) -> dict[str, Any]:
    ids = {"call_id": members.pop(call, only=str), "tool_name": members.pop(*tool, only=str) if tool else None}
    return bare(ids)  # type: ignore[no-any-return]
