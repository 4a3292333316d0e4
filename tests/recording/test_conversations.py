"""Some models number their calls anew in each conversation: what belongs to one does not reach the other."""

from __future__ import annotations

from pathlib import Path

import tooltrace as tt


def test_attempts_and_messages_belong_to_their_conversation(store: Path) -> None:
    tool = tt.trace_tool(name="find")(lambda text: tt.ToolResponse.success(text))
    for chat in ("A", "B"):
        with tt.context(call_id="call_0", conversation_id=chat):
            tool(chat)
    for chat in ("A", "B"):
        with tt.context(conversation_id=chat):
            tt.ToolResponse.success(f"seen in {chat}").to_message("call_0")
    with tt.connect() as db:
        rows = db.execute("SELECT conversation_id, attempt, seen_text FROM tool_calls ORDER BY 1").fetchall()
    assert rows == [("A", 1, "seen in A"), ("B", 1, "seen in B")]


def test_the_same_call_again_in_one_conversation_is_its_next_attempt(store: Path) -> None:
    tool = tt.trace_tool(name="find")(lambda: "x")
    for _ in range(2):
        with tt.context(call_id="call_0", conversation_id="A"):
            tool()
    tt.ToolResponse.success("seen").to_message("call_0")  # outside of any conversation: the last call of that id
    with tt.connect() as db:
        assert db.execute("SELECT attempt, seen_text FROM tool_calls ORDER BY 1").fetchall() == [(1, None), (2, "seen")]


def test_a_tool_that_returns_anothers_response_keeps_its_own_id(store: Path) -> None:
    registry = tt.ToolRegistry([tt.tool(name="inner")(lambda: "x")])
    tt.trace_tool(name="outer")(lambda: registry.execute("inner", call_id="inner_1"))()
    with tt.connect() as db:
        rows = db.execute("SELECT tool, call_id = span_id FROM tool_calls ORDER BY tool").fetchall()
    assert rows == [("inner", False), ("outer", True)]
