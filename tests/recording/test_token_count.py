"""Tokens are counted by the application's function, in the recorder's thread, and a fault of it costs only the count."""

from __future__ import annotations

import threading

import pytest

import tooltrace as tt
from tooltrace import faults
from tooltrace.errors import ConfigError


def counts(store):
    with tt.connect(store) as con:
        return con.execute("SELECT tool, result_tokens FROM tool_calls ORDER BY tool").fetchall()


def test_the_function_runs_in_the_recorders_thread_on_redacted_text(store):
    texts, threads = [], set()

    def count(text):
        texts.append(text)
        threads.add(threading.current_thread())
        return 5

    tt.configure(store=store, tokens=count)
    tt.trace_tool(lambda: {"password": "hunter2", "n": 1}, name="search")()
    assert tt.flush()
    assert counts(store) == [("search", 5)]
    assert "hunter2" not in texts[0]
    assert threading.current_thread() not in threads


@pytest.mark.parametrize("wrong", [lambda _text: 1 / 0, lambda _text: "5", lambda _text: -1, lambda _text: True])
def test_a_fault_of_the_function_costs_only_the_count(store, wrong, monkeypatch):
    monkeypatch.setattr(faults, "raise_faults", False)
    tt.configure(store=store, tokens=wrong)
    assert tt.trace_tool(lambda: "text", name="search")() == "text"
    assert tt.flush()
    assert counts(store) == [("search", None)]


def test_a_truncated_result_is_left_to_the_estimate(store):
    tt.configure(store=store, tokens=len, field_limit=100)
    tt.trace_tool(lambda: "x" * 1000, name="long")()
    tt.trace_tool(lambda: "x" * 10, name="short")()
    assert tt.flush()
    assert counts(store) == [("long", None), ("short", 10)]


def test_without_content_only_messages_are_counted(store):
    tt.configure(store=store, tokens=len, capture="metadata")
    with tt.context(call_id="a"):
        tt.trace_tool(lambda: tt.ToolResponse.success("words"), name="sent")().to_message("a")
    tt.trace_tool(lambda: "words", name="unsent")()
    assert tt.flush()
    assert counts(store) == [("sent", 5), ("unsent", None)]


def test_another_option_than_a_function_is_refused():
    with pytest.raises(ConfigError, match="tokens must be a function of a text, or None, got 'cl100k'"):
        tt.configure(tokens="cl100k")
