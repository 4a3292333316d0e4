"""Lines as Claude Code writes them, with made content."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

SESSION = "7d1fa2a0-0000-4000-8000-000000000001"
START = datetime(2026, 11, 20, 10, tzinfo=UTC)
MODEL = "claude-sonnet-4-5"


def at(second: float) -> str:
    return (START + timedelta(seconds=second)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def line(kind: str, second: float, **members: Any) -> dict[str, Any]:
    return {
        "parentUuid": None,
        "isSidechain": False,
        "type": kind,
        "uuid": f"u-{kind}-{second}-{len(str(members))}",
        "timestamp": at(second),
        "cwd": "/home/ada/shop",
        "sessionId": SESSION,
        "version": "2.1.332",
        "gitBranch": "main",
        **members,
    }


def prompt(second: float, text: str = "go", **more: Any) -> dict[str, Any]:
    return line("user", second, message={"role": "user", "content": text}, **more)


def asks(second: float, call_id: str, tool: str = "Bash", turn: str | None = None, **more: Any) -> dict[str, Any]:
    """The model asks for a call; ``arguments`` are those of ``more`` without the line's own members."""
    arguments = more.pop("arguments", {"command": "make"})
    block = {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 7}
    message = {"id": turn or f"msg_{call_id}", "role": "assistant", "model": MODEL, "content": [block], "usage": usage}
    return line("assistant", second, message=message, **more)


def answers(second: float, call_id: str, content: Any, is_error: bool | None = None, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    if is_error is not None:
        block["is_error"] = is_error
    return line("user", second, message={"role": "user", "content": [block]}, **more)
