"""The error bodies that standards and web services define: certain, and told from data that resembles them."""

from __future__ import annotations

import pytest

from tests.normalize.shapes import ALL, CERTAIN, read
from tooltrace.normalize import normalize

FIELD = {"message": "Cannot query field x", "locations": [{"line": 1, "column": 2}]}
BODIES = [
    ("problem_json", {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "no user 5"}, "NOT_FOUND", "no user 5"),
    ("problem_json", {"type": "/p/credit", "title": "Out of credit", "status": 403, "balance": 30}, "PERMISSION_DENIED", "Out of credit"),
    ("graphql", {"errors": [FIELD]}, "EXECUTION_ERROR", "Cannot query field x"),
    ("graphql", {"data": None, "errors": [{"message": "no", "extensions": {"code": "FORBIDDEN"}}]}, "PERMISSION_DENIED", "no"),
    ("graphql", {"data": {"user": None}, "errors": [{"message": "late: timed out", "path": ["user"]}]}, "TIMEOUT", "late: timed out"),
    ("api_error", {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}, "SERVICE_UNAVAILABLE", "Busy"),
    ("api_error", {"type": "error", "error": {"type": "not_found_error", "message": "m"}, "request_id": "r"}, "NOT_FOUND", "m"),
    ("api_error", {"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}}, "RATE_LIMIT", "slow"),
    ("api_error", {"error": {"code": 409, "message": "there", "status": "ALREADY_EXISTS"}}, "ALREADY_EXISTS", "there"),
    ("api_error", {"error": {"message": "bad key", "type": "invalid_request_error", "param": None, "code": "k"}}, "k", "bad key"),
    ("api_error", {"error": {"type": "card_error", "code": "card_declined", "message": "m"}}, "card_declined", "m"),
    ("api_error", {"__type": "com.amazonaws.x#ResourceNotFoundException", "message": "none"}, "NOT_FOUND", "none"),
    ("api_error", {"__type": "ThrottlingException", "message": "Rate exceeded"}, "RATE_LIMIT", "Rate exceeded"),
    ("api_error", {"Error": {"Code": "NoSuchKey", "Message": "no key"}, "ResponseMetadata": {"HTTPStatusCode": 404}}, "NOT_FOUND", "no key"),
    ("api_error", [{"message": "Session expired", "errorCode": "INVALID_SESSION_ID"}], "ACCESS_DENIED", "Session expired"),
    ("api_error", [{"message": "bad Foo__c", "errorCode": "INVALID_FIELD_FOR_X", "fields": ["Foo__c"]}], "INVALID_FIELD_FOR_X", "bad Foo__c"),
    ("api_error", {"errors": [{"status": "422", "title": "Invalid", "detail": "too short"}]}, "INVALID_PARAM", "too short"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "value", "code", "message"), BODIES)
def test_an_error_body(rule: str, value: dict, code: str, message: str) -> None:
    found = normalize(value, rules=CERTAIN)
    assert (found.status, found.code, found.error.message) == ("error", code, message)
    assert (found.meta.rule, found.meta.rule_grade) == (rule, "certain")


def test_graphql_with_data_in_part_is_partial() -> None:
    value = {"data": {"a": 1, "b": None}, "errors": [{"message": "b is down", "path": ["b"]}]}
    found = read(value)
    assert (found.status, found.data, found.reason) == ("partial", {"a": 1, "b": None}, "b is down")
    assert found.context == {"errors": value["errors"]}


def test_a_server_error_is_retryable() -> None:
    assert read({"type": "about:blank", "title": "Oops", "status": 500}).error.retryable is True
    assert read({"type": "about:blank", "title": "Oops", "status": 501}).error.retryable is False


@pytest.mark.parametrize(
    "value",
    [
        {"type": "https://x/y", "title": "Ticket", "status": 200},
        {"type": "bug", "title": "Not Found page", "status": 404, "assignee": "x", "id": 3},
        {"errors": [{"line": 3, "message": "unused import", "rule": "F401"}]},
        {"errors": [{"message": "unused import", "severity": "low"}], "warnings": []},
        {"errors": []},
        {"data": {"a": 1}, "errors": []},
        {"errors": 3},
        {"errors": [{"title": "a book", "detail": "on errors"}], "count": 1},
        {"__type": "Circle", "message": "round", "radius": 3},
        {"__type": {"name": "Query"}},
        {"error": {"mean": 0.1, "std": 0.2}},
        {"error": {"message": 5, "type": 4}},
        [],
        [{"message": "late", "errorCode": "E1", "createdAt": "2026"}],
        [{"message": "late", "errorCode": "E1"}, {"id": 3}],
    ],
)
def test_data_that_resembles_a_body(value: dict) -> None:
    assert normalize(value, rules=ALL).status == "success"


def test_the_extensions_of_a_problem_are_preserved() -> None:
    found = read({"type": "/p/credit", "title": "Out of credit", "status": 403, "detail": "30 left", "balance": 30})
    assert (found.error.type, found.context["balance"], found.context["status"]) == ("/p/credit", 30, 403)
    assert (found.error.message, found.context["title"]) == ("30 left", "Out of credit")
