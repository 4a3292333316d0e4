"""Error names of other systems as codes of the table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.core.codes import ADVICE
from tooltrace.normalize.heuristics.failure_phrases import is_failure_phrase, is_no_error_phrase
from tooltrace.normalize.terms import (
    guess_code_from_message,
    http_status,
    lookup_code,
    next_action_named,
    normalize_code,
    snake_case,
)


@pytest.mark.parametrize("code", list(ADVICE))
def test_every_code_of_the_table_names_itself_in_any_spelling(code: str) -> None:
    camel = "".join(part.capitalize() for part in code.split("_"))
    assert {lookup_code(spelt) for spelt in (code, code.lower(), code.replace("_", "-"), camel)} == {code}


@pytest.mark.parametrize(
    ("word", "code"),
    [("RateLimitError", "RATE_LIMIT"), ("not_found_error", "NOT_FOUND"), ("MyOwn", "MyOwn"), (404, "NOT_FOUND"), ("503", "SERVICE_UNAVAILABLE"),
     ("invalid_grant", "ACCESS_DENIED"), ("insufficient_scope", "PERMISSION_DENIED"), ("temporarily_unavailable", "SERVICE_UNAVAILABLE"),
     ("EISDIR", "IS_DIRECTORY"), ("INVALID_SESSION_ID", "ACCESS_DENIED"), ("REQUEST_LIMIT_EXCEEDED", "RATE_LIMIT")],
)  # fmt: skip
def test_a_code_by_whichever_name(word: object, code: str) -> None:
    assert normalize_code(word) == code


@pytest.mark.parametrize("word", [None, "", True, 4.5, [], {}])
def test_other_values_have_no_code(word: object) -> None:
    assert normalize_code(word) is None


@pytest.mark.parametrize("word", [399, 600, "40", "4040", True, None, "x", 200, "４０４"])
def test_other_values_are_not_failure_statuses(word: object) -> None:
    assert http_status(word) is None


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("An unexpected error occurred", "EXECUTION_ERROR"),
        ("got an unexpected keyword argument 'x'", "INVALID_PARAM"),
        ("Expecting value: line 1 column 1 (char 0)", "INVALID_FORMAT"),
        ("sparse matrix", "EXECUTION_ERROR"),
        ("connection timed out", "TIMEOUT"),
        ("getaddrinfo ENOTFOUND api.x", "NETWORK_ERROR"),
        ("Could not resolve host: x", "NETWORK_ERROR"),
        ("No matching distribution found for x", "NOT_FOUND"),
        ("You exceeded your current quota", "RATE_LIMIT"),
        ("File does not exist. Your working directory is /tmp/job-429/a", "NOT_FOUND"),
        ("cannot open /srv/403/data: no such file", "NOT_FOUND"),
        ("Invalid API key provided", "ACCESS_DENIED"),
        ("不是目录: x", "EXECUTION_ERROR"),
        ("x 是一个目录", "IS_DIRECTORY"),
        ("请求过于频繁", "RATE_LIMIT"),
        ("EISDIR: illegal operation on a directory", "IS_DIRECTORY"),
        ("'/a' is outside the allowed directories", "PERMISSION_DENIED"),
        ("the path escapes the workspace", "PERMISSION_DENIED"),
        ("the record is protected", "PERMISSION_DENIED"),
        ("a place outside of town", "EXECUTION_ERROR"),
        ("x is not a valid tool", "NOT_FOUND"),
        ("no tool named x", "NOT_FOUND"),
        ("Please specify a city", "INVALID_PARAM"),
        ("签名无效", "ACCESS_DENIED"),
        ("the signature does not match", "ACCESS_DENIED"),
        ("", "EXECUTION_ERROR"),
    ],
)
def test_the_code_that_a_message_suggests(message: str, code: str) -> None:
    assert guess_code_from_message(message) == code


@given(st.text())
def test_any_word_is_accepted(word: str) -> None:
    assert snake_case(snake_case(word)) == snake_case(word)
    assert guess_code_from_message(word) in ADVICE
    assert next_action_named(word) in (None, "continue", "retry", "ask_user", "human_review", "stop")
    assert not (is_failure_phrase(word) and is_no_error_phrase(word))


@pytest.mark.parametrize("phrase", ["none", "No errors.", "0.5%", "5 mm", "NaN", "-Infinity", "", "—", "404", "无"])
def test_phrases_that_deny_an_error(phrase: str) -> None:
    assert is_no_error_phrase(phrase)


@pytest.mark.parametrize("phrase", ["timeout", "5 shards failed", "404 Not Found", "null pointer", "no such file"])
def test_phrases_that_state_an_error(phrase: str) -> None:
    assert not is_no_error_phrase(phrase)
