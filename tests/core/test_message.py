"""Messages for the model: the error first, never empty, and recorded."""

from __future__ import annotations

import hashlib
import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tooltrace as tt
from tooltrace import toolutil
from tooltrace.core.message import NOTHING

TIMEOUT = tt.ToolResponse.error(
    "TIMEOUT",
    "no answer within 5 s",
    suggestion="Ask for fewer rows.",
    user_message="It takes long.",
    text="no answer within 5 s",
)


def test_a_message_begins_with_the_error_and_the_advice() -> None:
    assert TIMEOUT.to_message("c1")["content"].splitlines() == [
        "Error TIMEOUT: no answer within 5 s",
        "Retryable: yes",
        "Suggestion: Ask for fewer rows.",
    ]


def test_details_of_an_error_follow_it() -> None:
    response = tt.ToolResponse.error("NOT_FOUND", "no such file", text="near: a.txt, b.txt")
    assert response.to_message("c1", "plain") == (
        "Error NOT_FOUND: no such file\nRetryable: no, the same call will fail again\nnear: a.txt, b.txt"
    )


def test_each_style_has_the_format_of_its_service() -> None:
    assert tt.ToolResponse.success("42").to_message("c1") == {"role": "tool", "tool_call_id": "c1", "content": "42"}
    assert tt.ToolResponse.success("42").to_message("c1", style="anthropic") == {
        "type": "tool_result", "tool_use_id": "c1", "content": "42",
    }  # fmt: skip
    assert TIMEOUT.to_message("c1", style="anthropic")["is_error"] is True
    assert tt.ToolResponse.success("42").to_message("c1", style="plain") == "42"


def test_data_is_the_message_if_there_is_no_text() -> None:
    assert json.loads(tt.ToolResponse.success(data={"a": [1]}).to_message("c1", "plain")) == {"a": [1]}
    assert tt.ToolResponse.success(data="words").to_message("c1", "plain") == "words"


