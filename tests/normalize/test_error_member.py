"""Answers that are errors by shape; and rows, reports and figures in which an error is one thing among others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.normalize.shapes import CERTAIN, read
from tooltrace.normalize import normalize


@pytest.mark.parametrize(
    ("value", "code", "message"),
    [
        ({"error": "City not found"}, "NOT_FOUND", "City not found"),
        ({"error": "City not found", "city": "Atlantis"}, "NOT_FOUND", "City not found"),
        ({"error": "no data", "station": "X"}, "EXECUTION_ERROR", "no data"),
        ({"query": "x", "error": "search timed out"}, "TIMEOUT", "search timed out"),
        ({"error": "rate_limited", "retry_after": 30}, "RATE_LIMIT", "rate_limited"),
        ({"error": "boom", "traceback": "Traceback…", "type": "ValueError"}, "INVALID_PARAM", "boom"),
        ({"error": {"reason": "no such index"}, "status": 404}, "NOT_FOUND", "no such index"),
        ({"data": None, "error": {"message": "m", "code": "PGRST116", "hint": None}}, "PGRST116", "m"),
        ({"error": "no rows", "results": []}, "EXECUTION_ERROR", "no rows"),
        ({"error": True, "message": "it is broken"}, "EXECUTION_ERROR", "it is broken"),
        ({"error": 404, "message": "gone"}, "NOT_FOUND", "gone"),
        ({"error": ["name is required"]}, "INVALID_PARAM", "name is required"),
        ({"errors": ["name is required", "b"]}, "INVALID_PARAM", "name is required"),
        ({"message": "The data was invalid.", "errors": {"name": ["required"]}}, "INVALID_PARAM", "The data was invalid."),
        ({"errorMessage": "boom", "errorType": "TimeoutError", "stackTrace": ["a"]}, "TIMEOUT", "boom"),
        ({"timestamp": "2026", "status": 404, "error": "Not Found", "path": "/x"}, "NOT_FOUND", "Not Found"),
        ({"Message": "An error has occurred.", "ExceptionMessage": "Timeout expired.", "ExceptionType": "System.X", "StackTrace": "at Y"}, "TIMEOUT", "Timeout expired."),
        ({"status": "failed", "error": "out of memory"}, "EXECUTION_ERROR", "out of memory"),
        ({"fault": {"faultstring": "Invalid ApiKey", "detail": {"errorcode": "k"}}}, "ACCESS_DENIED", "Invalid ApiKey"),
        ({"error": "unknown table: t", "available_tables": ["a", "b"]}, "EXECUTION_ERROR", "unknown table: t"),
    ],
)  # fmt: skip
def test_an_answer_that_is_an_error(value: dict, code: str, message: str) -> None:
    found = read(value)
    assert (found.status, found.code, found.error.message) == ("error", code, message)
    assert found.meta.rule_grade == "heuristic" or "type" in value["error"]
    assert normalize(value, rules=CERTAIN).status == "success"


@pytest.mark.parametrize(
    "value",
    [
        {"error": None, "rows": [1]},
        {"error": ""},
        {"error": {}},
        {"error": []},
        {"error": False, "x": 1},
        {"error": "none"},
        {"error": "No error."},
        {"error": "N/A", "value": 3},
        {"error": 0.03, "value": 1.2},
        {"error": "0.5%"},
        {"error": 3},
        {"error": 404},
        {"error": {"mean": 0.1, "std": 0.2}},
        {"error": {"type": "absolute", "value": 0.03}},
        {"error": "sensor drifts", "available_rows": [{"t": 1}, {"t": 2}]},
        {"id": 7, "error_response": {"detail": "too late"}, "attempts_made": [{"at": "2026-01-01"}]},
        {"id": 7, "status": "ok", "error_response": {"detail": "The server is down"}},
        {"value": 10, "error": "5 mm"},
        {"id": 7, "name": "nightly", "error": "boom", "finished_at": "2026-01-01"},
        {"error": "boom", "id": 7},
        {"name": "nightly", "error": "boom"},
        {"error": "boom", "job_name": "nightly"},
        {"host": "db1", "error": "connection refused", "checked_at": "x"},
        {"error": "boom", "steps": [{"n": 1}]},
        {"error": "boom", "a": 1, "b": 2, "c": 3},
        {"status": "completed", "error": "retried once"},
        {"level": "ERROR", "service": "api", "error": "timeout"},
        {"valid": False, "errors": ["line 3: unexpected comma"]},
        {"errors": [{"line": 3, "message": "unused import"}]},
        {"errors": {"total": 3}},
        {"errors": ["a"], "passed": 3},
        {"error_count": 0, "rows": []},
        {"error_log": "timeout"},
        {"definition": "a mistake", "word": "error"},
    ],
)
def test_an_error_that_is_one_thing_among_others(value: dict) -> None:
    assert read(value).status == "success"


def test_data_with_an_error_is_a_partial_result() -> None:
    found = read({"results": [1, 2], "error": "page 3 timed out"})
    assert (found.status, found.code, found.data, found.reason) == ("partial", "TIMEOUT", [1, 2], "page 3 timed out")


@given(st.floats() | st.integers() | st.booleans() | st.none())
def test_a_figure_called_error_is_a_figure(figure: object) -> None:
    assert read({"error": figure}).status == "success"
    assert read({"value": 1.5, "error": figure}).status == "success"
