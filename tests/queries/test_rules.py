"""With rules='certain', a failure that only a heuristic rule found is an attempt that did not fail."""

from __future__ import annotations

import pytest

from tests.queries.answers import run

FAILURES = {
    "failure_rate": ({}, "failures, failed_calls"),
    "overview": ({}, "failures, failed_calls"),
    "timeline": ({}, "failures, failures"),
    "ranking": ({}, "failed_calls, failed_calls"),
    "compare": ({"before": "version:1", "after": "version:2"}, "round(after * n_after), round(after * n_after)"),
}
"""The parameters of each query, and its columns that count failures."""


@pytest.mark.parametrize("name", FAILURES)
def test_failures_of_heuristic_rules_can_count_as_attempts_that_did_not_fail(engine, make, name):
    grades = ["certain", "heuristic", "heuristic", None]
    con = engine(
        *(make(status="error", rule_grade=grade, tool_version="2") for grade in grades),
        *(make(rule_grade="unread", tool_version="2") for _ in range(4)),
        make(tool_version="1"),
    )
    params, columns = FAILURES[name]
    for rules, failures in (("all", 4), ("certain", 2)):
        row = run(con, name, rules=rules, **params).project(columns).fetchall()[0]
        assert row == (failures, failures), rules


def test_the_baseline_of_hurt_counts_the_same_failures(engine, make):
    con = engine(
        *(make(status="error", rule_grade="heuristic", started_at="2026-03-01 12:00:00") for _ in range(8)),
        *(make(started_at="2026-03-01 13:00:00") for _ in range(32)),
        make(started_at="2026-03-03 12:00:00"),
    )
    for rules, rate in (("all", 9 / 60), ("certain", 1 / 60)):
        relation = run(con, "ranking", since="2026-03-03", rules=rules).project("baseline_rate, baseline_calls")
        assert relation.fetchall() == [(pytest.approx(rate), 40)], rules
