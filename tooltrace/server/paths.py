"""The page of what follows what: a graph of successive steps, and the table beside it.

The browser lays the graph out (``dashboards/scripts/paths.js``); its texts are made here, in the reader's language.
"""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.report.path_graph import PathEdge, PathNode, path_edges, path_nodes
from tooltrace.server.request import app_state, language_of, time_range
from tooltrace.server.templates import render
from tooltrace.wording.i18n import Translations

EDGES: Final = 18
"""Number of pairs in the graph."""
ROWS: Final = 200
LABEL_CHARACTERS: Final = 24
"""Characters of a name in a node; the tooltip has more."""


async def paths(request: Request) -> Response:
    """Render the page: the most frequent pairs as a graph, and all of them as a table."""
    given = {name: request.query_params.get(name) or None for name in ("tool", "agent")}
    params = {**time_range(request.query_params).params, **given, "limit": ROWS}
    result = await app_state(request).cache.query("paths", **params)
    edges = chosen_edges(path_edges(result), EDGES)
    return render(
        request,
        "pages/paths.html",
        params=params,
        chosen=given,
        rows=result.dicts(),
        graph=graph_data(edges, Translations(language_of(request))),
    )


def chosen_edges(edges: list[PathEdge], most: int) -> list[PathEdge]:
    """Return the ``most`` most frequent of ``edges``, two from the start and two to the end among them; the start first."""
    starts = [edge for edge in edges if edge.start.kind == "start"]
    ends = [edge for edge in edges if edge.end.kind == "end"]
    kept = dict.fromkeys([*starts[:2], *ends[:2], *edges])
    chosen = set(list(kept)[:most])
    return sorted((edge for edge in edges if edge in chosen), key=lambda edge: edge.start.kind != "start")


def graph_data(edges: list[PathEdge], words: Translations) -> dict[str, Any]:
    """Return the graph for the script of the page; an edge refers to its nodes by their places in ``nodes``."""
    nodes = path_nodes(edges)
    places = {node: place for place, node in enumerate(nodes)}
    return {
        "nodes": [_node(node, words) for node in nodes],
        "edges": [
            {
                "from": places[edge.start],
                "to": places[edge.end],
                "status": edge.status,
                "n": edge.n,
                "times": f"{edge.n:,}",
                "fails": f"{100 * edge.rate:.0f} %{'?' if edge.too_few else ''}" if edge.rate else "",
                "title": _title(edge, words),
            }
            for edge in edges
        ],
    }


def _node(node: PathNode, words: Translations) -> dict[str, Any]:
    text = _text(node, words)
    label = text if len(text) <= LABEL_CHARACTERS else f"{text[: LABEL_CHARACTERS - 1]}…"
    return {"kind": node.kind, "name": node.name, "label": label, "title": text}


def _title(edge: PathEdge, words: Translations) -> str:
    status = {"error": " (error)", "none": f" ({words('calls.no_status')})"}.get(edge.status, "")
    return f"{_text(edge.start, words)}{status} → {_text(edge.end, words)}"


def _text(node: PathNode, words: Translations) -> str:
    return node.shown if node.kind == "tool" else words(f"paths.{node.kind}")


ROUTES = [Route("/paths", paths)]
