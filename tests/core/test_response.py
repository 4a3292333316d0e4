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
from tooltrace.errors import ConfigError

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


def test_json_uses_the_protocols_name_for_the_error() -> None:
    dumped = json.loads(tt.ToolResponse.error("TIMEOUT", "too late").model_dump_json())
    assert dumped["error"] == {
        "code": "TIMEOUT",
        "message": "too late",
        "type": None,
        "retryable": True,
        "retryable_advised": True,
        "suggestion": None,
        "user_message": None,
    }
    assert dumped["code"] == "TIMEOUT"


def test_what_the_table_of_codes_advises_is_marked_until_the_tool_states_it() -> None:
    advised = tt.ToolResponse.error("TIMEOUT", "x")
    assert (advised.next_action, advised.error.retryable) == ("retry", True)
    for same in (
        advised,
        tt.ToolResponse.model_validate_json(advised.model_dump_json()),
        tt.normalize({"ok": False, "error": {"code": "TIMEOUT", "message": "x"}}),
    ):
        assert (same.stated_next_action, same.error.stated_retryable) == (None, None)
    assert tt.normalize(advised.to_dict()).error.stated_retryable is None
    stated = advised.model_copy(
        update={"next_action": "retry", "error_info": advised.error.model_copy(update={"retryable": True})}
    )
    assert (stated.stated_next_action, stated.error.stated_retryable) == ("retry", True)
    assert tt.ToolResponse.error("TIMEOUT", "x", True, next_action="retry").stated_next_action == "retry"


def test_json_schema_describes_the_json() -> None:
    schema = tt.ToolResponse.model_json_schema()
    assert schema["required"] == ["status"]
    assert set(schema["properties"]) == set(json.loads(tt.ToolResponse.success().model_dump_json()))


def test_a_response_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        tt.ToolResponse.success("x").text = "y"  # type: ignore[misc]


def test_the_constructors_take_the_names_of_the_protocols() -> None:
    by_position = tt.ToolResponse("success", "t", {"n": 1}, None, {"rows": 2}, {"a": 3})  # type: ignore[misc]
    assert by_position == tt.ToolResponse.success("t", {"n": 1}, {"rows": 2}, {"a": 3})
    with pytest.raises(TypeError, match="'text' by position and by name"):
        tt.ToolResponse("success", "t", text="t")  # type: ignore[misc]
    with pytest.raises(TypeError, match="at most 6"):
        tt.ToolResponse("success", "t", {}, None, None, None, 7)  # type: ignore[misc]
    sources = (tt.Source(type="document", id="d"),)
    one: Any
    for one in ({"type": "document", "id": "d"}, [{"id": "d"}], tt.Source(id="d")):
        found = tt.ToolResponse.success("x", source=one, nextAction="stop")
        assert (found.sources, found.next_action) == (sources, "stop")
    assert tt.ToolResponse.partial("x", source="handbook").sources[0].label == "handbook"
    assert tt.ToolResponse.error("MINE", "no", nextAction="ask_user").stated_next_action == "ask_user"
    with pytest.raises(ConfigError, match="source and sources are the same"):
        tt.ToolResponse.success("x", source="a", sources=sources)


def test_the_data_can_be_read_where_there_are_none() -> None:
    nothing = tt.ToolResponse.success("x")
    assert nothing.data.get("n") is nothing.payload is None
    assert repr(nothing).startswith("ToolResponse(status='success', code=None, text='x', data=None,")
    assert nothing.model_copy(update={"data": {"n": 1}}).data == {"n": 1}
    assert tt.ToolResponse.model_validate_json(nothing.model_dump_json()).payload is None


def test_code_and_error_agree() -> None:
    with pytest.raises(ConfigError, match="differ"):
        tt.ToolResponse(status="error", code="A", error=tt.ErrorInfo(code="B", message="no"))


def test_data_of_another_form_are_refused_not_mended() -> None:
    with pytest.raises(ValidationError, match="confidance"):
        tt.ToolResponse.model_validate({"status": "success", "confidance": 0.5})


def test_a_subclass_keeps_its_own_validation() -> None:
    class Rows(tt.ToolResponse):
        rows: int

    with pytest.raises(ValidationError, match="rows"):
        Rows(status="success", rows="many")  # type: ignore[arg-type]
    assert Rows(status="success", rows=2, text=5).text == "5"  # type: ignore[arg-type]


def test_error_builds_on_the_class_and_reads_on_an_instance() -> None:
    response = tt.ToolResponse.error("ORDER_NOT_FOUND", "no order 7", suggestion="ask again")
    assert response.error is not None
    assert json.loads(json.dumps(response.error_info))["code"] == "ORDER_NOT_FOUND"
    assert tt.ToolResponse.success("x").error_info is None
    assert response.error is not None
    assert (response.error.code, response.code, response.text) == ("ORDER_NOT_FOUND", "ORDER_NOT_FOUND", "no order 7")
    assert tt.ToolResponse.success("x").error is None


