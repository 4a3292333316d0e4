"""Pairs of steps, how often the second fails, and what conversations come to."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.queries.answers import run
from tests.queries.conftest import START
from tooltrace.core.records import Outcome


@pytest.fixture
def chat(make):
    """The records of a conversation: one call for each word, ``tool`` or ``tool!`` for a failure, and its outcome."""

    def chat(conversation, *words, correct=None, start=START, **more):
        made = [
            make(
                tool=word.rstrip("!?"),
                conversation_id=conversation,
                started_at=start + timedelta(seconds=place),
                status="error" if word.endswith("!") else None if word.endswith("?") else "success",
                ending="cancelled" if word.endswith("?") else "returned",
                **more,
            )
            for place, word in enumerate(words)
        ]
        label = Outcome(
            conversation_id=conversation, correct=correct, target_kind="conversation", labeled_at=START, labeler="ann"
        )
        return [*made, *([label] if correct is not None else [])]

    return chat


def rows(con, *columns, **params):
    answer = run(con, "paths", **params)
    return sorted(
        tuple(row[answer.columns.index(name)] for name in ("from_tool", "from_status", "to_tool", *columns))
        for row in answer.fetchall()
    )


def test_steps_follow_each_other_from_start_to_end(engine, chat):
    con = engine(*chat("a", "find", "open!", "open"), *chat("b", "find", "open"))
    assert rows(con, "n", "conversations", "failures") == [
        ("(start)", "start", "find", 2, 2, 0),
        ("find", "success", "open", 2, 2, 1),
        ("open", "error", "open", 1, 1, 0),
        ("open", "success", "(end)", 2, 2, None),
    ]


def test_a_step_is_a_call_with_its_last_status_and_its_first_start(engine, make):
    def at(tool, call_id, seconds, **more):
        return make(
            tool=tool, call_id=call_id, conversation_id="a", started_at=START + timedelta(seconds=seconds), **more
        )

    con = engine(
        at("find", "c1", 0, status="error"),
        at("open", "c2", 1),
        at("find", "c1", 2, attempt=2),
        at("open", "c3", 3, status=None, ending="cancelled"),
        make(conversation_id=None),
    )
    assert rows(con, "failures") == [
        ("(start)", "start", "find", 0),
        ("find", "success", "open", 0),
        ("open", "none", "(end)", None),
        ("open", "success", "open", 0),
    ]


def test_a_tool_may_be_called_like_a_mark(engine, chat):
    con = engine(*chat("a", "(end)", "(start)!"))
    assert rows(con, "n", "rate") == [
        ("(end)", "success", "(start)", 1, 1.0),
        ("(start)", "error", "(end)", 1, None),
        ("(start)", "start", "(end)", 1, 0.0),
    ]


def test_a_conversation_belongs_to_the_window_in_which_it_started(engine, chat):
    day = timedelta(days=1)
    con = engine(
        *chat("a", "x", "y", start=START - timedelta(seconds=1)),
        *chat("b", "x", "z"),
        *chat("c", "q", start=START + day),
    )
    assert rows(con, since=START, until=START + day) == [
        ("(start)", "start", "x"),
        ("x", "success", "z"),
        ("z", "success", "(end)"),
    ]


def test_pairs_can_be_of_one_tool_or_one_agent(engine, chat):
    con = engine(*chat("a", "x", "y", agent="one"), *chat("b", "y", "z", agent="two"))
    assert rows(con, tool="x") == [("(start)", "start", "x"), ("x", "success", "y")]
    assert rows(con, agent="two") == [
        ("(start)", "start", "y"),
        ("y", "success", "z"),
        ("z", "success", "(end)"),
    ]
    assert rows(con, "n", limit=1) == [("(start)", "start", "x", 1)]


def test_rates_of_independent_conversations_have_wilson_intervals_and_lift_that_of_a_ratio(engine, chat):
    """40 pairs after an error, 10 fail; 60 after a success, 6 fail: rate 0.25, usual 16 / 100, lift 1.5625."""
    chats = [
        chat(f"{first}{number}", f"find{'!' if first == 'e' else ''}", "open!" if number < failures else "open")
        for first, size, failures in (("e", 40, 10), ("s", 60, 6))
        for number in range(size)
    ]
    con = engine(*(record for each in chats for record in each))
    named = ("rate", "low", "high", "usual_rate", "lift", "lift_low", "lift_high", "share", "too_few", "design_effect")
    found = {row[1]: row[3:] for row in rows(con, *named) if row[0] == "find"}
    low, high = proportion_confint(10, 40, method="wilson")
    usual_low, usual_high = proportion_confint(16, 100, method="wilson")
    r, u = 0.25, 0.16
    # the 40 steps are among the 100: sums of (x - r)(x - u), (x - r)^2 and (x - u)^2; reduced by 3 of 40 conversations
    shared = 7.5 / math.sqrt(7.5 * 13.44) * (1 - 3 / 40)
    # Donner and Zou 2012, with the correlation
    product = r * u - shared * (r - low) * (usual_high - u)
    scale = usual_high * (2 * u - usual_high)
    below = (product - math.sqrt(product**2 - low * (2 * r - low) * scale)) / scale
    product = r * u - shared * (high - r) * (u - usual_low)
    scale = usual_low * (2 * u - usual_low)
    above = (product + math.sqrt(product**2 - high * (2 * r - high) * scale)) / scale
    lifts = [below, above]
    assert found["error"][:7] == pytest.approx((0.25, low, high, 0.16, 1.5625, *lifts), abs=1e-9)
    assert found["error"][7:] == (1.0, False, 1.0)
    assert found["success"][4] == pytest.approx(0.625)
    assert found["success"][5] < 1 < found["error"][4]


def test_steps_of_one_conversation_count_less_than_independent_ones(engine, chat):
    chats = [record for number in range(10) for record in chat(f"c{number}", *(["x!" if number < 3 else "x"] * 5), "y")]
    found = {row[:3]: row[3:] for row in rows(engine(*chats), "n", "rate", "low", "high", "design_effect", "too_few")}
    failed = found["x", "error", "x"]
    assert failed[:2] == (12, 1.0)
    assert failed[-1] is True
    passed = found["x", "success", "x"]
    assert passed[:2] == (28, 0.0)
    assert passed[3] > proportion_confint(0, 28, method="wilson")[1]


def test_the_only_way_to_a_tool_has_no_lift_and_a_tool_that_never_fails_none(engine, chat):
    con = engine(*(record for number in range(30) for record in chat(f"c{number}", "x", "y!" if number < 9 else "y")))
    assert [row for row in rows(con, "lift", "lift_low", "lift_high") if row[2] != "(end)"] == [
        ("(start)", "start", "x", None, None, None),
        ("x", "success", "y", 1.0, None, None),
    ]


@pytest.mark.parametrize(("failing", "is_bounded"), [(14, False), (15, True)])
def test_the_upper_limit_of_lift_needs_15_conversations_in_which_the_tool_failed(engine, chat, failing, is_bounded):
    chats = [chat(f"c{n}", "find!" if n % 2 else "find", "open!" if n < failing else "open") for n in range(60)]
    con = engine(*(record for each in chats for record in each))
    limits = {row[1]: row[3:] for row in rows(con, "lift_low", "lift_high") if row[0] == "find"}
    assert all(low is not None and (high is not None) is is_bounded for low, high in limits.values())


def test_outcomes_are_compared_with_conversations_without_the_pair(engine, chat):
    con = engine(
        *(record for n in range(8) for record in chat(f"a{n}", "x", "y", correct=n < 6)),
        *(record for n in range(12) for record in chat(f"b{n}", "x", "z", correct=n < 3)),
        *chat("c", "x", "y"),
    )
    named = ("labelled", "success_share", "success_low", "success_high", "success_without")
    found = {row[:3]: row[3:] for row in rows(con, *named)}
    low, high = proportion_confint(6, 8, method="wilson")
    assert found["x", "success", "y"] == pytest.approx((8, 0.75, low, high, 0.25), abs=1e-9)
    assert found["(start)", "start", "x"][:2] == (20, 0.45)
    assert found["(start)", "start", "x"][4] is None


def test_by_agent_a_pair_belongs_to_the_agent_of_its_second_step(engine, chat):
    """A hand-over is a pair of the agent that takes over; the end belongs to the last step; rates are those of the agent."""
    con = engine(
        *chat("a", "find", "open!", agent="one", correct=True),
        *chat("a", "open", start=START + timedelta(seconds=9), agent="two"),
        *chat("b", "find", "open", agent="two", correct=False),
    )
    assert rows(con, "agent", "n", "share", "usual_rate", by="agent") == [
        ("(start)", "start", "find", "one", 1, 0.5, 0.0),
        ("(start)", "start", "find", "two", 1, 0.5, 0.0),
        ("find", "success", "open", "one", 1, 0.5, 1.0),
        ("find", "success", "open", "two", 1, 0.5, 0.0),
        ("open", "error", "open", "two", 1, 1.0, 0.0),
        ("open", "success", "(end)", "two", 2, 1.0, None),
    ]
    success = {row[:4]: row[4:] for row in rows(con, "agent", "success_share", "success_without", by="agent")}
    assert success["find", "success", "open", "two"] == (0.0, 1.0), "the other conversation of agent two is a"
    assert success["find", "success", "open", "one"] == (1.0, None), "agent one has no other conversation"


def test_by_version_each_version_has_its_own_usual_rate(engine, chat):
    con = engine(
        *(record for n in range(4) for record in chat(f"a{n}", "x", "y!" if n < 3 else "y", tool_version="1")),
        *(record for n in range(4) for record in chat(f"b{n}", "x", "y", tool_version="2")),
    )
    assert rows(con, "version", "n", "rate", "usual_rate", "share", by=["version"])[2:4] == [
        ("x", "success", "y", "1", 4, 0.75, 0.75, 0.5),
        ("x", "success", "y", "2", 4, 0.0, 0.0, 0.5),
    ]
