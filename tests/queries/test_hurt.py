"""The tools by what their failed calls cost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tooltrace.queries import run

from .conftest import START


def answer(con, **given):
    relation = run(con, "hurt", **given)
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
    slow, often, good = answer(con)
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


def test_what_did_not_finish_and_what_has_no_duration(engine, make):
    con = engine(
        make(status=None, ending="cancelled"), make(status="error", duration_ms=None), make(duration_ms=float("nan"))
    )
    (row,) = answer(con)
    assert (row["calls"], row["failed_calls"], row["hurt_ms"], row["p95"]) == (2, 1, None, None)


def test_groups_of_agents_share_the_hurt(engine, make):
    con = engine(*(make(agent=agent, status="error", duration_ms=10.0) for agent in ("a", "a", "b", None)))
    assert [(row["agent"], row["hurt_ms"], row["hurt_share"]) for row in answer(con, by="agent")] == [
        ("a", 20.0, 0.5), ("b", 10.0, 0.25), (None, 10.0, 0.25),
    ]  # fmt: skip
