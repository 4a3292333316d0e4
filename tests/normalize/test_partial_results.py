"""Answers that say that something is missing; and those that only have the word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.normalize.shapes import CERTAIN, anything, lost, objects, read
from tests.normalize.test_rule_index import ASKED_ALL
from tooltrace.normalize import RULES, normalize
from tooltrace.normalize.engine import apply_rules_to_view
from tooltrace.normalize.rule import ResultView


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"lines": ["a"], "isTruncated": True}, "is truncated"),
        ({"stdout": "a", "output_truncated": True, "exit_code": 0}, "output truncated"),
        ({"total_count": 900, "incomplete_results": True, "items": [{"id": 1}]}, "incomplete results"),
        ({"status": "partial_failure", "written": 3, "failed": 1}, "partial failure"),
        ({"status": "PartiallySucceeded", "total": 3}, "partially succeeded"),
        ("a\nb\n[output truncated]", "[output truncated]"),
        ("a\n... (truncated, 120 more lines)", "... (truncated, 120 more lines)"),
        ("a\n<response clipped>", "<response clipped>"),
        ({"items": [1, 2], "total": 500, "has_more": True}, "2 of 500"),
        ({"rows": [1], "message": "Results truncated to 100 rows"}, "Results truncated to 100 rows"),
        ("Showing 100 of 500 results\n\na\nb", "Showing 100 of 500 results"),
        ("a\nb\n(showing 100 of 5,000 rows)", "(showing 100 of 5,000 rows)"),
        ("a\n[300 more lines omitted]", "[300 more lines omitted]"),
        ("Output truncated to 30000 characters.\na", "Output truncated to 30000 characters."),
        (
            "a\n(Results may be incomplete: 2 feeds did not answer)",
            "(Results may be incomplete: 2 feeds did not answer)",
        ),
    ],
)
def test_the_gap_is_the_reason(value: object, reason: str) -> None:
    found = read(value)
    assert (found.status, found.reason, found.data) == ("partial", reason, value)
    assert (found.meta.rule, found.meta.rule_grade) == ("incomplete", "heuristic")
    assert normalize(value, rules=CERTAIN).status == "success"


@pytest.mark.parametrize(
    "value",
    [
        {"rows": [1], "truncated": False},
        {"items": [1, 2], "has_more": True},
        {"items": [1, 2], "total": 500, "has_more": True, "next_page": 2},
        {"items": [1, 2], "total": 2, "has_more": True},
        "Showing 5 of 5 results",
        {"truncated": True},
        {"id": 7, "text": "so it goes…", "truncated": True},
        {"Contents": [1], "IsTruncated": True, "NextContinuationToken": "t"},
        {"items": [1], "truncated": True, "has_more": True},
        {"status": "partial"},
        {"status": "partial_success", "job_id": "j1"},
        {"status": "partial_success", "started_at": "2026"},
        {"order": 3, "status": "partially_filled"},
        "(truncated normal distribution)",
        "[list of omitted words]",
        "The output is truncated when it is longer than 30 lines.\nSee --full.",
        "truncated\n(cut off the ends)",
        "def truncated(rows): ...",
    ],
)
def test_text_with_only_the_keyword_is_not_partial(value: object) -> None:
    assert read(value).status == "success"


def test_a_marker_inside_the_text_is_content() -> None:
    assert read("first\n[output truncated]\nlast").status == "success"


SHAPES = (
    objects("rows", "text", "id", "next_page", sure={"truncated": st.booleans()}),
    objects("processed", "message", "job_id", sure={"status": anything | st.just("partial_success")}),
)


@given(st.one_of(*SHAPES))
def test_any_value_is_accepted_and_preserved(value: dict) -> None:
    assert lost(value, read(value)) == []
    assert apply_rules_to_view(ResultView(value), RULES) == apply_rules_to_view(ResultView(value), ASKED_ALL)
