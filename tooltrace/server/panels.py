"""Results of named queries: as a panel of a page, as JSON, and the SQL behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tooltrace.analysis import find
from tooltrace.analysis.sides import is_window
from tooltrace.report.build import query_command
from tooltrace.report.json_values import json_for_script, json_safe
from tooltrace.report.narrative import translate_rows
from tooltrace.server.request import app_state, charted_range, language_of, time_range
from tooltrace.server.templates import render
from tooltrace.server.time_navigation import length_seconds, navigate
from tooltrace.store.result import QueryResult
from tooltrace.wording.i18n import Translations

SHOWN = 12
"""Rows of a panel before a reader requests all."""

SIDE_DIMENSIONS: Final = ("version", "agent", "model", "release", "environment")
"""Dimensions whose values the page of comparisons offers."""
MOST_SIDES: Final = 100
"""Maximum number of offered values of one dimension."""


async def run_query(request: Request, name: str, columns: Sequence[str] = ()) -> QueryResult:
    """Return the result of the query ``name`` with the parameters in the address.

    ``columns``: the columns to return, behind those by which the rows are grouped; all if none of them exists.
    """
    by, params = await params_from_request(request, name)
    query = find(name)
    chosen = tuple(column.name for column in query.value_columns(by) if column.name in columns)
    only = (*query.groups(by), *chosen) if chosen else ()
    return await app_state(request).cache.query(name, by, only=only, **params)


async def panel(request: Request) -> Response:
    """Render a table, and a chart if the address names one."""
    query = find(request.path_params["query"])
    result = await run_query(request, query.name)
    names = result.columns
    columns = [name for name in request.query_params.get("columns", "").split(",") if name in names]
    chosen = [names.index(name) for name in columns or names]
    shown = result.rows if request.query_params.get("rows") == "all" else result.rows[:SHOWN]
    rows = translate_rows(query.name, names, shown, Translations(language_of(request)))
    drawn = navigate(await charted_range(request)) if query.name == "timeline" else None
    return render(request, "parts/panel.html", query=query, result=result, chosen=chosen, rows=rows, drawn=drawn)


async def data(request: Request) -> Response:
    """Return rows and columns as JSON; the columns in the address, or all."""
    asked = request.query_params.get("columns", "").split(",")
    result = await run_query(request, request.path_params["query"], asked)
    columns = [{"name": column.name, "unit": column.unit} for column in result.fields]
    ends = navigate(await charted_range(request))
    text = json_for_script(
        {
            "columns": columns,
            "rows": result.rows,
            "cut": result.cut is not None,
            "since": ends and ends.since,
            "until": ends and ends.until,
        }
    )
    return Response(text, media_type="application/json", headers={"Cache-Control": "no-store"})


async def query_sql(request: Request) -> Response:
    """Render the SQL of a query with its parameter values."""
    name = request.path_params["query"]
    by, params = await params_from_request(request, name)
    query = find(name)
    template = "parts/query_sql.html" if request.headers.get("hx-request") else "pages/query_sql.html"
    sql, command = query.render_with_values(by, **params), query_command(name, by, params)
    return render(request, template, query=query, sql=sql, command=command)


async def options(request: Request) -> Response:
    """Render the values of a filter: those of a dimension in the window, of all tools or of the one in the address."""
    params = {**time_range(request.query_params).params, "tool": request.query_params.get("tool") or None}
    by = (request.path_params["dimension"],)
    only = (*find("timeline").groups(by), "started")
    result = await app_state(request).cache.query("timeline", by, only=only, parts=1, **params)
    values = sorted({row[0] for row in result.rows if isinstance(row[0], str)})
    return render(request, "parts/options.html", values=values[:500])


async def sides(request: Request) -> Response:
    """Render the sides that a comparison may have: the values of the dimensions that tell runs apart."""
    params = {**time_range(request.query_params).params, "tool": request.query_params.get("tool") or None}
    found: list[str] = []
    for name in (name for name in SIDE_DIMENSIONS if name in find("timeline").header.by):
        only = (*find("timeline").groups((name,)), "started")
        result = await app_state(request).cache.query("timeline", (name,), only=only, parts=1, **params)
        found += sorted({f"{name}:{row[0]}" for row in result.rows if isinstance(row[0], str)})[:MOST_SIDES]
    return render(request, "parts/options.html", values=found)


async def state(request: Request) -> Response:
    """Render a notice if something was recorded since the page was rendered; 204 otherwise."""
    now = app_state(request).cache.version()
    if request.query_params.get("version") == now:
        return Response(status_code=204)
    return render(request, "parts/news.html")


async def healthz(request: Request) -> Response:
    """Return the health of the server and its store: with status 200 where the store can be read, else 503."""
    report = await app_state(request).health.report()
    return JSONResponse(json_safe(report), 200 if report.ok else 503, {"Cache-Control": "no-store"})


async def params_from_request(request: Request, name: str) -> tuple[tuple[str, ...] | None, dict[str, Any]]:
    """Return the grouping and the parameters of the query ``name`` from the address. Raises QueryError."""
    query, address = find(name), request.query_params
    known = {parameter.name for parameter in query.header.parameters}
    params: dict[str, Any] = {key: value for key, value in address.items() if key in known and value}
    if query.has_window:
        window = time_range(address)
        others = {key: value for key, value in params.items() if key not in ("since", "until")}
        if "span_s" in known and (seconds := length_seconds(await charted_range(request))) is not None:
            others.setdefault("span_s", seconds)
        params = {**others, **window.params}
    by = None
    if "by" in address and query.header.by:
        by = tuple(part for part in address["by"].split(",") if part and part != "none")
    if query.has_sides and is_window(params.get("after")):
        params = {key: value for key, value in params.items() if key not in ("since", "until")}  # those of the page
    query.render_with_values(by, **params)
    return by, params


ROUTES = [
    Route("/panel/{query}", panel),
    Route("/data/{query}", data),
    Route("/question/{query}", query_sql),
    Route("/options/sides", sides),
    Route("/options/{dimension}", options),
    Route("/state", state),
    Route("/healthz", healthz),
]
