"""The response: what it carries, what it refuses, that JSON loses nothing, and what a code advises."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import tooltrace as tt
from tooltrace.core.codes import ADVICE, NO_ADVICE, advice_for
from tooltrace.core.response import SourceType

HELLO_AGENTS_PACKAGE = (
    "NOT_FOUND ACCESS_DENIED PERMISSION_DENIED IS_DIRECTORY BINARY_FILE INVALID_PARAM INVALID_FORMAT EXECUTION_ERROR "
    "TIMEOUT INTERNAL_ERROR CONFLICT CIRCUIT_OPEN NETWORK_ERROR API_ERROR RATE_LIMIT"
).split()
HELLO_AGENTS_DOCUMENT = (
    "NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED INVALID_PARAM INVALID_FORMAT EXECUTION_ERROR TIMEOUT CONFLICT "
    "CIRCUIT_OPEN RATE_LIMIT NETWORK_ERROR SERVICE_UNAVAILABLE PARTIAL_SUCCESS DEPRECATED UNKNOWN"
).split()

text = st.text(st.characters(codec="utf-8"), max_size=20)
data = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
objects = st.none() | st.dictionaries(text, data, max_size=3)
sources = st.builds(
    tt.Source,
    type=st.sampled_from(get_args(SourceType)),
    id=st.none() | text,
    label=st.none() | text,
    url=st.none() | text,
    section=st.none() | text,
)
metas = st.builds(
    tt.ResponseMeta,
    tool_name=st.none() | text,
    tool_version=st.none() | text,
    trace_id=st.none() | text,
    span_id=st.none() | text,
    call_id=st.none() | text,
    attempt=st.none() | st.integers(1, 99),
    duration_ms=st.none() | st.floats(0, 1e6),
    cached=st.none() | st.booleans(),
    rule=st.none() | text,
)
common = {
    "confidence": st.none() | st.floats(0, 1),
    "signals": st.none() | st.dictionaries(text, st.floats(0, 1) | st.booleans() | text, max_size=3),
    "sources": st.lists(sources, max_size=3),
    "next_action": st.none() | st.sampled_from(["continue", "retry", "ask_user", "human_review", "stop"]),
    "stats": objects,
    "context": objects,
    "explanation": st.none() | text,
    "system": st.none() | text,
    "meta": metas,
}
responses = st.one_of(
    st.builds(tt.ToolResponse.success, text, data, code=st.none() | text, **common),
    st.builds(tt.ToolResponse.partial, text, data, reason=st.none() | text, **common),
    st.builds(
        tt.ToolResponse.error,
        text,
        text,
        type=st.none() | text,
        retryable=st.none() | st.booleans(),
        suggestion=st.none() | text,
        user_message=st.none() | text,
        data=data,
        **common,
    ),
)


@given(responses)
def test_json_out_and_in_loses_nothing(response: tt.ToolResponse) -> None:
    assert tt.ToolResponse.model_validate_json(response.model_dump_json()) == response
    assert tt.ToolResponse.model_validate(response.model_dump()) == response


def test_json_says_error_as_the_protocols_do() -> None:
    said = json.loads(tt.ToolResponse.error("TIMEOUT", "too late").model_dump_json())
    assert said["error"] == {
        "code": "TIMEOUT",
        "message": "too late",
        "type": None,
        "retryable": True,
        "suggestion": None,
        "user_message": None,
    }
    assert said["code"] == "TIMEOUT"


def test_json_schema_describes_what_json_holds() -> None:
    schema = tt.ToolResponse.model_json_schema()
    assert schema["required"] == ["status"]
    assert set(schema["properties"]) == set(json.loads(tt.ToolResponse.success().model_dump_json()))


@pytest.mark.parametrize("confidence", [1.0001, -0.1, float("nan"), float("inf"), 2, "nan"])
def test_what_is_no_confidence_is_refused_in_words(confidence: Any) -> None:
    with pytest.raises(ValidationError, match="confidence"):
        tt.ToolResponse.success("x", confidence=confidence)


def test_a_response_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        tt.ToolResponse.success("x").text = "y"  # type: ignore[misc]


def test_status_and_error_agree() -> None:
    with pytest.raises(ValidationError, match="needs an error"):
        tt.ToolResponse(status="error")
    with pytest.raises(ValidationError, match="carries no error"):
        tt.ToolResponse(status="success", error=tt.ToolError(code="X", message="no"))
    with pytest.raises(ValidationError, match="differ"):
        tt.ToolResponse(status="error", code="A", error=tt.ToolError(code="B", message="no"))


def test_an_unknown_field_is_refused_not_dropped() -> None:
    with pytest.raises(ValidationError, match="confidance"):
        tt.ToolResponse.success("x", confidance=0.5)


def test_error_on_the_class_builds_and_on_an_instance_tells() -> None:
    response = tt.ToolResponse.error("ORDER_NOT_FOUND", "no order 7", suggestion="ask again")
    assert response.error is response.error_info
    assert response.error is not None
    assert (response.error.code, response.code, response.text) == ("ORDER_NOT_FOUND", "ORDER_NOT_FOUND", "no order 7")
    assert tt.ToolResponse.success("x").error is None


def test_every_code_of_hello_agents_is_known_and_advised() -> None:
    for code in {*HELLO_AGENTS_PACKAGE, *HELLO_AGENTS_DOCUMENT}:
        assert tt.ToolErrorCode[code] == code
        assert code in ADVICE
    assert set(ADVICE) == set(tt.ToolErrorCode)


def test_what_the_tool_left_unsaid_comes_from_the_table_and_what_it_said_stays() -> None:
    unsaid = tt.ToolResponse.error(tt.ToolErrorCode.RATE_LIMIT, "slow down")
    assert unsaid.error is not None
    assert (unsaid.error.retryable, unsaid.next_action) == (True, "retry")
    said = tt.ToolResponse.error(tt.ToolErrorCode.RATE_LIMIT, "banned", retryable=False, next_action="stop")
    assert said.error is not None
    assert (said.error.retryable, said.next_action) == (False, "stop")


def test_a_custom_code_is_a_code_without_a_guess() -> None:
    assert advice_for("ORDER_NOT_FOUND") is NO_ADVICE
    response = tt.ToolResponse.error("ORDER_NOT_FOUND", "no order 7")
    assert response.error is not None
    assert response.error.retryable is None


@pytest.mark.parametrize(
    ("value", "status", "rule"),
    [
        ("text", "success", "plain"),
        ({"a": 1}, "success", "plain"),
        (None, "success", "none"),
        (OSError("x"), "error", "exception"),
    ],
)
def test_normalize_says_by_which_rule(value: Any, status: str, rule: str) -> None:
    response = tt.normalize(value)
    assert (response.status, response.meta.rule, response.meta.rule_grade) == (status, rule, "certain")


def test_normalize_gives_a_response_back_as_it_is() -> None:
    response = tt.ToolResponse.success("x")
    assert tt.normalize(response) is response
