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
