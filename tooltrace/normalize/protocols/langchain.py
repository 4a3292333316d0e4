"""Rule for LangChain's ``ToolMessage``: the object, its dump, and its serialised forms."""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.protocols.mcp import context_of, flag, members_of, reply
from tooltrace.normalize.response_builders import has_members
from tooltrace.normalize.rule import Matches, ResultView, builtin

KINDS = ("langchain_core.messages.tool.ToolMessage", "langchain.schema.messages.ToolMessage")
_TYPES = ("tool", "ToolMessage", "ToolMessageChunk")
_EMPTY = ("additional_kwargs", "response_metadata")
"""Members that every message has, but that are mostly empty."""


@builtin("langchain", "certain", Matches(kinds=KINDS, members=("tool_call_id", "lc", "data"), arrays=True), opens="all")
def RULE(view: ResultView) -> ToolResponse | None:
    """Read a ``ToolMessage``; as data it has ``type`` "tool" and a ``tool_call_id``."""
    data = view.data[0] if isinstance(view.data, list) and len(view.data) == 1 else view.data
    if view.is_a(*KINDS) and isinstance(data, dict):
        return _message(data, {})
    if not isinstance(data, dict):
        return None
    if data.get("lc") is not None and has_members(data, "id", "kwargs"):
        return _constructed(data)
    if _is_tool(data) and has_members(data.get("data"), "content", "tool_call_id"):  # messages_to_dict
        return _message(data["data"], _others(data, "type", "data"))
    return _message(data, {}) if _is_tool(data) and has_members(data, "tool_call_id", "content") else None


def _is_tool(data: dict[str, Any]) -> bool:
    return data.get("type") in _TYPES


def _constructed(data: dict[str, Any]) -> ToolResponse | None:
    """Read a message in the form of ``langchain_core.load.dumpd``."""
    path, fields = data["id"], data["kwargs"]
    if not isinstance(path, list) or not path or path[-1] not in _TYPES[1:] or not isinstance(fields, dict):
        return None
    return _message(fields, _others(data, "lc", "type", "id", "kwargs"))


def _others(data: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in names and value is not None}


def _message(data: dict[str, Any], also: dict[str, Any]) -> ToolResponse:
    members = members_of({name: value for name, value in data.items() if not (name in _EMPTY and value == {})})
    members.pop("type", only=str)
    content, artifact = members.pop("content"), members.pop("artifact")
    status = members.pop("status", only=str)
    failed, odd = flag(members, "is_error")
    meta = {"call_id": members.pop("tool_call_id", only=str), "tool_name": members.pop("name", only=str)}
    context = context_of(
        members.remaining(), also, is_error=odd, status=status if status not in ("success", "error") else None
    )
    return reply(content, artifact, failed=failed or status == "error", also=context, meta=meta)
