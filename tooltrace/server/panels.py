"""Results of named queries: as a panel of a page, as JSON, and the SQL behind them."""

from __future__ import annotations

import shlex
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tooltrace.analysis import find
from tooltrace.report.i18n import Translations
from tooltrace.report.narrative import explain_rows
from tooltrace.server.i18n import language_of
from tooltrace.server.templates import app_state, json_for_script, render
from tooltrace.server.time_range import TimeRange
from tooltrace.store.result import QueryResult

_OPTIONS = ("since", "until", "tool")
SHOWN = 12
"""Rows of a panel before a reader requests all."""


async def run_query(request: Request, name: str, **more: Any) -> QueryResult:
    """Return the result of the query ``name`` with the parameters in the address."""
    by, given = params_from_request(request, name)
    return await app_state(request).cache.ask(name, by, **{**given, **more})


async def panel(request: Request) -> Response:
    """Render a table, and a chart if the address names one."""
    query = find(request.path_params["query"])
    answer = await run_query(request, query.name)
    names = answer.columns
    wanted = [name for name in request.query_params.get("columns", "").split(",") if name in names]
    chosen = [names.index(name) for name in wanted or names]
    shown = answer.rows if request.query_params.get("rows") == "all" else answer.rows[:SHOWN]
    rows = explain_rows(query.name, names, shown, Translations(language_of(request)))
    return render(request, "parts/panel.html", query=query, answer=answer, chosen=chosen, said=rows)


async def data(request: Request) -> Response:
    """Return columns and rows as JSON."""
    answer = await run_query(request, request.path_params["query"])
    columns = [{"name": column.name, "unit": column.unit} for column in answer.fields]
    text = json_for_script({"columns": columns, "rows": answer.rows, "cut": answer.cut is not None})
    return Response(text, media_type="application/json", headers={"Cache-Control": "no-store"})


async def question(request: Request) -> Response:
    """Render the SQL of a query with its parameter values."""
    name = request.path_params["query"]
    by, given = params_from_request(request, name)
    query = find(name)
    template = "parts/question.html" if request.headers.get("hx-request") else "pages/question.html"
    return render(
        request, template, query=query, sql=query.render_with_values(by, **given), shell=_command(name, by, given)
    )


async def options(request: Request) -> Response:
    """Render the values of a filter: those of a dimension in the window."""
    answer = await app_state(request).cache.ask(
        "timeline", (request.path_params["dimension"],), parts=1, **TimeRange.of(request.query_params).given
    )
    values = sorted({row[0] for row in answer.rows if isinstance(row[0], str)})
    return render(request, "parts/options.html", values=values[:500])


async def state(request: Request) -> Response:
    """Render a notice if something was recorded since the page was made; 204 otherwise."""
    now = app_state(request).cache.version()
    if request.query_params.get("seen") == now:
        return Response(status_code=204)
    return render(request, "parts/news.html")


async def healthy(_request: Request) -> Response:
    """Return 200: the server responds."""
    return JSONResponse({"ok": True})


def params_from_request(request: Request, name: str) -> tuple[tuple[str, ...] | None, dict[str, Any]]:
    """Return the grouping and the parameters of the query ``name`` from the address. Raises QueryError."""
    query, address = find(name), request.query_params
    known = {parameter.name for parameter in query.header.parameters}
    given: dict[str, Any] = {key: value for key, value in address.items() if key in known and value}
    if "since" in known:
        window = TimeRange.of(address).given
        given = {**{key: value for key, value in given.items() if key not in window}, **_set(window)}
    by = None
    if "by" in address and query.header.by:
        by = tuple(part for part in address["by"].split(",") if part and part != "none")
    query.render_with_values(by, **given)
    return by, given


def _set(given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


def _command(name: str, by: tuple[str, ...] | None, given: dict[str, Any]) -> str:
    """Return the shell command that runs the same query."""
    words = ["tooltrace", "query", name]
    if by is not None:
        words += ["--by", ",".join(by) or "none"]
    for key, value in given.items():
        words += [f"--{key}", str(value)] if key in _OPTIONS else ["--param", f"{key}={value}"]
    return shlex.join(words)


ROUTES = [
    Route("/panel/{query}", panel),
    Route("/data/{query}", data),
    Route("/question/{query}", question),
    Route("/options/{dimension}", options),
    Route("/state", state),
    Route("/healthz", healthy),
]
