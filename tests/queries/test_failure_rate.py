"""Failures over what can fail, with Wilson's interval, for attempts and for calls."""

from __future__ import annotations

import random

import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.queries.answers import run
from tooltrace.errors import BadParameter


def answer(con, **given):
    relation = run(con, "failure_rate", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.mark.parametrize(
    ("failures", "n", "low", "high"),
    [(81, 263, 0.255289, 0.366210), (0, 20, 0.0, 0.161125), (20, 20, 0.838875, 1.0)],
)
def test_the_known_intervals(engine, make, failures, n, low, high):
    (row,) = answer(engine(*(make(status="error" if i < failures else "success") for i in range(n))))
    assert (row["attempts"], row["failures"], row["rate"]) == (n, failures, failures / n)
    assert (row["low"], row["high"]) == pytest.approx((low, high), abs=5e-7)
    assert 0 <= row["low"] <= row["rate"] <= row["high"] <= 1
    assert (row["calls"], row["call_rate"], row["call_low"], row["call_high"]) == (
        n,
        row["rate"],
        row["low"],
        row["high"],
    )


def test_a_response_that_reports_an_error_is_a_failure_as_much_as_a_raise(engine, make):
    (row,) = answer(engine(make(status="error"), make(status="error", ending="raised"), make(status="partial"), make()))
    assert (row["failures"], row["attempts"], row["partial_rate"]) == (2, 4, 0.25)


def test_attempts_without_a_result_are_shown_and_not_counted(engine, make):
    endings = ["cancelled", "abandoned", "paused", "declined", "expired"]
    con = engine(make(), make(status=None), *(make(status=None, ending=ending) for ending in endings))
    (row,) = answer(con)
    assert (row["attempts"], row["failures"], row["calls"]) == (1, 0, 1)
    assert [row[name] for name in (*endings, "unreported")] == [1] * 6
    (row,) = answer(engine(make(status="error", ending="declined")))
    assert (row["attempts"], row["rate"], row["low"], row["high"], row["call_low"]) == (
        0,
        None,
        None,
        None,
        None,
    )
    assert row["too_few"] is True


def test_results_that_nothing_states_are_counted(engine, make):
    con = engine(
        make(rule_grade="unread"), make(rule_grade="unread", call_id="a", started_at="2026-03-01 12:00:01"),
        make(rule_grade="certain", call_id="a", started_at="2026-03-01 12:00:02"), make(rule_grade=None),
        make(rule_grade="unread", status=None, ending="cancelled"),
        make(status="error", rule_grade="heuristic"), make(status="error", rule_grade="certain"),
        make(status="partial", rule_grade="heuristic"),
    )  # fmt: skip
    (row,) = answer(con)
    assert (row["attempts"], row["failures"], row["unread"], row["heuristic"]) == (7, 2, 2, 1)


def test_failures_that_only_a_heuristic_rule_found_can_be_left_out(engine, make):
    con = engine(
        make(status="error", rule="error_text", rule_grade="heuristic"), make(status="error", rule="flags", rule_grade="certain"),
        make(status="error"), make(rule="plain", rule_grade="unread"),
    )  # fmt: skip
    assert [(row["attempts"], row["failures"], row["failed_calls"]) for row in answer(con)] == [(4, 3, 3)]
    for rules, failures in (("certain", 2), ("all", 3)):
        (row,) = answer(con, rules=rules)
        assert (row["attempts"], row["failures"], row["failed_calls"]) == (4, failures, failures)
        assert row["rate"] == failures / 4
    with pytest.raises(BadParameter, match="^parameter 'rules' must be 'certain' or 'all'; got 'heuristic'"):
        answer(con, rules="heuristic")
    found = {(row["rule"], row["rule_grade"]): row["failures"] for row in answer(con, by=["rule", "rule_grade"])}
    assert found == {("error_text", "heuristic"): 1, ("flags", "certain"): 1, (None, None): 1, ("plain", "unread"): 0}


def test_a_call_failed_where_its_last_finished_attempt_did(engine, make):
    def attempts(call, *statuses):
        return [make(call_id=call, attempt=i, status=status, ending="returned" if status else "cancelled",
                     started_at=f"2026-03-01 12:00:0{i}") for i, status in enumerate(statuses, 1)]  # fmt: skip

    con = engine(*attempts("a", "error", "success"), *attempts("b", "error", "error"), *attempts("c", "error", None))
    (row,) = answer(con)
    assert (row["attempts"], row["failures"]) == (5, 4)
    assert (row["calls"], row["failed_calls"], row["cancelled"]) == (3, 2, 1)


def test_the_same_call_id_in_another_conversation_tool_or_process_is_another_call(engine, make):
    same = {"call_id": "call_1", "status": "error"}
    con = engine(
        make(**same), make(**same, conversation_id="other"), make(**same, tool="fetch"),
        make(**same, conversation_id=None, host="h", pid=1), make(**same, conversation_id=None, host="h", pid=2),
        make(**same, conversation_id=None, host="h", pid=2, attempt=2),
    )  # fmt: skip
    (row,) = answer(con, by=[])
    assert (row["attempts"], row["calls"], row["failed_calls"]) == (6, 5, 5)


def test_as_many_calls_as_the_view_calls_has(engine, make):
    con = engine(*(make(call_id=f"call_{i % 7}", attempt=i // 7 + 1, tool=f"t{i % 2}") for i in range(40)))
    ((count,),) = con.execute("SELECT count(*) FROM calls").fetchall()
    assert answer(con, by=[])[0]["calls"] == count


def test_groups_with_few_attempts_are_marked(engine, make):
    con = engine(*(make() for _ in range(20)))
    assert [row["too_few"] for n in (20, 21) for row in answer(con, min_n=n)] == [False, True]


@pytest.mark.parametrize("seed", range(12))
def test_every_interval_is_wilsons(engine, make, seed):
    draw = random.Random(seed)
    n = draw.choice([1, 2, 3, 40])
    statuses = draw.choices(["error", "partial", "success"], [draw.random(), draw.random(), draw.random()], k=n)
    (row,) = answer(engine(*(make(status=status) for status in statuses)))
    for part, low, high in (
        ("error", "low", "high"),
        ("error", "call_low", "call_high"),
        ("partial", "partial_low", "partial_high"),
    ):
        expected = proportion_confint(statuses.count(part), n, method="wilson")
        assert (row[low], row[high]) == pytest.approx(expected, abs=1e-9)
        assert 0 <= row[low] <= statuses.count(part) / n <= row[high] <= 1


def test_calls_with_and_without_a_process_are_distinct(engine, make):
    same = {"call_id": "call_1", "status": "error"}
    con = engine(
        make(**same, conversation_id="h"), make(**same, conversation_id=None, host="h"),
        make(**same, conversation_id=None, host="h", pid=0), make(**same, conversation_id=None),
        make(**same, conversation_id=None, attempt=2),
    )  # fmt: skip
    (row,) = answer(con)
    assert (row["attempts"], row["calls"], row["failed_calls"]) == (5, 4, 4)


def conversations(make, *clusters):
    """``clusters``: for each conversation, its attempts and how many of them failed."""
    return [make(conversation_id=f"talk_{i}", status="error" if j < failures else "success")
            for i, (n, failures) in enumerate(clusters) for j in range(n)]  # fmt: skip


def test_attempts_of_a_conversation_are_one_draw(engine, make):
    """Worked by hand: ten conversations of ten attempts, of which two fail completely."""
    (row,) = answer(engine(*conversations(make, *[(10, 10)] * 2, *[(10, 0)] * 8)))
    assert (row["clusters"], row["rate"], row["too_few"]) == (10, 0.2, False)
    # the variance between conversations is 100/9 of the binomial's, but no clusters are less certain than one attempt each
    assert row["design_effect"] == pytest.approx(10)
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(2, 10, method="wilson"), abs=1e-9)


def test_similar_conversations_leave_the_interval_almost_that_of_independent_attempts(engine, make):
    (row,) = answer(engine(*conversations(make, *[(10, 3)] * 100)))
    # the spread over 100 conversations, and the t quantile of 99 degrees of freedom
    expected = (1 + 0.7 / 100.7 * 9) * (1.984216952 / 1.959963985) ** 2
    assert row["design_effect"] == pytest.approx(expected, rel=1e-6)
    n = 1000 / expected
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(0.3 * n, n, method="wilson"), abs=1e-7)


def test_without_failures_a_conversation_counts_as_one_attempt(engine, make):
    (row,) = answer(engine(*conversations(make, *[(10, 0)] * 20)))
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(0, 20, method="wilson"), abs=1e-9)


def test_fewer_than_five_conversations_are_too_few(engine, make):
    for n, few in ((1, True), (4, True), (5, False)):
        assert answer(engine(*conversations(make, *[(50, 5)] * n)))[0]["too_few"] is few
    (row,) = answer(engine(*conversations(make, (50, 5))))
    assert (row["clusters"], row["design_effect"]) == (1, 50)


def test_without_conversations_a_trace_of_several_attempts_is_one_draw(engine, make):
    alone = [make(conversation_id=None) for _ in range(30)]
    together = [make(conversation_id=None, trace_id="f" * 32, status="error") for _ in range(10)]
    assert [answer(engine(*alone))[0][name] for name in ("clusters", "design_effect")] == [30, 1]
    (row,) = answer(engine(*alone, *together))
    assert row["clusters"] == 31
    # residuals at 10 / 40: 7.5 of the trace, 0.25 of each other: 58.125 in place of the 7.5 of 40 independent attempts
    assert row["design_effect"] == pytest.approx(58.125 / (40 * 0.25 * 0.75))


def test_attempts_of_a_call_are_one_draw_although_each_has_its_own_trace(engine, make):
    retried = [make(call_id=f"call {i}", attempt=j, status="error") for i in range(6) for j in (1, 2, 3)]
    (row,) = answer(engine(*retried))
    assert (row["attempts"], row["calls"], row["clusters"]) == (18, 6, 6)
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(6, 6, method="wilson"), abs=1e-9)
    assert (row["call_low"], row["call_high"]) == (row["low"], row["high"])


