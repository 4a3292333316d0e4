"""What the model is given: the error first, never nothing, and it is on record."""

from __future__ import annotations

import hashlib
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tooltrace as tt
from tooltrace.core.message import NOTHING

TIMEOUT = tt.ToolResponse.error(
    "TIMEOUT",
    "no answer within 5 s",
    suggestion="Ask for fewer rows.",
    user_message="It takes long.",
    text="no answer within 5 s",
)


def test_an_error_comes_first_with_what_the_model_can_do() -> None:
    assert TIMEOUT.to_message("c1")["content"].splitlines() == [
        "Error TIMEOUT: no answer within 5 s",
        "Retryable: yes",
        "Suggestion: Ask for fewer rows.",
    ]


def test_what_an_error_says_besides_follows_it() -> None:
    response = tt.ToolResponse.error("NOT_FOUND", "no such file", text="near: a.txt, b.txt")
    assert response.to_message("c1", "plain") == (
        "Error NOT_FOUND: no such file\nRetryable: no, the same call will fail again\nnear: a.txt, b.txt"
    )


def test_each_style_is_the_form_that_its_service_takes() -> None:
    assert tt.ToolResponse.success("42").to_message("c1") == {"role": "tool", "tool_call_id": "c1", "content": "42"}
    assert tt.ToolResponse.success("42").to_message("c1", style="anthropic") == {
        "type": "tool_result", "tool_use_id": "c1", "content": "42",
    }  # fmt: skip
    assert TIMEOUT.to_message("c1", style="anthropic")["is_error"] is True
    assert tt.ToolResponse.success("42").to_message("c1", style="plain") == "42"


def test_data_speaks_where_there_is_no_text() -> None:
    assert json.loads(tt.ToolResponse.success(data={"a": [1]}).to_message("c1", "plain")) == {"a": [1]}
    assert tt.ToolResponse.success(data="words").to_message("c1", "plain") == "words"


def test_a_partial_answer_says_what_is_missing() -> None:
    response = tt.ToolResponse.partial("100 rows", reason="truncated to 100 of 250")
    assert response.to_message("c1", "plain") == "Partial result: truncated to 100 of 250\n100 rows"


@pytest.mark.parametrize(
    "response",
    [
        tt.ToolResponse.success(),
        tt.ToolResponse.success(" \n"),
        tt.ToolResponse.success(data="\r"),
        tt.ToolResponse.partial(),
    ],
)
def test_a_message_is_never_empty_and_says_so(response: tt.ToolResponse, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tooltrace"):
        assert response.to_message("c9", "plain") == NOTHING
    assert "c9" in caplog.text


@pytest.mark.parametrize("call_id", ["", "  ", None, 7])
def test_without_the_id_of_its_call_there_is_no_message(call_id: object) -> None:
    with pytest.raises(ValueError, match="id of its call"):
        TIMEOUT.to_message(call_id)  # type: ignore[arg-type, call-overload]
    with pytest.raises(tt.TooltraceError):
        TIMEOUT.to_message(call_id)  # type: ignore[arg-type, call-overload]


def test_an_unknown_style_names_those_that_are() -> None:
    with pytest.raises(ValueError, match="openai, anthropic, plain"):
        TIMEOUT.to_message("c1", "gemini")  # type: ignore[call-overload]


@given(st.text(), st.none() | st.text() | st.lists(st.integers()), st.sampled_from(["openai", "anthropic", "plain"]))
def test_whatever_it_says_there_is_something_to_read(text: str, data: object, style: str) -> None:
    message = tt.ToolResponse.success(text, data).to_message("c1", style)  # type: ignore[call-overload]
    assert (message if isinstance(message, str) else message["content"]).strip()


class TestRecord:
    def test_what_the_model_was_given_stands_beside_what_happened(self, store: object) -> None:
        tool = tt.trace_tool(name="find")(lambda: TIMEOUT)
        with tt.context(call_id="c1"):
            text = tool().to_message("c1", "plain")
        with tt.connect() as db:
            row = db.execute("SELECT seen_text, seen_hash, seen_length, seen_error, status FROM tool_calls").fetchall()
        assert row == [(text, hashlib.sha256(text.encode()).hexdigest(), len(text), True, "error")]

    def test_an_error_that_the_model_never_saw_is_found(self, store: object) -> None:
        with tt.context(call_id="c1"):
            tt.trace_tool(name="find")(lambda: {"ok": False, "error": "gone"})()
        tt.ToolResponse.success("All is well.").to_message("c1")
        with tt.connect() as db:
            assert db.execute("SELECT status, seen_error FROM tool_calls").fetchall() == [("error", False)]

    def test_it_belongs_to_the_last_attempt(self, store: object) -> None:
        tool = tt.trace_tool(name="find")(lambda n: tt.ToolResponse.success(str(n)))
        for n in (1, 2):
            with tt.context(call_id="c1"):
                tool(n)
        tt.ToolResponse.success("2").to_message("c1")
        with tt.connect() as db:
            rows = db.execute("SELECT attempt, seen_text FROM tool_calls ORDER BY attempt").fetchall()
        assert rows == [(1, None), (2, "2")]

    def test_secrets_and_metadata_only_tools_leave_no_text(self, store: object) -> None:
        secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
        with tt.context(call_id="c1"):
            tt.trace_tool(name="open", capture="metadata")(lambda: "private")()
        tt.ToolResponse.success("private").to_message("c1")
        tt.ToolResponse.success(f"the key is {secret}").to_message("c2")
        with tt.connect() as db:
            rows = db.execute("SELECT call_id, text, length FROM messages ORDER BY 1").fetchall()
        assert rows[0] == ("c1", None, 7)
        assert secret not in rows[1][1]
        assert "the key is" in rows[1][1]

    def test_a_long_message_is_cut_and_measured_whole(self, tmp_path: object) -> None:
        tt.configure(store=f"{tmp_path}/t.duckdb", field_limit=100)
        tt.ToolResponse.success("x" * 1000).to_message("c1")
        with tt.connect() as db:
            assert db.execute("SELECT length(text), length FROM messages").fetchall() == [(100, 1000)]
        tt.shutdown()
