"""Cost of retries, truth of "retryable", and waits: cases by hand, and a simple program over random calls."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from math import inf, nan

import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.queries.answers import run


@pytest.fixture
def call(make):
    """The attempts of one call, a second apart, 10 ms each; None is one that was cancelled."""

    def call(name, *statuses, **options):
        first = make(call_id=name)
        return [
            make(call_id=name, attempt=i, status=status, ending="returned" if status else "cancelled",
                 started_at=first.started_at + timedelta(seconds=i), **options)
            for i, status in enumerate(statuses, 1)
        ]  # fmt: skip

    return call


@pytest.fixture
def tries(make):
    """The attempts of one call: ``(status, retryable, gap in seconds before it, retry_after_s)``, 10 ms each."""

    def tries(name, *parts, **options):
        at, records = datetime(2026, 3, 1, 12), []
        for i, (status, retryable, gap, retry_after) in enumerate(parts, 1):
            at += timedelta(seconds=gap)
            stats = None if retry_after is None else f'{{"retry_after_s": {retry_after}}}'
            records.append(make(**{"call_id": name, "attempt": i, "status": status, "retryable": retryable, "stats": stats,
                                   "started_at": at, "ending": "returned" if status else "cancelled", **options}))  # fmt: skip
            at += timedelta(milliseconds=10)
        return records

    return tries


def test_the_first_gap_is_the_first_after_a_pause_too(engine, tries):
    """1.5 s before the first retry is too long, and before the second retry it is not."""
    paused = ("success", None, 0, None)
    later = [("error", None, 0.5, None), ("error", None, 1.5, None), ("success", None, 1.5, None)]
    records = tries("a", (None, *paused[1:]), *later)
    (row,) = answer(engine(*records))
    assert (row["gaps"], row["backoff_violations"]) == (2, 1)


def gaps(*lengths):
    """Attempts that fail, with these gaps between them, in seconds."""
    return [("error", None, gap, None) for gap in (0, *lengths)]


def answer(con, **params):
    relation = run(con, "retries", **params)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def test_the_known_case(engine, call):
    plan = {
        (0, "success"): 80,
        (1, "success"): 8,
        (2, "success"): 3,
        (0, "error"): 4,
        (1, "error"): 2,
        (2, "error"): 3,
    }
    records = []
    for (failures, last), count in plan.items():
        for i in range(count):
            records += call(f"{failures}{last}{i}", *["error"] * failures, last)
    (row,) = answer(engine(*records))
    assert (row["calls"], row["attempts"], row["amplification"]) == (100, 122, 1.22)
    assert (row["retried"], row["recovered"], row["gave_up"]) == (16, 11, 9)
    assert (row["wasted_ms"], row["wasted_share"]) == pytest.approx((220.0, 22 / 122))


def test_a_cancelled_attempt_is_shown_and_not_a_retry(engine, call):
    (row,) = answer(engine(*call("a", "error", None, "success"), *call("b", None)))
    assert (row["calls"], row["attempts"], row["recovered"], row["left_out"]) == (1, 2, 1, 2)


def test_a_call_is_counted_where_it_ended(engine, call):
    first, second = call("a", "error", "success")
    moved = [first, *call("b", "success"), second]
    rows = answer(engine(*moved), by="status")
    assert [(row["status"], row["calls"], row["attempts"], row["recovered"]) for row in rows] == [("success", 2, 3, 1)]


def test_a_call_belongs_to_the_window_in_which_its_last_attempt_started(engine, call):
    con = engine(*call("a", "error", "error", "success"))
    (row,) = answer(con, since="2026-03-01 12:00:02")
    assert (row["calls"], row["attempts"], row["recovered"], row["wasted_ms"]) == (1, 3, 1, 20.0)
    assert answer(con, until="2026-03-01 12:00:02") == []


def test_success_after_success_is_not_a_recovery(engine, call):
    (row,) = answer(engine(*call("a", "success", "success")))
    assert (row["retried"], row["recovered"], row["gave_up"]) == (1, 0, 0)


def flagged(name, tries, *flags, then):
    """A call whose failed attempts said ``flags``, a second apart, and whose last attempt has status ``then``."""
    return tries(name, *(("error", flag, 1, None) for flag in flags), (then, None, 1, None))


def test_precision_of_the_flag_worked_by_hand(engine, tries):
    con = engine(
        *flagged("a", tries, True, then="success"), *flagged("b", tries, True, True, then="partial"),
        *flagged("c", tries, True, then="error"), *tries("d", ("error", True, 0, None)),
    )  # fmt: skip
    (row,) = answer(con)
    assert (row["flag_precision"], row["flagged_retried"], row["flagged_not_retried"]) == (3 / 4, 4, 1)
    # the two attempts of b are one cluster: the interval is that of 4² / (1 + 4 + 1) attempts
    expected = proportion_confint(3 / 4 * 16 / 6, 16 / 6, method="wilson")
    assert (row["flag_low"], row["flag_high"]) == pytest.approx(expected, abs=1e-9)
    assert (row["clusters"], row["design_effect"]) == (3, pytest.approx(4 * 6 / 16))
    assert (row["flag_recall"], row["recall_low"], row["recall_high"]) == (None, None, None)
    assert row["flag_recall_reason"] == '"not retryable" was never retried'


def test_recall_is_measured_where_unflagged_errors_are_retried(engine, tries):
    con = engine(
        *flagged("a", tries, True, then="success"), *flagged("b", tries, True, then="success"),
        *flagged("c", tries, False, then="success"), *flagged("d", tries, False, then="error"),
        *flagged("e", tries, None, then="success"),
    )  # fmt: skip
    (row,) = answer(con)
    assert (row["flag_precision"], row["flag_recall"], row["recall_n"], row["flag_recall_reason"]) == (
        1.0,
        2 / 3,
        3,
        None,
    )
    assert (row["flag_low"], row["flag_high"]) == pytest.approx(proportion_confint(2, 2, method="wilson"), abs=1e-12)
    assert (row["recall_low"], row["recall_high"]) == pytest.approx(
        proportion_confint(2, 3, method="wilson"), abs=1e-12
    )


def test_recall_of_nothing_is_unknown_with_its_reason(engine, tries):
    (row,) = answer(engine(*flagged("a", tries, False, then="error"), *flagged("b", tries, True, then="error")))
    assert (row["flag_precision"], row["flag_low"], row["flag_recall"]) == (0.0, 0.0, None)
    assert row["flag_recall_reason"] == "no retry succeeded"
    (row,) = answer(engine(*flagged("a", tries, False, then="success")))
    assert (row["flag_precision"], row["flag_low"], row["flag_high"]) == (None, None, None)
    assert (row["flag_recall"], row["recall_low"]) == (0.0, 0.0)


def test_an_attempt_that_was_cut_short_is_not_tried_again(engine, tries):
    (row,) = answer(engine(*tries("a", ("error", True, 0, None), (None, None, 1, None))))
    assert (row["flagged_retried"], row["flagged_not_retried"], row["gaps"], row["left_out"]) == (0, 1, 0, 1)


def test_gaps_worked_by_hand(engine, tries):
    con = engine(
        *tries("within", *gaps(1, 2, 4)),
        *tries("too long", *gaps(1.5, 2)),
        *tries("overlapping", *gaps(1), duration_ms=2000.0),
        *tries("none", *gaps(0, 0.005)),
        *tries("jitter", *gaps(0.9, 0.2)),
        *tries("capped", *gaps(1, 2, 4, 8, 16, 32, 60, 60, 70)),
    )
    (row,) = answer(con)
    assert (row["gaps"], row["backoff_violations"], row["zero_gaps"], row["shrinking_gaps"]) == (19, 3, 2, 1)
    (row,) = answer(con, base_s=2, cap_s="2.5")
    assert row["backoff_violations"] == 1 + 1 + 7
    assert answer(con, base_s=100, cap_s=100)[0]["backoff_violations"] == 1


def test_a_wait_shorter_than_retry_after_is_a_violation(engine, tries):
    attempts = [("error", True, 0, 30.0), ("error", True, 30.0, 5), ("success", None, 2.0, None)]
    (row,) = answer(engine(*tries("a", *attempts), *tries("b", ("error", True, 0, 7))))
    assert (row["gaps"], row["waits_asked"], row["ignored_retry_after"], row["backoff_violations"]) == (2, 2, 1, 0)


@pytest.mark.parametrize("retry_after", ['"soon"', "null", "-3", "1e99", "[]", "{}", '""'])
def test_an_invalid_retry_after_is_ignored(engine, tries, retry_after):
    (row,) = answer(engine(*tries("a", ("error", True, 0, retry_after), ("success", None, 0, None))))
    assert (row["gaps"], row["waits_asked"], row["ignored_retry_after"]) == (1, 0, 0)


def test_a_gap_counts_only_after_a_failure_and_between_finished_attempts(engine, tries):
    con = engine(
        *tries("a", ("success", None, 0, None), ("error", None, 0, None)),
        *tries("b", ("error", None, 0, None), (None, None, 0, None), ("error", None, 0, None)),
        *tries("c", ("error", None, 0, 9), ("error", None, 0, None), duration_ms=None),
    )
    (row,) = answer(con)
    assert (row["gaps"], row["zero_gaps"], row["waits_asked"], row["untimed"]) == (0, 0, 0, 2)


@pytest.mark.parametrize("odd", [nan, inf, -inf, -5.0, None])
def test_attempts_without_a_duration_waste_no_time_and_are_counted(engine, call, odd):
    con = engine(
        *call("a", "error", "success"), *call("b", "error", duration_ms=odd), *call("c", None, duration_ms=odd)
    )
    (row,) = answer(con)
    assert (row["wasted_ms"], row["wasted_share"], row["untimed"]) == (10.0, 0.5, 1)
    (row,) = answer(engine(*call("a", "error", "success", duration_ms=odd)))
    assert (row["wasted_ms"], row["wasted_share"], row["untimed"]) == (None, None, 2)


def test_the_time_of_a_streams_consumer_is_not_a_wait(engine, make):
    first = make(call_id="a", status="error", duration_ms=1000.0, consumer_ms=2000.0)
    second = make(call_id="a", attempt=2, started_at=first.started_at + timedelta(seconds=3.5))
    (row,) = answer(engine(first, second), base_s=0.5)
    assert (row["gaps"], row["zero_gaps"], row["backoff_violations"]) == (1, 0, 0)


def test_the_same_call_id_elsewhere_is_not_a_retry(engine, make):
    same = {"call_id": "call_1", "status": "error"}
    con = engine(
        make(**same), make(**same, conversation_id="other"), make(**same, conversation_id=None, host="session", pid=0),
        make(**same, conversation_id=None, host="session"), make(**same, conversation_id=None, host="session", attempt=2),
    )  # fmt: skip
    (row,) = answer(con)
    assert (row["calls"], row["attempts"], row["retried"], row["gave_up"]) == (4, 5, 1, 4)


def expected_row(calls):
    """Return the expected row for ``calls``, each a list of the parts that ``tries`` accepts, computed in a loop."""
    names = ("calls", "attempts", "retried", "recovered", "gave_up", "flagged_retried", "flagged_not_retried", "recall_n",
             "gaps", "zero_gaps", "shrinking_gaps", "backoff_violations", "waits_asked", "ignored_retry_after", "left_out")  # fmt: skip
    counts = dict.fromkeys((*names, "yes_helped", "no_again"), 0)
    for parts in calls:
        done = [part[0] for part in parts if part[0]]
        counts["left_out"] += len(parts) - len(done)
        counts["attempts"] += len(done)
        counts["calls"] += bool(done)
        counts["retried"] += len(done) > 1
        counts["recovered"] += bool(done) and "error" in done and done[-1] != "error"
        counts["gave_up"] += bool(done) and done[-1] == "error"
        for i, (status, flag, _, retry_after) in enumerate(parts):
            later = [part[0] for part in parts[i + 1 :] if part[0]]
            if status == "error":
                helped = bool({"success", "partial"} & set(later))
                counts["flagged_retried"] += flag is True and bool(later)
                counts["flagged_not_retried"] += flag is True and not later
                counts["yes_helped"] += flag is True and helped
                counts["no_again"] += flag is False and bool(later)
                counts["recall_n"] += flag is not None and helped
            if status == "error" and i + 1 < len(parts) and parts[i + 1][0]:
                gap, before = parts[i + 1][2], parts[i][2]
                counts["gaps"] += 1
                counts["zero_gaps"] += gap == 0
                counts["shrinking_gaps"] += i > 0 and parts[i - 1][0] == "error" and gap < before
                k = sum(part[0] is not None for part in parts[:i])
                counts["backoff_violations"] += gap > 1.1 * (min(60, 2**k) + (retry_after or 0)) + 0.01
                counts["waits_asked"] += retry_after is not None
                counts["ignored_retry_after"] += retry_after is not None and gap < retry_after
    yes, again, no, helped_with_flag = (
        counts.pop(name) for name in ("yes_helped", "flagged_retried", "no_again", "recall_n")
    )
    flags = {
        "flag_precision": yes / again if again else None,
        "flag_recall": yes / helped_with_flag if helped_with_flag and no else None,
    }
    return {**counts, "flagged_retried": again, "recall_n": helped_with_flag, **flags}


@pytest.mark.parametrize("seed", range(15))
def test_a_plain_program_comes_to_the_same(engine, tries, seed):
    draw = random.Random(seed)
    calls = [
        [
            (status, draw.choice([True, False, None]), draw.choice([0, 0.5, 1.5, 3, 9]), draw.choice([None, 0.8]))
            for status in draw.choices(
                ["error", "success", "partial", None], [6, 3, 1, 1], k=draw.choice([1, 1, 2, 3, 5])
            )
        ]
        for _ in range(draw.choice([1, 2, 40]))
    ]
    (row,) = answer(engine(*(record for i, parts in enumerate(calls) for record in tries(f"c{i}", *parts))), by=[])
    expected = expected_row(calls)
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert (row["flag_recall"] is None) == (row["flag_recall_reason"] is not None)


def test_retries_of_many_groups_stay_with_their_call(engine, tries):
    con = engine(
        *tries("a", ("error", True, 0, None), ("success", None, 1, None), tool_version="1"),
        *tries("b", ("error", False, 0, None), ("success", None, 1, None), tool_version="2"),
        *tries("c", ("success", None, 0, None), tool_version="3"),
    )
    rows = {row["version"]: row for row in answer(con, by="version")}
    assert [(rows[v]["flagged_retried"], rows[v]["flag_recall"], rows[v]["gaps"]) for v in "123"] == [
        (1, None, 1), (0, 0.0, 1), (0, None, 0),
    ]  # fmt: skip


def test_nothing_in_the_window_is_an_empty_answer(engine, call):
    con = engine(*call("a", "error", "success"))
    assert answer(con, since="2027-01-01") == answer(con, tool="none") == []
    (row,) = answer(con, since="2027-01-01", by=[])
    assert (row["calls"], row["attempts"], row["amplification"], row["flag_precision"]) == (0, 0, None, None)
