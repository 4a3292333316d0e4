"""The list of attempts as a file: CSV, JSON or Parquet, with the filters and the order of the page."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from tooltrace.analysis import find
from tooltrace.errors import QueryError
from tooltrace.exporters.csv import cell
from tooltrace.redact.plain_data import json_of
from tooltrace.report.json_values import json_safe
from tooltrace.server.list_state import ListState
from tooltrace.server.request import app_state, time_range
from tooltrace.server.sql_page import FULL
from tooltrace.store.result import QueryResult

MAX_ROWS: Final = 50_000
"""Maximum rows of a file."""
PAGE: Final = 5_000
"""Rows that are read at a time."""
TYPES: Final = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}


async def export(request: Request) -> Response:
    """Return the attempts that match the filters of the page, in its order."""
    form = request.query_params.get("format", "")
    if form not in TYPES:
        raise HTTPException(400, f"the file format must be one of {', '.join(TYPES)}. Got {form[:20]!r}")
    state = ListState.read(request.query_params)
    window = time_range(request.query_params).params
    params = {**window, **state.params, "before": datetime.now(UTC).isoformat()}  # the pages are of one moment
    headers = {"Content-Disposition": f'attachment; filename="calls.{form}"', "Cache-Control": "no-store"}
    if form == "parquet":
        return await _parquet(request, params, headers)
    first = await _page(request, params)
    if len(first.rows) == PAGE and await _total(request, params) > MAX_ROWS:
        headers[FULL] = "rows"
    pages = _pages(request, state, params, first)
    content = _csv(first, pages) if form == "csv" else _json(first, pages)
    return StreamingResponse(content, media_type=TYPES[form], headers=headers)


async def _parquet(request: Request, params: dict[str, Any], headers: dict[str, str]) -> Response:
    """Return the file from the process that runs SQL of visitors: DuckDB writes it, within the limits of files."""
    state = app_state(request)
    sql = find("attempts").render_with_values(**params, limit=MAX_ROWS + 1)
    limits = replace(state.site.limits, rows=MAX_ROWS, seconds=3 * state.site.limits.seconds)
    try:
        written = await state.sandbox.write(sql, "parquet", limits)
    except QueryError as error:
        return PlainTextResponse(f"{error}\n", 422)
    full = {FULL: "rows"} if written.full else {}
    return Response(written.data, media_type=TYPES["parquet"], headers={**headers, **full})


async def _total(request: Request, params: dict[str, Any]) -> int:
    counted = {name: value for name, value in params.items() if name not in ("sort", "before")}
    return sum((await app_state(request).cache.query("attempt_counts", **counted)).values("attempts"))


async def _page(request: Request, params: dict[str, Any]) -> QueryResult:
    return await app_state(request).cache.query_once("attempts", **params, limit=PAGE)


async def _pages(
    request: Request, state: ListState, params: dict[str, Any], first: QueryResult
) -> AsyncIterator[list[tuple[Any, ...]]]:
    """Yield the rows page by page: by time each page begins after the last row, in other orders by number."""
    page, read = first, 0
    time, span = (first.columns.index(name) for name in ("ended_at", "span_id"))
    while True:
        rows = page.rows[: MAX_ROWS - read]
        read += len(rows)
        yield rows
        if len(page.rows) < PAGE or read >= MAX_ROWS:
            return
        last = page.rows[-1]
        by_time = {"before": last[time], "before_span": last[span]}
        page = await _page(request, {**params, **by_time} if state.is_live else {**params, "offset": read})


async def _csv(first: QueryResult, pages: AsyncIterator[list[tuple[Any, ...]]]) -> AsyncIterator[bytes]:
    """Write CSV in which no cell is a formula for a spreadsheet, see ``tooltrace.exporters.csv``."""
    yield _lines([first.columns])
    async for rows in pages:
        yield _lines([[cell(_zoned(value)) for value in row] for row in rows])


def _zoned(value: Any) -> Any:
    """Return a time of a row, which is naive UTC, with its zone."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def _lines(rows: list[list[str]]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode()


async def _json(first: QueryResult, pages: AsyncIterator[list[tuple[Any, ...]]]) -> AsyncIterator[bytes]:
    """Write one array with an object for each row."""
    before = b"["
    async for rows in pages:
        for row in rows:
            yield before + json_of(json_safe(dict(zip(first.columns, row, strict=True))))
            before = b",\n"
    yield b"]\n" if before != b"[" else b"[]\n"


ROUTES = [Route("/calls/export", export)]
