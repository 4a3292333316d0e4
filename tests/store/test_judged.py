"""Which attempt a label judges, and what several labels come to."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from tooltrace.core.records import Outcome

Rows = Callable[[str], list[tuple[Any, ...]]]
JUDGED = "SELECT span_id, correct, score, labelers FROM judged ORDER BY span_id"


def label(at: Any, **fields: Any) -> Outcome:
    return Outcome(labeled_at=at, **fields)


def test_a_calls_label_is_one_of_its_last_attempt_that_reported(write: Any, call: Any, rows: Rows) -> None:
    first, second, third = (
        call(1, call_id="a"),
        call(2, call_id="a"),
        call(3, call_id="a", status=None, ending="cancelled"),
    )
    write(first, second, third, label(third.started_at, call_id="a", correct=True))
    assert rows(JUDGED) == [(second.span_id, True, 1.0, 1)]


def test_a_label_of_an_attempt_is_its_own_and_may_come_first(write: Any, call: Any, rows: Rows) -> None:
    first, second = call(1, call_id="a"), call(2, call_id="a")
    write(
        label(first.started_at, span_id=first.span_id, correct=False), label(first.started_at, call_id="a", score=0.9)
    )
    write(first, second)
    assert rows(JUDGED) == [(first.span_id, False, 0.0, 1), (second.span_id, True, 0.9, 1)]


def test_the_latest_of_a_labeler_counts_and_labelers_count_alike(write: Any, call: Any, rows: Rows) -> None:
    one = call(1, call_id="a")
    at = one.started_at
    write(
        one,
        label(at, call_id="a", correct=True, labeler="x"),
        label(at + timedelta(seconds=1), call_id="a", correct=False, labeler="x"),
        label(at + timedelta(seconds=2), call_id="a", correct=True, labeler="y"),
        label(at + timedelta(seconds=3), call_id="a", correct=False, labeler="z"),
    )
    assert rows(JUDGED) == [(one.span_id, False, 1 / 3, 3)]


def test_where_labelers_balance_the_latest_decides(write: Any, call: Any, rows: Rows) -> None:
    one = call(1, call_id="a")
    write(one, label(one.started_at, call_id="a", correct=True, labeler="x"))
    write(label(one.started_at + timedelta(seconds=1), span_id=one.span_id, correct=False, labeler="y"))
    assert rows(JUDGED) == [(one.span_id, False, 0.5, 2)]


def test_an_id_that_comes_again_is_judged_where_it_was_last_before_the_label(write: Any, call: Any, rows: Rows) -> None:
    chats = [call(n, call_id="call_1", conversation_id=f"chat{n}") for n in (1, 2, 3)]
    write(*chats, label(chats[1].started_at, call_id="call_1", correct=True))
    assert rows(JUDGED) == [(chats[1].span_id, True, 1.0, 1)]


def test_a_label_before_all_of_them_judges_the_first(write: Any, call: Any, rows: Rows) -> None:
    chats = [call(n, call_id="call_1", conversation_id=f"chat{n}") for n in (1, 2)]
    write(label(chats[0].started_at - timedelta(days=1), call_id="call_1", correct=True), *chats)
    assert rows(JUDGED) == [(chats[0].span_id, True, 1.0, 1)]


def test_a_store_without_labels_has_no_judged_rows(write: Any, call: Any, rows: Rows) -> None:
    write(call(1))
    assert rows(JUDGED) == []


def test_a_labeler_may_judge_each_call_of_an_id_that_comes_again(write: Any, call: Any, rows: Rows) -> None:
    chats = [call(n, call_id="call_1", conversation_id=f"chat{n}") for n in (1, 2)]
    write(*chats, *(label(chat.started_at, call_id="call_1", correct=n == 1) for n, chat in enumerate(chats)))
    assert rows(JUDGED) == [(chats[0].span_id, False, 0.0, 1), (chats[1].span_id, True, 1.0, 1)]


def test_the_worst_of_labels_of_one_microsecond_counts_in_any_order(write: Any, call: Any, rows: Rows) -> None:
    calls = [call(n) for n in range(1, 5)]
    at = calls[0].started_at
    labels = [label(at, span_id=calls[0].span_id, correct=correct, labeler="x") for correct in (True, False)]
    labels += [label(at, span_id=calls[1].span_id, correct=correct, labeler="x") for correct in (False, True)]
    labels += [label(at, span_id=calls[2].span_id, score=score, labeler="x") for score in (0.9, 0.6, 0.8)]
    labels += [label(at, span_id=calls[3].span_id, correct=correct, labeler=str(correct)) for correct in (False, True)]
    write(*calls, *labels)
    judged = [(False, 0.0, 1), (False, 0.0, 1), (True, 0.6, 1), (False, 0.5, 2)]
    assert rows(JUDGED) == [(one.span_id, *expected) for one, expected in zip(calls, judged, strict=True)]


def test_a_label_without_a_verdict_takes_back_the_earlier_ones_of_its_labeler(
    write: Any, call: Any, rows: Rows
) -> None:
    one = call(1, call_id="a")
    at, second = one.started_at, timedelta(seconds=1)
    write(
        one,
        label(at, span_id=one.span_id, correct=True, labeler="x"),
        label(at, span_id=one.span_id, correct=False, labeler="y"),
        label(at + second, span_id=one.span_id, labeler="x"),
    )
    assert rows(JUDGED) == [(one.span_id, False, 0.0, 1)], "only the labeler's own"
    write(label(at + 2 * second, span_id=one.span_id, score=0.7, labeler="x"))
    assert rows(JUDGED) == [(one.span_id, True, 0.35, 2)], "a later label counts again"
    write(
        label(at + 3 * second, span_id=one.span_id, labeler="x"), label(at + second, span_id=one.span_id, labeler="y")
    )
    assert rows(JUDGED) == []
