"""The page that compares two time ranges or two versions of a tool. The address has both sides, as the query ``compare`` names them.

Two versions are compared within the same time range. A time range is compared with another one; if the address names
none, with the equally long one before it.
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

from tooltrace.errors import BadParameter
from tooltrace.report.compare import Comparison, ComparisonSide
from tooltrace.report.templates import iso
from tooltrace.report.time_range import parse_time
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
        given = {name: address.get(name, "").strip() or None for name in ("tool", "version", "before_version")}
        window = time_range(address)
        ends = {"since": window.since, "until": window.until}
        after = _side(now, {**ends, **given}, "")
        if is_of_versions(address):
            if not (given["version"] and given["before_version"]):
                return None
            before: dict[str, Any] = {f"before_{name}": value for name, value in ends.items()}
        else:
            start = address.get("before_since", "").strip() or window.before
            if start is None:
                return None
            before = {"before_since": start, "before_until": address.get("before_until", "").strip() or window.since}
        params = {name: value for name, value in {**before, **ends, **given}.items() if value is not None}
        comparison = Comparison.of(_side(now, params, "before_"), after, tool=given["tool"])
        return cls(comparison=comparison, params=params)

    def calls_address(self, side: ComparisonSide, tool: str | None, **more: str) -> str:
        """Return the address of the list with the calls of one side."""
        since, until = ("all" if side.since is None else iso(side.since)), side.until and iso(side.until)
        return url("/calls", tool=tool or self.comparison.tool, version=side.version, since=since, until=until, **more)

    def calls_of(self, row: dict[str, Any], side: ComparisonSide) -> str:
        """Return the address of the calls that one side of a row of the result counts."""
        more = {"status": "error"} if row["measure"] in FAILURES else {}
        if row["measure"] in LATENCIES:
            more = {"sort": "-duration_ms"}
        elif row["measure"] in ("accuracy", "confidence_gap"):
            more = {"label": "any"}
        return self.calls_address(side, row["tool"], **more)


def _side(now: datetime, params: dict[str, Any], prefix: str) -> ComparisonSide:
    since, until = params.get(f"{prefix}since"), params.get(f"{prefix}until")
    return ComparisonSide(
        since=None if since is None else parse_time(f"{prefix}since", since, now),
        until=None if until is None else parse_time(f"{prefix}until", until, now),
        version=params.get(f"{prefix}version"),
    )


def is_of_versions(address: QueryParams) -> bool:
    """Whether ``address`` compares two versions, rather than two time ranges."""
    return bool(address.get("version") or address.get("before_version") or address.get("by") == "version")


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
        is_of_versions=is_of_versions(address),
        wrong=error,
        tool=address.get("tool", "").strip() or None,
    )


async def result(request: Request) -> Response:
    """Render the verdict and the table. Raises BadParameter."""
    compared = ComparisonRequest.read(request.query_params, datetime.now(UTC))
    if compared is None:
        raise BadParameter("a comparison needs two sides: version and before_version, or since")
    found = await app_state(request).cache.query("compare", **compared.params)
    rows = _calls_before_attempts(found.dicts())
    wanted = rows if request.query_params.get("rows") == "all" else rows[:SHOWN]
    return render(
        request,
        "parts/compared.html",
        compared=compared,
        counts=_counts(rows),
        headlines=_headlines(rows, compared.comparison.tool),
        looks_faster=_looks_faster(rows),
        rows=wanted,
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
