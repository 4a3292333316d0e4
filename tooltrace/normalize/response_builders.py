"""Builders of responses from a protocol's members.

Odd values do not fail the response, and none is lost: a value that does not fit its field is kept in ``context``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from tooltrace.core.codes import ToolErrorCode, advice_for, next_step
from tooltrace.core.confidence import OUT_OF_RANGE, valid_confidence
from tooltrace.core.response import ErrorInfo, ResponseMeta, Source, SourceType, Status, ToolResponse
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.member_reader import MemberReader
from tooltrace.normalize.terms import (
    SPENT_QUOTA,
    guess_code_from_message,
    http_status,
    lookup_code,
    next_action_named,
    normalize_code,
    snake_case,
)
from tooltrace.normalize.transports.http_status import of_status
from tooltrace.redact.walk import to_json_bytes

__all__ = [
    "MemberReader",
    "build_error",
    "build_partial",
    "build_response",
    "error_of",
    "has_members",
    "has_only",
    "merge_context",
    "merge_error",
    "meta_of",
    "put_unique",
    "read_error",
    "sources_of",
    "text_of",
    "with_message",
]

_SOURCE_TYPES = frozenset(get_args(SourceType))
_SOURCE_KEYS = {
    "type": ("type", "kind"),
    "id": ("id", "doc_id", "document_id", "file_id"),
    "label": ("label", "title", "name"),
    "url": ("url", "uri", "link", "href", "path"),
    "section": ("section", "page", "anchor", "heading"),
}


def sources_of(value: Any) -> tuple[tuple[Source, ...], Any]:
    """Return the sources that a list, an object or a text names; and the items that name none, or say more."""
    if value in (None, "", [], {}):
        return (), None
    sources: list[Source] = []
    rest = []
    for item in value if isinstance(value, list) else [value]:
        source, complete = _source(item)
        if source is not None:
            sources.append(source)
        if not complete:
            rest.append(item)
    return tuple(sources), rest or None


def _source(item: Any) -> tuple[Source | None, bool]:
    """Return the source that ``item`` names, and whether that source holds everything in the item."""
    if isinstance(item, str) and item:
        return _source_called(item), True
    if not isinstance(item, dict):
        return None, item is None
    members = MemberReader(item)
    named = {key: members.pop(*names, only=(str, int)) for key, names in _SOURCE_KEYS.items()}
    type_name = named.pop("type")
    kind = snake_case(str(type_name or "document"))
    known = {key: str(value) for key, value in named.items() if value is not None}
    if not known and kind not in _SOURCE_TYPES:
        return None, False
    source = Source(type=kind if kind in _SOURCE_TYPES else "other", **known)  # type: ignore[arg-type]
    return source, not members.remaining() and type_name in (None, source.type)


def _source_called(name: str) -> Source:
    if "://" in name:
        return Source(type="api", url=name)
    kind = snake_case(name)
    return Source(type=kind if kind in _SOURCE_TYPES else "document", label=name)  # type: ignore[arg-type]


_META_KEYS: dict[str, tuple[str, ...]] = {
    "tool_name": ("tool_name",),
    "tool_version": ("tool_version", "version"),
    "trace_id": ("trace_id",),
    "span_id": ("span_id",),
    "call_id": ("call_id", "tool_call_id"),
    "duration_ms": ("duration_ms", "elapsed_ms", "latency_ms", "time_ms", "duration"),
}


def meta_of(value: Any) -> tuple[dict[str, Any], Any]:
    """Split a protocol's ``meta`` into fields of ``ResponseMeta`` and the rest.

    A duration without a unit is in milliseconds, as in the protocols that have such a member.
    """
    if not isinstance(value, dict):
        return {}, value
    members = MemberReader(value)
    out = {
        field: members.pop(*names, only=(int, float) if field == "duration_ms" else str)
        for field, names in _META_KEYS.items()
    }
    out["cached"] = members.pop("cached", "from_cache", "cache_hit", only=bool)
    return {field: value for field, value in out.items() if value is not None}, members.remaining()


_MESSAGES = (
    *("message", "msg", "detail", "description", "reason", "error_message", "error_description", "title", "text"),
    *("faultstring", "error", "info"),
)
_WORD = lazy(r"[A-Za-z]\w*(?:[.-]\w+)*", re.ASCII)


def build_response(
    status: Status,
    text: Any = None,
    data: Any = None,
    *,
    error: ErrorInfo | None = None,
    confidence: Any = None,
    next_action: Any = None,
    sources: Any = None,
    stats: Any = None,
    signals: Any = None,
    context: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
    **fields: Any,
) -> ToolResponse:
    """Build a response from a protocol's members.

    A value that does not fit its field is kept in ``context``, under the field's name.
    """
    unfit: dict[str, Any] = dict(context or {})
    flags: list[str] = []
    known = dict(meta or {})
    action = next_action_named(next_action)
    if next_action is not None and next_action != action:
        put_unique(unfit, "next_action", next_action)
    score = valid_confidence(confidence)
    if confidence is not None and score is None:
        put_unique(unfit, "confidence", confidence)
        flags.append(OUT_OF_RANGE)
    known_sources, other = sources_of(sources)
    if other is not None:
        put_unique(unfit, "source", other)
    known_stats, known_signals = _named(stats, "stats", unfit), _signals(signals, unfit)
    advised = status == "error" and error is not None and action is None
    if advised and error is not None:
        action = next_step(error.code, error.stated_retryable, error.suggestion)
    members: dict[str, Any] = {
        "status": status,
        "text": text_of(text),
        "payload": data,
        "confidence": score,
        "signals": known_signals,
        "sources": known_sources,
        "next_action": action,
        "next_action_advised": advised,
        "failure": None if status == "success" else error,
        "stats": known_stats,
        "context": unfit or None,
    }
    meta_fields = {**known, "flags": (*known.pop("flags", ()), *flags)}
    return ToolResponse(**members, meta=ResponseMeta(**meta_fields), **fields)


def build_error(
    message: Any,
    code: Any = None,
    *,
    type: Any = None,  # noqa: A002 - the protocols' word
    retryable: Any = None,
    suggestion: Any = None,
    user_message: Any = None,
    text: Any = None,
    data: Any = None,
    **fields: Any,
) -> ToolResponse:
    """Build an error response.

    Without a ``code``, ``type`` names the code, or the words of the message suggest it.
    """
    members = {"message": message, "code": code, "type": type, "retryable": retryable}
    error, fields = _reported({**members, "suggestion": suggestion, "user_message": user_message}, fields)
    return build_response("error", error.message if text in (None, "") else text, data, error=error, **fields)


def build_partial(error: Any, text: Any, data: Any, **fields: Any) -> ToolResponse:
    """Build a partial response from a success that names an error too.

    The tool gave an answer and reported a problem with it. Both are believed: the answer is usable, but not whole.
    """
    read = merge_context(read_error(error), fields.pop("context", None))
    fields["context"] = read.pop("context")
    # read_error leaves out the members that it did not look for.
    members, fields = _reported({**_NO_MEMBERS, **read}, fields)
    meta = {**(fields.pop("meta", None) or {}), "flags": ("error_in_success",)}
    return build_response("partial", text, data, error=members, reason=members.message, meta=meta, **fields)


_NO_MEMBERS = dict.fromkeys(("message", "code", "type", "retryable", "suggestion", "user_message"))


def _reported(members: dict[str, Any], fields: dict[str, Any]) -> tuple[ErrorInfo, dict[str, Any]]:
    """Return the error described by ``members``, and the other fields of the response.

    Details that the error's fields cannot hold go to ``context``.
    """
    error = error_of(*map(members.__getitem__, _NO_MEMBERS))
    return error, {**fields, "context": merge_error(fields.get("context"), _unfit_members(error, members))}


def _unfit_members(error: ErrorInfo, members: dict[str, Any]) -> dict[str, Any]:
    """Return the details of a protocol's error that the fields of ``error`` do not hold literally."""
    unfit = {
        name: value
        for name, value in members.items()
        if value not in (None, "") and not isinstance(value, bool if name == "retryable" else str | int)
    }
    if members["code"] not in (None, "") and str(members["code"]) not in (error.code, error.type):
        unfit["code"] = members["code"]
    return unfit