def test_each_rate_has_the_design_effect_of_its_own(engine, make):
    """Failures come by conversation, partial results do not, and each conversation is one call."""
    statuses = {0: "error", 1: "partial"}
    records = [make(call_id=f"c{i}", conversation_id=f"t{i}", attempt=j,
                    status="error" if i < 8 else statuses.get(1 if j == i % 5 else 2, "success"))
               for i in range(40) for j in range(5)]  # fmt: skip
    (row,) = answer(engine(*records))
    assert row["high"] - row["low"] == pytest.approx(row["call_high"] - row["call_low"], abs=1e-9)
    assert row["partial_high"] - row["partial_low"] < 0.6 * (row["high"] - row["low"])


def test_calls_of_several_attempts_that_are_a_cluster_each_keep_wilsons_interval(engine, make):
    retried = [
        make(conversation_id=None, call_id=f"call {i}", attempt=j, trace_id=f"{i:032x}", status="error" if i < 15 else "success",
             started_at=f"2026-03-01 {i // 2:02}:{i % 2 * 30:02}:{j:02}")
        for i in range(30) for j in (1, 2, 3)
    ]  # fmt: skip
    (row,) = answer(engine(*retried))
    assert (row["call_low"], row["call_high"]) == pytest.approx(proportion_confint(15, 30, method="wilson"), abs=1e-9)
    assert (row["low"], row["high"]) == pytest.approx((row["call_low"], row["call_high"]), abs=1e-2)


def test_grouped_by_conversation_each_call_is_a_cluster(engine, make):
    con = engine(
        *(make(conversation_id="talk", trace_id="one", status="error" if i < 6 else "success") for i in range(30)),
        *(make(conversation_id="talk", call_id="again", attempt=i + 1) for i in range(3)),
        *(make(conversation_id=None, trace_id="run") for _ in range(25)),
    )
    talk, other = sorted(answer(con, by="conversation"), key=lambda row: row["conversation"] is None)
    assert (talk["attempts"], talk["clusters"], talk["too_few"]) == (33, 31, False)
    assert (talk["call_low"], talk["call_high"]) == pytest.approx(proportion_confint(6, 31, method="wilson"))
    assert (other["clusters"], other["too_few"]) == (1, True)  # without conversations, a trace is still one cluster
    assert [row["clusters"] for row in answer(con)] == [2]
