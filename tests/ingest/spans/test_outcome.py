"""How a call ended, by what its span says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ingest.spans.conftest import Take, calls_of, data, mcp, tool
from tooltrace.core.records import ToolCall
from tooltrace.ingest.spans.outcome import by_name
from tooltrace.normalize.exceptions import reader
from tooltrace.otel.span_data import EventData


def one(take: Take, **fields: Any) -> ToolCall:
    (call,) = calls_of(take(tool(**fields)))
    return call


RAISED = [FileNotFoundError("a.txt"), TimeoutError("slow"), ZeroDivisionError("division by zero"), RuntimeError("timeout"),
          ConnectionRefusedError("no"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), KeyError("k")]  # fmt: skip


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_the_type_name_is_classified_like_the_exception(error: Exception) -> None:
    seen = reader.summarize(error)
    read = by_name(seen.type, seen.message)
    assert (read.code, read.retryable, read.type) == (seen.code, seen.retryable, seen.type)


@pytest.mark.parametrize(
    ("kind", "message", "code"),
    [
        ("httpx.ReadTimeout", "", "TIMEOUT"),
        ("json.decoder.JSONDecodeError", "Expecting value", "INVALID_FORMAT"),
        ("ValidationError", "1 validation error", "INVALID_PARAM"),
        ("acme.errors.AcmeError", "permission denied", "PERMISSION_DENIED"),
        ("acme.errors.NotFoundError", "no", "NOT_FOUND"),
        ("acme.errors.Odd", "who knows", "EXECUTION_ERROR"),
        ("builtins.TimeoutError", "", "TIMEOUT"),
    ],
)
def test_classes_that_are_not_here(kind: str, message: str, code: str) -> None:
    assert by_name(kind, message).code == code


def test_the_span_status_is_enough(take: Take) -> None:
    call = one(take, status="error", description="connection refused")
    assert (call.status, call.ending, call.code, call.error_message) == (
        "error",
        "returned",
        "NETWORK_ERROR",
        "connection refused",
    )
    assert (call.rule, call.rule_grade) == ("span_status", "certain")


@pytest.mark.parametrize(
    ("stated", "status", "ending"),
    [
        ({}, None, "handed_over"),
        ({"status": "ok"}, "success", "returned"),
        ({"result": {"n": 1}}, "success", "returned"),
        ({"error": ("TimeoutError", "slow")}, "error", "raised"),
    ],
)
def test_a_span_without_an_end_has_no_duration_and_only_the_outcome_that_it_states(
    stated: Any, status: Any, ending: Any, take: Take
) -> None:
    call = one(take, end_ns=0, **stated)
    assert (call.duration_ms, call.status, call.ending) == (None, status, ending)


def test_an_error_type_is_a_failure_though_the_status_is_not_set(take: Take) -> None:
    call = one(take, attributes={"error.type": "TimeoutError"})
    assert (call.status, call.ending, call.code, call.error_type) == ("error", "raised", "TIMEOUT", "TimeoutError")


@pytest.mark.parametrize(
    ("number", "code"), [("404", "NOT_FOUND"), ("429", "RATE_LIMIT"), ("-32603", "INTERNAL_ERROR")]
)
def test_numbers_of_protocols(take: Take, number: str, code: str) -> None:
    (call,) = calls_of(take(mcp("add", attributes={"error.type": number}, status="error")))
    assert (call.status, call.ending, call.code) == ("error", "returned", code)


@pytest.mark.parametrize(
    ("number", "message", "code"),
    [("-32602", "Invalid arguments for tool add", "INVALID_PARAM"), ("-32602", "Unknown tool: add", "NOT_FOUND"), ("-32601", "", "NOT_FOUND")],
)  # fmt: skip
def test_a_call_that_a_server_of_mcp_did_not_run_is_refused(take: Take, number: str, message: str, code: str) -> None:
    (call,) = calls_of(take(mcp("add", attributes={"error.type": number}, status="error", description=message)))
    assert (call.status, call.ending, call.code, call.error_type) == (None, "refused", code, number)


def test_a_handled_exception_is_not_a_failure(take: Take) -> None:
    exception = {"exception.type": "TimeoutError", "exception.message": "slow", "exception.escaped": "False"}
    call = one(take, status="ok", events=(EventData(name="exception", time_ns=1, attributes=exception),), result=3)
    assert (call.status, data(call.result)) == ("success", 3)


@pytest.mark.parametrize("escaped", ["True", "False"])
def test_ok_is_final(take: Take, escaped: str) -> None:
    exception = {"exception.type": "TimeoutError", "exception.message": "slow", "exception.escaped": escaped}
    events = (EventData(name="exception", time_ns=1, attributes=exception),)
    call = one(take, status="ok", events=events, attributes={"error.type": "TimeoutError"})
    assert (call.status, call.ending) == ("success", "returned")


@pytest.mark.parametrize(("escaped", "status"), [(True, "error"), ("True", "error"), (False, "success")])
def test_an_exception_that_escaped_is_a_failure_though_the_status_is_not_set(
    take: Take, escaped: Any, status: str
) -> None:
    exception = {"exception.type": "TimeoutError", "exception.message": "slow", "exception.escaped": escaped}
    assert one(take, events=(EventData(name="exception", time_ns=1, attributes=exception),)).status == status


def test_the_last_exception_counts(take: Take) -> None:
    events = tuple(
        EventData(name="exception", time_ns=n, attributes={"exception.type": kind, "exception.message": kind})
        for n, kind in enumerate(("TimeoutError", "FileNotFoundError"))
    )
    assert one(take, status="error", events=events).code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        ("asyncio.exceptions.CancelledError", "cancelled"),
        ("KeyboardInterrupt", "cancelled"),
        ("GeneratorExit", "abandoned"),
        ("pydantic_ai.exceptions.ApprovalRequired", "paused"),
        ("langgraph.errors.GraphInterrupt", "paused"),
    ],
)
def test_other_endings_have_no_status(take: Take, kind: str, ending: str) -> None:
    call = one(take, error=(kind, "")) if ending != "raised" else None
    assert call is not None
    assert (call.status, call.ending, call.code) == (None, ending, None)


def test_a_result_with_more_details_than_the_status(take: Take) -> None:
    result = {"content": [{"type": "text", "text": "file not found: a.txt"}], "isError": True}
    call = one(take, status="error", result=result, attributes={"error.type": "tool_error"})
    assert (call.status, call.ending, call.code, call.rule) == ("error", "returned", "NOT_FOUND", "mcp")


def test_the_models_text_of_a_failure_is_its_result(take: Take) -> None:
    call = one(take, error=("acme.Retry", "try again"), result="try another query")
    assert (call.status, call.error_message, data(call.result)) == ("error", "try again", "try another query")


def test_a_stack_trace_after_the_message_is_left_out(take: Take) -> None:
    words = "OSError('disk')Traceback (most recent call last):\n  File x, line 1\n    key = 'sk-secret'"
    call = one(take, status="error", description=words)
    assert call.error_message == "OSError('disk')"


def test_secrets_are_redacted_in_all_texts(take: Take) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwx"
    spans = [
        tool("add", arguments={"api_key": secret}, result={"token": secret}, attributes={"note": secret}, scope=secret),
        tool(secret, None, secret, error=("acme.Odd", secret), attributes={"gen_ai.agent.name": secret}),
        mcp("add", resource={"service.name": secret}, status="error", description=secret),
    ]
    for record in take(*spans):
        assert secret not in str(record)


@pytest.mark.parametrize(
    "message", ["fetch failed", "Failed to fetch", "Load failed", "NetworkError when attempting to fetch resource."]
)
def test_a_failed_fetch_in_javascript_is_a_network_error(message: str) -> None:
    read = by_name("TypeError", message)
    assert (read.code, read.retryable, read.type) == ("NETWORK_ERROR", True, "TypeError")
    assert by_name("TypeError", "x is not a function").code == "INVALID_PARAM"


@pytest.mark.parametrize(
    ("error_type", "read_as", "code"),
    [
        ("timeout", "timeout", "TIMEOUT"),
        ("404", "404", "NOT_FOUND"),
        ("_OTHER", "*errors.errorString", "EXECUTION_ERROR"),
        (None, "*errors.errorString", "EXECUTION_ERROR"),
    ],
)
def test_an_error_type_is_preferred_to_a_go_error_without_a_type(
    take: Take, error_type: str | None, read_as: str, code: str
) -> None:
    attributes = {} if error_type is None else {"error.type": error_type}
    call = one(take, attributes=attributes, error=("*errors.errorString", "it went wrong"))
    assert (call.error_type, call.code, call.error_message) == (read_as, code, "it went wrong")


def test_a_code_in_capitals_is_not_an_exception_class(take: Take) -> None:
    call = one(take, attributes={"error.type": "TOOL_ERROR"}, status="error")
    assert (call.ending, call.error_type) == ("returned", "TOOL_ERROR")
