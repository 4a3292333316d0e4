"""Layout of steps: a tree by parent, retries as a group, turns, and one axis."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tooltrace.server.steps import MAX_DEPTH, PAUSE, Layout, StepLine, layout

START = datetime(2026, 3, 1, tzinfo=UTC)


def step(name: str, parent: str | None = None, *, at: float = 0, ms: float | None = 10, **given: Any) -> dict[str, Any]:
    known = {
        "span_id": name, "parent_span_id": parent, "trace_id": "t", "kind": "tool", "tool": "find", "call_id": name, "first_span_id": None,
        "conversation": None, "attempt": 1, "status": "success", "started_at": START + timedelta(milliseconds=at),
        "duration_ms": ms, "consumer_ms": None,
    }  # fmt: skip
    return {**known, **given}


def lines(laid: Layout) -> list[StepLine]:
    return [line for turn in laid.turns for line in laid.lines(turn)]


def outline(laid: Layout) -> list[str]:
    return ["-" * line.depth + line.row["span_id"] for line in lines(laid)]


def test_children_stand_below_their_parent_in_order_of_time():
    rows = [
        step("root", kind="agent", ms=100),
        step("late", "root", at=50),
        step("early", "root", at=5),
        step("in", "late", at=51),
    ]
    laid = layout(rows, turns=False)
    assert outline(laid) == ["root", "-early", "-late", "--in"]
    assert [(line.inside, line.place, line.siblings) for line in lines(laid)] == [
        (3, 1, 1),
        (0, 1, 2),
        (1, 2, 2),
        (0, 1, 1),
    ]


def test_a_line_has_the_recorded_duration_not_one_of_whole_microseconds():
    (line,) = lines(layout([step("one", ms=1.1349, consumer_ms=0.25)], turns=False))
    assert line.lasted_ms == 1.1349 + 0.25
    (line,) = lines(layout([step("endless", ms=float("inf"))], turns=False))
    assert line.lasted_ms == 0


def test_a_step_without_its_parent_is_a_root_and_a_circle_ends():
    rows = [step("orphan", "nowhere"), step("a", "b", at=1), step("b", "a", at=2), step("self", "self", at=3)]
    assert outline(layout(rows, turns=False)) == ["orphan", "a", "-b", "self"]


def test_the_attempts_of_a_call_are_one_line_that_unfolds():
    rows = [
        step("one", call_id="c", status="error"),
        step("other", at=15),
        step("two", at=30, call_id="c", attempt=2),
        step("inner", "two", at=31, kind="span", tool=None),
    ]
    first, *rest = lines(layout(rows, turns=False))
    assert (first.attempts, first.inside, first.row["span_id"], first.hidden) == (2, 3, "two", False)
    assert first.lasted_ms == 40
    assert [bar.status for bar in first.bars] == ["error", "success"]
    assert [(line.row["span_id"], line.depth, line.hidden) for line in rest] == [
        ("one", 1, True), ("two", 1, True), ("inner", 2, True), ("other", 0, False),
    ]  # fmt: skip


def test_equal_ids_of_other_tools_and_conversations_are_other_calls():
    rows = [step("a", call_id="1"), step("b", call_id="1", tool="read"), step("c", call_id="1", conversation="chat")]
    assert [line.attempts for line in lines(layout(rows, turns=False))] == [0, 0, 0]


def test_bars_lie_on_one_axis():
    rows = [step("root", kind="agent", ms=200), step("half", "root", at=100, ms=50)]
    laid = layout(rows, turns=False)
    assert laid.total_ms == 200
    assert [(bar.left, bar.width) for line in lines(laid) for bar in line.bars] == [(0, 100), (50, 25)]


def test_the_turns_of_a_conversation_are_its_traces_without_the_pauses_between():
    hour = 3_600_000
    rows = [
        step("1", kind="agent", ms=100), step("2", "1", at=10, status="error"),
        step("3", kind="agent", at=hour, ms=300, trace_id="u"),
    ]  # fmt: skip
    laid = layout(rows, turns=True)
    assert laid.total_ms == 400
    first, second = laid.turns
    assert (first.calls, first.failed, first.pause_ms, first.left, first.width) == (1, 1, None, 0, 25)
    assert (second.calls, second.pause_ms, second.left, second.width) == (0, hour - 100, 25, 75)


def test_successive_calls_without_a_surrounding_span_are_one_turn_until_a_long_pause():
    gap = PAUSE / timedelta(milliseconds=1)
    rows = [step(str(n), at=n * 1000, trace_id=str(n)) for n in range(3)]
    rows.append(step("later", at=2000 + gap + 11, trace_id="later"))
    assert [len(turn.roots) for turn in layout(rows, turns=True).turns] == [3, 1]


def test_the_count_of_failed_calls_goes_by_the_last_attempt():
    rows = [
        step("1", call_id="c", status="error"),
        step("2", at=20, call_id="c", attempt=2),
        step("3", at=40, status="error"),
    ]
    [turn] = layout(rows, turns=True).turns
    assert (turn.calls, turn.failed) == (2, 1)


def test_odd_durations_and_times_do_no_harm():
    rows = [step("nan", ms=float("nan")), step("huge", ms=1e300), step("minus", ms=-5.0), step("none", ms=None)]
    rows.append(step("end of time", started_at=datetime.max.replace(tzinfo=UTC), ms=1e12))
    for line in lines(layout(rows, turns=True)):
        assert all(0 <= bar.left <= 100 for bar in line.bars)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 1000), st.integers(0, 3)), max_size=40)
)
def test_every_step_has_one_line_whatever_the_parents(drawn):
    rows = {
        str(name): step(str(name), str(parent), at=at, call_id=f"call {call}", attempt=place)
        for place, (name, parent, at, call) in enumerate(drawn, 1)
    }
    ordered = sorted(rows.values(), key=lambda row: row["started_at"])
    for turns in (False, True):
        laid = layout(ordered, turns=turns)
        found = lines(laid)
        assert sorted(line.row["span_id"] for line in found if not line.attempts) == sorted(rows)
        assert all(line.depth <= MAX_DEPTH and line.bars for line in found)
        assert abs(sum(turn.width for turn in laid.turns) - 100) < 1e-6 or not laid.total_ms


def test_a_chain_deeper_than_the_stack_is_laid_out():
    rows = [step(str(n), str(n - 1) if n else None, at=n) for n in range(5_000)]
    found = lines(layout(rows, turns=True))
    assert (len(found), found[-1].depth) == (5_000, MAX_DEPTH)
