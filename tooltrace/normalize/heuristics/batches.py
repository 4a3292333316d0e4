"""Rules for batches that failed in part.

Forms: AWS's unprocessed items and failed counts, Elasticsearch's bulk and shards, rows with a flag each.
"""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.exceptions.services import aws_code
from tooltrace.normalize.response_builders import (
    MemberReader,
    build_error,
    build_partial,
    build_response,
    read_error,
)
from tooltrace.normalize.rule import Matches, ResultView, Rule, builtin
from tooltrace.normalize.terms import lookup_code, snake_case

_LEFT = ("UnprocessedItems", "UnprocessedKeys")
_COUNTS = {"FailedPutCount": "RequestResponses", "FailedRecordCount": "Records", "FailedEntryCount": "Entries"}
_SENT = frozenset({"Successful", "Failed", "ResponseMetadata"})
PARTLY = {
    "failed_results": ("results",),
    "errors": ("deleted", "succeeded"),
    "failed": ("succeeded", "successful"),
    "failures": ("successes",),
}
"""Members with what failed, and those with what succeeded, of answers to a request for several things."""
_FAILED_LISTS = (
    *("failed_urls", "failed_items", "failed_files", "failed_pages", "failed_rows", "failed_records", "failed_list"),
    *("fail_list", "failed_ids"),
)
"""Members that hold only the parts of a request that failed, whatever stands beside them."""
_DONE = ("completed", "succeeded", "success_count", "processed", "total")
_MESSAGES = ("message", "msg", "error_message", "errmsg", "error", "errors", "detail", "reason")
_FLAGS = ("ok", "success")
_OF_A_PART = frozenset(
    {
        "id",
        "index",
        "key",
        "error",
        "error_code",
        "error_message",
        "message",
        "code",
        "data",
        "result",
        "value",
        "status",
    }
)
"""Members with which a row reports its own success; a row with other members may be an entity."""
_LISTS = ("results", "items", "responses")


@builtin(
    "batch",
    "certain",
    Matches(
        members=(
            *("unprocessed_items", "unprocessed_keys", "failed_put_count", "failed_record_count"),
            *("failed_entry_count", "failed", "errors", "shards", *_FAILED_LISTS),
        )
    ),
)
def BATCH(view: ResultView) -> ToolResponse | None:
    """Read the answer to a request for many items that reports, per item or in sum, the failures.

    Partial if some items succeeded; an error if none did.
    """
    data = view.data
    if not isinstance(data, dict):
        return None
    return _left(data) or _counted(data) or _sent(data) or _bulk(data) or _searched(data) or _listed(data)


def _left(data: dict[str, Any]) -> ToolResponse | None:
    """Read DynamoDB's unprocessed items, which the caller should send again."""
    left = next((data[name] for name in _LEFT if isinstance(data.get(name), dict) and data[name]), None)
    if left is None or not all(isinstance(items, list | dict) for items in left.values()):
        return None
    return build_response("partial", "", data, reason=f"{_size(left)} items were not processed", next_action="retry")


def _size(left: dict[str, Any]) -> int:
    keys = (items.get("Keys", items) if isinstance(items, dict) else items for items in left.values())
    return sum(map(len, keys))


def _counted(data: dict[str, Any]) -> ToolResponse | None:
    """Read the failed count of Firehose, Kinesis or EventBridge, and the rows in the order of the request."""
    for count, parts in _COUNTS.items():
        failed, rows = data.get(count), data.get(parts)
        if type(failed) is int and failed > 0 and isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
            return _build_failed_rows([row for row in rows if row.get("ErrorCode")], len(rows), data)
    return None


def _sent(data: dict[str, Any]) -> ToolResponse | None:
    """Read the lists of failed and successful entries of SQS or SNS."""
    failed, done = data.get("Failed"), data.get("Successful") or []
    if not isinstance(failed, list) or not failed or not isinstance(done, list) or not set(data) <= _SENT:
        return None
    if not all(isinstance(row, dict) and {"Id", "Code"} <= set(row) for row in failed):
        return None
    return _build_failed_rows(failed, len(failed) + len(done), data)


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


def _searched(data: dict[str, Any]) -> ToolResponse | None:
    """Read a search of Elasticsearch or OpenSearch that missed shards or timed out."""
    shards = data.get("_shards")
    if not isinstance(shards, dict) or not isinstance(data.get("hits"), dict):
        return None
    failed, of = shards.get("failed"), shards.get("total")
    if type(failed) is int and failed > 0:
        return build_response("partial", "", data, reason=f"{failed} of {of} shards failed")
    return build_response("partial", "", data, reason="timed out") if data.get("timed_out") is True else None


def _listed(data: dict[str, Any]) -> ToolResponse | None:
    """Read a list of what failed, such as ``failed_urls``, beside what succeeded or its count."""
    members = MemberReader(data)
    failed = members.get(*_FAILED_LISTS)
    if not isinstance(failed, list) or not failed:
        return None
    rows = [row for row in failed if isinstance(row, dict)]
    message = next((text for row in rows for text in (MemberReader(row).pop(*_MESSAGES, only=str),) if text), None)
    message = message or f"{len(failed)} failed"
    done = any(isinstance(value, list) and value and value is not failed for value in data.values())
    count = members.get(*_DONE)
    done = done or (isinstance(count, int) and count > (len(failed) if "total" in members else 0))
    return build_partial(message, "", data) if done else build_error(message, data=data)


def read_partly_done(data: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read the answer to a request for several things of which some failed: S3, Tavily, SQS."""
    for failed, done in PARTLY.items():
        errors = members.get(failed)
        if not isinstance(errors, list) or not errors or not all(isinstance(error, dict) for error in errors):
            continue
        succeeded = next((members.get(name) for name in done if isinstance(members.get(name), list)), None)
        texts = (MemberReader(error).pop(*_MESSAGES, "code", only=str) for error in errors)
        message = next((text for text in texts if text), None)
        if succeeded is not None and message is not None:
            return build_partial(message, "", data) if succeeded else build_error(message, data=data)
    return None


def _as_error(row: dict[str, Any]) -> dict[str, Any]:
    error = row["error"] if isinstance(row["error"], dict) else {"reason": row["error"]}
    return {"type": error.get("type"), "message": error.get("reason") or error.get("type"), "code": row.get("status")}


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


@builtin("batch_rows", "heuristic", Matches(members=_LISTS))
def ROWS(view: ResultView) -> ToolResponse | None:
    """Read rows that each have a success flag, and a reason if they failed; some must have succeeded.

    The list may hold entities instead, so a row may have no other members than ``_OF_A_PART``.
    """
    if not isinstance(view.data, dict):
        return None
    rows = MemberReader(view.data).pop(*_LISTS, only=list)
    if not rows or len(rows) < 2 or not all(map(_is_part, rows)):
        return None
    done = [_flag(row) for row in rows]
    failed = [row for row, well in zip(rows, done, strict=True) if not well]
    if (
        not any(done)
        or not failed
        or not all(MemberReader(row).pop_nonempty("error", "error_message", "message") for row in failed)
    ):
        return None
    return build_response("partial", "", view.data, reason=f"{len(failed)} of {len(rows)} failed")


def _is_part(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and {snake_case(name) for name in row} <= {*_OF_A_PART, *_FLAGS}
        and _flag(row) is not None
    )


def _flag(row: dict[str, Any]) -> bool | None:
    return next((row[name] for name in _FLAGS if isinstance(row.get(name), bool)), None)


RULES: tuple[Rule, ...] = (BATCH, ROWS)
