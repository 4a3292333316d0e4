"""Rules for batches that failed in part.

Forms: AWS's unprocessed items and failed counts, Elasticsearch's bulk and shards, rows with a flag each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.exceptions.services import aws_code
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.member_reader import MemberReader, Readers
from tooltrace.normalize.response_builders import build_error, build_partial, build_response, read_error
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import lookup_code

_PLAIN = ("failed_results", "failures", "failed", "errors")
"""Members that may also be something else: they count with a message in each item, beside what succeeded."""
_FAILURE_LISTS = (
    *("failed_urls", "failed_items", "failed_files", "failed_pages", "failed_rows", "failed_records", "failed_list"),
    *("fail_list", "failed_ids", "failure_list", "items_failed", "fail_items", "failed_entries", "failed_tasks"),
    *("failed_users", "failed_orders", "failed_messages", "failed_documents", "failed_details", "fail_details"),
)
"""Members that hold only the parts of a request that failed, whatever stands beside them."""
_LISTS_FIRST = (*_FAILURE_LISTS, *_PLAIN)
HOLDERS = ("data", "response", "result")
"""Members that hold the answer one level down, in a service's envelope."""
MEMBERS = (*_PLAIN, *_FAILURE_LISTS, *HOLDERS)

_DONE_LISTS = (
    *("succeeded", "successful", "successes", "success_list", "succeeded_list", "success_items", "deleted", "results"),
    *("completed", "created", "updated", "processed"),
)
_DONE_COUNTS = (
    *("succeeded", "successful", "success", "success_count", "succeeded_count", "success_num", "success_total"),
    *("completed", "processed", "processed_count", "inserted", "imported", "created", "updated", "uploaded", "sent"),
)
_TOTALS = ("total", "total_count", "size", "processed", "processed_count")
_MESSAGES = (
    *("message", "msg", "error_message", "errmsg", "error_msg", "error", "errors", "detail", "reason", "title"),
)
_OF_A_FINDING = frozenset(
    {"line", "lineno", "column", "col", "severity", "rule", "rule_id", "test", "test_name", "nodeid", "check"}
)
"""Members of the finding of a checker or of a test."""
_OF_CHECKS = frozenset({"passed", "tests", "checks", "checks_total", "checks_passed", "skipped", "valid"})
"""Members beside the findings of a checker."""
_WORDS = lazy(r"[^\W\d_]{2}")


def read_failed_list(data: dict[str, Any]) -> ToolResponse | None:
    """Read a list of what failed, such as ``failed_urls``, beside what succeeded or its count.

    Partial if something succeeded, else an error. The list may be in ``data`` or in another of ``HOLDERS``.
    """
    members = MemberReader(data)
    found = _listed(data, members)
    if found is not None:
        return found
    for name in HOLDERS:
        inner = data.get(name)
        if isinstance(inner, dict) and not any(
            isinstance(value, list | dict) and value for other, value in data.items() if other != name
        ):
            found = _listed(inner, MemberReader(inner))
            if found is not None:
                return found.model_copy(update={"data": data})
    return None


