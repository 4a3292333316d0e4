"""Failures where the data should be; and data that only has a word of theirs in it."""

from __future__ import annotations

import pytest

from tests.normalize.shapes import CERTAIN, read
from tooltrace.normalize import normalize


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("timeout", "TIMEOUT"),
        ("Timed out.", "TIMEOUT"),
        ("  Rate limit exceeded!  ", "RATE_LIMIT"),
        ("not_found", "NOT_FOUND"),
        ("请求超时", "TIMEOUT"),
        ("权限不足。", "PERMISSION_DENIED"),
        ({"data": "timeout"}, "TIMEOUT"),
        ({"result": "Not found"}, "NOT_FOUND"),
        ({"result": "Error: cannot connect to db"}, "NETWORK_ERROR"),
        ({"output": "错误：文件不存在"}, "NOT_FOUND"),
        ({"output": {"error": "no such table"}}, "NOT_FOUND"),
        ({"result": '{"error": "no such table"}'}, "NOT_FOUND"),
        ({"status": "ok", "data": "service unavailable", "error": None}, "SERVICE_UNAVAILABLE"),
        ({"response": "ValueError: bad literal", "query": "x"}, "INVALID_PARAM"),
    ],
)
def test_a_failure_in_the_place_of_data(value: object, code: str) -> None:
    found = read(value)
    assert (found.status, found.code, found.meta.rule_grade) == ("error", code, "heuristic")
    assert normalize(value, rules=CERTAIN).status == "success"


@pytest.mark.parametrize(
    "value",
    [
        "timeout is a command of coreutils",
        "The request did not time out",
        "failed",
        "error",
        "N/A",
        "no results",
        {"data": "the timeout is 30 s"},
        {"data": "timeout", "value": 30},
        {"name": "timeout", "value": 30},
        {"value": "timeout"},
        {"content": "timeout", "path": "config.ini"},
        {"translation": "not found"},
        {"result": 404},
        {"results": ["timeout"]},
        {"data": {"message": "timeout settings saved"}},
        {"data": "timeout", "result": "fine"},
        {"result": "found", "message": "not found in the cache, fetched"},
        {"word": "timeout", "definition": "a pause"},
        ["timeout"],
        [{"error": "x"}],
    ],
)
def test_a_word_is_not_a_failure(value: object) -> None:
    assert read(value).status == "success"
