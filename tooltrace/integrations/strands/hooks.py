"""Hooks of Strands: calls that are paused, cancelled or answered elsewhere, and the model's messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tooltrace.faults import suppress_faults
from tooltrace.integrations.strands.execution import STYLE, begin, conversation_of
from tooltrace.recording.config import get_recorder
from tooltrace.recording.context import context
from tooltrace.redact.walk import to_json_bytes


def traced_callbacks(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``HookRegistry.invoke_callbacks_async`` with recording of what the events report."""

    async def invoke_callbacks_async(self: Any, event: Any) -> Any:
        done = await original(self, event)
        with suppress_faults("record"):
            _record(event, done[1])
        return done

    return invoke_callbacks_async


def _record(event: Any, interrupts: Any) -> None:
    kind = type(event).__name__
    if kind == "BeforeToolCallEvent" and interrupts:
        begin(event.agent, event.selected_tool, event.tool_use).finish("paused")
    elif kind == "AfterToolCallEvent" and event.cancel_message is not None:
        begin(event.agent, event.selected_tool, event.tool_use).blocked(str(event.cancel_message))
    elif kind == "MessageAddedEvent":
        with context(conversation_id=conversation_of(event.agent)):
            for call_id, text, failed in _results(event.message):
                get_recorder().record_model_message(call_id, text, style=STYLE, error=failed)


def _results(message: Mapping[str, Any]) -> Iterator[tuple[str, str, bool | None]]:
    """Yield id, text and failure of each tool result in ``message``."""
    for block in message.get("content") or ():
        result = block.get("toolResult") if isinstance(block, Mapping) else None
        if isinstance(result, Mapping) and result.get("toolUseId") is not None:
            text = "\n".join(_text(part) for part in result.get("content") or ())
            yield str(result["toolUseId"]), text, True if result.get("status") == "error" else None


def _text(part: Mapping[str, Any]) -> str:
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if "json" in part:
        return to_json_bytes(part["json"]).decode()
    return f"[{next(iter(part), 'content')}]"
