"""Readers of answers to a request for several things, with a list of those that failed."""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.member_reader import MemberReader
from tooltrace.normalize.response_builders import build_error, build_partial

_PLAIN = ("failed_results", "failures", "failed", "errors")
"""Members that may also be something else: they count with a message in each item, beside what succeeded."""
_LISTS = (
    *("failed_urls", "failed_items", "failed_files", "failed_pages", "failed_rows", "failed_records", "failed_list"),
    *("fail_list", "failed_ids", "failure_list", "items_failed", "fail_items", "failed_entries", "failed_tasks"),
    *("failed_users", "failed_orders", "failed_messages", "failed_documents", "failed_details", "fail_details"),
)
"""Members that hold only the parts of a request that failed, whatever stands beside them."""
_LISTS_FIRST = (*_LISTS, *_PLAIN)
HOLDERS = ("data", "response", "result")
"""Members that hold the answer one level down, in a service's envelope."""
MEMBERS = (*_PLAIN, *_LISTS, *HOLDERS)

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
_OF_AN_ANSWER = frozenset({"data", "errors", "warnings", "meta", "links", "included", "request_id"})
_WORDS = lazy(r"[^\W\d_]{2}")


def read_failed_list(data: dict[str, Any]) -> ToolResponse | None:
    """Read a list of what failed, such as ``failed_urls``, beside what succeeded or its count.

    Partial if something succeeded, else an error. The list may be in ``data`` or in another of ``HOLDERS``.
    """
    members = MemberReader(data)
    found = _listed(data, members) or _beside_data(data, members)
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


def _beside_data(data: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read ``{"data": […], "errors": [{"title": …}], "warnings": []}``, whose data are what succeeded."""
    done, failed = members.get("data"), members.get("errors")
    if not isinstance(done, list) or not done or not isinstance(failed, list) or not failed:
        return None
    if not members.names() <= _OF_AN_ANSWER or not all(isinstance(item, dict) for item in failed):
        return None
    messages = [_message(item) for item in failed]
    return build_partial(messages[0], "", data) if all(messages) else None
