"""The tools that show calls: ``attempts``, ``call`` and ``find``."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

from tooltrace.core.plural import format_count
from tooltrace.errors import BadParameter, QueryError, near
from tooltrace.mcp_server.answer import computed, copied, dumped, table_answer
from tooltrace.mcp_server.arguments import ToolArgument
from tooltrace.mcp_server.provenance import is_computed, writer_of
from tooltrace.mcp_server.served_store import ServedStore
from tooltrace.mcp_server.tools import CALL_ID, SINCE, TOOL, UNTIL, Caller, ServedTool, limit
from tooltrace.store.result import QueryResult, ResultColumn, with_columns_at

ERROR: Final = 160
"""Characters of an error in a list."""
_LIST: Final = (
    *("ended_at", "tool", "tool_version", "status", "ending", "code", "duration_ms", "attempt", "confidence"),
    *("call_id", "conversation", "span_id", "message"),
)
_NOT_SHOWN: Final = frozenset({"named", "place", "match"})
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]{8,15}")
_SPAN_ID: Final = re.compile(r"[0-9a-f]{16}")
_SMALLEST: Final = 40
"""Characters of each text of a call, at least."""


def _attempt_list(result: QueryResult) -> QueryResult:
    """Return the list without what a tool returned: of an attempt that did not succeed, the beginning of its error."""
    positions = [result.columns.index(name) for name in _LIST]
    shown = with_columns_at(result, positions)
    status, message = _LIST.index("status"), _LIST.index("message")
    rows = []
    for row in shown.rows:
        failed = row[status] not in (None, "success")
        rows.append((*row[:message], row[message][:ERROR] if failed and row[message] else None, *row[message + 1 :]))
    fields = tuple(
        ResultColumn(name="error", unit="text", meaning=field.meaning) if field.name == "message" else field
        for field in shown.fields
    )
    return QueryResult(fields, shown.types, rows, cut=result.cut, note=result.note)


def _cursor(row: dict[str, Any], time: str) -> str:
    moment: datetime = row[time]
    return f"{moment.isoformat()}/{row['span_id'] if _SPAN_ID.fullmatch(row['span_id']) else ''}"


def _place(cursor: str | None) -> dict[str, Any]:
    if cursor is None:
        return {}
    time, slash, span = cursor.partition("/")
    if not slash or not _TIME.fullmatch(time):
        raise BadParameter("argument 'before' must be the value of about.next_before of the page before")
    return {"before": time, "before_span": span}


def _page(result: QueryResult, store: ServedStore, rows: int, time: str) -> dict[str, Any]:
    """Return the answer with ``result``, and the cursor of the next page; ``time``: the column that orders the rows."""
    more = "limit, another filter, or before=about.next_before"
    answer = table_answer(result, {}, rows=rows, more=more, characters=store.characters)
    shown = len(answer["rows"])
    if shown and (len(result.rows) == rows or shown < len(result.rows)):
        answer["about"]["next_before"] = _cursor(result.dicts()[shown - 1], time)
    return answer


async def _attempts(store: ServedStore, _caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    names = ("status", "tool", "code", "conversation", "since", "until")
    filters = {name: given[name] for name in names} | {"text": given["contains"]}
    result = await store.query("attempts", **filters, **_place(given["before"]), limit=given["limit"])
    return _page(_attempt_list(result), store, given["limit"], "ended_at")


async def _find(store: ServedStore, _caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    filters = {name: given[name] for name in ("text", "tool", "since")}
    result = await store.query("find", **filters, **_place(given["before"]), limit=given["limit"])
    return _page(result, store, given["limit"], "started_at")


async def _call(store: ServedStore, _caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    return await call_answer(store, given["call_id"], given["fields"], given["offset"])


async def call_answer(
    store: ServedStore, call_id: str, fields: list[str] | None = None, offset: int = 0
) -> dict[str, Any]:
    """Return one call in full: every attempt, with its texts by pages where they are long.

    ``fields``: only these columns. ``offset``: first character of the texts. Raises BadParameter, QueryError.
    """
    result = await store.query("call", id=call_id, limit=1)
    known = [name for name in result.columns if name not in _NOT_SHOWN]
    _check(fields or [], known, offset)
    rows = result.dicts()
    if not rows:
        raise QueryError("unknown call id: attempts() lists calls, find() searches them")
    about: dict[str, Any] = {"attempts": len(rows)}
    if rows[0]["named"] > 1:
        about["matched"] = f"{rows[0]['named']} calls match this id; this is the newest. A span_id names one attempt"
    if fields is None and (copies := _copies_of_text(rows)):
        about["same_as_text"] = copies
        known = [name for name in known if name not in copies]
    wanted = [field for field in result.fields if field.name in (fields or known) and field.name not in _NOT_SHOWN]
    most = store.characters
    while True:
        answer = _call_answer(rows, wanted, about, offset, most)
        if len(dumped(answer)) <= store.characters:
            return answer
        if most > _SMALLEST:
            most //= 2
            continue
        if len(rows) == 1:
            raise QueryError("the call does not fit into one answer: pass fields=[…]")
        rows = rows[(len(rows) + 1) // 2 :]
        about["shown"] = f"the last {format_count(len(rows), 'attempt')}; attempts(contains=…) lists all"


def _check(fields: list[str], known: list[str], offset: int) -> None:
    """Raise BadParameter for an unknown field, and for an offset without exactly one field."""
    for name in fields:
        if name not in known:
            raise BadParameter(f"a call has no field {name!r}: its fields are {', '.join(known)}{near(name, known)}")
    if offset and len(fields) != 1:
        raise BadParameter("argument 'offset' needs 'fields' with exactly one field, whose text is read from there")


def _copies_of_text(rows: list[dict[str, Any]]) -> list[str]:
    """Return the columns that say the same as ``text`` in every attempt: a result that is a text, and what the model saw."""

    def repeats(name: str, text: str | None, value: Any) -> bool:
        return bool(text) and (value == text or (name == "result" and value == dumped(text)))

    return [name for name in ("result", "seen_text") if all(repeats(name, row["text"], row[name]) for row in rows)]


def _call_answer(
    rows: list[dict[str, Any]], fields: list[ResultColumn], about: dict[str, Any], offset: int, most: int
) -> dict[str, Any]:
    written: dict[str, str] = {}
    attempts, pages = [], []
    for row in rows:
        ours: dict[str, Any] = {}
        theirs: dict[str, str] = {}
        for field in fields:
            name, value = field.name, row[field.name]
            if value is None:
                continue
            if is_computed(field, [value]):
                ours[name] = computed(value)
                continue
            text = copied(value) or ""
            theirs[name] = text[offset : offset + most]
            written[name] = writer_of(name)
            if offset + most < len(text):
                page = {"attempt": row["attempt"], "field": name, "shown": [offset, offset + most], "of": len(text)}
                pages.append(page)
        attempts.append({"computed": ours, "copied": theirs})
    cut: dict[str, Any] | None = None
    if pages:
        more = f"call(call_id, fields=['{pages[0]['field']}'], offset={offset + most})"
        cut = {"texts": pages[:5], "more": more}
        if len(pages) > 5:
            cut["texts_more"] = len(pages) - 5
    return {"about": about, "written_by": written, "attempts": attempts, "cut": cut}


def tools() -> tuple[ServedTool, ...]:
    """Return the tools of this module."""
    before = ToolArgument(name="before", meaning="about.next_before of the last page")
    return (
        ServedTool(
            name="attempts",
            description="Lists attempts, newest first: ids, status, code, ms, begin of the error.",
            arguments=(
                ToolArgument(name="status", choices=("success", "partial", "error")),
                TOOL,
                ToolArgument(name="code"),
                ToolArgument(name="conversation"),
                ToolArgument(name="contains", meaning="text in ids, arguments, result or error"),
                SINCE,
                UNTIL,
                before,
                limit(20, 100),
            ),
            handler=_attempts,
        ),
        ServedTool(
            name="call",
            description="One call in full: arguments, result, error, what the model saw.",
            arguments=(
                CALL_ID,
                ToolArgument(name="fields", kind="texts"),
                ToolArgument(name="offset", kind="integer", default=0, most=100_000_000),
            ),
            handler=_call,
        ),
        ServedTool(
            name="find",
            description="Attempts that contain a text: where, and what stands around it.",
            arguments=(ToolArgument(name="text", required=True), TOOL, SINCE, before, limit(20, 100)),
            handler=_find,
        ),
    )
