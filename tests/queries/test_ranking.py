"""The tools by the failed calls and cut-off attempts that are certain, and what failed calls cost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.queries.answers import run

from .conftest import START

HOUR = timedelta(hours=1)


def test_the_order_is_that_of_what_is_certain(engine, make):
    """By the lower limits: many of many before all of few, whatever the time lost."""
    con = engine(
        *(make(tool="many", status="error" if i < 60 else "success", duration_ms=1.0) for i in range(600)),
        *(make(tool="few", status="error", duration_ms=90_000.0) for _ in range(3)),
        *(make(tool="hangs", status=None, ending="cancelled", code="TIMEOUT", duration_ms=5000.0) for _ in range(30)),
        *(make(tool="fine") for _ in range(900)),
    )
    many, hangs, few, fine = answer(con)
    assert [row["tool"] for row in (many, hangs, few, fine)] == ["many", "hangs", "few", "fine"]
    assert many["at_least"] == pytest.approx(600 * proportion_confint(60, 600, method="wilson")[0])
    assert hangs["at_least"] == pytest.approx(30 * proportion_confint(30, 30, method="wilson")[0])
    assert (hangs["calls"], hangs["cut_off"], hangs["rate"], hangs["code"]) == (0, 30, None, None)
    assert few["at_least"] == pytest.approx(3 * proportion_confint(3, 3, method="wilson")[0])
    assert fine["at_least"] == pytest.approx(0, abs=1e-9)
    assert [row["too_few"] for row in (many, hangs, few, fine)] == [False, False, True, False]


def test_the_code_is_that_of_most_failed_calls_with_its_last_message(engine, make):
    con = engine(
        *(
            make(status="error", code=code, error_message=message, started_at=START + number * HOUR)
            for number, (code, message) in enumerate([("TIMEOUT", "first"), ("TIMEOUT", "last"), ("DOWN", "later")])
        )
    )
    (row,) = answer(con)
    assert (row["code"], row["message"]) == ("TIMEOUT", "last")


def test_a_broken_version_is_first(engine, make):
    con = engine(
        *(make(tool_version="2", status="error") for _ in range(20)), *(make(tool_version="1") for _ in range(400))
    )
    assert [row["version"] for row in answer(con, by="version")] == ["2", "1"]


def answer(con, **given):
    relation = run(con, "ranking", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def tries(make, tool, call, *statuses, ms=100.0):
    return [
        make(tool=tool, call_id=call, attempt=n, status=status, duration_ms=ms, started_at=START + timedelta(seconds=n))
        for n, status in enumerate(statuses, 1)
    ]


def test_all_attempts_of_a_failed_call_are_its_cost(engine, make):
    con = engine(
        *tries(make, "slow", "a", "error", "error", "error", ms=1000.0),
        *tries(make, "slow", "b", "error", "success", ms=1000.0),
        *tries(make, "often", "c", "error"),
        *tries(make, "often", "d", "error"),
        *tries(make, "good", "e", "success"),
    )
    often, slow, good = answer(con)
    assert (slow["tool"], often["tool"], good["tool"]) == ("slow", "often", "good")
    assert (slow["calls"], slow["failed_calls"], slow["attempts"]) == (2, 1, 5)
    assert (slow["cost_ms"], slow["hurt_ms"]) == (3000.0, 3000.0)
    assert (often["failed_calls"], often["cost_ms"], often["hurt_ms"]) == (2, 100.0, 200.0)
    assert (good["cost_ms"], good["hurt_ms"], good["last_failed_at"], good["rate"], good["low"]) == (
        None,
        0,
        None,
        0,
        0,
    )
    assert slow["hurt_share"] == pytest.approx(3000 / 3200)
    assert slow["last_failed_at"] == (START + timedelta(seconds=3)).replace(tzinfo=None)
    assert slow["too_few"] is True


def test_the_same_id_in_another_conversation_is_another_call(engine, make):
    con = engine(*(make(call_id="1", conversation_id=c, status="error") for c in ("a", "b")))
    assert [(row["calls"], row["failed_calls"]) for row in answer(con)] == [(2, 2)]


def test_unfinished_and_untimed_attempts(engine, make):
    con = engine(
        make(status=None, ending="cancelled"),
        *(make(status=None, ending="refused", tool=tool) for tool in ("search", "search", "never_run")),
        make(status="error", duration_ms=None),
        make(duration_ms=float("nan")),
    )
    (row,) = answer(con)
    assert (row["calls"], row["failed_calls"], row["hurt_ms"], row["p95"]) == (2, 1, None, None)
    assert row["refused"] == 2, "apart, and a tool that never ran has no row"


def test_groups_of_agents_share_the_hurt(engine, make):
    con = engine(*(make(agent=agent, status="error", duration_ms=10.0) for agent in ("a", "a", "b", None)))
    assert [(row["agent"], row["hurt_ms"], row["hurt_share"]) for row in answer(con, by="agent")] == [
        ("a", 20.0, 0.5), ("b", 10.0, 0.25), (None, 10.0, 0.25),
    ]  # fmt: skip


def test_an_approved_call_is_one_call(engine, make):
    """A call that waited for a person counts once, by its second attempt."""
    calls = [
        attempt
        for number in range(20)
        for attempt in (
            make(call_id=f"c{number}", started_at=START + number * HOUR, status=None, ending="paused"),
            make(
                call_id=f"c{number}",
                attempt=2,
                started_at=START + number * HOUR + HOUR / 60,
                status="error" if number % 5 == 0 else "success",
            ),
        )
    ]
    (row,) = answer(engine(*calls))
    assert (row["calls"], row["failed_calls"]) == (20, 4)


def test_a_tool_has_the_same_figures_alone_and_beside_another(engine, make):
    """But for the share of the time lost, which is of all tools."""
    calls = [
        make(tool=tool, call_id=f"{tool}{number}", started_at=START + (first + number) * HOUR, status=status)
        for tool, first in (("one", 0), ("two", 80))
        for number in range(100)
        for status in ["error" if number > 60 else "success"]
    ]
    store = engine(*calls)
    beside = {row["tool"]: row for row in answer(store)}
    for tool, row in beside.items():
        (alone,) = answer(store, tool=tool)
        assert row.pop("hurt_share") < alone.pop("hurt_share") == 1
        assert alone.keys() == row.keys()
        for name, value in row.items():
            assert alone[name] == (pytest.approx(value) if isinstance(value, float) else value), name


def test_calls_of_a_conversation_are_one_draw(engine, make):
    """Two of ten conversations fail as a whole: the interval is that of conversations."""
    calls = [
        make(call_id=f"c{talk}.{number}", conversation_id=f"s{talk}", started_at=START + talk * HOUR, status=status)
        for talk in range(20)
        for status in ["error" if talk % 5 == 0 else "success"]
        for number in range(10)
    ]
    (row,) = answer(engine(*calls), since=START + 10 * HOUR)
    assert (row["calls"], row["failed_calls"], row["clusters"], row["too_few"]) == (100, 20, 10, False)
    assert row["design_effect"] == pytest.approx(10)
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(2, 10, method="wilson"), abs=1e-9)
