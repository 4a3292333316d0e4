"""Readers of error bodies by a few members that stand together in no other answer, and nothing beside them."""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics.failure_phrases import is_no_error_phrase
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.member_reader import MemberReader
from tooltrace.normalize.response_builders import build_error, merge_context, read_error
from tooltrace.normalize.terms import lookup_code

MEMBERS = ("ok", "id", "name", "error_code", "error", "message", "status")
_ERROR_NAME = lazy(r"(?:[A-Z]\w{0,60})?(?:Error|Exception)")
_CODE = lazy(r"[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+")
_OF_A_JS_ERROR = frozenset({"name", "message", "stack", "cause", "code", "issues", "errno", "syscall"})
_OF_AN_ID = frozenset({"id", "message", "request_id", "url"})
_OF_A_CODE = frozenset({"error_code", "message", "details", "request_id"})


def read_error_shape(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read the forms of MongoDB, DigitalOcean, Etherscan, Databricks and PayPal, JavaScript's errors, and JSON-RPC 1."""
    names, message = members.names(), members.get("message")
    if members.get("ok") == 0 and isinstance(members.get("errmsg"), str) and "code" in names:
        return _build(members, "errmsg", members.get("code_name"))
    error = members.get("error")
    if names == {"result", "error", "id"} and members.get("result") is None and isinstance(error, dict):
        return build_error(**merge_context(read_error(error), {"id": members.get("id")}))
    if not isinstance(message, str) or is_no_error_phrase(message):
        return None
    if message == "NOTOK" and isinstance(members.get("result"), str):
        return _build(members, "result", None)
    name, code, word = members.get("name"), members.get("error_code"), members.get("id")
    if isinstance(name, str) and _ERROR_NAME.fullmatch(name) and names <= _OF_A_JS_ERROR:
        return _build(members, "message", name)
    if isinstance(name, str) and _CODE.fullmatch(name) and "debug_id" in names:
        return _build(members, "message", name)
    if isinstance(code, str) and _CODE.fullmatch(code) and names <= _OF_A_CODE:
        return _build(members, "message", code)
    if isinstance(word, str) and lookup_code(word) is not None and names <= _OF_AN_ID:
        return _build(members, "message", word)
    return None


def _build(members: MemberReader, message: str, kind: Any) -> ToolResponse:
    words = members.pop(message, only=str)
    code = lookup_code(kind) if isinstance(kind, str) else None
    return build_error(words, code, type=kind, context=members.remaining())
