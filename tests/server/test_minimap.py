"""The strip above a long tree of steps, and the page on which a step stands."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from tooltrace.server import traces
from tooltrace.server.steps import LEAST, StepLine, layout, minimap

from .conftest import call

START = datetime(2026, 3, 1, tzinfo=UTC)


def step(number: int, **given: Any) -> dict[str, Any]:
    known = {
        "span_id": str(number), "parent_span_id": None, "trace_id": "t", "kind": "tool", "tool": "find", "call_id": str(number), "first_span_id": None,
        "conversation": None, "attempt": 1, "status": "success", "started_at": START + timedelta(seconds=number),
        "duration_ms": 10.0, "consumer_ms": None,
    }  # fmt: skip
    return {**known, **given}


def lines(*rows: dict[str, Any]) -> list[StepLine]:
    laid = layout(list(rows), turns=False)
    return [line for turn in laid.turns for line in laid.lines(turn)]


def test_every_step_has_a_mark_of_its_kind():
    rows = [step(number) for number in range(LEAST)]
    rows[3]["status"] = "error"
    rows[5]["kind"] = "model"
    rows[7]["call_id"] = rows[8]["call_id"] = "again"
    rows[7]["status"] = "error"
    found = minimap(lines(*rows, step(LEAST)))
    assert found is not None
    places = {name: [int(at) for at in re.findall(r"M(\d+) ", marks)] for name, marks in found.marks.items()}
    assert found.steps == LEAST
    assert (places["error"], places["other"], places["retried"]) == ([3], [5], [7])
    assert sorted(place for each in places.values() for place in each) == list(range(LEAST)), (
        "a retried call has one mark"
    )


def test_a_short_tree_has_no_strip():
    assert minimap(lines(*(step(number) for number in range(LEAST - 1)))) is None


def test_the_address_of_a_step_leads_to_the_page_with_it(shown, monkeypatch):
    monkeypatch.setattr(traces, "PAGE", 10)
    calls = [call(conversation_id="long", started_at=START + timedelta(seconds=number)) for number in range(25)]
    client = shown(*calls)
    page = client.get("/conversation/long", params={"span": calls[13].span_id}).text
    assert f'data-span="{calls[13].span_id}"' in page
    assert f'data-span="{calls[9].span_id}"' not in page
    assert 'data-span="' + calls[0].span_id in client.get("/conversation/long", params={"span": "unknown"}).text
    other = client.get("/conversation/long", params={"span": calls[13].span_id, "start": "0"}).text
    assert re.findall(r'data-span="(\w+)"', other)[0] == calls[0].span_id, "the links between pages decide"
