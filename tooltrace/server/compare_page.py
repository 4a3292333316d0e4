"""The page that compares two values of a dimension, or two time ranges.

The address of two values has the sides as ``tooltrace compare`` names them, ``before=version:1.2&after=version:2.0``: they are
compared within the time range of the page. Otherwise that range is compared with another one, from ``before_since`` to
``before_until``; if the address names none, with the equally long one before it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.analysis.sides import Comparison, Side
from tooltrace.errors import BadParameter
from tooltrace.report.templates import iso
from tooltrace.server.list_state import FILTERS
from tooltrace.server.request import app_state, time_range
from tooltrace.server.templates import render, url

SHOWN: Final = 28
"""Rows of the table before a reader requests all: the seven measures of four tools."""
FAILURES: Final = frozenset({"failure_rate", "call_failure_rate"})
"""Measures whose links lead to the failed calls."""
LATENCIES: Final = frozenset({"p50", "p95"})
"""Measures whose links lead to the slowest calls first."""
HEADLINE: Final = "call_failure_rate"
MOST_HEADLINES: Final = 3
"""Tools that the verdict names."""
CHANGED: Final = ("worse", "maybe_worse", "maybe_better", "better")
VERDICTS: Final = (*CHANGED, "unclear", "too_few", "new", "gone")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRequest:
    """The two sides that an address names; the times as the reader wrote them, so that a range up to now moves with the clock."""

    comparison: Comparison
    params: dict[str, Any]
    """Parameters of the query ``compare``."""

    @classmethod
    def read(cls, address: QueryParams, now: datetime) -> ComparisonRequest | None:
        """Return what ``address`` compares; None where a side is missing. Raises BadParameter."""
        given = {name: address.get(name, "").strip() or None for name in ("before", "after", "tool")}
        window = time_range(address)
        if is_of_values(address):
            if not (given["before"] and given["after"]):
                return None
            given |= {"since": window.since, "until": window.until}
        elif window.since is None:
            return None
        else:
            ends = [address.get(f"before_{name}", "").strip() for name in ("since", "until")]
            before = f"{ends[0]}..{ends[1] or window.since}" if ends[0] else None
            given |= {"before": before, "after": f"{window.since}..{window.until or ''}"}
        params = {name: value for name, value in given.items() if value is not None}
        return cls(comparison=Comparison.parse(**{**given, **params}, now=now), params=params)

    def calls_address(self, side: Side, tool: str | None, **more: str) -> str | None:
        """Return the address of the list with the calls of one side; None where the list has no filter for its dimension."""
        if side.dimension is not None and side.dimension not in FILTERS:
            return None
        since, until = ("all" if side.since is None else iso(side.since)), side.until and iso(side.until)
        chosen = {
            "tool": tool or self.comparison.tool,
            **({} if side.dimension is None else {side.dimension: side.value}),
        }
        return url("/calls", **chosen, since=since, until=until, **more)

    def calls_of(self, row: dict[str, Any], side: Side) -> str | None:
        """Return the address of the calls that one side of a row of the result counts."""
        more = {"status": "error"} if row["measure"] in FAILURES else {}
        if row["measure"] in LATENCIES:
            more = {"sort": "-duration_ms"}
        elif row["measure"] in ("accuracy", "confidence_gap"):
            more = {"label": "any"}
        return self.calls_address(side, row["tool"], **more)


def is_of_values(address: QueryParams) -> bool:
    """Whether ``address`` compares two values, rather than two time ranges."""
    return bool(address.get("before") or address.get("after") or address.get("by") == "values")


async def compare(request: Request) -> Response:
    """Render the page: the two sides and how to choose others; the result loads by itself."""
    address = request.query_params
    try:
        compared, error = ComparisonRequest.read(address, datetime.now(UTC)), None
    except BadParameter as wrong:
        compared, error = None, str(wrong)
    if compared is not None:
        app_state(request).cache.prefetch("compare", **compared.params)
    return render(
        request,
        "pages/compare.html",
        compared=compared,
        is_of_values=is_of_values(address),
        wrong=error,
        tool=address.get("tool", "").strip() or None,
    )


async def result(request: Request) -> Response:
    """Render the verdict and the table. Raises BadParameter."""
    compared = ComparisonRequest.read(request.query_params, datetime.now(UTC))
    if compared is None:
        raise BadParameter("a comparison needs two sides: before and after, or since")
    found = await app_state(request).cache.query("compare", **compared.params)
    # without a group where the values are of tools
    rows = _calls_before_attempts([{"tool": None, **row} for row in found.dicts()])
    wanted = rows if request.query_params.get("rows") == "all" else rows[:SHOWN]
    return render(
        request,
        "parts/compared.html",
        compared=compared,
        counts=_counts(rows),
        headlines=_headlines(rows, compared.comparison.tool),
        looks_faster=_looks_faster(rows),
        rows=wanted,
        grouped=not compared.comparison.tool and "tool" in found.columns,
        all_rows=len(rows),
        enough=rows[0]["compared"] if rows else 0,
    )


def _calls_before_attempts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return ``rows`` with the rate of failed calls before that of failed attempts, where they are neighbours."""
    ordered = list(rows)
    for at in range(len(ordered) - 1):
        attempts, calls = ordered[at], ordered[at + 1]
        if (attempts["measure"], calls["measure"]) == ("failure_rate", HEADLINE) and attempts["tool"] == calls["tool"]:
            ordered[at : at + 2] = calls, attempts
    return ordered


def _counts(rows: list[dict[str, Any]]) -> dict[str, int]:
    found = Counter(row["verdict"] for row in rows)
    return {verdict: found[verdict] for verdict in VERDICTS}


def _headlines(rows: list[dict[str, Any]], tool: str | None) -> list[dict[str, Any]]:
    """Return the rows with the rate of failed calls: of the one tool, else of tools where it changed, the worse first."""
    rates = [row for row in rows if row["measure"] == HEADLINE]
    return rates if tool else [row for row in rates if row["verdict"] in CHANGED][:MOST_HEADLINES]


def _looks_faster(rows: list[dict[str, Any]]) -> bool:
    """Whether a tool fails more and became faster, which failures that take no time explain."""
    worse = {row["tool"] for row in rows if row["measure"] in FAILURES and row["verdict"] == "worse"}
    return any(row["tool"] in worse and row["measure"] in LATENCIES and "better" in row["verdict"] for row in rows)


ROUTES = [Route("/compare", compare), Route("/compare/result", result)]
