"""Answers that are errors by a status, a number or a detail; and the statuses of things that were asked about."""

from __future__ import annotations

import pytest

from tests.normalize.shapes import CERTAIN, read
from tooltrace.normalize import normalize

LOC = {"loc": ["query", "n"], "msg": "field required", "type": "missing"}


@pytest.mark.parametrize(
    ("value", "code", "message"),
    [
        ({"status": "fail", "data": {"title": "A title is required"}}, "INVALID_PARAM", "A title is required"),
        ({"status": "FAILED", "reason": "m"}, "EXECUTION_ERROR", "m"),
        ({"status": "error"}, "EXECUTION_ERROR", "error"),
        ({"type": "error", "message": "m"}, "EXECUTION_ERROR", "m"),
        ({"failed": True, "changed": False, "msg": "m"}, "EXECUTION_ERROR", "m"),
        ({"code": 404, "message": "no such page"}, "NOT_FOUND", "no such page"),
        ({"statusCode": 500, "body": '{"message": "Internal server error"}'}, "API_ERROR", "Internal server error"),
        ({"statusCode": 403, "headers": {}, "body": "denied"}, "PERMISSION_DENIED", "denied"),
        ({"statusCode": 404, "message": "Cannot GET /x"}, "NOT_FOUND", "Cannot GET /x"),
        ({"detail": "Not found."}, "NOT_FOUND", "Not found."),
        ({"detail": "Authentication credentials were not provided."}, "ACCESS_DENIED", "Authentication credentials were not provided."),
        ({"detail": [LOC]}, "INVALID_PARAM", "query.n: field required"),
        ({"message": "Not Found", "documentation_url": "https://x", "status": "404"}, "NOT_FOUND", "Not Found"),
        ({"message": "Forbidden"}, "PERMISSION_DENIED", "Forbidden"),
        ({"message": "You have exceeded a secondary rate limit.", "documentation_url": "https://x"}, "RATE_LIMIT", "You have exceeded a secondary rate limit."),
        ({"success": "no", "message": "the table is locked"}, "CONFLICT", "the table is locked"),
        ({"ok": "False", "reason": "timed out", "code": "E7"}, "E7", "timed out"),
        ({"message": "失败", "code": "1001", "data": None}, "EXECUTION_ERROR", "失败"),
        ({"message": "Unauthenticated."}, "ACCESS_DENIED", "Unauthenticated."),
    ],
)  # fmt: skip
def test_an_answer_that_is_an_error(value: dict, code: str, message: str) -> None:
    found = read(value)
    assert (found.status, found.code, found.error.message) == ("error", code, message)
    assert found.meta.rule_grade == "heuristic"
    assert normalize(value, rules=CERTAIN).status == "success"


def test_the_body_of_an_http_response_is_preserved() -> None:
    found = read({"statusCode": 503, "body": {"error": "overloaded"}, "headers": {"retry-after": "3"}})
    assert (found.code, found.data, found.context["headers"]) == (
        "SERVICE_UNAVAILABLE",
        {"error": "overloaded"},
        {"retry-after": "3"},
    )


@pytest.mark.parametrize(
    "value",
    [
        {"status": "failed", "job_id": "j1"},
        {"job_id": "j1", "status": "error", "message": "out of disk"},
        {"build": 12, "status": "failed", "reason": "tests failed"},
        {"host": "db1", "status": "error"},
        {"status": "error", "count": 3},
        {"message": "退出登录成功", "code": "1000", "data": None},
        {"message": "signed out successfully", "code": 1000, "data": None},
        {"message": {"greeting": "hello"}},
        {"message": {"roles": ["user"]}, "id": 4},
        {"status": "error", "items": [1, 2]},
        {"status": "success", "message": "error log rotated"},
        {"code": 200, "message": "ok"},
        {"code": 0, "msg": "success", "data": None},
        {"code": 12345, "message": "Your verification code"},
        {"code": 404, "meaning": "Not Found"},
        {"status": 404, "meaning": "Not Found", "rfc": 9110},
        {"url": "https://x", "status_code": 404},
        {"statusCode": 200, "body": "error"},
        {"code": 500, "name": "Widget"},
        {"number": 404, "title": "Fix timeout"},
        {"detail": "The painting shows a girl."},
        {"detail": "the room was not found by anyone", "chapter": 3},
        {"message": "Created"},
        {"message": "The word timeout means a pause"},
        {"failed": 0, "passed": 3},
        {"failed": True},
        {"success": "false"},
        {"success": "yes", "message": "timed out once, then done"},
        {"success": "no", "launch": 3, "message": "it blew up"},
        {"success": "no", "data": [1], "message": "x"},
        {"status": "timeout", "job_id": "j1"},
        {"status": "not_found"},
        {"status": "unavailable"},
        {"message": "How a page is laid out", "documentation_url": "https://x"},
    ],
)
def test_the_status_of_something_else(value: dict) -> None:
    assert read(value).status == "success"
