"""``tooltrace tail``: each attempt once, as it comes, from whichever process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tooltrace.cli.follow import Follower
from tooltrace.record import ToolCall


def ended(number, *, ago=0.0, **given):
    known = {
        "tool": "search",
        "call_id": f"new_{number}",
        "trace_id": "0" * 32,
        "span_id": f"{number + 1000:016x}",
        "status": "success",
    }
    return ToolCall(**{**known, "started_at": datetime.now(UTC) - timedelta(seconds=ago), **given})


def ids(rows):
    return [row["call_id"] for row in rows]


@pytest.mark.usefixtures("history")
def test_the_last_ones_are_printed_a_line_each_the_oldest_first(run):
    done = run("tail", "--no-follow", "-n", "3")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split("#")[1].split()[1] for line in lines] == ["call_22", "call_23", "call_24"]
    assert "cancelled" in lines[-1]


@pytest.mark.usefixtures("history")
def test_the_filters_and_a_strangers_text(run):
    (line,) = run("tail", "--no-follow", "--status", "error").stdout.splitlines()
    assert "error/raised" in line
    assert "TIMEOUT" in line
    assert "[bold]not bold[/bold]" in line
    assert not set(line) & set("\x1b\x9b\x07\r\u202e")
    assert len(run("tail", "--no-follow", "--tool", "fetch").stdout.splitlines()) == 1


def test_each_attempt_is_given_once_and_none_is_missed(put, history):
    follower = Follower(history)
    assert ids(follower.last(2)) == ["call_23", "call_24"]
    assert follower.more() == []
    put(ended(1), ended(2))
    assert ids(follower.more()) == ["new_1", "new_2"]
    assert follower.more() == []
    put(ended(3, ago=3600, duration_ms=3_599_000.0), ended(2))
    assert ids(follower.more()) == ["new_3"]


def test_what_was_not_shown_at_first_does_not_come_as_news(put, where):
    put(*(ended(n) for n in range(20)))
    follower = Follower(where)
    assert len(follower.last(5)) == 5
    put(ended(99))
    assert ids(follower.more()) == ["new_99"]


def test_a_filter_holds_for_news_too(put, history):
    follower = Follower(history, tool="fetch", status="error")
    assert follower.last(10) == []
    put(ended(1), ended(2, tool="fetch"), ended(3, tool="fetch", status="error"))
    assert ids(follower.more()) == ["new_3"]


def test_it_waits_for_a_store_that_is_not_there_yet(put, where):
    follower = Follower(where)
    assert follower.more() == []
    put(ended(1))
    assert ids(follower.more()) == ["new_1"]


def test_without_following_a_missing_store_is_said(run):
    done = run("tail", "--no-follow")
    assert done.exit_code == 1
    assert "there is no store" in done.stderr
