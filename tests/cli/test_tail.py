"""``tooltrace tail``: each attempt of every process exactly once."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from tooltrace.cli.live_rows import RowFollower
from tooltrace.core.records import ToolCall


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
def test_filters_apply_and_untrusted_text_is_cleaned(run):
    (line,) = run("tail", "--no-follow", "--status", "error").stdout.splitlines()
    assert "error/raised" in line
    assert "TIMEOUT" in line
    assert "[bold]not bold[/bold]" in line
    assert not set(line) & set("\x1b\x9b\x07\r\u202e")
    assert len(run("tail", "--no-follow", "--tool", "fetch").stdout.splitlines()) == 1


@pytest.mark.long
@pytest.mark.usefixtures("history")
def test_a_repeated_filter_accepts_any_of_its_values(run, put, made):
    put(
        made(30, tool="other"),
        made(31, tool="fetch", agent="a", code="X", status="error", conversation_id="c9"),
        made(32, conversation_id="session", status=None, ending="cancelled"),
        made(33, conversation_id="session", status="error", ending="raised"),
    )

    def shown(*filters):
        return len(run("tail", "--no-follow", "-n", "100", *filters).stdout.splitlines())

    assert shown("--tool", "fetch") == 2
    assert shown("--tool", "fetch", "--tool", "other") == 3
    assert shown("--tool", "fetch", "--tool", "fetch") == 2
    assert shown("--tool", "fetch", "--status", "error") == shown("--code", "X") == shown("--agent", "a") == 1
    assert (
        shown("--conversation", "c9", "--conversation", "session", "--ending", "cancelled", "--ending", "raised") == 2
    )
    assert shown("--tool", "none") == 0


@pytest.mark.usefixtures("history")
def test_the_newest_matching_attempts_are_shown_in_order(run, put, made):
    put(*(made(n, tool="a" if n % 2 else "b") for n in range(40, 60)))
    lines = run("tail", "--no-follow", "-n", "5", "--tool", "a", "--tool", "b").stdout.splitlines()
    assert [line.split("#")[1].split()[1] for line in lines] == [f"call_{n}" for n in range(55, 60)]


@pytest.mark.usefixtures("history")
def test_the_text_filter_ignores_case(run):
    (line,) = run("tail", "--no-follow", "--text", "CATS").stdout.splitlines()
    assert "TIMEOUT" in line
    assert run("tail", "--no-follow", "--text", "no such words").stdout == ""


@pytest.mark.usefixtures("history")
def test_as_json_each_line_is_an_object(run):
    lines = run("tail", "--no-follow", "-n", "3", "--format", "json", "--tool", "search").stdout.splitlines()
    found = [json.loads(line) for line in lines]
    assert [row["call_id"] for row in found] == ["call_21", "call_22", "call_23"]
    assert {"ended_at", "tool", "status", "ending", "code", "message", "agent", "conversation", "span_id"} <= set(
        found[0]
    )
    assert found[0]["ended_at"].endswith("Z")
    (hostile,) = run("tail", "--no-follow", "--status", "error", "--format", "json").stdout.splitlines()
    assert "\x1b" not in hostile
    assert json.loads(hostile)["message"].startswith("\x1b[31mred"), "for programs, what was recorded"


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("command", [("tail", "--no-follow", "--status", "error"), ("show", "call_1", "--full")])
def test_a_narrow_terminal_breaks_lines_between_words(run, put, made, command):
    sentence = " ".join(f"word{n}" for n in range(40))
    url = f"https://example.org/{'path/' * 30}"
    put(made(70, call_id="call_1", attempt=3, status="error", code="GONE", error_message=f"{sentence} {url}"))
    wide, narrow = (run(*command, env={"COLUMNS": width}).stdout for width in ("5000", "80"))
    assert narrow.split() == wide.split(), "no word is broken, and none is lost"
    assert max(len(line.rstrip()) for line in narrow.splitlines() if len(line.split()) > 1) <= 80
    (first,) = [at for at, line in enumerate(narrow.splitlines()) if "word0 " in line]
    assert narrow.splitlines()[first + 1].startswith("    "), "what continues is indented"


def test_each_attempt_is_shown_exactly_once(put, history):
    follower = RowFollower(history)
    assert ids(follower.last(2)) == ["call_23", "call_24"]
    assert follower.more() == []
    put(ended(1), ended(2))
    assert ids(follower.more()) == ["new_1", "new_2"]
    assert follower.more() == []
    put(ended(3, ago=3600, duration_ms=3_599_000.0), ended(2))
    assert ids(follower.more()) == ["new_3"]


def test_older_attempts_are_not_returned_as_new(put, where):
    put(*(ended(n) for n in range(20)))
    follower = RowFollower(where)
    assert len(follower.last(5)) == 5
    put(ended(99))
    assert ids(follower.more()) == ["new_99"]


def test_a_filter_applies_to_new_rows_too(put, history):
    follower = RowFollower(history, tool="fetch", status="error")
    assert follower.last(10) == []
    put(ended(1), ended(2, tool="fetch"), ended(3, tool="fetch", status="error"))
    assert ids(follower.more()) == ["new_3"]


def test_news_of_several_tools_come_once_each(put, history):
    follower = RowFollower(history, tool=["fetch", "other"])
    follower.last(10)
    put(ended(1), ended(2, tool="fetch"), ended(3, tool="other"))
    assert ids(follower.more()) == ["new_2", "new_3"]


def test_it_waits_for_a_store_that_is_not_there_yet(put, where):
    follower = RowFollower(where)
    assert follower.more() == []
    put(ended(1))
    assert ids(follower.more()) == ["new_1"]


def test_without_following_a_missing_store_is_an_error(run):
    done = run("tail", "--no-follow")
    assert done.exit_code == 1
    assert "found no store" in done.stderr
