"""The store as metrics for Prometheus, which ``GET /metrics`` returns."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.diagnosis.finding import KINDS, Finding
from tooltrace.server.request import app_state

Row = Mapping[str, Any]

MOST_TOOLS: Final = 200
"""Tools with metrics of their own, those with most attempts; the others are one, ``other``."""
OTHER: Final = "other"
BOUNDS_MS: Final = tuple(10 ** (step / 2) for step in range(13))
"""Upper limits of the ranges of durations, from 1 ms to 1000 s: ends of the ranges of the query ``durations``."""


async def metrics(request: Request) -> Response:
    """Return counters of attempts, durations and losses, and the open findings."""
    state = app_state(request)
    rates: list[dict[str, Any]] = []
    durations: list[dict[str, Any]] = []
    if state.cache.has_data():
        asked = (state.cache.query(name, ("tool",)) for name in ("failure_rate", "durations"))
        rates, durations = (result.dicts() for result in await asyncio.gather(*asked))
    findings = await state.diagnosis.findings(None)
    health = await state.health.report()  # after the queries, whose fold moves losses into the database
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Store(rates, durations, findings, health.losses))
    headers = {"Content-Type": CONTENT_TYPE_LATEST, "Cache-Control": "no-store"}
    return Response(generate_latest(registry), headers=headers)


class _Store(Collector):
    """The metrics of one scrape."""

    def __init__(
        self, rates: Sequence[Row], durations: Iterable[Row], findings: Iterable[Finding], losses: Mapping[str, int]
    ) -> None:
        self._rates, self._durations, self._findings, self._losses = rates, durations, findings, losses
        most = sorted(rates, key=lambda row: -row["asked"])[:MOST_TOOLS]
        self._known = {row["tool"] for row in most}

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        attempts = CounterMetricFamily(
            "tooltrace_attempts", "Finished attempts, by outcome.", labels=("tool", "outcome")
        )
        cut_off = CounterMetricFamily(
            "tooltrace_cut_off_attempts", "Attempts that a deadline cut off, or that were lost.", labels=("tool",)
        )
        sums: dict[str, Counter[str]] = defaultdict(Counter)
        for row in self._rates:
            sums[self._tool(row)] += Counter(failed=row["failures"], finished=row["attempts"], cut_off=row["cut_off"])
        for tool, counted in sums.items():
            attempts.add_metric((tool, "error"), counted["failed"])
            attempts.add_metric((tool, "other"), counted["finished"] - counted["failed"])
            cut_off.add_metric((tool,), counted["cut_off"])
        yield from (attempts, cut_off, self._histogram(), self._open(), self._lost())

    def _tool(self, row: Row) -> str:
        return str(row["tool"]) if row["tool"] in self._known else OTHER

    def _histogram(self) -> Metric:
        family = HistogramMetricFamily(
            "tooltrace_duration_seconds",
            "Durations of finished attempts, without those from a cache.",
            labels=("tool",),
        )
        counts: dict[str, Counter[float]] = defaultdict(Counter)
        seconds: Counter[str] = Counter()
        for row in self._durations:
            tool = self._tool(row)
            bound = next((bound for bound in BOUNDS_MS if row["to_ms"] <= bound * (1 + 1e-9)), float("inf"))
            counts[tool][bound] += row["n"]
            seconds[tool] += (row["total_ms"] or 0.0) / 1000  # type: ignore[assignment] # a Counter adds up any number
        for tool, counted in counts.items():
            buckets, below = [], 0
            for bound in (*BOUNDS_MS, float("inf")):
                below += counted[bound]
                end = floatToGoString(float(f"{bound / 1000:.4g}"))  # type: ignore[no-untyped-call]
                buckets.append((end, below))
            family.add_metric((tool,), buckets, seconds[tool])
        return family

    def _open(self) -> Metric:
        family = GaugeMetricFamily(
            "tooltrace_open_findings", "Findings that last, see tooltrace findings.", labels=("kind", "severity")
        )
        counted = Counter(one.kind for one in self._findings if one.open)
        for kind, severity in KINDS.items():
            family.add_metric((kind, severity), counted[kind])
        return family

    def _lost(self) -> Metric:
        family = CounterMetricFamily("tooltrace_lost_records", "Records that could not be stored.", labels=("reason",))
        for reason, count in self._losses.items():
            family.add_metric((reason,), count)
        return family


ROUTES = [Route("/metrics", metrics)]
