"""The filter of the steps of a conversation: over all its steps, also where the page shows a part of them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tooltrace.server import traces
from tooltrace.server.steps import layout, matching

from .conftest import call
from .test_steps import step


def shown_row(name: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("span", "model", "code", "ending", "message", "seen"))
    return step(name, parent, **{**empty, **more})


def test_a_line_stays_with_those_around_it_and_counts_what_is_left_inside():
    rows = [
        shown_row("root", kind="agent", tool=None, span="plan", ms=100),
        shown_row("one", "root", at=1, tool="fetch", status="error", code="TIMEOUT"),
        shown_row("two", "root", at=2, tool="search", message="Not HERE"),
        shown_row("three", "root", at=3, tool="search", seen="an order"),
    ]
    (turn,) = (laid := layout(rows, turns=False)).turns
    every = list(laid.lines(turn))

    def found(text: str) -> tuple[list[tuple[str, int]], int]:
        lines, count = matching(every, text)
        return [(line.row["span_id"], line.inside) for line in lines], count

    assert found("here") == ([("root", 1), ("two", 0)], 1)
    assert found("Timeout") == ([("root", 1), ("one", 0)], 1)
    assert found("search") == ([("root", 2), ("two", 0), ("three", 0)], 2)
    assert found("plan") == ([("root", 0)], 1)
    assert found("success") == ([], 0), "a success is not shown as a word"


def test_a_retried_call_is_one_line_and_its_attempts_are_counted():
    rows = [shown_row(name, call_id="c", at=at, tool="pay") for at, name in enumerate(("one", "two"))]
    (turn,) = (laid := layout(rows, turns=False)).turns
    lines, count = matching(list(laid.lines(turn)), "pay")
    assert (len(lines), count) == (3, 2)


@pytest.fixture
def client(shown, monkeypatch):
    """A conversation of 30 steps on pages of 10; every fifth step has the text."""
    monkeypatch.setattr(traces, "PAGE", 10)
    now = datetime.now(UTC)
    return shown(
        *(
            call(
                tool="fetch", conversation_id="long", call_id=f"c{n}", started_at=now - timedelta(seconds=60 - n),
                seen_text="a rare word" if n % 5 == 4 else "ok",
            )
            for n in range(30)
        )
    )  # fmt: skip


def lines_of(text: str) -> int:
    return len(re.findall(r'role="treeitem"', text))


def test_the_filter_finds_steps_of_all_pages(client):
    text = client.get("/conversation/long", params={"filter": "Rare"}).text
    assert lines_of(text) == 6
    assert "6 of all 30 steps" in text
    assert 'name="filter" value="Rare"' in text


def test_more_matches_than_a_page_keep_the_filter_in_the_next_page(client):
    text = client.get("/conversation/long", params={"filter": "fetch"}).text
    assert lines_of(text) == 10
    assert "/conversation/long?start=10&amp;filter=fetch" in text
    assert lines_of(client.get("/conversation/long", params={"filter": "fetch", "start": 20}).text) == 10


def test_a_filter_without_a_match_leaves_an_empty_tree_and_the_field(client):
    text = client.get("/conversation/long", params={"filter": '<b>"no'}).text
    assert lines_of(text) == 0
    assert "0 of all 30 steps" in text
    assert "<b>" not in text


def test_a_page_that_has_all_steps_leaves_the_filter_to_the_browser(client, monkeypatch):
    monkeypatch.setattr(traces, "PAGE", 100)
    text = client.get("/conversation/long", params={"filter": "rare"}).text
    assert lines_of(text) == 30
    assert 'name="filter"' not in text
