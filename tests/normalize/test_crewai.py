"""CrewAI's ToolFailure: what a tool returns in place of an error text."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest
from pydantic import BaseModel

from tests.normalize.shapes import read


class Reason(StrEnum):
    TOOL_REPORTED = "tool_reported"


class ToolFailure(BaseModel):
    message: str
    reason: Reason = Reason.TOOL_REPORTED
    code: str | None = None
    retryable: bool = False
    details: dict[str, Any] = {}


ToolFailure.__module__ = "crewai.tools.tool_failure"
FAILURE = {"message": "no", "reason": "tool_reported", "code": None, "retryable": False, "details": {}}


@pytest.mark.parametrize(
    ("members", "code", "retryable"),
    [
        ({"message": "try later", "retryable": True}, "EXECUTION_ERROR", True),
        ({"message": "no channel", "code": "channel_not_found"}, "channel_not_found", None),
        ({"reason": "usage_limit"}, "CALL_LIMIT", None),
        ({"reason": "unknown_tool"}, "NOT_FOUND", False),
        ({"reason": "invalid_input"}, "INVALID_PARAM", False),
        ({"reason": "mcp_error", "message": "connection refused"}, "NETWORK_ERROR", True),
    ],
)
def test_every_reason_is_a_failure(members: dict[str, Any], code: str, retryable: bool | None) -> None:
    found = read({**FAILURE, **members})
    assert (found.status, found.code, found.meta.rule, found.meta.rule_grade) == (
        "error",
        code,
        "crewai_failure",
        "certain",
    )
    assert found.error.retryable is retryable


def test_the_class_is_read_as_its_data() -> None:
    found = read(ToolFailure(message="no channel", code="channel_not_found", details={"team": "T1"}))
    assert (found.status, found.code, found.text, found.data) == (
        "error",
        "channel_not_found",
        "no channel",
        {"team": "T1"},
    )


@pytest.mark.parametrize(
    "members",
    [{"reason": "out of stock"}, {"answer": 42}, {"reason": {"text": "out of stock"}}, {"reason": None}],
)
def test_other_objects_with_such_members_are_not_its(members: dict[str, Any]) -> None:
    assert read({**FAILURE, **members}).meta.rule != "crewai_failure"
