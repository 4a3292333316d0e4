"""Attempts with equal starts and clocks that step back: every query finds the same last attempts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.queries.answers import run
from tests.queries.last_attempts import CALLS, FAILED, LAST_SPANS, LATER, history, require_same_failed_calls
from tooltrace.core.records import Outcome


@pytest.mark.parametrize("seed", range(3))
def test_all_queries_count_the_same_failed_calls(engine, seed):
    con = engine(*history(seed))

    def query(name, **given):
        relation = run(con, name, **given)
        return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]

    require_same_failed_calls(query)


@pytest.mark.parametrize("seed", range(3))
def test_the_view_of_calls_ends_with_the_last_attempt(engine, seed):
    con = engine(*history(seed))
    rows = con.execute("SELECT call_id, status, recovered, last_span_id FROM calls").fetchall()
    assert {call for call, status, *_ in rows if status == "error"} == FAILED
    assert {call for call, _, recovered, _ in rows if recovered} == {
        name for name, made in CALLS.items() if name not in FAILED and "error" in {attempt[3] for attempt in made}
    }
    with_paused = {"last attempt unfinished, failed", "paused, recovered"}
    assert {span for call, *_, span in rows if call not in with_paused} < LAST_SPANS


@pytest.mark.parametrize("seed", range(3))
def test_the_label_of_a_call_belongs_to_its_last_attempt(engine, seed):
    labels = [Outcome(call_id=name, correct=True, labeler="ann", labeled_at=LATER) for name in CALLS]
    con = engine(*history(seed), *labels)
    assert {span for (span,) in con.execute("SELECT span_id FROM judged").fetchall()} == LAST_SPANS


def test_an_error_before_a_success_is_not_a_last_attempt(engine):
    """Without recorded messages, only the last error of a call is evidence of what the model saw."""
    con = engine(*history(text="fine, all done"))
    relation = run(con, "laundering", min_n=1)
    shown = {row[relation.columns.index("call_id")] for row in relation.fetchall()}
    assert shown - {None} == FAILED


def test_gaps_follow_the_numbers_of_attempts(engine, make):
    """Ten seconds between the attempts by number; by start, the second would come first."""
    first = make(call_id="c", attempt=1, status="error", duration_ms=0.0)
    second = make(call_id="c", attempt=2, started_at=first.started_at - timedelta(seconds=10))
    relation = run(engine(first, second), "retries")
    row = dict(zip(relation.columns, relation.fetchall()[0], strict=True))
    assert (row["recovered"], row["gaps"], row["backoff_violations"]) == (1, 1, 1)
