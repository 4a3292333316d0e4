"""Whether what the model was given tells of an error: one definition, for every way by which it is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tooltrace as tt
from tests.stores import create_empty_store
from tooltrace.normalize import CERTAIN_RULES, RULES
from tooltrace.recording.config import get_recorder
from tooltrace.recording.model_messages import repeats_failure, reports_error


@pytest.fixture
def seen(store: Path) -> Callable[..., list[tuple[Any, ...]]]:
    """Call a tool that does ``what``, tell the model ``text`` of it, and read what is on record."""

    def seen(what: Any, text: str, **options: Any) -> list[tuple[Any, ...]]:
        def tool() -> Any:
            if isinstance(what, BaseException):
                raise type(what)(*what.args)  # the frames are let go of with it
            return what

        try:
            with tt.context(call_id="c1"):
                tt.trace_tool(name="find")(tool)()
        except type(what):
            pass
        get_recorder().record_model_message("c1", text, style="plain", **options)
        create_empty_store(store)
        with tt.connect() as db:
            return db.execute("SELECT status, seen_error FROM tool_calls").fetchall()

    return seen


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (tt.ToolResponse.error("NO_STOCK", "tea is sold out"), "Sorry: tea is sold out, they said."),
        (tt.ToolResponse.error("NO_STOCK", "tea is sold out"), "The tool answered NO_STOCK."),
        (tt.ToolResponse.error("NO_STOCK", "售罄"), "抱歉，该商品已售罄了"),
        (tt.ToolResponse.error("NO_STOCK", "tea\n  is sold   out"), "tea is sold\tout"),
        ({"ok": False, "error": "gone"}, json.dumps({"ok": False, "error": "gone"})),
        ({"ok": False, "error": "gone"}, "{'ok': False, 'error': 'gone'}"),
        (ValueError("a: bad\nvalue"), "a: bad value"),
        (KeyError("q"), "'q'"),
        (KeyError(404), "404"),
        (ExceptionGroup("errors in a task group", [ValueError("x")]), "errors in a task group (1 sub-exception)"),
        (ValueError("x" * 5000), "x" * 5000),
        (ValueError("the host is down"), "Error: something else"),
    ],
)
def test_the_text_reports_the_failure(seen: Callable, what: Any, text: str) -> None:
    assert seen(what, text) == [("error", True)]


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (tt.ToolResponse.error("NO_STOCK", "tea is sold out"), "All rows were saved."),
        (tt.ToolResponse.error("NO_STOCK", "tea is sold out"), ""),
        (tt.ToolResponse.error("NO_STOCK", "tea is sold out"), "NO_STOCKS_TODAY is a fine tune"),
        (ValueError("art"), "The party started."),
        (KeyError(1), "Found 1 row."),
        (KeyError("q"), "A queue of two."),
        (ValueError(), "done"),
    ],
)
def test_the_text_does_not_report_the_failure(seen: Callable, what: Any, text: str) -> None:
    assert seen(what, text) == [("error", False)]


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("Error: the disk is full", True),
        ("错误: 不存在", True),
        ("错误率: 0.1 %", False),
        ("3 errors were found in a.log", False),
    ],
)
def test_the_rules_read_only_the_text_of_a_success(seen: Callable, text: str, reported: bool) -> None:
    assert seen(tt.ToolResponse.success("done"), text) == [("success", reported)]


def test_an_explicit_error_flag_overrides_the_rules(seen: Callable) -> None:
    assert seen(ValueError("bad value"), "bad value", error=False) == [("error", False)]


def test_a_secret_in_the_message_hides_nothing(seen: Callable) -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    assert seen(ValueError(f"refused, for {secret} is old"), f"it was refused, for {secret} is old") == [
        ("error", True)
    ]


@pytest.mark.parametrize("ending", ["paused", "declined", "expired"])
def test_a_call_that_did_not_run_has_no_error_to_report(store: object, ending: str) -> None:
    from tooltrace.recording.tool_spec import named_spec

    recorder = get_recorder()
    attempt = recorder.begin(named_spec("find"), {}, call_id="c1")
    assert attempt is not None
    recorder.finish_without_run(attempt, ending)
    recorder.record_model_message("c1", "Error: access denied", style="plain")
    with tt.connect() as db:
        assert db.execute("SELECT ending, seen_error FROM tool_calls").fetchall() == [(ending, False)]


def test_the_text_alone_decides_for_an_unrecorded_call(store: object) -> None:
    get_recorder().record_model_message("c1", "Error: the disk is full", style="plain")
    get_recorder().record_model_message("c2", "all is well", style="plain")
    with tt.connect() as db:
        assert db.execute("SELECT call_id, error FROM messages ORDER BY 1").fetchall() == [("c1", True), ("c2", False)]


def test_the_last_attempt_counts_unless_another_is_named(store: object) -> None:
    results: list[Any] = [tt.ToolResponse.error("NO_STOCK", "tea is sold out"), "tea"]
    tool = tt.trace_tool(name="find")(lambda: results.pop(0))
    for _ in range(2):
        with tt.context(call_id="c1"):
            tool()
    get_recorder().record_model_message("c1", "first NO_STOCK, then tea", style="plain")
    with tt.connect() as db:
        rows = db.execute("SELECT attempt, seen_error FROM tool_calls ORDER BY attempt").fetchall()
    assert rows == [(1, None), (2, False)]


def test_the_rules_are_those_that_read_the_results(tmp_path: object) -> None:
    tt.configure(store=f"{tmp_path}/t.duckdb", rules=CERTAIN_RULES)
    get_recorder().record_model_message("c1", "Error: the disk is full", style="plain")
    get_recorder().record_model_message(
        "c2", '{"success": false, "error": {"code": "TIMEOUT", "message": "late"}}', style="plain"
    )
    with tt.connect() as db:
        assert db.execute("SELECT call_id, error FROM messages ORDER BY 1").fetchall() == [("c1", False), ("c2", True)]
    tt.shutdown()


@pytest.mark.parametrize("durability", ["call", "batch"])
@pytest.mark.parametrize("capture", ["full", "metadata"])
def test_however_it_is_recorded(tmp_path: object, durability: Any, capture: Any) -> None:
    tt.configure(store=f"{tmp_path}/t.duckdb", durability=durability, capture=capture)
    with tt.context(call_id="c1"):
        tt.trace_tool(name="find")(lambda: tt.ToolResponse.error("NO_STOCK", "tea is sold out"))()
    get_recorder().record_model_message("c1", "we heard that tea is sold out", style="plain")
    with tt.connect() as db:
        assert db.execute("SELECT status, seen_error FROM tool_calls").fetchall() == [("error", True)]
    tt.shutdown()


WORDS = st.text(min_size=1, max_size=40)


@given(WORDS, st.text(), st.text())
def test_a_failure_quoted_within_other_text_is_reported(message: str, before: str, after: str) -> None:
    message = " ".join(message.split())
    if sum(map(str.isalpha, message)) >= 3:
        assert repeats_failure(f"{before} {message} {after}", [message])


@given(st.text(), st.lists(st.text(), max_size=2))
def test_a_known_failure_never_makes_a_text_report_less(text: str, failure: list[str]) -> None:
    results = [" ".join(each.split()) for each in failure]
    alone = reports_error(text, RULES)
    assert alone == (tt.normalize(text).status == "error")
    assert reports_error(text, RULES, results) >= alone
