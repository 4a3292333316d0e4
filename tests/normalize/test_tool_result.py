"""``tooltrace.ToolResult``: the members of the envelope and of Magic's result, as a response."""

from __future__ import annotations

from typing import Any

import pytest

import tooltrace as tt

ENVELOPE: dict[str, Any] = {
    "success": True,
    "data": {"rows": 2},
    "confidence": 0.6,
    "source": [{"type": "document", "id": "d1"}],
    "nextAction": "ask_user",
    "error": None,
    "meta": {"toolName": "search", "toolVersion": "3", "traceId": "t1", "durationMs": 12, "cached": False},
}
FAILED = {
    **ENVELOPE,
    "success": False,
    "data": None,
    "error": {"type": "timeout", "message": "late", "retryable": True},
}
MAGIC = {"output": "two files", "system": "cwd=/src", "tool_call_id": "c1", "name": "shell", "execution_time": 1.5}


def without_rule(response: tt.ToolResponse) -> tt.ToolResponse:
    meta = response.meta.model_copy(update={"rule": None, "rule_grade": None})
    return response.model_copy(update={"meta": meta})


@pytest.mark.parametrize("members", [ENVELOPE, FAILED, MAGIC, {**MAGIC, "output": "", "error": "no permission"}])
def test_the_response_is_what_the_rules_read(members: dict[str, Any]) -> None:
    response = tt.ToolResult(**members)
    assert type(response) is tt.ToolResponse
    assert without_rule(response) == without_rule(tt.normalize(members))


def test_members_of_two_protocols_are_refused() -> None:
    with pytest.raises(TypeError, match=r"ToolResult\(confidence=…\) needs success="):
        tt.ToolResult(output="x", confidence=0.5)
    with pytest.raises(TypeError, match=r"ToolResult\(output=…\) needs no success="):
        tt.ToolResult(success=True, output="x")
    with pytest.raises(TypeError):
        tt.ToolResult(outptu="x")  # type: ignore[call-arg]


def test_sources_and_a_score_can_be_our_own() -> None:
    score = tt.ConfidenceRules({"exact": 0.3}, base=0.5).score(["exact"])
    response = tt.ToolResult(success=True, data=1, confidence=score, source=[tt.ToolSource(type="api", id="a")])
    assert (response.confidence, response.signals) == (0.8, {"exact": 0.3})
    assert response.sources == (tt.Source(type="api", id="a"),)


def test_the_default_time_of_magic_is_unknown() -> None:
    response = tt.ToolResult(output="x", execution_time=0.0)
    assert (response.meta.duration_ms, response.stats) == (None, None)