def test_the_message_of_a_partial_result_names_the_gap() -> None:
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
def test_an_empty_result_has_a_message(response: tt.ToolResponse, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tooltrace"):
        assert response.to_message("c9", "plain") == NOTHING
        named = response.model_copy(update={"meta": tt.ResponseMeta(tool_name="shell")})
        assert named.to_message("c9", "plain") == NOTHING
    first, second = caplog.messages
    assert "a tool for call c9" in first
    assert "the tool 'shell' for call c9" in second


@pytest.mark.parametrize("call_id", ["", "  ", None, 7])
def test_a_message_requires_the_call_id(call_id: object, caplog: pytest.LogCaptureFixture) -> None:
    response = tt.ToolResponse.success("secret words", meta={"tool_name": "shell"})
    with pytest.raises(ValueError, match="the tool 'shell' needs the id of its call") as refused:
        response.to_message(call_id)  # type: ignore[arg-type, call-overload]
    assert isinstance(refused.value, tt.TooltraceError)
    assert "the tool 'shell' was refused" in caplog.text
    assert "secret" not in caplog.text


def test_an_unknown_style_names_those_that_are() -> None:
    with pytest.raises(ValueError, match="openai, anthropic, plain, json"):
        TIMEOUT.to_message("c1", "gemini")  # type: ignore[call-overload]


@given(
    st.text(),
    st.none() | st.text() | st.lists(st.integers()),
    st.sampled_from(["openai", "anthropic", "plain", "json"]),
)
def test_every_response_has_a_nonempty_message(text: str, data: object, style: str) -> None:
    message = tt.ToolResponse.success(text, data).to_message("c1", style)  # type: ignore[call-overload]
    assert (message if isinstance(message, str) else message["content"]).strip()


@pytest.mark.parametrize(
    ("confidence", "line"),
    [
        (0.8, None),
        (0.79, "Uncertain (confidence 0.79): check this answer before relying on it"),
        (0.5, "Uncertain (confidence 0.5): check this answer before relying on it"),
        (0.49, "Uncertain (confidence 0.49): do not rely on this answer alone"),
    ],
)
def test_the_message_marks_an_uncertain_answer(confidence: float, line: str | None) -> None:
    text = tt.ToolResponse.success("Oslo", confidence=confidence).to_message("c1", "plain")
    assert text == (f"{line}\nOslo" if line else "Oslo")
    error = tt.ToolResponse.error("TIMEOUT", "late", confidence=confidence)
    assert "Uncertain" not in error.to_message("c1", "plain")


def test_members_for_the_application_stand_beside_the_content() -> None:
    error = tt.ToolResponse.error("TIMEOUT", "late", system="cwd=/tmp", text="late")
    assert error.to_message("c1") == {
        "role": "tool", "tool_call_id": "c1", "content": "Error TIMEOUT: late\nRetryable: yes", "system": "cwd=/tmp",
    }  # fmt: skip
    assert error.to_message("c1", "anthropic")["system"] == "cwd=/tmp"
    assert "cwd" not in error.to_message("c1", "plain") + error.to_message("c1", "json")
    for style in ("openai", "anthropic"):
        assert error.to_message("c1", style, is_internal=True)["is_internal"] is True  # type: ignore[call-overload]
    with pytest.raises(tt.errors.MessageError, match="is_internal needs a message with members"):
        error.to_message("c1", "json", is_internal=True)  # type: ignore[call-overload]


NOTED = tt.ToolResponse.success(
    "Seven days.",
    confidence=0.6,
    next_action="ask_user",
    sources=[
        tt.Source(id="r4", label="Rules\nfor returns", url="/rules", section="Periods"),
        tt.Source(type="database", id="orders"),
    ],
)
CONFIDENCE = "Uncertain (confidence 0.6): check this answer before relying on it"
ACTION = "Next action: ask the user before you go on"
SOURCES = "Sources: [1] Rules for returns, Periods (/rules) [2] orders"


@pytest.mark.parametrize(
    ("notes", "lines", "members"),
    [
        (True, [CONFIDENCE, ACTION, "Seven days.", SOURCES], {"confidence", "note", "source", "nextAction"}),
        (False, ["Seven days."], set()),
        (["sources"], ["Seven days.", SOURCES], {"source"}),
        ({"confidence", "next_action"}, [CONFIDENCE, ACTION, "Seven days."], {"confidence", "note", "nextAction"}),
    ],
)
def test_notes_about_the_answer_can_be_chosen(notes: Any, lines: list[str], members: set[str]) -> None:
    assert NOTED.to_message("c1", "plain", notes=notes) == "\n".join(lines)
    assert NOTED.to_message("c1", notes=notes)["content"] == "\n".join(lines)
    assert NOTED.to_message("c1", "anthropic", notes=notes)["content"] == "\n".join(lines)
    found = json.loads(NOTED.to_message("c1", "json", notes=notes))
    assert set(found) - {"success", "data"} == members
    if "source" in members:
        assert found["source"][1] == {"type": "database", "id": "orders"}


def test_what_a_note_says() -> None:
    for action in ("continue", "retry", "ask_user", "human_review", "stop"):
        stated = tt.ToolResponse.success("x", next_action=action)  # type: ignore[arg-type]
        assert stated.to_message("c1", "plain").startswith("Next action: ")
        assert json.loads(stated.to_message("c1", "json"))["nextAction"] == action
    advised = tt.ToolResponse.error("TIMEOUT", "late")
    assert "Next action" not in advised.to_message("c1", "plain")
    many = tt.ToolResponse.success("x", sources=[tt.Source(id=str(n)) for n in range(25)])
    assert many.to_message("c1", "plain").endswith("[20] 19 and 5 more")
    with pytest.raises(tt.errors.MessageError, match="no note 'source'"):
        NOTED.to_message("c1", notes=["source"])  # type: ignore[list-item]


class TestJson:
    """The JSON form of the message, which is the form of Eino's result."""

    @pytest.mark.parametrize(
        ("response", "message"),
        [
            (tt.ToolResponse.success(data={"n": 1}), {"success": True, "data": {"n": 1}}),
            (tt.ToolResponse.success("sunny"), {"success": True, "data": "sunny"}),
            (tt.ToolResponse.success("sunny", "sunny"), {"success": True, "data": "sunny"}),
            (tt.ToolResponse.success("one row", [1]), {"success": True, "data": [1], "text": "one row"}),
            (tt.ToolResponse.success(), {"success": True}),
            (
                tt.ToolResponse.error("TIMEOUT", "late", suggestion="Ask for fewer rows."),
                {
                    "success": False,
                    "error": {
                        "code": "TIMEOUT",
                        "message": "late",
                        "retryable": True,
                        "suggestion": "Ask for fewer rows.",
                    },
                },
            ),
            (
                tt.ToolResponse.error("MY_CODE", "no such file", text="near: a.txt"),
                {"success": False, "text": "near: a.txt", "error": {"code": "MY_CODE", "message": "no such file"}},
            ),
            (
                tt.ToolResponse.partial("100 rows", reason="cut", confidence=0.6, system="cwd=/tmp"),
                {
                    "success": True,
                    "data": "100 rows",
                    "partial": True,
                    "reason": "cut",
                    "confidence": 0.6,
                    "note": "check this answer before relying on it",
                },
            ),
            (
                tt.ToolResponse.success("a chart", context={"images": ["https://a.example/c.png"]}),
                {"success": True, "data": "a chart", "attachments": ["image: https://a.example/c.png"]},
            ),
        ],
    )
    def test_the_members(self, response: tt.ToolResponse, message: dict[str, object]) -> None:
        assert json.loads(response.to_message("c1", "json")) == message

    @pytest.mark.parametrize("response", [toolutil.OK({"n": 1}), toolutil.Fail("MINE", "gone", False, "List them.")])
    def test_the_rule_for_eino_reads_it_back(self, response: tt.ToolResponse) -> None:
        read = tt.normalize(response.to_message("c1", "json"))
        assert read.meta.rule == "eino"
        assert (read.status, read.data, read.error) == (response.status, response.data, response.error)


def test_the_helpers_of_eino_accept_positions() -> None:
    assert toolutil.OK("sunny") == tt.ToolResponse.success("sunny", "sunny")
    assert toolutil.OK([1]) == tt.ToolResponse.success(data=[1])
    failed = toolutil.Fail("ORDER_NOT_FOUND", "no such order", False, "Ask for the number.")
    assert failed == tt.ToolResponse.error("ORDER_NOT_FOUND", "no such order", False, "Ask for the number.")
    error = failed.error
    assert error is not None
    assert (error.code, error.message, error.retryable, error.suggestion) == (
        "ORDER_NOT_FOUND", "no such order", False, "Ask for the number.",
    )  # fmt: skip
    assert toolutil.Fail("TIMEOUT", "late").error == tt.ToolResponse.error("TIMEOUT", "late").error


class TestAttachments:
    """Media in the context of a response, as words for the model."""

    @pytest.mark.parametrize(
        ("context", "lines"),
        [
            ({"images": [{"url": "https://a.example/c.png", "id": "7"}]}, ["image: https://a.example/c.png"]),
            ({"images": [{"content": "base64:iVBORzEyMzQ1Ng==", "mime_type": "image/png"}]}, ["image: image/png, 10 bytes"]),
            ({"images": ["iVBO" * 1000]}, ["image: 3.0 KB"]),
            ({"audios": [{"id": "7"}]}, ["audio: 7"]),
            ({"videos": ["https://a.example/v.mp4", "data:video/mp4;base64,AAAA"]},
             ["video: https://a.example/v.mp4", "video: video/mp4, 3 bytes"]),
            ({"files": [{"filename": "r.pdf", "size": 12345, "filepath": "/tmp/r.pdf"}]}, ["file: r.pdf, /tmp/r.pdf, 12.3 KB"]),
            ({"files": [{"name": "r.txt", "content": "abc" * 1_000_000}]}, ["file: r.txt, 3.0 MB"]),
            ({"images": {"url": "data:image/png;base64,AAAA"}}, ["image: image/png, 3 bytes"]),
            ({"images": [{"name": "two\n lines", "url": "https://a.example/" + "x" * 600}]},
             ["image: two lines, https://a.example/" + "x" * 482 + "…"]),
        ],
    )  # fmt: skip
    def test_each_is_described(self, context: dict[str, object], lines: list[str]) -> None:
        text = tt.ToolResponse.success("Here.", context=context).to_message("c1", "plain")
        assert text.splitlines() == ["Here.", *(f"Attached {line}" for line in lines)]

    @pytest.mark.parametrize(
        "context", [{}, {"files": 3}, {"files": ["a.py", "b.py"]}, {"images": [None, 7, "", {}]}, {"videos": None}]
    )
    def test_other_values_are_not_media(self, context: dict[str, object]) -> None:
        assert tt.ToolResponse.success("Here.", context=context).to_message("c1", "plain") == "Here."

    def test_their_number_is_bounded(self) -> None:
        images = [{"url": f"https://a.example/{n}.png"} for n in range(1000)]
        lines = tt.ToolResponse.success("", context={"images": images}).to_message("c1", "plain").splitlines()
        assert lines[-2:] == ["Attached image: https://a.example/19.png", "Attached 980 more"]
        assert len(lines) == 21

    @given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)
                        | st.dictionaries(st.sampled_from(["url", "name", "content", "size", "id"]), inner)))  # fmt: skip
    def test_any_value_makes_short_lines(self, value: object) -> None:
        text = tt.ToolResponse.success("Here.", context={"images": value}).to_message("c1", "plain")
        assert all(len(line) < 1000 for line in text.splitlines())


