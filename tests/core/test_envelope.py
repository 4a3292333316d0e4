"""``ToolResponse.to_envelope``: the protocol's members, and the way back by ``normalize``."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

import tooltrace as tt

R = tt.ToolResponse
SCHEMA = {
    "type": "object",
    "required": ["success", "data", "confidence", "source", "nextAction", "error", "meta"],
    "properties": {
        "success": {"type": "boolean"},
        "confidence": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "source": {
            "type": "array",
            "items": {
                "required": ["type", "id"],
                "properties": {"type": {"enum": ["document", "file", "api", "database", "user_input"]}},
            },
        },
        "nextAction": {"enum": ["continue", "retry", "ask_user", "human_review", "stop"]},
        "error": {
            "type": ["object", "null"],
            "required": ["type", "message", "retryable"],
            "properties": {
                "type": {
                    "enum": [
                        *("validation_error", "permission_denied", "timeout", "rate_limited", "not_found"),
                        *("state_conflict", "unknown"),
                    ]
                },
                "userMessage": {"type": "string"},
            },
        },
        "meta": {
            "type": "object",
            "required": ["toolName", "toolVersion", "traceId", "durationMs", "cached"],
            "properties": {"cached": {"type": ["boolean", "null"]}, "durationMs": {"type": ["number", "null"]}},
        },
    },
}
"""The protocol's interface; a member that the response does not know is null."""

META = tt.ResponseMeta(tool_name="search", tool_version="3", trace_id="t1", duration_ms=12, cached=False)
RESPONSES = [
    R.success("two rows", {"rows": 2}, confidence=0.9, sources=[tt.Source(id="d1", label="Rules")], meta=META),
    R.success(data=[1, 2], next_action="ask_user", explanation="why", signals={"exact": 0.4}, confidence=0.3),
    R.success("only words"),
    R.success(),
    R.partial("half", {"n": 1}, reason="cut", stats={"rows": 1}),
    R.error("TIMEOUT", "late", user_message="Wait.", suggestion="Ask for less.", type="timeout"),
    R.error("MINE", "no", False, text="near: a", context={"a": 1}, data={"b": 2}),
    R.error("CONFLICT", "changed", confidence=0.0, next_action="stop"),
]


@pytest.mark.parametrize("response", RESPONSES)
def test_the_envelope_is_written_and_read_back(response: tt.ToolResponse) -> None:
    envelope = json.loads(json.dumps(response.to_envelope()))
    jsonschema.validate(envelope, SCHEMA)
    read = tt.normalize(envelope)
    assert read.meta.rule == "envelope"
    for name in ("status", "confidence", "sources", "reason", "signals", "explanation", "stats", "context"):
        assert getattr(read, name) == getattr(response, name), name
    assert read.payload == (
        response.payload if response.payload is not None or not response.ok else response.text or None
    )
    assert read.text == response.text
    assert read.next_action == tt.resolve_next_step(response)
    if response.error is not None:
        assert read.error is not None
        for name in ("code", "message", "suggestion", "user_message"):
            assert getattr(read.error, name) == getattr(response.error, name), name
        assert read.error.retryable == response.error.retryable
    assert (read.meta.tool_name, read.meta.duration_ms) == (response.meta.tool_name, response.meta.duration_ms)


def test_the_members_of_a_response_that_knows_all() -> None:
    error: Any = R.error("NOT_FOUND", "no such page", user_message="Which one?", confidence=0.0, meta=META)
    assert error.to_envelope() == {
        "success": False,
        "data": None,
        "confidence": 0.0,
        "source": [],
        "nextAction": "ask_user",
        "error": {
            "type": "not_found",
            "message": "no such page",
            "retryable": False,
            "userMessage": "Which one?",
            "code": "NOT_FOUND",
        },
        "meta": {"toolName": "search", "toolVersion": "3", "traceId": "t1", "durationMs": 12.0, "cached": False},
    }
