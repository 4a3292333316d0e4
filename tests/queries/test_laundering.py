"""Errors that the model never saw: by what it was given, and by the response's own text where that is not known."""

from __future__ import annotations

from datetime import timedelta

import pytest
from statsmodels.stats.proportion import proportion_confint

import tooltrace as tt
from tests.queries.answers import run
from tests.queries.conftest import START
from tooltrace.core.records import Message


def answer(con, **given):
    relation = run(con, "laundering", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def found(con, **given):
    return [(row["evidence"], row["reads"]) for row in answer(con, **given)]


@pytest.fixture
def failed(make):
    """An attempt that returned an error, recorded whole."""

    def failed(**given):
        return make(
            **{"status": "error", "code": "TIMEOUT", "error_message": "no answer in 30 s", "arguments": "{}", **given}
        )

    return failed


@pytest.fixture
def seen():
    """Make the message that the model received about an attempt."""

    def seen(attempt, text, *, error=False, length=None, after=1):
        return Message(
            call_id=attempt.call_id, span_id=attempt.span_id, text=text, sha256="0" * 64, error=error,
            length=len(text or "") if length is None else length, at=attempt.started_at + timedelta(seconds=after),
        )  # fmt: skip

    return seen


def test_two_of_four_errors_never_reached_the_model(engine, make, failed, seen):
    hidden, empty, with_error, without_code = (
        failed(error_message="it broke", started_at=START + timedelta(seconds=i)) for i in range(4)
    )
    con = engine(
        hidden, seen(hidden, "All rows were saved."),
        empty, seen(empty, "  \n"),
        with_error, seen(with_error, "Error TIMEOUT: it broke", error=True),
        without_code, seen(without_code, "Sorry: it broke."),
        make(text="done"),
    )  # fmt: skip
    rows = answer(con)
    assert [(row["span_id"], row["evidence"], row["reads"]) for row in rows] == [
        (empty.span_id, "seen", "empty"),
        (hidden.span_id, "seen", "cheerful"),
    ]
    for row in rows:
        assert (row["n"], row["errors"], row["share"], row["unknown"]) == (2, 4, 0.5, 0)
        assert (row["low"], row["high"]) == pytest.approx(proportion_confint(2, 4, method="wilson"), abs=1e-9)
    evidence = rows[1]
    assert (evidence["call_id"], evidence["code"], evidence["error_message"], evidence["seen_text"]) == (
        hidden.call_id, "TIMEOUT", "it broke", "All rows were saved.",
    )  # fmt: skip


def test_the_recorded_message_overrides_the_text(engine, failed, seen):
    attempt = failed(text="done")
    assert found(engine(attempt, seen(attempt, "Error: no answer in 30 s", error=True))) == []
    attempt = failed(text="Error: no answer in 30 s")
    assert found(engine(attempt, seen(attempt, "42 rows"))) == [("seen", "other")]


def test_a_message_marked_as_an_error_reports_one(engine, failed, seen):
    for text in ("", "done", "42 rows"):
        attempt = failed(text="done")
        assert found(engine(attempt, seen(attempt, text, error=True))) == []


def test_the_last_message_of_an_attempt_counts(engine, failed, seen):
    attempt = failed()
    assert found(engine(attempt, seen(attempt, "done"), seen(attempt, "Error", error=True, after=2))) == []
    assert found(engine(attempt, seen(attempt, "Error", error=True), seen(attempt, "done", after=2))) == [
        ("seen", "cheerful")
    ]


def test_an_empty_message_is_detected_by_its_length(engine, failed, seen):
    empty, full = failed(), failed()
    rows = answer(engine(empty, seen(empty, None, length=0), full, seen(full, None, length=9)))
    assert {row["span_id"]: row["reads"] for row in rows} == {empty.span_id: "empty", full.span_id: "other"}


def test_an_imported_seen_text_is_judged_by_its_words(engine, failed):
    assert found(engine(failed(seen_text="Task completed"))) == [("seen", "cheerful")]
    assert found(engine(failed(seen_text="42 rows"))) == []
    assert found(engine(failed(seen_text="could not complete"))) == []


def test_without_a_message_the_text_is_the_evidence(engine, failed):
    assert found(engine(failed(text="操作完成"))) == [("text", "cheerful")]
    assert found(engine(failed(text=""))) == [("text", "empty")]
    assert found(engine(failed())) == [("text", "empty")]
    assert found(engine(failed(result='{"reason":"no answer"}'))) == [], "the model reads the data"
    assert found(engine(failed(text="no answer in 30 s"))) == []


def test_calls_without_a_message_are_not_judged(engine, failed, seen):
    bare = failed(arguments=None)
    raised = failed(ending="raised")
    shown = failed()
    (row,) = answer(engine(bare, raised, shown, seen(shown, "done")))
    assert (row["span_id"], row["n"], row["errors"], row["unknown"]) == (shown.span_id, 1, 1, 2)


def test_a_retried_attempt_is_judged_only_by_its_own_message(engine, failed, make, seen):
    first = failed(call_id="a", text="done")
    second = make(call_id="a", attempt=2, started_at=START + timedelta(seconds=1))
    assert found(engine(first, second)) == []
    assert found(engine(first, second, seen(first, "done"))) == [("seen", "cheerful")]
    cancelled = make(call_id="a", attempt=2, started_at=START + timedelta(seconds=1), status=None, ending="cancelled")
    assert found(engine(first, cancelled)) == [("text", "cheerful")]


CHEERFUL = (
    "done", "OK", "Success!", "File saved.", "The operation completed successfully", "finished with no errors",
    "0 failures, all good", "写入成功", "已保存", "处理完成，没有错误", "Sent.", "All fine.",
)  # fmt: skip
NOT_CHEERFUL = (
    "Error: done", "failed", "The upload was unsuccessful", "not done", "incomplete", "timed out", "操作失败", "未完成",
    "保存成功，但发送失败", "❌ done", "I could not save it", "It wasn't saved", "no rows were saved", "42", "book", "abandoned",
    "access denied", "Traceback (most recent call last)", "it is brokenly", "partial success", "try again when done",
)  # fmt: skip


@pytest.mark.parametrize("text", CHEERFUL)
def test_cheerful(engine, failed, text):
    assert found(engine(failed(text=text))) == [("text", "cheerful")]


@pytest.mark.parametrize("text", NOT_CHEERFUL)
def test_not_cheerful(engine, failed, text):
    assert found(engine(failed(text=text))) == []


def test_counts_are_of_the_group_and_rows_at_most_the_limit(engine, failed):
    times = [START + timedelta(seconds=i) for i in range(5)]
    con = engine(
        *(failed(text="done", started_at=time) for time in times), failed(text="done", tool="fetch"), failed(text="x")
    )
    newest, next_newest = answer(con, limit=2)
    assert (newest["started_at"], next_newest["started_at"]) == tuple(
        time.replace(tzinfo=None) for time in times[:2:-1]
    )
    assert (newest["tool"], newest["n"], newest["errors"], newest["high"] < 1) == ("search", 5, 6, True)
    assert [(row["n"], row["share"], row["high"]) for row in answer(con, tool="fetch")] == [(1, 1.0, 1.0)]
    assert {(row["n"], row["errors"]) for row in answer(con, by=[])} == {(6, 7)}
    assert {row["day"].isoformat() for row in answer(con, by="day")} == {"2026-03-01"}


def test_the_window_is_over_the_start(engine, failed):
    con = engine(failed(text="done"))
    assert len(answer(con, since="2026-03-01T12:00:00")) == 1
    assert answer(con, until="2026-03-01T12:00:00") == []


def test_a_message_that_tooltrace_makes_hides_nothing(store):
    @tt.trace_tool
    def swallowed():
        return tt.ToolResponse.error("TIMEOUT", "no answer", text="done")

    with tt.context(call_id="with_message"):
        swallowed().to_message("with_message")
    with tt.context(call_id="without_message"):
        swallowed()
    tt.flush()
    rows = tt.query("laundering", store=store).rows
    assert [(row[7], row[8], row[9]) for row in rows] == [("text", "cheerful", "without_message")]


def test_by_code_each_code_is_counted_by_itself(engine, failed):
    con = engine(
        *(failed(text=text, code=code) for text, code in (("", "A"), ("done", "A"), ("error: no", "A"), ("", "B")))
    )
    rows = {(row["code"], row["n"], row["errors"]) for row in answer(con, by="code")}
    assert rows == {("A", 2, 3), ("B", 1, 1)}
