"""Readers of the failed answers of one service each, by members that only its answers have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.member_reader import MemberReader, Readers
from tooltrace.normalize.response_builders import build_error, build_partial, merge_context, read_error
from tooltrace.normalize.terms import lookup_code

_PLACES = frozenset({"html_attributions", "candidates", "predictions", "geocoded_waypoints", "routes", "rows"})
"""Members of which one stands beside the status in an answer of Google Maps."""
_NO_PLACE = frozenset({"NOT_FOUND", "INVALID_REQUEST", "OVER_QUERY_LIMIT", "OVER_DAILY_LIMIT", "REQUEST_DENIED"})
_OF_A_DOCUMENT = frozenset({"id", "index", "type", "found"})
_ENDED = frozenset({"failed", "stopped"})
_OF_SENIVERSE = lazy(r"AP\d{6}")
_REFUSAL = lazy(r"(?i).*\b(?:api key|api call frequency|rate limit|requests per (?:day|minute)|premium)\b.*")


def _lambda(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read the answer of a function of AWS Lambda that raised: the message is in the JSON of the payload."""
    kind, payload = members.get("function_error"), members.get("payload")
    if not isinstance(kind, str) or "status_code" not in members:
        return None
    try:
        body = orjson.loads(payload) if isinstance(payload, str) else payload
    except ValueError:
        body = None
    raised = body if isinstance(body, dict) else {}
    message, kind = raised.get("errorMessage", payload), raised.get("errorType", kind)
    return build_error(message if isinstance(message, str) else kind, type=kind, context=members.remaining())


def _django(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read the errors of a form of Django that belong to no field."""
    texts = members.get("non_field_errors")
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        return None
    return build_error("; ".join(texts), ToolErrorCode.INVALID_PARAM, context=members.remaining())


def _elasticsearch(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read the answer of Elasticsearch to the request of a document that does not exist."""
    names = members.names()
    if members.get("found") is not False or not {"id", "index"} <= names <= _OF_A_DOCUMENT:
        return None
    message = f"{members.get('id')} not found in {members.get('index')}"
    return build_error(message, ToolErrorCode.NOT_FOUND, context=members.remaining())


def _google_maps(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    status = members.get("status")
    if not isinstance(status, str) or status not in _NO_PLACE or "error_message" in members:
        return None
    return build_error(status, lookup_code(status), type=status, context=members.remaining())


def _wolfram(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    answer = members.get("queryresult")
    if not isinstance(answer, dict) or answer.get("success") is not False or not isinstance(answer.get("error"), dict):
        return None
    return build_error(**merge_context(read_error(answer["error"]), members.remaining()))


def _dify(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    run = members.get("data")
    if not isinstance(run, dict) or run.get("status") not in _ENDED or not isinstance(run.get("error"), str):
        return None
    return build_error(run["error"], data=run.get("outputs"), context=members.remaining()) if run["error"] else None


def _replicate(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read a run of a model of Replicate that failed: it has logs, and no output."""
    error = members.pop("error", only=str)
    if members.get("status") != "failed" or not error or not {"id", "output"} <= members.names():
        return None
    return build_error(error, context=members.remaining()) if members.get("output") is None else None


def _influx(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read the statements of a query of InfluxDB, of which some or all failed."""
    rows = members.pop("results")
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "statement_id" in row for row in rows):
        return None
    failed = [row["error"] for row in rows if isinstance(row.get("error"), str)]
    if failed and len(failed) < len(rows):
        return build_partial(failed[0], "", rows, context=members.remaining())
    return build_error(failed[0], data=rows, context=members.remaining()) if failed else None


def _serpapi(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    search, error = members.get("search_metadata"), members.pop("error", only=str)
    failed = isinstance(search, dict) and search.get("status") == "Error"
    return build_error(error, context=members.remaining()) if failed and error else None


def _mediawiki(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    errors = members.get("errors")
    if not isinstance(errors, list) or not errors:
        return None
    if not all(isinstance(each, dict) and {"code", "text"} <= set(each) for each in errors):
        return None
    first = errors[0]
    return build_error(first["text"], lookup_code(first["code"]), type=first["code"], context=members.remaining())


def _alpha_vantage(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read the note of Alpha Vantage that stands in the place of an answer: the limit of the key."""
    words = members.get("note", "information")
    alone = len(members.names()) == 1 and isinstance(words, str)
    return build_error(words) if alone and _REFUSAL.fullmatch(words) else None


def _seniverse(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read an error of Seniverse (weather): its words are in ``status``, its number in ``status_code``."""
    words, number = members.get("status"), members.get("status_code")
    stated = isinstance(words, str) and isinstance(number, str) and _OF_SENIVERSE.fullmatch(number)
    return build_error(words, type=number) if stated and len(members.names()) == 2 else None


READERS: Readers[Callable[[dict[str, Any], MemberReader], ToolResponse | None]] = (
    (frozenset({"function_error"}), _lambda),
    (frozenset({"non_field_errors"}), _django),
    (frozenset({"found"}), _elasticsearch),
    (_PLACES, _google_maps),
    (frozenset({"queryresult"}), _wolfram),
    (frozenset({"workflow_run_id"}), _dify),
    (frozenset({"logs"}), _replicate),
    (frozenset({"results"}), _influx),
    (frozenset({"search_metadata"}), _serpapi),
    (frozenset({"servedby"}), _mediawiki),
    (frozenset({"note", "information"}), _alpha_vantage),
    (frozenset({"status_code"}), _seniverse),
)
MEMBERS = tuple({name for names, _ in READERS for name in names})
