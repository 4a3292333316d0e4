"""Outputs of agent frameworks and hosted tools that state a failure in a field of their own."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.normalize.shapes import lost, objects, read


@pytest.mark.parametrize(
    ("value", "code", "message", "rule"),
    [
        ({"type": "error-text", "value": "city not found"}, "NOT_FOUND", "city not found", "vercel_output"),
        ({"type": "error-json", "value": {"code": "E_CITY", "message": "no"}}, "E_CITY", "no", "vercel_output"),
        ({"type": "tool-result", "toolCallId": "c", "output": {"type": "error-text", "value": "no"}}, "EXECUTION_ERROR", "no", "vercel_output"),
        ({"type": "tool-w", "toolCallId": "c", "state": "output-error", "errorText": "timed out"}, "TIMEOUT", "timed out", "vercel_output"),
        ({"type": "execution-denied", "reason": "not by me"}, "PERMISSION_DENIED", "not by me", "vercel_output"),
        ({"messageVersion": "1.0", "response": {"actionGroup": "a", "functionResponse": {"responseState": "REPROMPT", "responseBody": {"TEXT": {"body": "date must be ISO"}}}}}, "INVALID_PARAM", "date must be ISO", "bedrock_agent"),
        ({"codeExecutionResult": {"outcome": "OUTCOME_DEADLINE_EXCEEDED", "output": ""}}, "TIMEOUT", "OUTCOME_DEADLINE_EXCEEDED", "gemini_code_execution"),
        ({"outcome": "OUTCOME_FAILED", "output": "NameError: x"}, "EXECUTION_ERROR", "NameError: x", "gemini_code_execution"),
        ({"type": "web_search_call", "id": "w", "status": "failed"}, "EXECUTION_ERROR", "web_search_call failed", "openai_hosted_tool"),
        ({"id": "r", "object": "response", "status": "failed", "error": {"code": "server_error", "message": "no answer"}, "output": []}, "INTERNAL_ERROR", "no answer", "openai_hosted_tool"),
        ({"stdout": "", "stderr": "no such file", "outcome": {"type": "exit", "exit_code": 2}}, "EXECUTION_ERROR", "no such file", "openai_hosted_tool"),
        ({"stdout": "a", "stderr": "", "outcome": {"type": "timeout"}}, "TIMEOUT", "the command timed out", "openai_hosted_tool"),
        ({"text": "Connection refused", "is_error": True, "call_id": "c", "name": "n"}, "NETWORK_ERROR", "Connection refused", "is_error"),
        ({"observation": "error", "content": "File not found: /w/x.", "extras": {"error_id": ""}}, "NOT_FOUND", "File not found: /w/x.", "framework_result"),
        ({"result": "boom", "origin": {"tool_name": "t"}, "error": True}, "EXECUTION_ERROR", "boom", "framework_result"),
        ({"type": "web_fetch_tool_error", "error_code": "url_not_accessible"}, "API_ERROR", "url_not_accessible", "anthropic_server_tool"),
    ],
)  # fmt: skip
def test_a_failure_in_a_field_of_its_own(value: dict, code: str, message: str, rule: str) -> None:
    found = read(value)
    assert (found.status, found.code, found.error.message) == ("error", code, message)
    assert (found.meta.rule, found.meta.rule_grade) == (rule, "certain")


@pytest.mark.parametrize(
    "value",
    [
        {"type": "text", "value": "error: none"},
        {"type": "tool-logs", "toolCallId": "c", "state": "output-available", "output": {"lines": ["error: x"]}},
        {"messageVersion": "1.0", "response": {"actionGroup": "a", "functionResponse": {"responseBody": {"TEXT": {"body": "ok"}}}}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "5"}},
        {"stdout": "ERROR 404 count: 3\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        {"content": "fine", "is_error": False, "call_id": "c"},
        {"result": "fine", "origin": {"tool_name": "t"}, "error": False},
        {"is_done": True, "success": True, "error": None, "extracted_content": "The page shows: Payment failed"},
        {"outcome": "won", "output": "3:1"},
    ],
)  # fmt: skip
def test_an_output_that_states_no_failure(value: dict) -> None:
    assert read(value).status == "success"


@given(objects("type", "value", "state", "error_text", "is_error", "content", "outcome", "stdout", "response", "error", "observation"))  # fmt: skip
def test_no_member_of_an_output_is_lost(value: dict) -> None:
    assert lost(value, read(value)) == []
