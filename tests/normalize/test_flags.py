"""A flag beside whatever else: {"ok": false}, {"success": true}."""

from __future__ import annotations

import pytest

from tests.normalize.shapes import CERTAIN, read
from tooltrace.normalize import normalize


@pytest.mark.parametrize(
    ("value", "code", "message"),
    [
        ({"ok": False, "error": "invalid_auth"}, "ACCESS_DENIED", "invalid_auth"),
        ({"ok": False, "error": "channel_not_found", "needed": "x"}, "NOT_FOUND", "channel_not_found"),
        ({"ok": False, "error": "ratelimited"}, "RATE_LIMIT", "ratelimited"),
        ({"ok": False, "error": "not_in_channel", "message": "join it"}, "not_in_channel", "join it"),
        ({"success": False, "message": "Rate limit exceeded"}, "RATE_LIMIT", "Rate limit exceeded"),
        ({"success": False, "reason": "the page timed out"}, "TIMEOUT", "the page timed out"),
        ({"success": False, "detail": "no permission: forbidden"}, "PERMISSION_DENIED", "no permission: forbidden"),
        ({"success": False, "error": {"code": "E7", "message": "m"}}, "E7", "m"),
        ({"success": False, "error": None, "message": "m"}, "EXECUTION_ERROR", "m"),
        ({"ok": False, "status": 404, "message": "gone"}, "NOT_FOUND", "gone"),
        ({"ok": False, "errorCode": "E7", "errorMessage": "m"}, "E7", "m"),
        ({"isSuccess": False, "error": "m"}, "EXECUTION_ERROR", "m"),
        ({"ok": False, "error": "is_archived"}, "is_archived", "is_archived"),
        ({"ok": False, "error": "cant_dm_bot", "message": "the call timed out"}, "TIMEOUT", "the call timed out"),
        ({"success": False, "error": "card_declined", "code": "E7"}, "E7", "card_declined"),
        ({"success": False, "error": "broken"}, "EXECUTION_ERROR", "broken"),
        ({"successful": False, "data": {}, "error": "no such app", "logId": "l1"}, "NOT_FOUND", "no such app"),
        ({"success": False, "errors": ["name is required", "age is required"]}, "INVALID_PARAM", "name is required"),
        ({"success": False}, "EXECUTION_ERROR", "EXECUTION_ERROR"),
    ],
)
def test_false_is_an_error_with_its_reason(value: dict, code: str, message: str) -> None:
    found = normalize(value, rules=CERTAIN)
    assert (found.status, found.code, found.error.message) == ("error", code, message)


def test_other_members_are_preserved() -> None:
    found = read({"ok": False, "error": "m", "data": [1], "retryable": True, "hint": "wait", "trace": "t7"})
    assert (found.payload, found.error.retryable, found.error.suggestion) == ([1], True, "wait")
    assert (found.context, found.meta.rule, found.meta.rule_grade) == ({"trace": "t7"}, "flags", "certain")


def test_slacks_word_is_the_type() -> None:
    assert read({"ok": False, "error": "invalid_auth"}).error.type == "invalid_auth"


@pytest.mark.parametrize(
    ("value", "data", "context"),
    [
        ({"success": True, "failed": 3}, {"failed": 3}, None),
        ({"ok": True, "channel": "C1", "ts": "1"}, {"channel": "C1", "ts": "1"}, None),
        ({"ok": True, "result": [1], "took": 3}, [1], {"took": 3}),
        ({"ok": True, "error": None, "x": 1}, {"x": 1}, None),
        ({"success": True}, None, None),
    ],
)
def test_true_is_a_success(value: dict, data: object, context: object) -> None:
    found = read(value)
    assert (found.status, found.payload, found.context, found.meta.rule) == ("success", data, context, "flags")


def test_a_failure_hidden_behind_true() -> None:
    for data in ({"error": "no such table: x"}, "Error: no such table: x"):
        found = read({"ok": True, "result": data, "took": 3})
        assert (found.status, found.code, found.payload) == ("error", "NOT_FOUND", data)
        assert found.meta.rule.startswith("flags/")
        assert found.meta.rule_grade == "heuristic"


def test_true_with_an_error_is_partial() -> None:
    found = read({"ok": True, "result": [1], "error": "page 2 timed out"})
    assert (found.status, found.code, found.payload, found.reason) == ("partial", "TIMEOUT", [1], "page 2 timed out")


@pytest.mark.parametrize(
    "value",
    [
        {"success": "false"},
        {"success": 0},
        {"ok": None},
        {"failed": False},
        {"success_rate": 0},
        {"launch": 1, "successful": False},
        {"successful": False, "error": "engine"},
    ],
)
def test_only_true_and_false_are_flags(value: dict) -> None:
    assert read(value).meta.rule == "plain"
