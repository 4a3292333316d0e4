"""The calls that run stand above the figures of the overview and of their tool's page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

from tooltrace.core.records import Begun
from tooltrace.redact.snapshot import Json

from .conftest import call

HOSTILE = '<script>alert("\u202e1")</script>'


def begun(number: int, tool: str, *, ago: float, **given: Any) -> Begun:
    started = datetime.now(UTC) - timedelta(seconds=ago)
    return Begun(
        tool=tool, call_id=f"c{number}", trace_id="1" * 32, span_id=f"{number + 1000:016x}", started_at=started, **given
    )


def test_calls_that_run_are_listed_with_their_time_and_arguments(shown: Any) -> None:
    client = shown(
        call(tool="done"),
        begun(
            1,
            "load",
            ago=2 * 86_400 + 5.5 * 3600,
            host="elsewhere",
            pid=7,
            conversation_id="chat",
            arguments=Json('{"path":"/all.csv"}'),
        ),
        *(begun(number, HOSTILE, ago=1) for number in range(2, 9)),
    )
    text = unescape(client.get("/running").text)
    assert "Begun 2 d 5 h ago, its process cannot be seen:" in text
    assert "process 7 on elsewhere" in text
    assert '{"path":"/all.csv"}' in text
    assert "/conversation/chat" in text
    assert "3 more: tooltrace tail" in text
    assert "<script>" not in client.get("/running").text
    assert "\u202e" not in text
    assert "/all.csv" in client.get("/running", params={"tool": "load"}).text
    assert not client.get("/running", params={"tool": "done"}).text.strip()
    for page in ("/", "/tool?name=load"):
        assert 'hx-get="/running' in client.get(page).text
