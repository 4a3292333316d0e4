"""Stops for a person: what they said, how long that took, and what became of what they approved."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import msgspec
import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.queries.answers import run
from tests.queries.conftest import START
from tooltrace.core.records import Gate


def answer(con, **options):
    relation = run(con, "gates", **options)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.fixture
def stop(make):
    """The records of one stop: the attempt that waits, the question, the answer, and the attempt that went on."""

    def stop(
        decision=None,
        *,
        waited=1.0,
        then=None,
        changed=None,
        asked_after=0.0,
        kind="confirmation",
        ending="returned",
        **options,
    ):
        paused = make(ending="paused", status=None, **options)
        asked_at = START + timedelta(seconds=asked_after)
        gate = {"call_id": paused.call_id, "span_id": paused.span_id, "kind": kind, "asked_at": asked_at}
        records = [paused, Gate(**gate)]
        after = None
        if then is not None or ending != "returned":
            after = make(call_id=paused.call_id, attempt=2, status=then, ending=ending, **options)
            records.append(after)
        if decision is not None:
            answered = asked_at + timedelta(seconds=waited)
            records.append(
                Gate(
                    **gate,
                    decision=decision,
                    answered_at=answered,
                    changed=changed,
                    resumed_span_id=after and after.span_id,
                )
            )
        return records

    return stop


def test_five_stops(engine, stop):
    con = engine(
        *stop("approved", waited=1, then="success", changed='{"path":"b"}'),
        *stop("approved", waited=2, then="error"),
        *stop("declined", waited=6),
        *stop("expired", waited=3600),
        *stop(),
    )
    (row,) = answer(con)
    assert (row["tool"], row["n"]) == ("search", 5)
    assert [row[name] for name in ("approved", "declined", "expired", "waiting", "changed")] == [2, 1, 1, 1, 1]
    assert (row["approved_share"], row["wait_p50"], row["wait_p95"]) == pytest.approx((2 / 3, 2000.0, 5600.0))
    assert (row["resumed"], row["failures"], row["failure_rate"], row["unresumed"]) == (2, 1, 0.5, 0)
    assert (row["approved_low"], row["approved_high"]) == pytest.approx(
        proportion_confint(2, 3, method="wilson"), abs=1e-9
    )
    assert (row["failure_low"], row["failure_high"]) == pytest.approx(
        proportion_confint(1, 2, method="wilson"), abs=1e-9
    )
    assert row["too_few"] is True
    assert answer(con, min_n=5)[0]["too_few"] is False


def test_waiting_gates_have_no_rate(engine, stop):
    (row,) = answer(engine(*stop()))
    assert (row["n"], row["waiting"], row["approved"], row["resumed"]) == (1, 1, 0, 0)
    rates = (
        "approved_share",
        "approved_low",
        "approved_high",
        "wait_p50",
        "wait_p95",
        "failure_rate",
        "failure_low",
        "failure_high",
    )
    assert [row[name] for name in rates] == [None] * 8


@pytest.mark.parametrize(("decision", "edge"), [("approved", 1.0), ("declined", 0.0)])
def test_all_of_one_mind(engine, stop, decision, edge):
    (row,) = answer(engine(*(record for _ in range(3) for record in stop(decision, then="success"))))
    assert (row["approved_share"], row["approved_low" if edge == 0 else "approved_high"]) == (edge, edge)


def test_an_approval_without_a_finished_attempt_is_not_a_failure(engine, stop):
    con = engine(*stop("approved"), *stop("approved", ending="cancelled"), *stop("approved", ending="paused"))
    (row,) = answer(con)
    assert (row["approved"], row["resumed"], row["unresumed"], row["failure_rate"]) == (3, 0, 3, None)


def test_an_attempt_after_a_decline_is_not_counted_after_approval(engine, stop):
    (row,) = answer(engine(*stop("declined", then="error"), *stop("expired", then="error")))
    assert (row["resumed"], row["failures"], row["failure_rate"], row["unresumed"]) == (0, 0, None, 0)


@pytest.mark.parametrize(("changed", "count"), [(None, 0), ("{}", 0), ("null", 0), ('{"n":null}', 1)])
def test_changed_counts_calls_changed_by_a_person(engine, stop, changed, count):
    assert answer(engine(*stop("approved", changed=changed)))[0]["changed"] == count


def test_two_kinds_of_stop_of_one_attempt_are_two(engine, stop):
    paused, opened, approved = stop("approved")
    more = Gate(call_id=paused.call_id, span_id=paused.span_id, kind="input", asked_at=START)
    assert [(row["n"], row["waiting"]) for row in answer(engine(paused, opened, approved, more))] == [(2, 1)]


def test_groups_and_the_window(engine, stop):
    lost = Gate(call_id="x", span_id="f" * 16, kind="input", asked_at=START + timedelta(days=1))
    con = engine(*stop(), *stop(tool="mail", agent="ann"), *stop(tool="mail", asked_after=60), lost)
    assert [(row["tool"], row["n"]) for row in answer(con)] == [("mail", 2), ("search", 1), (None, 1)]
    assert [row["n"] for row in answer(con, by=[])] == [4]
    assert {(row["agent"], row["n"]) for row in answer(con, by="agent")} == {(None, 3), ("ann", 1)}
    assert [(row["tool"], row["n"]) for row in answer(con, tool="mail")] == [("mail", 2)]
    assert [(row["tool"], row["n"]) for row in answer(con, tool="mail", since="2026-03-01T12:00:30")] == [("mail", 1)]
    assert [row["n"] for row in answer(con, by=[], until="2026-03-01T12:00:00")] == [0]


@pytest.mark.parametrize("seed", range(3))
def test_waits_as_numpy_has_them(engine, stop, seed):
    random = Random(seed)
    waits = [round(random.expovariate(0.1), random.randint(0, 3)) for _ in range(40)]
    con = engine(*(record for wait in waits for record in stop(random.choice(("approved", "declined")), waited=wait)))
    (row,) = answer(con)
    expected = np.quantile(np.array(waits) * 1000, [0.5, 0.95])
    assert (row["wait_p50"], row["wait_p95"]) == pytest.approx(tuple(expected), rel=1e-9)


def test_grouped_by_code_a_gate_has_the_code_of_the_resumed_attempt(engine, stop):
    con = engine(
        *stop("approved", then="error", code="TIMEOUT"), *stop("approved", then="error", code="AUTH"),
        *stop("approved", then="success"), *stop("declined"), *stop(),
    )  # fmt: skip
    rows = {row["code"]: (row["n"], row["approved"], row["failures"]) for row in answer(con, by="code")}
    assert rows == {"TIMEOUT": (1, 1, 1), "AUTH": (1, 1, 1), None: (3, 1, 0)}
    rows = {(row["status"], row["tool"]): row["n"] for row in answer(con, by=["status", "tool"])}
    assert rows == {("error", "search"): 2, ("success", "search"): 1, (None, "search"): 2}


def test_a_stop_is_answered_by_the_attempt_that_another_process_goes_on_with(engine, make):
    def paused(call_id, conversation="chat"):
        return make(ending="paused", status=None, call_id=call_id, conversation_id=conversation, pid=1)

    def asked(stopped):
        return Gate(call_id=stopped.call_id, span_id=stopped.span_id, kind="confirmation", asked_at=stopped.started_at)

    def later(stopped, **given):
        started = stopped.started_at + timedelta(seconds=2)
        return make(
            call_id=stopped.call_id,
            **{"conversation_id": stopped.conversation_id, "started_at": started, "pid": 2} | given,
        )

    stops = [paused("c1"), paused("c2"), paused("c3"), paused("c4"), paused("c5", None), paused("c6")]
    ran, declined, again, elsewhere, unnamed, twice = stops
    con = engine(
        *stops,
        *map(asked, stops),
        later(ran, status="error"),
        later(ran, started_at=ran.started_at + timedelta(seconds=9)),
        later(declined, status=None, ending="refused", code="BLOCKED"),
        later(again, status=None, ending="paused"),
        later(elsewhere, conversation_id="another"),
        later(unnamed),
        later(again, first_span_id="0" * 16),  # the id names another call by then
        later(twice),
        Gate(**{**msgspec.structs.asdict(asked(twice)), "decision": "declined", "answered_at": twice.started_at}),
    )
    (row,) = answer(con)
    assert [row[name] for name in ("n", "approved", "declined", "waiting", "resumed", "failures")] == [6, 1, 2, 3, 1, 1]
    assert row["wait_p95"] == pytest.approx(2000.0, rel=0.2)
