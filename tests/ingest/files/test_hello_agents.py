"""The lines of HelloAgents' TraceLogger become calls."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.recording.settings import Settings


def test_a_call_and_its_result_are_one_record(read, event):
    (call,) = read(
        event("session_start", step=None, agent_name="bob", agent_type="SimpleAgent"),
        event("message_written", role="user", content="tool_call"),
        event("tool_call", 1.5, tool_name="add", tool_call_id="call_1", args={"a": 1, "b": 2}),
        event("tool_result", 1.75, tool_name="add", tool_call_id="call_1", result="3"),
        event("session_end", 2, step=None, status="success"),
    )
    assert (call.tool, call.call_id, call.attempt, call.ending, call.status) == (
        "add",
        "call_1",
        1,
        "returned",
        "success",
    )
    assert (call.conversation_id, call.agent, call.text) == ("s-1", "bob", "3")
    assert call.started_at == datetime(2026, 2, 21, 10, 30, 1, 500_000, UTC)
    assert call.duration_ms == 250.0
    assert json.loads(call.arguments) == {"a": 1, "b": 2}
    assert (len(call.trace_id), len(call.span_id)) == (32, 16)
    assert (call.service, call.host, call.pid, call.parent_span_id) == (None, None, None, None)
    assert call.recorder_version
    assert read.outcome.skipped == 0


def test_errors_in_old_texts_are_detected(read, event):
    (call,) = read(
        event("tool_call", tool_name="fetch", tool_call_id="c"),
        event("tool_result", tool_name="fetch", tool_call_id="c", result="❌ 错误 [TIMEOUT]: too slow"),
    )
    assert (call.status, call.code, call.ending) == ("error", "TIMEOUT", "returned")
    assert "too slow" in call.error_message
    assert call.rule
    assert call.rule_grade


@pytest.mark.parametrize("as_text", [False, True])
def test_a_result_in_the_packages_own_form(read, event, as_text):
    result = {
        "status": "error",
        "text": "no",
        "data": {},
        "error": {"code": "CONFLICT", "message": "no"},
        "stats": {"time_ms": 3},
    }
    (call,) = read(
        event("tool_call", tool_name="edit", tool_call_id="c"),
        event("tool_result", tool_name="edit", tool_call_id="c", result=json.dumps(result) if as_text else result),
    )
    assert (call.status, call.code, json.loads(call.stats)) == ("error", "CONFLICT", {"time_ms": 3})


def test_the_events_status_overrides_the_text(read, event):
    good, bad, part = read(
        event(
            "tool_result", tool_name="Finish", tool_call_id="1", status="success", result="❌ 错误 [TIMEOUT]: a quote"
        ),
        event(
            "tool_result",
            tool_name="Write",
            tool_call_id="2",
            status="error",
            error_code="PERMISSION_DENIED",
            error_message="no right",
        ),
        event("tool_result", tool_name="Read", tool_call_id="3", status="partial", result={"lines": 3}),
    )
    assert (good.status, good.code, good.text) == ("success", None, "❌ 错误 [TIMEOUT]: a quote")
    assert (bad.status, bad.code, bad.error_message) == ("error", "PERMISSION_DENIED", "no right")
    assert (part.status, json.loads(part.result)) == ("partial", {"lines": 3})


@pytest.mark.parametrize("name", ["args", "parameters", "arguments"])
def test_arguments_by_any_of_their_names(read, event, name):
    (call,) = read(
        event("tool_call", tool_name="t", **{name: {"x": 1}}), event("tool_result", tool_name="t", result="ok")
    )
    assert json.loads(call.arguments) == {"x": 1}


def test_calls_without_an_id_are_matched_by_step_and_tool(read, event):
    first, second, third = read(
        event("tool_call", 1, step=1, tool_name="a", args={"n": 1}),
        event("tool_call", 2, step=1, tool_name="b", args={"n": 2}),
        event("tool_call", 3, step=2, tool_name="a", args={"n": 3}),
        event("tool_result", 4, step=2, tool_name="a", result="third"),
        event("tool_result", 5, step=1, tool_name="b", result="second"),
        event("tool_result", 6, step=1, result="first"),
    )[::-1]
    assert [(json.loads(call.arguments)["n"], call.text) for call in (first, second, third)] == [
        (1, "first"),
        (2, "second"),
        (3, "third"),
    ]
    assert [call.duration_ms for call in (first, second, third)] == [5000, 3000, 1000]
    assert all(call.call_id == call.span_id for call in (first, second, third))
    assert {call.trace_id for call in (second, third)} == {first.trace_id}


def test_a_result_with_an_id_does_not_answer_another_id(read, event):
    calls = read(
        event("tool_call", 1, tool_name="add", tool_call_id="1"),
        event("tool_call", 2, tool_name="add", args={"n": 1}),
        event("tool_result", 3, tool_name="add", tool_call_id="2", result="two"),
        event("tool_result", 4, tool_name="add", tool_call_id="3", result="three"),
    )
    assert [(call.call_id == call.span_id, call.call_id, call.text, call.ending) for call in calls] == [
        (True, calls[0].span_id, "two", "returned"),  # the call without an id, of the same step and tool
        (False, "3", "three", "returned"),
        (False, "1", None, "abandoned"),
    ]


FAILED = [
    {"status": "error", "result": "❌ 错误 [TIMEOUT]: slow"},
    {"result": None, "error": {"code": "TIMEOUT", "message": "slow"}},
    {"result": "", "error": {"code": "TIMEOUT", "message": "slow"}},
    {"status": "failed", "error": {"code": "TIMEOUT", "message": "slow"}},
]


@pytest.mark.parametrize("payload", FAILED)
def test_every_form_of_a_failure_is_detected(read, event, payload):
    (call,) = read(event("tool_result", tool_name="fetch", tool_call_id="c", **payload))
    assert (call.status, call.code, call.error_message) == ("error", "TIMEOUT", "slow")


def test_an_empty_result_is_a_success_without_data(read, event):
    for payload in ({}, {"result": None}, {"status": "success"}):
        (call,) = read(event("tool_result", tool_name="t", tool_call_id="c", **payload))
        assert (call.status, call.ending, call.text, call.result) == ("success", "returned", None, None)


def test_a_result_without_a_call_is_a_call_of_unknown_duration(read, event):
    (call,) = read(event("tool_result", 7, tool_name="add", tool_call_id="call_1", result="3"))
    assert (call.call_id, call.status, call.duration_ms, call.arguments) == ("call_1", "success", None, None)
    assert call.started_at == datetime(2026, 2, 21, 10, 30, 7, tzinfo=UTC)


def test_a_call_without_a_result_is_abandoned_and_has_no_status(read, event):
    (call,) = read(event("tool_call", tool_name="add", tool_call_id="call_1", args={"a": 1}))
    assert (call.status, call.ending, call.result, call.duration_ms, call.rule) == (None, "abandoned", None, None, None)
    assert json.loads(call.arguments) == {"a": 1}


def test_the_same_id_again_is_the_next_attempt(read, event):
    calls = read(
        event("tool_call", 1, tool_name="add", tool_call_id="c"),
        event("tool_result", 2, tool_name="add", tool_call_id="c", result="❌ 错误 [TIMEOUT]: slow"),
        event("tool_call", 3, step=2, tool_name="add", tool_call_id="c"),
        event("tool_result", 4, step=2, tool_name="add", tool_call_id="c", result="3"),
        event("tool_call", 1, session="s-2", tool_name="add", tool_call_id="c"),
    )
    assert [(call.conversation_id, call.call_id, call.attempt) for call in calls] == [
        ("s-1", "c", 1),
        ("s-1", "c", 2),
        ("s-2", "c", 1),
    ]
    assert len({call.span_id for call in calls}) == 3


def test_a_retry_after_an_attempt_that_was_lost_gets_the_result(read, event):
    found = {
        call.attempt: call
        for call in read(
            event("tool_call", 1, tool_name="add", tool_call_id="c"),
            event("tool_call", 3, tool_name="add", tool_call_id="c"),
            event("tool_result", 4, tool_name="add", tool_call_id="c", result="3"),
        )
    }
    assert {number: (call.ending, call.duration_ms) for number, call in found.items()} == {
        1: ("abandoned", None),
        2: ("returned", 1000),
    }


def test_the_events_duration_is_recorded(read, event):
    (call,) = read(
        event("tool_call", 1, tool_name="t", tool_call_id="c"),
        event("tool_result", 2, tool_name="t", tool_call_id="c", result="ok", duration_ms=12.5),
    )
    assert call.duration_ms == 12.5


def test_a_clock_that_was_set_back_measures_nothing(read, event):
    (call,) = read(
        event("tool_call", 9, tool_name="t", tool_call_id="c"),
        event("tool_result", 2, tool_name="t", tool_call_id="c", result="ok"),
    )
    assert (call.duration_ms, call.started_at.second) == (None, 9)


def test_a_time_without_a_zone_is_local(read, event, monkeypatch):
    import time

    monkeypatch.setenv("TZ", "UTC-5:30")  # POSIX: five and a half hours east
    time.tzset()
    try:
        line = event("tool_result", tool_name="t", result="ok")
        local, zoned = read({**line, "ts": "2026-02-21T10:30:45.5"}, {**line, "ts": "2026-02-21T10:30:45.123Z"})
    finally:
        monkeypatch.undo()
        time.tzset()
    assert local.started_at == datetime(2026, 2, 21, 10, 30, 45, 500_000, timezone(timedelta(hours=5, minutes=30)))
    assert zoned.started_at == datetime(2026, 2, 21, 10, 30, 45, 123_000, UTC)


SECRET = "sk-abcdefghijklmnopqrstuvwx"  # noqa: S105


def test_secrets_are_redacted_in_every_field(read, event):
    calls = read(
        event("session_start", step=None, agent_name=f"bob {SECRET}"),
        event(
            "tool_call",
            tool_name=f"t {SECRET}",
            tool_call_id=f"c {SECRET}",
            args={"api_key": "hunter2", "q": f"use {SECRET}"},
        ),
        event("tool_result", tool_call_id=f"c {SECRET}", result=f"❌ 错误 [API_ERROR]: {SECRET}"),
        event("tool_result", tool_name="u", session=f"s {SECRET}", result={"text": SECRET, "password": "hunter2"}),
    )
    assert len(calls) == 2
    assert SECRET not in str(calls)
    assert "hunter2" not in str(calls)
    assert all(call.redacted for call in calls)


def test_long_values_are_cut_and_their_size_recorded(read, event):
    (call,) = read(
        event("tool_result", tool_name="t" * 10_000, result="x" * 5000), settings=Settings(store=None, field_limit=1000)
    )
    assert len(call.text) <= 1000
    assert call.truncated
    assert json.loads(call.full_sizes)["text"] == 5000
    assert len(call.tool) <= 1024


BAD = [
    ("{torn", "not a JSON object"),
    ("[1, 2]", "not a JSON object"),
    (b"\xff\xfe", "not a JSON object"),
    ('{"ts": "2026-02-21T10:30:45", "event": "tool_call"}', "not an event of a HelloAgents trace"),
    ('{"ts": "2026-02-21T10:30:45", "event": "tool_call", "payload": {}}', "a tool_call without the tool's name"),
    (
        '{"ts": "2026-02-21T10:30:45", "event": "tool_result", "payload": {"tool_name": 5}}',
        "a tool_result without the tool's name",
    ),
    ('{"ts": "never", "event": "tool_call", "payload": {"tool_name": "t"}}', "a tool_call without a time"),
    ('{"ts": 12, "event": "tool_call", "payload": {"tool_name": "t"}}', "a tool_call without a time"),
]


@pytest.mark.parametrize(("line", "reason"), BAD)
def test_a_bad_line_is_skipped_and_named(read, event, line, reason):
    (call,) = read(event("tool_result", tool_name="t", tool_call_id="c", result="ok"), line)
    assert call.call_id == "c"
    assert [(skipped.line, skipped.reason) for skipped in read.outcome.examples] == [(2, reason)]


def test_numbers_that_json_does_not_know_are_read(read, event):
    (call,) = read(
        event("tool_result", tool_name="t", result="x"), '{"ts": "2026-02-21", "event": "x", "payload": {"n": NaN}}'
    )
    assert call.tool == "t"
    assert read.outcome.skipped == 0


def test_a_byte_order_mark_and_other_line_ends_are_accepted(read, event):
    line = json.dumps(event("tool_result", tool_name="t", result="ok")).encode()
    assert len(read(b"\xef\xbb\xbf" + line + b"\r", b"", b"\r", line + b"\r")) == 2
    assert read.outcome.skipped == 0


NAMES = st.sampled_from(["a", "b"])
IDS = st.none() | st.sampled_from(["1", "2"])
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["tool_call", "tool_result", "other"]),
        NAMES,
        IDS,
        st.integers(1, 2),
        st.sampled_from(["s", "t"]),
    ),
    max_size=30,
)


def lines_of(events, event):
    return [
        event(
            kind,
            number,
            step=step,
            session=session,
            tool_name=tool,
            **({} if call_id is None else {"tool_call_id": call_id}),
            result=str(number),
        )
        for number, (kind, tool, call_id, step, session) in enumerate(events)
    ]


@given(EVENTS)
def test_nothing_is_lost_and_nothing_doubled(read, event, events):
    calls = read(*lines_of(events, event))
    results = [str(number) for number, (kind, *_) in enumerate(events) if kind == "tool_result"]
    assert sorted(call.text for call in calls if call.ending == "returned") == sorted(results)
    assert len({call.span_id for call in calls}) == len(calls)
    asked = sum(kind == "tool_call" for kind, *_ in events)
    paired = sum(call.duration_ms is not None for call in calls)
    abandoned = sum(call.ending == "abandoned" for call in calls)
    assert paired + abandoned == asked
    assert all(call.status is None for call in calls if call.ending == "abandoned")
    numbers = {}
    for call in sorted(calls, key=lambda call: call.attempt):
        if call.call_id != call.span_id:
            key = (call.conversation_id, call.tool, call.call_id, call.first_span_id)
            numbers.setdefault(key, []).append(call.attempt)
    assert all(attempts == list(range(1, len(attempts) + 1)) for attempts in numbers.values())


@given(EVENTS)
def test_a_second_read_yields_the_same_records(read, event, events):
    lines = [event("session_start"), *lines_of(events, event)]
    assert read(*lines) == read(*lines, "noise", event("session_end"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from(["ts", "session_id", "step", "event", "payload"]), JSON),
    st.dictionaries(
        st.sampled_from(
            ["tool_name", "tool_call_id", "args", "result", "status", "duration_ms", "agent_name", "error_code"]
        ),
        JSON,
    ),
    st.sampled_from(["session_start", "tool_call", "tool_result"]),
)
def test_no_line_stops_the_read(read, event, outer, payload, kind):
    good = event("tool_result", tool_name="last", session="other", result="ok")
    calls = read(good, outer, {**event(kind), "payload": payload}, {**outer, "event": kind, "payload": payload}, good)
    assert sum(call.tool == "last" for call in calls) >= 2
    assert len(calls) + read.outcome.skipped <= 5
