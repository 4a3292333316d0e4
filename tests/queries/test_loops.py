"""Loops of each kind are found, and polling, pages, retries and bulk writes are not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.queries.answers import run
from tests.queries.loop_histories import (
    COUNTED_LOOPS,
    LOOPS,
    Conversation,
    counted,
    honest,
    honest_counts,
    planted,
    records,
)

STUCK = {"repeat", "alternation", "error"}


def answer(con, **given):
    relation = run(con, "loops", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def kinds(con, **given):
    return [(row["tools"], row["kind"], row["length"], row["repeats"]) for row in answer(con, **given)]


@pytest.fixture
def talk():
    return Conversation("talk", 1)


def test_a_case_to_follow_by_hand(engine, talk):
    talk.call("read_page", {"topic": "tea"}, "words")
    for _ in range(3):
        talk.call("search", {"query": "invoice"}, "0123456789")
    talk.call("read_page", {"topic": "coffee"}, "more words")
    (row,) = answer(engine(*talk.records))
    first = talk.records[1].started_at.replace(tzinfo=None)
    assert row == {
        "conversation": "talk", "agent": "coder", "tools": "search", "kind": "repeat", "length": 1, "repeats": 3,
        "distinct_arguments": 1, "distinct_results": 1, "wasted_ms": 2000.0,
        "wasted_tokens": 5,  # two results of ten characters, 0.26 tokens each: 5.2
        "running": False, "first": first, "last": first + timedelta(seconds=12), "call_id": "call_1004",
        "span_id": f"{1004:016x}",
    }  # fmt: skip


@pytest.mark.long
def test_precision_and_recall_on_planted_and_honest_conversations(engine):
    loops, others = list(planted(5)), list(honest(4))
    con = engine(*records(loops), *records(others))
    found = {}
    for row in answer(con, limit=10_000):
        if row["kind"] in STUCK:
            found.setdefault(row["conversation"], []).append(row["kind"])
    expected = {talk.name: [LOOPS[talk.name.rpartition("-")[0]][1]] for talk in loops}
    assert (len(loops), len(others)) == (40, 40), "docs/explanation/loops.md states these numbers"
    assert found == expected, "recall and precision are 1"


def test_counters_are_left_out_and_pages_writes_and_records_are_not(engine):
    loops, others = list(counted(5)), list(honest_counts(4))
    found = {}
    for row in answer(engine(*records(loops), *records(others)), limit=10_000):
        if row["kind"] in STUCK:
            found.setdefault(row["conversation"], []).append(row["kind"])
    assert (len(loops), len(others)) == (25, 40), "docs/explanation/loops.md states these numbers"
    assert found == {talk.name: [COUNTED_LOOPS[talk.name.rpartition("-")[0]][1]] for talk in loops}


def test_a_counter_ends_where_the_result_changes_and_equal_calls_remain_a_loop(engine, talk):
    for turn in (1, 2, 3, 3, 3):
        talk.call("list", {"shop": "north", "p": turn}, f"rows of {turn}")
    assert kinds(engine(*talk.records)) == [("list", "repeat", 1, 3)], "page 3, three times"


def test_a_counter_may_start_again(engine, talk):
    for turn in (1, 2, 3, 4):
        talk.call("list", {"shop": "north", "try": turn}, "nothing")
    talk.now += timedelta(hours=1)
    for turn in (1, 2, 3):
        talk.call("list", {"shop": "north", "try": turn}, "nothing")
    assert kinds(engine(*talk.records)) == [("list", "repeat", 1, 7)], (
        "as of equal calls: the window holds k of them each"
    )


@pytest.mark.parametrize("name", ["page", "pageNumber", "start_line", "order_ids", "chunk"])
def test_a_number_that_addresses_something_is_not_a_counter(engine, talk, name):
    for turn in range(1, 6):
        talk.call("read", {"path": "a.txt", name: turn}, "blank")
    assert kinds(engine(*talk.records)) == []


def test_a_record_numbered_from_one_under_an_unknown_name_is_taken_for_a_counter(engine, talk):
    """The price of the rule: docs/explanation/loops.md says so."""
    for turn in range(1, 4):
        talk.call("alarm", {"building": "A", "lift": turn}, {"alarms": []})
    assert kinds(engine(*talk.records)) == [("alarm", "repeat", 1, 3)]


def test_a_repetition_whose_result_changes_later_is_polling(engine, talk):
    for result in ("pending", "pending", "pending", "done"):
        talk.call("job", {"id": 7}, result)
    assert kinds(engine(*talk.records)) == [("job", "poll", 1, 3)]


def test_a_loop_after_progress_is_a_loop(engine, talk):
    for result in ("10 %", "20 %", "30 %", "30 %", "30 %", "30 %"):
        talk.call("job", {"id": 7}, result)
    assert kinds(engine(*talk.records)) == [("job", "repeat", 1, 4)]


@pytest.mark.parametrize(
    "window",
    [
        lambda hour: {"at": f"2026-03-01T{hour:02d}:00:00Z"},
        lambda hour: {"start": f"2026-03-01T09:{hour:02d}:00+01:00", "end": f"2026-03-01T09:{hour + 1:02d}:00+01:00"},
        lambda hour: {"since": f"2026-03-01 {hour:02d}:30", "limit": 50},
        lambda hour: {"room": "A", "slot": f"{hour}:30:00"},
        lambda hour: {"after": f"2026-03-01T{hour:02d}:00:00.000Z"},
    ],
)
def test_slots_and_windows_of_time_are_pages(engine, talk, window):
    for hour in range(9, 17):
        talk.call("free", window(hour), [])
    assert kinds(engine(*talk.records)) == []


def test_the_time_of_the_request_is_left_out_at_a_full_minute_of_which_it_has_a_part(engine, talk):
    for at in ("12:00:05", "12:01:00.250", "12:02:59", "12:03:10"):
        talk.call("status", {"host": "db-1", "at": f"2026-03-01T{at}+00:00"}, "down")
    assert kinds(engine(*talk.records)) == [("status", "repeat", 1, 4)]


def test_calls_of_a_tool_that_returns_nothing_are_not_compared(engine, make, talk):
    """The price of no false alarm for an agent that scrolls: docs/explanation/loops.md says so."""
    pressed = [
        make(conversation_id="a", arguments='{"key":"down"}', started_at=talk.now + timedelta(seconds=5 * step), rule="none")
        for step in range(5)
    ]  # fmt: skip
    assert kinds(engine(*pressed)) == []


def test_a_result_that_flaps_makes_none(engine, talk):
    for result in ("3", "2", "3", "2", "3", "2"):
        talk.call("queue_length", {}, result)
    assert kinds(engine(*talk.records)) == []


@pytest.mark.parametrize(("k", "found"), [(2, 1), (4, 1), (5, 0)])
def test_k_is_the_number_of_repetitions(engine, talk, k, found):
    for _ in range(4):
        talk.call("search", {"query": "a"}, "b")
    assert len(answer(engine(*talk.records), k=k)) == found


def test_the_window_holds_k_starts(engine, talk):
    for pause in (5, 59, 59, 600, 59):  # with the second of each call: 60 s, 60 s, 601 s, 60 s
        talk.call("search", {"query": "a"}, "b", pause=pause)
    con = engine(*talk.records)
    assert kinds(con, window_s=120) == [("search", "repeat", 1, 3)], "the first three"
    assert kinds(con, window_s=119) == []
    assert kinds(con, window_s=721) == [("search", "repeat", 1, 5)]


def test_an_alternation_is_listed_once_without_the_repetitions_in_it(engine, talk):
    for step in range(7):
        talk.call("open" if step % 2 == 0 else "test", {}, "same")
    (row,) = answer(engine(*talk.records))
    assert (row["tools"], row["kind"], row["length"], row["repeats"]) == ("open, test", "alternation", 2, 3)
    assert row["wasted_ms"] == 4000.0, "the second and the third round"


def test_an_alternation_of_one_tool_with_two_arguments(engine, talk):
    for step in range(6):
        talk.call("click", {"button": "ab"[step % 2]}, "same")
    assert kinds(engine(*talk.records)) == [("click, click", "alternation", 2, 3)]


def test_an_error_with_changed_arguments_is_one_loop(engine, talk):
    for step in (1, 1, 2, 2):
        talk.call("sql", {"statement": f"SELECT {step}"}, error=f"no such table: orders (request {step}23456)")
    (row,) = answer(engine(*talk.records))
    assert (row["kind"], row["repeats"], row["distinct_arguments"]) == ("error", 4, 2)


def test_a_success_of_the_tool_ends_a_loop_of_errors(engine, talk):
    for step, error in enumerate(("no table", "no table", None, "no table")):
        talk.call("sql", {"statement": f"SELECT {step}"}, error=error)
    assert kinds(engine(*talk.records)) == []


def test_retries_are_one_call_and_parallel_calls_one_repetition(engine, talk):
    talk.call("fetch", {"url": "a"}, "page", attempts=5)
    talk.call("search", {"query": "tea"}, "none")
    for _ in range(5):
        talk.call("search", {"query": "tea"}, "none", together=True)
    assert kinds(engine(*talk.records)) == []


def test_the_time_of_all_attempts_is_wasted(engine, talk):
    for _ in range(3):
        talk.call("fetch", {"url": "a"}, "page", attempts=2)
    (row,) = answer(engine(*talk.records))
    assert (row["repeats"], row["wasted_ms"]) == (3, 4000.0)


def test_agents_and_conversations_are_compared_apart(engine):
    apart = [Conversation("talk", number, agent=agent) for number, agent in enumerate(("a", "b", None), 1)]
    apart.append(Conversation("other", 4))
    for talk in apart:
        for _ in range(2):
            talk.call("search", {"query": "a"}, "b")
    con = engine(*records(iter(apart)))
    assert kinds(con) == []
    assert {(row["conversation"], row["agent"]) for row in answer(con, k=2)} == {
        ("talk", "a"), ("talk", "b"), ("talk", None), ("other", "coder"),
    }  # fmt: skip


def test_a_loop_runs_while_it_is_the_last_that_happened(engine, talk):
    for _ in range(3):
        talk.call("search", {"query": "a"}, "b")
    con = engine(*talk.records)
    last = talk.records[-1].started_at
    assert [row["running"] for row in answer(con, until=last + timedelta(seconds=600))] == [True]
    assert [row["running"] for row in answer(con, until=last + timedelta(seconds=602))] == [False]
    assert [row["running"] for row in answer(con)] == [False], "it ended long ago"
    talk.work(1)
    assert [row["running"] for row in answer(engine(*talk.records), until=last + timedelta(seconds=60))] == [False]


@pytest.mark.long
def test_filters_choose_loops_and_keep_the_other_calls(engine, talk):
    for _ in range(3):
        talk.call("open", {}, "same")
        talk.call("test", {}, "same")
    con = engine(*talk.records)
    for chosen in (
        {"tool": "open"},
        {"tool": "test"},
        {"agent": "coder"},
        {"conversation": "talk"},
        {"since": "2026-03-01"},
    ):
        assert kinds(con, **chosen) == [("open, test", "alternation", 2, 3)], chosen
    for chosen in (
        {"tool": "ope"},
        {"agent": "b"},
        {"conversation": "b"},
        {"until": "2026-03-01"},
        {"since": "2026-03-02"},
    ):
        assert kinds(con, **chosen) == [], chosen


def test_calls_of_which_nothing_is_recorded_are_not_compared(engine, make, talk):
    unknown = [make(conversation_id="a", started_at=talk.now + timedelta(seconds=5 * step)) for step in range(5)]
    no_result = [
        make(conversation_id="b", arguments="{}", started_at=talk.now + timedelta(seconds=5 * step))
        for step in range(5)
    ]
    assert kinds(engine(*unknown, *no_result)) == []


def test_long_arguments_are_compared_to_their_end(engine, talk):
    for step in range(3):
        talk.call("write", {"text": "x" * 2000 + str(step)}, "written")
    assert kinds(engine(*talk.records)) == []
    for _ in range(3):
        talk.call("write", {"text": "x" * 2000}, "written")
    assert kinds(engine(*talk.records)) == [("write", "repeat", 1, 3)]


SAME = [
    ('{"q":"a","request_id":"r1"}', '{"q":"a","request_id":"r2"}'),
    ('{"until":"2026-03-01T12:00:05Z"}', '{"until":"2026-03-01T12:07:31.25+02:00"}'),
    ('{"t":1772366405}', '{"t":1772366999.5}'),
    ('{"at":"12:00:01"}', '{"at":"12:00:59"}'),
    ('{"attempt": 1}', '{"attempt": 2}'),
]
OTHER = [
    ('{"page":1}', '{"page":2}'),
    ('{"id":"7d9f"}', '{"id":"7d9e"}'),
    ('{"day":"2026-03-01"}', '{"day":"2026-03-02"}'),
    ('{"order":1001}', '{"order":1002}'),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_times_and_numbers_of_requests_are_left_out(engine, a, b):
    assert engine().execute("SELECT without_times(?) = without_times(?)", [a, b]).fetchone() == (True,)


@pytest.mark.parametrize(("a", "b"), OTHER)
def test_pages_records_and_days_are_kept(engine, a, b):
    assert engine().execute("SELECT without_times(?) = without_times(?)", [a, b]).fetchone() == (False,)


@settings(max_examples=examples(8))
@given(steps=st.lists(st.sampled_from("abc"), max_size=14), k=st.integers(2, 4))
def test_a_call_is_a_round_of_at_most_one_alternation_and_a_repetition_has_k(engine, steps, k):
    """Loops of one history: at least k rounds each, and as many equal calls in the history."""
    talk = Conversation("talk", 1)
    for step in steps:
        talk.call(step, {}, "same", pause=1)
    rows = answer(engine(*talk.records), k=k)
    for row in rows:
        tools = row["tools"].split(", ")
        assert row["repeats"] >= k
        assert len(tools) == row["length"] == len(set(tools))
        assert min(steps.count(tool) for tool in tools) >= row["repeats"]
        if row["kind"] == "alternation":
            assert "".join(tools) * row["repeats"] in "".join(steps)
    equal = {step for step in "abc" if steps.count(step) >= k}
    covered = {tool for row in rows for tool in row["tools"].split(", ")}
    assert equal == covered & equal, "with equal results and no pause, k equal calls are always in a loop"
