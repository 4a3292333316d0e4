"""Calls of tools that an agent of LangGraph does not have: its ``ToolNode`` answers them itself, and no callback hears of it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tooltrace.core.codes import ToolErrorCode
from tooltrace.faults import suppress_faults
from tooltrace.integrations.framework_call import FrameworkCall, spec_for
from tooltrace.integrations.langchain.handler import STYLE
from tooltrace.integrations.monkeypatch import MonkeyPatcher

_patches = MonkeyPatcher()


def install() -> None:
    """Record the unknown tools of every ``ToolNode``, where LangGraph is installed."""
    try:
        node = import_module("langgraph.prebuilt.tool_node").ToolNode
    except ImportError:
        return
    if hasattr(node, "_validate_tool_call"):
        _patches.make(lambda: _patches.wrap(node, "_validate_tool_call", _recording))


def remove() -> None:
    """Leave ``ToolNode`` as it was."""
    _patches.undo()


def _recording(original: Callable[..., Any]) -> Callable[..., Any]:
    def _validate_tool_call(self: Any, call: Any) -> Any:
        answer = original(self, call)
        if answer is not None:
            with suppress_faults("record", lost=1):
                refused = FrameworkCall(
                    spec_for(str(call["name"])), call.get("args"), style=STYLE, call_id=call.get("id")
                )
                refused.refused(ToolErrorCode.NOT_FOUND, str(answer.content))
                refused.model_reads(answer.content)
        return answer

    return _validate_tool_call