def _listed(data: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    if not members.present(_LISTS_FIRST) or members.names() & _OF_CHECKS:
        return None
    name = next(
        (each for each in members.present(_LISTS_FIRST) if isinstance(members.get(each), list) and members.get(each)),
        None,
    )
    if name is None:
        return None
    failed = members.get(name)
    messages = [_message(item) for item in failed]
    others = {other: value for other, value in data.items() if value is not failed}
    done = _done(others, len(failed), lists_only=name == "errors")
    if name in _PLAIN and (done is None or not all(messages) or not all(isinstance(item, dict) for item in failed)):
        return None
    if done is None:
        done = any(isinstance(value, list) and value for value in others.values())
    if not any(messages) and not all(isinstance(item, str | int) for item in failed):
        return None
    message = next((text for text in messages if text), None) or f"{len(failed)} failed"
    return build_partial(message, "", data) if done else build_error(message, data=data)


def _message(item: Any) -> str | None:
    """Return the message of an item that failed; None for the finding of a checker."""
    if isinstance(item, str):
        return item if _WORDS.search(item) else None
    if not isinstance(item, dict):
        return None
    members = MemberReader(item)
    if members.names() & _OF_A_FINDING:
        return None
    text = members.pop(*_MESSAGES, "code", "error_code", only=str)
    return text or None


def _done(others: dict[str, Any], failed: int, *, lists_only: bool) -> bool | None:
    """Return whether something succeeded; None if no member states it.

    ``lists_only``: a count does not state it, because it may count what failed.
    """
    members = MemberReader(others)
    lists = [members.get(name) for name in _DONE_LISTS if isinstance(members.get(name), list)]
    if lists:
        return any(lists)
    if lists_only:
        return None
    counts = [members.get(name) for name in _DONE_COUNTS if _is_count(members.get(name))]
    # A count of successes states it; a total must be compared with the number of failures.
    if any(_is_count(members.get(name)) for name in ("success", "succeeded", "successful", "success_count")):
        return any(counts)
    totals = [members.get(name) for name in _TOTALS if _is_count(members.get(name))]
    if totals:
        return bool(max(totals) > failed)
    return any(counts) if counts else None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_COUNTS = {"FailedPutCount": "RequestResponses", "FailedRecordCount": "Records", "FailedEntryCount": "Entries"}


@builtin(
    "batch",
    "certain",
    Matches(members=(*("failed_put_count", "failed_record_count", "failed_entry_count", *MEMBERS),)),
)
def BATCH(view: ResultView) -> ToolResponse | None:
    """Read the answer to a request for many items that reports, per item or in sum, the failures.

    Partial if some items succeeded; an error if none did.
    """
    data = view.data
    if not isinstance(data, dict):
        return None
    for read in MemberReader(data).readers(_READERS):
        if (found := read(data)) is not None:
            return found
    return None


def _counted(data: dict[str, Any]) -> ToolResponse | None:
    """Read the failed count of Firehose, Kinesis or EventBridge, and the rows in the order of the request."""
    for count, parts in _COUNTS.items():
        failed, rows = data.get(count), data.get(parts)
        if type(failed) is int and failed > 0 and isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
            return _build_failed_rows([row for row in rows if row.get("ErrorCode")], len(rows), data)
    return None


def _bulk(data: dict[str, Any]) -> ToolResponse | None:
    """Read the bulk response of Elasticsearch or OpenSearch, with one item for each action."""
    items = data.get("items")
    if data.get("errors") is not True or not isinstance(items, list) or not items:
        return None
    if not all(
        isinstance(item, dict) and len(item) == 1 and isinstance(next(iter(item.values())), dict) for item in items
    ):
        return None
    rows = [next(iter(item.values())) for item in items]
    failed = [row for row in rows if row.get("error")]
    return _build_failed_rows([_as_error(row) for row in failed], len(rows), data) if failed else None


def _as_error(row: dict[str, Any]) -> dict[str, Any]:
    error = row["error"] if isinstance(row["error"], dict) else {"reason": row["error"]}
    return {"type": error.get("type"), "message": error.get("reason") or error.get("type"), "code": row.get("status")}


_READERS: Readers[Callable[[dict[str, Any]], ToolResponse | None]] = (
    (frozenset({"failed_put_count", "failed_record_count", "failed_entry_count"}), _counted),
    (frozenset({"errors"}), _bulk),
    (frozenset(MEMBERS), read_failed_list),
)


def _build_failed_rows(failed: list[dict[str, Any]], of: int, data: dict[str, Any]) -> ToolResponse | None:
    """Return a partial response, or if all ``of`` items failed an error from the first of the ``failed``."""
    if not failed:
        return None
    if len(failed) < of:
        return build_response("partial", "", data, reason=f"{len(failed)} of {of} failed")
    reading = read_error(failed[0])
    code = reading.get("code")
    if isinstance(code, str) and lookup_code(code) is None:
        return build_error(reading.get("message"), aws_code(code), type=code, data=data)
    return build_error(reading.get("message"), code, type=reading.get("type"), data=data)
