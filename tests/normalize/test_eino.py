"""Eino's result: success, data and an error of four members."""

from __future__ import annotations

import pytest

from tests.normalize.shapes import CERTAIN, read
from tooltrace.normalize import normalize

FAILED = {
    "success": False,
    "data": None,
    "error": {"code": "CITY_UNKNOWN", "message": "no such town", "retryable": False, "suggestion": "try Oslo"},
}


def test_a_failure_has_the_tools_code() -> None:
    found = read(FAILED)
    error = found.error
    assert (found.status, found.code, error.message) == ("error", "CITY_UNKNOWN", "no such town")
    assert (error.retryable, error.suggestion, found.context) == (False, "try Oslo", None)
    assert (found.meta.rule, found.meta.rule_grade) == ("eino", "certain")


def test_as_go_writes_it_without_tags() -> None:
    value = {"Success": False, "Error": {"Code": "CITY_UNKNOWN", "Message": "no such town", "Retryable": False}}
    found = read(value)
    assert (found.code, found.error.message, found.error.retryable) == ("CITY_UNKNOWN", "no such town", False)


@pytest.mark.parametrize(
    ("code", "known"), [("TIMEOUT", "TIMEOUT"), ("RATE_LIMITED", "RATE_LIMIT"), ("quota_of_mine", "quota_of_mine")]
)
def test_a_code_that_means_one_of_the_table_is_that_one(code: str, known: str) -> None:
    found = read({"success": False, "error": {"code": code, "message": "m"}})
    assert found.code == known
    assert code in (found.code, found.error.type)


def test_missing_advice_comes_from_the_code() -> None:
    found = read({"success": False, "error": {"code": "TIMEOUT", "message": "late"}})
    assert (found.error.retryable, found.next_action) == (True, "retry")


@pytest.mark.parametrize("data", [{"n": 1}, [1], 0, False, ""])
def test_a_success(data: object) -> None:
    found = read({"success": True, "data": data})
    assert (found.status, found.data, found.meta.rule) == ("success", data, "eino")


def test_a_text_is_the_answer_in_words_too() -> None:
    assert read({"success": True, "data": "sunny"}).text == "sunny"


def test_a_failure_hidden_in_its_data() -> None:
    value = {"success": True, "data": "timeout"}
    found = read(value)
    assert (found.status, found.code, found.meta.rule, found.data) == ("error", "TIMEOUT", "eino/hidden", "timeout")
    assert found.meta.rule_grade == "heuristic"
    assert normalize(value, rules=CERTAIN).status == "success"


def test_success_with_an_error_is_partial() -> None:
    found = read({"success": True, "data": [1], "error": {"code": "X", "message": "two of three"}})
    assert (found.status, found.code, found.data, found.reason) == ("partial", "X", [1], "two of three")


def test_the_data_of_a_failure_is_preserved() -> None:
    found = read({"success": False, "data": [1], "error": {"code": "X", "message": "cut"}})
    assert (found.status, found.data) == ("error", [1])


@pytest.mark.parametrize(
    "value",
    [
        {"success": True},
        {"success": True, "data": 1, "note": "x"},
        {"success": "yes", "data": 1},
        {"success": False, "error": "a text"},
        {"success": False, "error": {"message": "m", "userMessage": "u"}},
        {"data": 1, "error": None},
    ],
)
def test_other_members_make_it_something_else(value: dict) -> None:
    assert read(value).meta.rule != "eino"