def test_every_code_of_hello_agents_is_known_and_advised() -> None:
    for code in {*HELLO_AGENTS_PACKAGE, *HELLO_AGENTS_DOCUMENT}:
        assert tt.ToolErrorCode[code] == code
        assert code in ADVICE
    assert set(ADVICE) == set(tt.ToolErrorCode)


def test_missing_advice_comes_from_the_table_of_codes() -> None:
    unsaid = tt.ToolResponse.error(tt.ToolErrorCode.RATE_LIMIT, "slow down")
    assert unsaid.error is not None
    assert (unsaid.error.retryable, unsaid.next_action) == (True, "retry")
    dumped = tt.ToolResponse.error(tt.ToolErrorCode.RATE_LIMIT, "banned", retryable=False, next_action="stop")
    assert dumped.error is not None
    assert (dumped.error.retryable, dumped.next_action) == (False, "stop")


def test_a_custom_code_is_a_code_without_a_guess() -> None:
    assert advice_for("ORDER_NOT_FOUND") is NO_ADVICE
    response = tt.ToolResponse.error("ORDER_NOT_FOUND", "no order 7")
    assert response.error is not None
    assert response.error.retryable is None


@pytest.mark.parametrize(
    ("value", "status", "rule", "grade"),
    [
        ("text", "success", "plain", "unread"),
        ({"a": 1}, "success", "plain", "unread"),
        (None, "success", "none", "unread"),
        ({"ok": True}, "success", "flags", "certain"),
        (OSError("x"), "error", "exception", "certain"),
    ],
)
def test_normalize_names_the_rule(value: Any, status: str, rule: str, grade: str) -> None:
    response = tt.normalize(value)
    assert (response.status, response.meta.rule, response.meta.rule_grade) == (status, rule, grade)


def test_normalize_returns_a_response_unchanged() -> None:
    response = tt.ToolResponse.success("x")
    assert tt.normalize(response) is response


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (tt.ToolResponse.error("TIMEOUT", "late"), "Error: late"),
        (tt.ToolResponse.error("TIMEOUT", "late", text=""), "Error: late"),
        (tt.ToolResponse.error("TIMEOUT", "late", text="near: a.txt"), "Error: near: a.txt"),
        (tt.ToolResponse.error("TIMEOUT", "Error: disk full"), "Error: disk full"),
        (tt.ToolResponse.success("42"), "42"),
        (tt.ToolResponse.success(data={"n": 1}), '{"n":1}'),
        (tt.ToolResponse.partial("100 rows", reason="cut"), "100 rows"),
        (tt.ToolResponse.success(), ""),
    ],
)
def test_a_response_as_text_is_the_answer_in_words(response: tt.ToolResponse, words: str) -> None:
    assert str(response) == f"{response}" == words


class TestHelloAgentsNames:
    def test_an_error_is_read_like_a_dict(self) -> None:
        error = tt.ToolResponse.error("NOT_FOUND", "no such file").error_info
        assert error is not None
        assert (error.get("code", "UNKNOWN"), error["message"], error.get("suggestion", "none")) == (
            "NOT_FOUND", "no such file", "none",
        )  # fmt: skip
        assert (error.get("stack"), "code" in error, "stack" in error) == (None, True, False)
        with pytest.raises(KeyError):
            error["stack"]

    def test_the_serialized_form_has_the_members_of_that_package(self) -> None:
        full = tt.ToolResponse.success("OK", {"value": 123}, {"time_ms": 50}, {"tool": "test"}, confidence=0.9)
        assert full.to_dict() == {
            "status": "success",
            "text": "OK",
            "data": {"value": 123},
            "stats": {"time_ms": 50},
            "context": {"tool": "test"},
        }
        assert tt.ToolResponse.error("MINE", "gone").to_dict() == {
            "status": "error",
            "text": "gone",
            "data": {},
            "error": {"code": "MINE", "message": "gone"},
        }

    @pytest.mark.parametrize(
        "response",
        [
            tt.ToolResponse.success("好", {"value": 1}, {"time_ms": 1}),
            tt.ToolResponse.partial("cut", {"n": 1}, None, {"path": "/x"}),
            tt.ToolResponse.error("TIMEOUT", "late", True, "Wait."),
            tt.ToolResponse.success(data=0),
        ],
    )
    def test_the_serialized_form_is_read_back(self, response: tt.ToolResponse) -> None:
        again = tt.ToolResponse.from_json(response.to_json())
        assert again.to_dict() == response.to_dict()
        assert "好" in response.to_json() or response.text != "好"

    def test_an_error_without_details_is_read_from_its_text(self) -> None:
        response = tt.ToolResponse.from_dict({"status": "error", "text": "gone", "data": {}, "extra": 1})
        assert (response.code, response.text, response.payload) == ("EXECUTION_ERROR", "gone", None)

    def test_codes_are_listed(self) -> None:
        assert set(HELLO_AGENTS_PACKAGE) <= set(tt.ToolErrorCode.get_all_codes())
        assert tt.ToolErrorCode.is_valid_code("NOT_FOUND")
        assert not tt.ToolErrorCode.is_valid_code("MINE")
