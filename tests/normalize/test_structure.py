"""Objects and lists that state their own failure by their structure; and records about errors."""

from __future__ import annotations

import pytest

from tests.normalize.shapes import CERTAIN, read
from tooltrace.normalize import normalize


@pytest.mark.parametrize(
    ("value", "code", "message"),
    [
        ({"error": "API rate limit exceeded", "count": "4"}, "RATE_LIMIT", "API rate limit exceeded"),
        ({"id": "1", "error": {"message": "Table 'x' does not exist", "code": 46}}, "NOT_FOUND", "Table 'x' does not exist"),
        ([{"source": "a.pdf", "success": False, "error": "File not found"}], "NOT_FOUND", "File not found"),
        ({"results": [{"success": False, "error": "x"}, {"success": False, "error": "y"}]}, "EXECUTION_ERROR", "x"),
        ({"code": "rest_no_route", "message": "No route was found", "data": {"status": 404}}, "NOT_FOUND", "No route was found"),
        ({"code": "index_not_found", "message": "Index `m` is missing"}, "NOT_FOUND", "Index `m` is missing"),
        ({"response": {"status": 503, "message": "Service Unavailable"}}, "SERVICE_UNAVAILABLE", "Service Unavailable"),
        ({"error": {"status": 404, "message": "no id 'x'"}, "request": {"id": 4}}, "NOT_FOUND", "no id 'x'"),
        ({"message": "Amount is too low", "errors": {"amount": ["must be at least 500"]}}, "INVALID_PARAM", "Amount is too low"),
        ([{"file": "a.csv", "error": "no such file"}, {"file": "b.csv", "error": "no such file"}], "NOT_FOUND", "no such file"),
    ],
)  # fmt: skip
def test_an_object_states_its_own_failure(value: object, code: str, message: str) -> None:
    found = read(value)
    assert (found.status, found.code, found.error.message) == ("error", code, message)
    assert found.meta.rule_grade == "heuristic" or isinstance(value["error"], dict)
    assert found.meta.rule != "structure" or normalize(value, rules=CERTAIN).status == "success"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([{"url": "a", "content": "x"}, {"url": "b", "error": "timed out"}], "1 of 2 failed"),
        ({"results": [{"success": True, "data": 1}, {"success": False, "error": "y"}]}, "1 of 2 failed"),
        ([{"ok": True, "rows": 3, "file": "a"}, {"ok": False, "error": "no header", "file": "b"}], "1 of 2 failed"),
        ({"results": [{"address": "A", "lat": 1.0}, {"address": "B", "error": "address not found"}]}, "1 of 2 failed"),
    ],
)
def test_a_list_of_which_some_items_failed_is_partial(value: object, reason: str) -> None:
    found = read(value)
    assert (found.status, found.reason, found.data) == ("partial", reason, value)


@pytest.mark.parametrize(
    "value",
    [
        {"success": True, "result": {"error": ["a.log", "b.log"]}},  # what the object states of itself wins
        {"ok": True, "data": {"error": ["a.log"]}},
        [{"error": "TimeoutError", "count": 14}, {"error": "KeyError", "count": 2}],
        [{"id": 1, "job": "nightly", "status": "failed", "error": "disk full"}, {"id": 2, "job": "hourly", "status": "failed", "error": "no space"}],
        [{"id": 1, "state": "error", "error_message": "build failed"}, {"id": 2, "state": "ready", "error_message": None}],
        [{"checked_at": "10:00", "status": 200}, {"checked_at": "10:05", "status": 503}],
        {"errors": [{"code": "E100", "description": "Disk full"}, {"code": "E101", "description": "Timeout"}]},
        {"code": "ECONNREFUSED", "message": "Connection refused", "description": "No process listens on the port."},
        {"error_rate": 0.2, "errors": 14},
        {"service": "api", "errors": 340, "requests": 2800},
        {"hits": [{"timestamp": "10:00", "level": "ERROR", "message": "connection refused"}], "total": 1},
        {"job": "j-4", "status": "failed", "error": "exit code 2"},
        [{"event": "login", "ok": False, "reason": "invalid password"}, {"event": "login", "ok": True, "reason": None}],
        {"number": 7, "title": "Error: timeout when saving", "state": "open", "body": "It fails with error 500"},
    ],
)  # fmt: skip
def test_a_record_about_an_error_is_data(value: object) -> None:
    assert read(value).status == "success"
