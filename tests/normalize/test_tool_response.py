"""Our own response as data: read back as it was, and as much of it as can be read where it was spoilt."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tooltrace as tt
from tests.normalize.shapes import anything, read, text
from tooltrace.normalize import normalize
from tooltrace.normalize.protocols.tool_response import RULE
from tooltrace.normalize.rule import ResultView

objects = st.none() | st.dictionaries(text, anything, max_size=3)
common = {
    "confidence": st.none() | st.floats(0, 1),
    "signals": st.none() | st.dictionaries(text, st.floats(0, 1) | st.booleans() | text, max_size=3),
    "sources": st.lists(st.builds(tt.Source, type=st.sampled_from(["file", "other"]), label=st.none() | text), max_size=2),
    "next_action": st.none() | st.sampled_from(["continue", "retry", "ask_user", "human_review", "stop"]),
    "stats": objects,
    "context": objects,
    "system": st.none() | text,
    "meta": st.builds(tt.ResponseMeta, tool_name=st.none() | text, attempt=st.none() | st.integers(1, 9)),
}  # fmt: skip
responses = st.one_of(
    st.builds(tt.ToolResponse.success, text, anything, code=st.none() | text, **common),
    st.builds(tt.ToolResponse.partial, text, anything, reason=st.none() | text, **common),
    st.builds(tt.ToolResponse.error, text, text, type=st.none() | text, user_message=st.none() | text, **common),
)


@given(responses)
def test_the_dump_of_a_response_is_read_back_equal(response: tt.ToolResponse) -> None:
    for dumped in (
        response.model_dump(),
        response.model_dump(mode="json", by_alias=False),
        response.model_dump(exclude_none=True),
        orjson.loads(response.model_dump_json()),
    ):
        assert RULE.read(ResultView(orjson.loads(orjson.dumps(dumped)))) == response


def test_json_text_is_read_as_its_data_is() -> None:
    response = tt.ToolResponse.error("TIMEOUT", "too late", suggestion="ask for less")
    for value in (response.model_dump(), response.model_dump_json(), response.model_dump(by_alias=False)):
        found = normalize(value, rules=[RULE])
        assert (found.meta.rule, found.meta.rule_grade) == ("tool_response", "certain")
        assert found.model_copy(update={"meta": response.meta}) == response


@pytest.mark.parametrize(
    ("spoilt", "flag"),
    [
        ({"confidence": 1.7}, "confidence_out_of_range"),
        ({"confidence": "high"}, "confidence_out_of_range"),
        ({"confidence": True}, "confidence_out_of_range"),
        ({"next_action": "dance"}, "invalid_next_action"),
        ({"sources": "a.md"}, "invalid_sources"),
        ({"stats": [1]}, "invalid_stats"),
        ({"text": 5}, "invalid_text"),
        ({"signals": {"a": [1]}}, "invalid_signals"),
        ({"meta": {"rule": None, "flags": [], "attempt": 0}}, "invalid_meta"),
        ({"error": {"code": "X", "message": "y"}}, "invalid_error"),
        ({"colour": "red"}, "unknown_field"),
    ],
)  # fmt: skip
def test_an_invalid_field_moves_to_context_with_a_flag(spoilt: dict, flag: str) -> None:
    sound = tt.ToolResponse.success("fine", {"n": 1}).model_dump()
    found = read({**sound, **spoilt})
    ((name, value),) = spoilt.items()
    kept = value if name != "meta" else {"attempt": 0}
    assert (found.status, found.data, found.context) == ("success", {"n": 1}, {name: kept})
    assert flag in found.meta.flags


def test_an_error_without_its_object_is_still_an_error() -> None:
    found = read({"status": "error", "text": "no such file", "error": None, "meta": {}, "sources": []})
    assert (found.status, found.code, found.error.message) == ("error", "NOT_FOUND", "no such file")


@pytest.mark.parametrize(
    "value",
    [
        {"status": "success", "text": "t", "data": {}},  # HelloAgents'
        {"status": "failed", "meta": {}, "text": "x"},
        {"status": "error", "meta": {}, "text": "x", "job_id": 7},
        {"status": "success", "confidence": 0.5, "answer": "x"},
    ],
)  # fmt: skip
def test_other_objects_with_a_status_are_not_tool_responses(value: dict) -> None:
    assert RULE.read(ResultView(value)) is None
