"""Advice: who follows it, and what becomes of it. A case for each kind, and a replay of random histories."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from tests.examples import examples
from tests.queries.answers import run
from tests.queries.conftest import START
from tooltrace.core.records import Gate, Outcome


def at(seconds):
    return START + timedelta(seconds=seconds)


def answer(con, **params):
    relation = run(con, "next_action", **params)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def counts_of(con, **params):
    """Return the counts of the only row: attempts with advice, those with a known continuation, those that followed it."""
    (row,) = answer(con, **params)
    return row["n"], row["observed"], row["followed"]


@pytest.fixture
def step(make):
    """Make an attempt that begins some seconds after the start; it lasts a second by default."""

    def step(second, advice=None, **fields):
        return make(
            started_at=at(second), next_action=advice, **{"duration_ms": 1000.0, "conversation_id": "session", **fields}
        )

    return step


@pytest.fixture
def judged(make):
    def judged(attempt, correct):
        return Outcome(span_id=attempt.span_id, correct=correct, labeled_at=at(9999))

    return judged


def test_three_retries_advised_two_made_one_of_them_good(engine, step):
    con = engine(
        step(0, "retry", call_id="a", conversation_id=None, status="error"), step(5, call_id="a", conversation_id=None, attempt=2),
        step(0, "retry", call_id="b", conversation_id=None, status="error"), step(5, call_id="b", conversation_id=None, attempt=2, status="error"),
        step(0, "retry", call_id="c", conversation_id=None, status="error"),
    )  # fmt: skip
    (row,) = answer(con)
    assert (row["advice"], row["n"], row["observed"], row["followed"]) == ("retry", 3, 3, 2)
    assert (row["followed_share"], row["advised_share"]) == (2 / 3, 3 / 5)
    assert (row["n_when_followed"], row["succeeded_when_followed"]) == (2, 0.5)
    assert (row["n_when_not"], row["succeeded_when_not"], row["low_when_not"], row["high_when_not"]) == (
        0,
        None,
        None,
        None,
    )
    assert (row["unobserved"], row["too_few"]) == (0, True)
    assert (row["followed_low"], row["followed_high"]) == pytest.approx(
        proportion_confint(2, 3, method="wilson"), abs=1e-9
    )
    assert (row["low_when_followed"], row["high_when_followed"]) == pytest.approx(
        proportion_confint(1, 2, method="wilson"), abs=1e-9
    )


def test_a_retry_helped_where_any_later_attempt_of_the_call_did_well(engine, step):
    failed = [step(i, "retry", call_id="a", attempt=i + 1, status="error") for i in range(2)]
    (row,) = answer(engine(*failed, step(9, call_id="a", attempt=3, status="partial")))
    assert (row["n"], row["followed"], row["n_when_followed"], row["succeeded_when_followed"]) == (2, 2, 2, 1.0)


def test_a_retry_that_was_cancelled_was_made_and_its_success_is_not_known(engine, step):
    again = step(5, call_id="a", attempt=2, status=None, ending="cancelled")
    (row,) = answer(engine(step(0, "retry", call_id="a", status="error"), again))
    assert (row["followed"], row["n_when_followed"], row["succeeded_when_followed"]) == (1, 0, None)


@pytest.mark.parametrize("ending", ["paused", "declined", "expired"])
def test_an_attempt_after_a_pause_is_not_a_retry(engine, step, ending):
    again = step(5, call_id="a", attempt=2, status=None, ending=ending)
    assert counts_of(engine(step(0, "retry", call_id="a", status="error"), again)) == (1, 1, 0)


def test_the_same_id_in_another_conversation_tool_or_process_is_not_a_retry(engine, step):
    first = {"call_id": "a", "conversation_id": None, "host": "h", "pid": 1}
    others = ({"pid": 2}, {"host": "i"}, {"tool": "fetch"}, {"conversation_id": "other"})
    con = engine(step(0, "retry", **first, status="error"), *(step(5, **{**first, **other}) for other in others))
    assert counts_of(con) == (1, 1, 0)
    again = step(5, **first, attempt=2)
    assert counts_of(engine(step(0, "retry", **first, status="error"), again)) == (1, 1, 1)


def test_to_continue_is_not_to_try_again(engine, step, judged):
    left, again = step(0, "continue", call_id="a"), step(0, "continue", call_id="b")
    con = engine(left, again, step(5, call_id="b", attempt=2), judged(left, correct=True), judged(again, correct=False))
    (row,) = answer(con)
    assert (row["observed"], row["followed"]) == (2, 1)
    assert (row["n_when_followed"], row["succeeded_when_followed"]) == (1, 1.0)
    assert (row["n_when_not"], row["succeeded_when_not"]) == (1, 0.0)


def test_without_a_label_the_success_of_an_answer_is_not_known(engine, step):
    (row,) = answer(engine(step(0, "continue")))
    assert (row["followed"], row["n_when_followed"], row["succeeded_when_followed"]) == (1, 0, None)


@pytest.mark.long
def test_a_conversation_stopped_where_no_tool_began_after_it(engine, step):
    stop = step(0, "stop")
    assert counts_of(engine(stop)) == (1, 1, 1)
    assert counts_of(engine(stop, step(1, tool="fetch", conversation_id="other"))) == (1, 1, 1)
    assert counts_of(engine(stop, step(0.5, tool="fetch"))) == (1, 1, 1), "it ran beside it"
    assert counts_of(engine(stop, step(1, tool="fetch"))) == (1, 1, 0), "it began as the other ended"
    assert counts_of(engine(stop, step(1, tool="fetch", ending="paused", status=None))) == (1, 1, 0)


def test_later_calls_count_beyond_tool_and_time_range(engine, step):
    con = engine(step(0, "stop"), step(60, tool="fetch"))
    assert counts_of(con, tool="search", until="2026-03-01T12:00:30") == (1, 1, 0)
    con = engine(step(0, "retry", call_id="a"), step(60, call_id="a", attempt=2))
    assert counts_of(con, until="2026-03-01T12:00:30") == (1, 1, 1)


def test_grouped_by_conversation_the_same_is_known(engine, step):
    con = engine(step(0, "stop"), step(60, tool="fetch"), step(0, "stop", conversation_id="other"))
    assert {row["conversation"]: row["followed"] for row in answer(con, by="conversation")} == {
        "session": 0,
        "other": 1,
    }


@pytest.mark.parametrize("advice", ["stop", "ask_user", "human_review"])
def test_calls_without_a_conversation_have_no_known_next_call(engine, step, advice):
    con = engine(step(0, advice, conversation_id=None), step(5, conversation_id=None))
    (row,) = answer(con)
    assert (row["n"], row["observed"], row["unobserved"], row["followed_share"]) == (1, 0, 1, None)
    assert (row["followed_low"], row["followed_high"], row["too_few"]) == (None, None, True)


@pytest.mark.long
@pytest.mark.parametrize("advice", ["ask_user", "human_review"])
def test_a_paused_next_attempt_counts_as_ask_user(engine, step, advice):
    asking = step(0, advice, trace_id="a" * 32)
    assert counts_of(engine(asking)) == (1, 0, 0), "the words of a chat are not recorded"
    assert counts_of(engine(asking, step(5, trace_id="b" * 32))) == (1, 0, 0), (
        "every call a trace of its own says nothing"
    )
    assert counts_of(engine(asking, step(5, trace_id="a" * 32))) == (1, 1, 0), "the run went on by itself"
    assert counts_of(engine(asking, step(5, trace_id="a" * 32, ending="paused", status=None))) == (1, 1, 1)
    stopped = step(5, trace_id="a" * 32)
    gate = Gate(call_id=stopped.call_id, span_id=stopped.span_id, kind="confirmation", asked_at=at(5))
    assert counts_of(engine(asking, stopped, gate)) == (1, 1, 1)
    later = [step(5, trace_id="a" * 32), step(9, trace_id="a" * 32, ending="paused", status=None)]
    assert counts_of(engine(asking, *later)) == (1, 1, 0), "only what comes next counts"


@pytest.mark.parametrize("advice", ["ask_user", "human_review"])
def test_several_runs_that_go_on_in_one_microsecond_say_nothing(engine, step, advice):
    inside = {"parent_span_id": "f" * 16}
    asking = step(0, advice, trace_id="b" * 32, **inside)
    own, other = step(5, trace_id="b" * 32, **inside), step(5, trace_id="a" * 32, **inside)
    assert counts_of(engine(asking, own, other)) == (1, 0, 0)
    assert counts_of(engine(asking, own, step(5, trace_id="b" * 32, **inside))) == (1, 1, 0), "one run went on twice"
    paused = step(5, trace_id="c" * 32, ending="paused", status=None)
    assert counts_of(engine(asking, own, paused)) == (1, 1, 1), "one of them waited"


def test_another_run_is_the_users_turn_and_no_review(engine, step):
    inside = {"parent_span_id": "f" * 16}
    for advice, observed in (("ask_user", 1), ("human_review", 0)):
        con = engine(step(0, advice, trace_id="a" * 32, **inside), step(5, trace_id="b" * 32, **inside))
        assert counts_of(con) == (1, observed, observed)


@pytest.mark.parametrize("duration", [None, 0.0, -5.0, float("nan"), float("inf"), 1e300])
def test_an_attempt_of_any_duration_does_not_come_after_itself(engine, step, duration):
    assert counts_of(engine(step(0, "stop", duration_ms=duration))) == (1, 1, 1)
    assert counts_of(engine(step(0, "stop", duration_ms=duration), step(1))) == (1, 1, 0)


def test_unfinished_attempts_have_no_advice(engine, step):
    endings = ("cancelled", "abandoned", "paused", "declined", "expired")
    assert answer(engine(*(step(i, "stop", ending=ending, status=None) for i, ending in enumerate(endings)))) == []
    assert answer(engine(step(0, "stop", ending="cancelled", status="error"), step(1))) == []


def test_an_advice_of_no_known_kind_is_shown_and_not_judged(engine, step):
    assert counts_of(engine(step(0, "escalate"))) == (1, 0, 0)


def test_tools_are_separate_by_default(engine, step):
    tools = ("search", "fetch", "fetch")
    con = engine(*(step(0, "continue", tool=tool, conversation_id=None) for tool in tools))
    assert [(row["tool"], row["n"]) for row in answer(con)] == [("fetch", 2), ("search", 1)]
    assert [row["n"] for row in answer(con, by=[])] == [3]
    assert [row["too_few"] for row in answer(con, min_n=2)] == [False, True]


ADVICE = ("retry", "continue", "stop", "ask_user", "human_review")
MOMENTS = st.lists(
    st.tuples(
        st.integers(0, 12), st.integers(0, 3), st.sampled_from((*ADVICE, None)), st.sampled_from("abc"),
        st.sampled_from(("talk", "chat", None)), st.sampled_from("xy"), st.sampled_from(("success", "error", "paused", None)),
        st.booleans(),
    ),
    max_size=14,
    unique_by=lambda moment: moment[0],
)  # fmt: skip


@pytest.mark.long
@settings(max_examples=examples(10))
@given(moments=MOMENTS)
def test_figures_equal_a_replay_of_the_history(engine, step, moments):
    history = [
        step(
            begin, advice, call_id=call, conversation_id=talk, trace_id=trace * 32, duration_ms=1000.0 * lasted,
            status=None if status == "paused" else status,
            ending={"paused": "paused", None: "cancelled"}.get(status, "returned"),
            parent_span_id="f" * 16 if inside else None,
        )
        for begin, lasted, advice, call, talk, trace, status, inside in sorted(moments, key=lambda moment: moment[0])
    ]  # fmt: skip
    expected = Counter()
    for attempt in history:
        if attempt.next_action and attempt.status:
            expected[attempt.next_action, *replay(attempt, history)] += 1
    found = Counter()
    for row in answer(engine(*history), by=[]):
        good = round(row["n_when_followed"] * (row["succeeded_when_followed"] or 0))
        found[row["advice"], True, True] = good
        found[row["advice"], True, False] = row["n_when_followed"] - good
        found[row["advice"], True, None] = row["followed"] - row["n_when_followed"]
        found[row["advice"], False, None] = row["observed"] - row["followed"]
        found[row["advice"], None, None] = row["n"] - row["observed"]
    assert +found == +expected


def replay(attempt, history):
    """Return whether the advice of ``attempt`` was followed, and whether the next attempt succeeded."""
    begin = attempt.started_at
    end = begin + max(timedelta(milliseconds=attempt.duration_ms), timedelta(microseconds=1))
    same = [
        other
        for other in history
        if (other.call_id, other.conversation_id) == (attempt.call_id, attempt.conversation_id)
    ]
    again = [other for other in same if other.started_at > begin and other.ending != "paused"]
    if attempt.next_action == "retry":
        known = [other.status for other in again if other.status]
        return bool(again), ("success" in known if known else None)
    if attempt.next_action == "continue":
        return not again, None
    if attempt.conversation_id is None:
        return None, None
    after = [o for o in history if o.conversation_id == attempt.conversation_id and o.started_at >= end]
    if attempt.next_action == "stop":
        return not after, None
    if not after:
        return None, None
    if after[0].ending == "paused":
        return True, None
    if after[0].trace_id == attempt.trace_id:
        return False, None
    turn = attempt.next_action == "ask_user" and attempt.parent_span_id and after[0].parent_span_id
    return (True if turn else None), None
