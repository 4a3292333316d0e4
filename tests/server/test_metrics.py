"""``/metrics`` has the figures of the queries, in the format of Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.server.conftest import call
from tooltrace.core.records import Loss
from tooltrace.server import metrics

Shown = Callable[..., httpx.Client]
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scraped(client: httpx.Client) -> Samples:
    response = client.get("/metrics")
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def sample(found: Samples, name: str, **labels: str) -> float:
    return found[name, frozenset(labels.items())]


def calls(tool: str, n: int, **given: Any) -> list[Any]:
    return [call(tool=tool, started_at=datetime.now(UTC) - timedelta(hours=1), **given) for _ in range(n)]


def test_attempts_durations_findings_and_losses(shown: Shown) -> None:
    client = shown(
        *calls("pay", 30, status="error", code="TIMEOUT", duration_ms=2000.0),
        *calls("pay", 10, duration_ms=0.5),
        *calls('a"b\nc', 3, duration_ms=10.0),
        Loss(reason="queue_full", count=7, at=datetime.now(UTC)),
    )
    found = scraped(client)
    assert sample(found, "tooltrace_attempts_total", tool="pay", outcome="error") == 30
    assert sample(found, "tooltrace_attempts_total", tool="pay", outcome="other") == 10
    assert sample(found, "tooltrace_attempts_total", tool='a"b\nc', outcome="other") == 3
    assert sample(found, "tooltrace_lost_records_total", reason="queue_full") == 7
    bucket = "tooltrace_duration_seconds_bucket"
    below = {bound: sample(found, bucket, tool="pay", le=bound) for bound in ("0.001", "1.0", "3.162", "+Inf")}
    assert below == {"0.001": 10, "1.0": 10, "3.162": 40, "+Inf": 40}
    assert sample(found, "tooltrace_duration_seconds_count", tool="pay") == 40
    assert sample(found, "tooltrace_duration_seconds_sum", tool="pay") == pytest.approx(60.005)
    chronic = sum(value for (name, _), value in found.items() if name == "tooltrace_open_findings")
    assert chronic >= 1
    assert sample(found, "tooltrace_open_findings", kind="overconfident", severity="warning") == 0


def test_the_number_of_tools_is_bounded(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_TOOLS", 2)
    found = scraped(shown(*calls("a", 5), *calls("b", 4), *calls("c", 2), *calls("d", 1)))
    assert sample(found, "tooltrace_attempts_total", tool="other", outcome="other") == 3
    assert sum(value for (name, _), value in found.items() if name == "tooltrace_attempts_total") == 12


def test_a_store_that_does_not_exist_has_no_attempts(shown: Shown) -> None:
    assert not any(name == "tooltrace_attempts_total" for name, _ in scraped(shown()))
