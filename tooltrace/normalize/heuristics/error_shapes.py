"""Readers of error bodies by a few members that stand together in no other answer, and nothing beside them."""

from __future__ import annotations

from typing import Any

import orjson

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics.failure_phrases import is_no_error_phrase
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.member_reader import MemberReader
from tooltrace.normalize.response_builders import build_error, build_partial, merge_context, read_error
from tooltrace.normalize.terms import lookup_code

MEMBERS = (
    *("ok", "id", "name", "error_code", "error", "message", "status", "function_error", "non_field_errors", "found"),
    *("queryresult", "note", "information", "workflow_run_id", "logs", "results"),
)
_ERROR_NAME = lazy(r"(?:[A-Z]\w{0,60})?(?:Error|Exception)")
_CODE = lazy(r"[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+")
_OF_A_JS_ERROR = frozenset({"name", "message", "stack", "cause", "code", "issues", "errno", "syscall"})
_OF_AN_ID = frozenset({"id", "message", "request_id", "url"})
_OF_A_CODE = frozenset({"error_code", "message", "details", "request_id"})
_NO_PLACE = frozenset({"NOT_FOUND", "INVALID_REQUEST", "OVER_QUERY_LIMIT", "OVER_DAILY_LIMIT", "REQUEST_DENIED", "UNKNOWN_ERROR"})
_PLACES = frozenset({"html_attributions", "candidates", "predictions", "geocoded_waypoints", "routes", "rows", "results"})
"""Statuses of Google Maps, and the members of which one stands beside them."""
_ENDED = frozenset({"failed", "stopped"})
"""Statuses of a run of Dify that did not succeed."""
_REFUSAL = lazy(r"(?i).*\b(?:api key|api call frequency|rate limit|requests per (?:day|minute)|premium)\b.*")


def read_error_shape(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read the forms of MongoDB, DigitalOcean, Etherscan, Databricks and PayPal, JavaScript's errors, and JSON-RPC 1."""
    found = _of_one_service(members)
    if found is not None:
        return found
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


def _of_one_service(members: MemberReader) -> ToolResponse | None:
    """Read the forms of AWS Lambda, Django, Elasticsearch, Google Maps, WolframAlpha, Alpha Vantage, Dify, Replicate and InfluxDB."""
    names = members.names()
    if isinstance(kind := members.get("function_error"), str) and "status_code" in names:
        return _of_a_function(members, kind)
    fields = members.get("non_field_errors")
    if isinstance(fields, list) and fields and all(isinstance(text, str) for text in fields):
        members.pop("non_field_errors")
        return build_error("; ".join(fields), ToolErrorCode.INVALID_PARAM, context=members.remaining())
    if members.get("found") is False and {"id", "index"} <= names <= {"id", "index", "type", "found"}:
        return build_error("not found", ToolErrorCode.NOT_FOUND, context=members.remaining())
    status = members.get("status")
    if isinstance(status, str) and status in _NO_PLACE and _PLACES & names and "error_message" not in names:
        return build_error(status, lookup_code(status), type=status, context=members.remaining())
    query = members.get("queryresult")
    if isinstance(query, dict) and query.get("success") is False and isinstance(query.get("error"), dict):
        return build_error(**read_error(query["error"]))
    run = members.get("data") if "workflow_run_id" in names else None
    if isinstance(run, dict) and run.get("status") in _ENDED and isinstance(run.get("error"), str) and run["error"]:
        return build_error(run["error"], data=run.get("outputs"), context={"workflow_run_id": members.get("workflow_run_id")})
    if status == "failed" and {"id", "logs", "output"} <= names and isinstance(members.get("error"), str):
        return _build(members, "error", None) if members.get("output") is None else None
    rows = members.get("results")
    if isinstance(rows, list) and rows and all(isinstance(row, dict) and "statement_id" in row for row in rows):
        return _of_statements(rows, members)
    refused = members.get("note", "information")
    if len(names) == 1 and isinstance(refused, str) and _REFUSAL.fullmatch(refused):
        return build_error(refused, context=members.remaining())
    return None


def _of_statements(rows: list[dict[str, Any]], members: MemberReader) -> ToolResponse | None:
    """Read the statements of a query of InfluxDB, of which some or all failed."""
    failed = [row["error"] for row in rows if isinstance(row.get("error"), str)]
    if not failed:
        return None
    members.pop("results")
    if len(failed) < len(rows):
        return build_partial(failed[0], "", rows, context=members.remaining())
    return build_error(failed[0], data=rows, context=members.remaining())


def _of_a_function(members: MemberReader, kind: str) -> ToolResponse:
    """Read the answer of a function that raised an exception, whose message is in the JSON of the payload."""
    payload = members.get("payload")
    try:
        body = orjson.loads(payload) if isinstance(payload, str) else payload
    except ValueError:
        body = payload
    words = body.get("errorMessage") if isinstance(body, dict) else body
    kind = body.get("errorType", kind) if isinstance(body, dict) else kind
    return build_error(words if isinstance(words, str) else kind, type=kind, context=members.remaining())


def _build(members: MemberReader, message: str, kind: Any) -> ToolResponse:
    words = members.pop(message, only=str)
    code = lookup_code(kind) if isinstance(kind, str) else None
    return build_error(words, code, type=kind, context=members.remaining())