def with_message(read: dict[str, Any], words: Any) -> dict[str, Any]:
    """Return the result of :func:`read_error`, with ``words`` as the message if that message only names a type.

    ``words``: the text that stands beside the error.
    """
    return {**read, "message": words} if words and read.get("message") == read.get("type") else read


def merge_context(read: dict[str, Any], context: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the result of :func:`read_error` with a protocol's other members added to its context."""
    details = dict(read.get("context") or {})
    merged = merge_error(context, details.pop("error", None))
    for name, value in details.items():
        put_unique(merged, name, value)
    return {**read, "context": merged}


def merge_error(context: Mapping[str, Any] | None, more: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return ``context`` with ``more`` details of the error that ``ErrorInfo`` has no fields for."""
    merged = dict(context or {})
    if not more:
        return merged
    before = merged.pop("error", None)
    about = dict(before) if isinstance(before, dict) else {}
    for name, value in more.items():
        put_unique(about, name, value)
    merged["error"] = about
    if before is not None and not isinstance(before, dict):
        put_unique(merged, "error", before)
    return merged


def put_unique(members: dict[str, Any], name: str, value: Any) -> None:
    """Store ``value`` in ``members`` under ``name``; append underscores if the name is in use."""
    while name in members:
        name += "_"
    members[name] = value


def error_of(
    message: Any,
    code: Any = None,
    type_: Any = None,
    retryable: Any = None,
    suggestion: Any = None,
    user_message: Any = None,
) -> ErrorInfo:
    """Build the ``ErrorInfo`` of :func:`build_error` from the arguments of the same meaning."""
    words = text_of(message)
    meant = None if _is_number(code) else normalize_code(code)  # a number has a meaning only for its own service
    named = str(meant or _code_of_type(type_, words))
    original = str(code) if code not in (None, "") and isinstance(code, str | int) and str(code) != named else ""
    if not isinstance(retryable, bool):
        retryable = False if SPENT_QUOTA in (code, type_) or SPENT_QUOTA in words else _stated_by_status(code)
    advised = advice_for(named).retryable if retryable is None else None
    kind = text_of(type_) or original
    return ErrorInfo(
        code=named,
        message=words or kind or named,
        type=kind or None,
        retryable=advised if retryable is None else retryable,
        retryable_advised=advised is not None,
        suggestion=text_of(suggestion) or None,
        user_message=text_of(user_message) or None,
    )


def _is_number(code: Any) -> bool:
    return (isinstance(code, int) or (isinstance(code, str) and code.isdigit())) and not http_status(code)


def _code_of_type(type_: Any, words: str) -> ToolErrorCode:
    """Return the code that an error's type names.

    If the type only says that the tool failed, the words of the message may be more specific.
    """
    kind = type_ if isinstance(type_, str) else ""
    named = lookup_code(kind)
    if named not in (None, ToolErrorCode.EXECUTION_ERROR):
        return named
    guessed = guess_code_from_message(words)
    return (
        guess_code_from_message(snake_case(kind).replace("_", " "))
        if guessed == ToolErrorCode.EXECUTION_ERROR
        else guessed
    )


def _stated_by_status(code: Any) -> bool | None:
    """Whether the same call may succeed later, where ``code`` is an HTTP status that decides it."""
    status = http_status(code)
    return of_status(status).retryable if status else None


def read_error(error: Any) -> dict[str, Any]:
    """Read an ``error`` member into arguments for :func:`build_error`.

    The member is a text, a list, or an object with the usual names. Its other members go to ``context``.
    """
    # The first error gives code and message; the whole list is kept in the context.
    if isinstance(error, list):
        first: dict[str, Any] = {"message": error or None}
        if error and isinstance(error[0], str | dict):
            first = read_error(error[0])
        return {**first, "context": {**(first.get("context") or {}), "errors": error}} if len(error) > 1 else first
    if not isinstance(error, dict):
        # One word is both: it is all that the service said, and it may name a code.
        return {"message": error, "type": error} if _is_type(error) else {"message": error}
    if isinstance(worded := error.get("message"), dict) and isinstance(worded.get("value"), str):  # OData
        error = {**error, "message": worded["value"]}
    members = MemberReader(error)
    out = {
        # A text has precedence, so that an object under ``message`` does not hide the text under ``detail``.
        "message": members.pop_nonempty(*_MESSAGES, only=str) or members.pop(*_MESSAGES),
        "code": members.pop("code", "error_code", "status_code", "name", only=(str, int)),
        "type": members.pop("type", "error_type", "kind", "category"),
        "retryable": members.pop("retryable", "is_retryable", "retriable", "transient"),
        "suggestion": members.pop("suggestion", "hint", "how_to_fix", "help"),
        "user_message": members.pop("user_message"),
    }
    rest = members.remaining()
    return {**out, "context": {"error": rest}} if rest else out


def text_of(value: Any) -> str:
    """Return ``value`` as text.

    A text stays as it is, None becomes "", the texts of content blocks are joined, anything else becomes JSON.
    """
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and value and all(_is_block(item) for item in value):
        return "\n".join(filter(None, map(_block_text, value)))
    return to_json_bytes(value).decode()


def _is_block(item: Any) -> bool:
    return isinstance(item, str) or (isinstance(item, dict) and isinstance(item.get("type"), str))


def _block_text(item: Any) -> str:
    if isinstance(item, str):
        return item
    text = item.get("text")
    return text if isinstance(text, str) else f"<{item['type']}>"


def has_members(data: Any, *names: str) -> bool:
    """Whether ``data`` is an object that has all these members."""
    return isinstance(data, dict) and all(name in data for name in names)


def has_only(data: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Whether ``data`` has no members other than these."""
    return not set(data) - set(names)


def _is_type(error: Any) -> bool:
    """Whether a text is one word that names a kind of error, like Slack's ``invalid_auth``."""
    if not isinstance(error, str) or not _WORD.fullmatch(error):
        return False
    return "_" in error or error.endswith(("Error", "Exception")) or lookup_code(error) is not None


def _named(value: Any, name: str, unfit: dict[str, Any]) -> dict[str, Any] | None:
    if value is None or isinstance(value, dict):
        return value or None
    put_unique(unfit, name, value)
    return None


def _signals(value: Any, unfit: dict[str, Any]) -> dict[str, Any] | None:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return dict.fromkeys(value, True) or None
    if isinstance(value, dict) and all(isinstance(item, float | int | str) for item in value.values()):
        return value or None
    if value not in (None, "", [], {}):
        put_unique(unfit, "signals", value)
    return None
