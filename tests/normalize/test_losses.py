"""Any shape of a protocol's members is read without an exception or a loss."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.normalize.shapes import anything, lost, objects, read
from tooltrace import faults

ERROR = ("code", "message", "type", "retryable", "suggestion", "userMessage", "user_message", "detail")
errors = anything | objects(*ERROR)
flag = st.booleans()
statuses = st.sampled_from(["success", "partial", "error"])

SHAPES = {
    "tool_response": objects(
        *("code", "data", "reason", "confidence", "signals", "sources", "next_action", "error", "error_info", "stats"),
        *("context", "explanation", "system"),
        sure={"status": statuses, "text": anything, "meta": anything | objects("tool_name", "attempt", "cached", "flags")},
    ),
    "hello_agents": objects(
        "error", "error_info", "stats", "context", sure={"status": statuses, "text": anything, "data": anything}
    ),
    "envelope": objects(
        *("data", "source", "sources", "nextAction", "next_action", "message", "reason", "signals", "userMessage"),
        *("explanation", "stats", "context", "retryable"),
        sure={"success": flag, "confidence": anything, "error": errors, "meta": anything | objects("traceId", "duration")},
    ),
    "eino": objects("data", sure={"success": flag, "error": errors}),
    "magic": objects(
        *("system", "tool_call_id", "name", "execution_time", "explanation", "content", "data", "ok"),
        sure={"output": anything, "error": errors},
    ),
    "flags": objects("data", "result", "message", "reason", "code", "status", "error", "detail", sure={"ok": flag}),
    "error_member": objects(
        *("message", "code", "status", "type", "data", "results", "hint", "retryable", "path", "error_code"),
        sure={"error": errors},
    ),
    "error_status": objects(
        *("message", "code", "data", "body", "detail", "error", "status_code", "errmsg", "msg"),
        sure={"status": statuses | st.sampled_from(["fail", "failed", 404, 500, "503"])},
    ),
    "errors": objects("data", "message", sure={"errors": st.lists(errors, max_size=3)}),
    "problem_json": objects("detail", "instance", sure={"type": st.just("about:blank"), "title": anything, "status": st.just(403)}),
    "aws": objects("message", "Message", "code", sure={"__type": anything}),
    "exit_status": objects("stdout", "stderr", "output", "command", sure={"exit_code": anything}),
    "hidden": objects("error", "status", "meta", "query", sure={"data": anything | st.just("timed out")}),
    "detail": objects("documentation_url", "status", sure={"detail": anything, "message": anything}),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_raises_and_nothing_is_lost(shape: str) -> None:
    @given(SHAPES[shape])
    def holds(value: dict[str, Any]) -> None:
        assert faults.raise_faults, "a rule that raises would go unseen"
        assert lost(value, read(value)) == []
        assert lost(value, read(orjson.dumps(value).decode())) == []

    holds()


@given(
    st.lists(
        st.sampled_from(["❌ ", "错误", "：", "Error", ":", " ", "\n", "HTTP 404", "timeout", "x", "[A]"]), max_size=7
    )
)
def test_a_text_is_preserved_completely(parts: list[str]) -> None:
    joined = "".join(parts)
    assert read(joined).text == joined