class TestRecord:
    def test_the_models_text_is_recorded_with_the_result(self, store: object) -> None:
        tool = tt.trace_tool(name="find")(lambda: TIMEOUT)
        with tt.context(call_id="c1"):
            text = tool().to_message("c1", "plain")
        with tt.connect() as db:
            row = db.execute("SELECT seen_text, seen_hash, seen_length, seen_error, status FROM tool_calls").fetchall()
        assert row == [(text, hashlib.sha256(text.encode()).hexdigest(), len(text), True, "error")]

    def test_an_error_hidden_from_the_model_is_detected(self, store: object) -> None:
        with tt.context(call_id="c1"):
            tt.trace_tool(name="find")(lambda: {"ok": False, "error": "gone"})()
        tt.ToolResponse.success("All is well.").to_message("c1")
        with tt.connect() as db:
            assert db.execute("SELECT status, seen_error FROM tool_calls").fetchall() == [("error", False)]

    def test_a_mark_of_uncertainty_is_not_an_error(self, store: object) -> None:
        for call_id, style in (("c1", "plain"), ("c2", "json")):
            with tt.context(call_id=call_id):
                answer = tt.trace_tool(name="find")(lambda: tt.ToolResponse.success("Oslo", confidence=0.3))()
            answer.to_message(call_id, style)  # type: ignore[call-overload]
        with tt.connect() as db:
            assert db.execute("SELECT seen_error FROM tool_calls").fetchall() == [(False,), (False,)]

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

    def test_a_long_message_is_cut_but_its_full_length_is_recorded(self, tmp_path: object) -> None:
        tt.configure(store=f"{tmp_path}/t.duckdb", field_limit=100)
        tt.ToolResponse.success("x" * 1000).to_message("c1")
        with tt.connect() as db:
            assert db.execute("SELECT length(text), length FROM messages").fetchall() == [(100, 1000)]
        tt.shutdown()
