"""The pages of a trace and of a conversation: their steps as a tree on a time axis, and one step in detail."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.server.calls import attempt_of, safe_place
from tooltrace.server.outcomes import outcome_data
from tooltrace.server.request import app_state
from tooltrace.server.steps import ConversationTurn, Layout, StepLine, layout, matching, minimap
from tooltrace.server.templates import render

PAGE = 2_000
"""Maximum number of lines of the tree on one page."""
NEARBY = 40
"""Number of lines of the tree on the page of a call."""
CHUNK = 50
"""Lines that the browser lays out together, when they come into view."""


async def trace(request: Request) -> Response:
    """Render the page of one trace."""
    return await _page(request, "trace", "trace_id")


async def conversation(request: Request) -> Response:
    """Render the page of one conversation: its turns, one below the other on one axis."""
    return await _page(request, "conversation", "conversation")


async def _page(request: Request, kind: str, parameter: str) -> Response:
    identifier = request.path_params.get("id") or request.query_params.get("id", "")
    if not identifier:
        raise HTTPException(404, f"the address names no {kind}: open /{kind}/ID")
    params: dict[str, Any] = {parameter: identifier}
    result = await app_state(request).cache.query("steps", **params)
    rows = result.dicts()
    if not rows and kind == "conversation":  # loops of calls without a conversation have the id of their trace
        kind, parameter = "trace", "trace_id"
        params = {parameter: identifier}
        result = await app_state(request).cache.query("steps", **params)
        rows = result.dicts()
        if not rows:
            raise HTTPException(404, f"no conversation has the id {identifier!r}, and no trace")
    if not rows:
        raise HTTPException(404, f"no {kind} has the id {identifier!r}")
    laid = layout(rows, turns=kind == "conversation")
    chosen = _chosen(rows, request.query_params)
    every = [(turn, list(laid.lines(turn))) for turn in laid.turns]
    steps = sum(len(lines) for _, lines in every)
    text = request.query_params.get("filter", "").strip() if steps > PAGE else ""  # of fewer, the browser has all
    matches = None
    if text:
        found = [(turn, *matching(lines, text)) for turn, lines in every]
        every, matches = [(turn, lines) for turn, lines, _ in found], sum(number for *_, number in found)
    start = safe_place(request.query_params.get("start")) if text else _start(request.query_params, laid, chosen)
    turns, shown, total = _cut(every, start, PAGE)
    return render(
        request,
        "pages/steps.html",
        kind=kind,
        identifier=identifier,
        parameter=parameter,
        layout=laid,
        turns=turns,
        minimap=minimap([line for _, lines in turns for line in lines]),
        facts=_facts(rows),
        chosen=chosen,
        detail=await _detail(request, chosen),
        start=start,
        shown=shown,
        all_lines=total,
        steps=steps,
        filtered=text,
        matches=matches,
        page=PAGE,
        chunk=CHUNK,
        complete=result.cut is None,
        **(await outcome_data(request, identifier) if kind == "conversation" else {}),
    )


async def nearby(request: Request) -> Response:
    """Render the part of a trace's tree around one step, for the page of a call: what ran in the same parent."""
    trace_id, span_id = (request.query_params.get(name, "") for name in ("trace", "span"))
    rows = (await app_state(request).cache.query("steps", trace_id=trace_id)).dicts()
    laid = layout(_family(rows, span_id), turns=False)
    lines = [line for turn in laid.turns for line in laid.lines(turn)]
    at = next((place for place, line in enumerate(lines) if line.row["span_id"] == span_id), 0)
    first = max(0, min(at - NEARBY // 2, len(lines) - NEARBY))
    return render(
        request,
        "parts/nearby.html",
        lines=lines[first : first + NEARBY],
        all_steps=len(rows),
        layout=laid,
        trace_id=trace_id,
        span_id=span_id,
    )


def _family(rows: list[dict[str, Any]], span_id: str) -> list[dict[str, Any]]:
    """Return the parent of the step ``span_id`` and all steps inside the parent; without a parent, all rows."""
    parents = {row["span_id"]: row["parent_span_id"] for row in rows}
    parent = parents.get(span_id)
    if parent not in parents:
        return rows
    inside = {parent: True}
    for row in rows:
        path = []
        at: str | None = row["span_id"]
        while at in parents and at not in inside:
            path.append(at)
            inside[at] = False  # also ends the walk in a circle of parents
            at = parents[at]
        found = inside.get(at, False)
        inside.update(dict.fromkeys(path, found))
    return [row for row in rows if inside[row["span_id"]]]


async def step(request: Request) -> Response:
    """Render one step in detail: an attempt, or a span of another library."""
    chosen = {"span_id": request.query_params.get("span", ""), "kind": request.query_params.get("kind", "tool")}
    found = await _detail(request, chosen)
    if found is None:
        raise HTTPException(404, f"no step has the span id {chosen['span_id']!r}")
    return render(request, "parts/step.html", detail=found)


async def _detail(request: Request, chosen: dict[str, Any]) -> dict[str, Any] | None:
    """Return the row of the attempt or the span ``chosen``; None if there is none."""
    if chosen["kind"] == "tool":
        row = await attempt_of(request, chosen["span_id"])
        return None if row is None else {"kind": "tool", "row": row}
    rows = (await app_state(request).cache.query("span", span_id=chosen["span_id"])).dicts()
    return {"kind": chosen["kind"], "row": rows[0]} if rows else None


def _chosen(rows: list[dict[str, Any]], address: Any) -> dict[str, Any]:
    """Return the step that the address names; else the first failed attempt, the first attempt, or the first step."""
    named = address.get("span")
    attempts = [row for row in rows if row["kind"] == "tool"]
    failed = [row for row in attempts if row["status"] == "error"]
    return next((row for row in rows if row["span_id"] == named), None) or [*failed, *attempts, *rows][0]


def _start(address: Any, laid: Layout, chosen: dict[str, Any]) -> int:
    """Return the first line of the page: that of the address, else that of the page with the step that it names."""
    if "start" in address or address.get("span") != chosen["span_id"]:
        return safe_place(address.get("start"))
    lines = (line for turn in laid.turns for line in laid.lines(turn))
    place = next((place for place, line in enumerate(lines) if line.row is chosen and not line.attempts), 0)
    return place - place % PAGE


TurnLines = list[tuple[ConversationTurn, list[StepLine]]]
"""Turns with their lines."""


def _cut(every: TurnLines, start: int, most: int) -> tuple[TurnLines, int, int]:
    """Return the turns with their lines from line ``start`` on, at most ``most``; how many these are, and of how many."""
    turns: TurnLines = []
    before = shown = 0
    for turn, lines in every:
        part = lines[max(0, start - before) : max(0, start - before) + most - shown]
        before += len(lines)
        if part:
            turns.append((turn, part))
            shown += len(part)
    return turns, shown, before


def _facts(rows: list[dict[str, Any]]) -> dict[str, Any]:
    def values(name: str) -> list[Any]:
        return sorted({row[name] for row in rows if row[name]})

    attempts = [row for row in rows if row["kind"] == "tool"]
    return {
        "started_at": rows[0]["started_at"],
        "steps": len(rows),
        "attempts": len(attempts),
        "failed": sum(row["status"] == "error" for row in attempts),
        "models": sum(row["kind"] == "model" for row in rows),
        "agents": values("agent"),
        "conversations": values("conversation"),
        "traces": values("trace_id"),
    }


ROUTES = [
    Route("/trace", trace),
    Route("/trace/{id}", trace),
    Route("/nearby", nearby),
    Route("/conversation", conversation),
    Route("/conversation/{id:path}", conversation),
    Route("/step", step),
]
