"""The message that a model receives for a response: the error first, and never empty."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from tooltrace.errors import MessageError
from tooltrace.redact.snapshot import to_json_bytes

if TYPE_CHECKING:
    from tooltrace.core.response import ToolResponse

Style = Literal["openai", "anthropic", "plain"]

NOTHING = "(The tool finished and returned nothing.)"
"""Placeholder for an empty message: some model services refuse an empty one, and a model may overlook it."""

_PREFIX = 12
"""Maximum number of characters before an error message in a text that repeats it, such as "Error: "."""

logger = logging.getLogger("tooltrace")

Listener = Callable[["ToolResponse", str, str, str], None]
listeners: list[Listener] = []
"""Functions called with every message: the response, the call's id, the text and the style."""


def message_of(response: ToolResponse, call_id: str, style: str) -> Any:
    """Return the message for ``response``; see :meth:`ToolResponse.to_message`."""
    if not isinstance(call_id, str) or not call_id.strip():
        raise MessageError(
            f"a message needs the id of its call, as a non-empty text, got {call_id!r}: pass the id that the model gave the call"
        )
    wrap = _STYLES.get(style)
    if wrap is None:
        raise MessageError(f"no message style {style!r}: pass one of {', '.join(_STYLES)}")
    text = message_text(response)
    if not text.strip():
        logger.warning("the message for call %s is empty: the model receives %r instead", call_id, NOTHING)
        text = NOTHING
    for listener in listeners:
        listener(response, call_id, text, style)
    return wrap(response, call_id, text)


def message_text(response: ToolResponse) -> str:
    """Return the text of the message for ``response``; empty where the response has no text."""
    body = response.text.strip() and response.text
    if not body and response.data is not None:
        body = response.data if isinstance(response.data, str) else to_json_bytes(response.data).decode()
    if response.error is not None and _repeats(body, response.error.message):
        body = ""
    return "\n".join(filter(None, (*_head(response), body)))


def _repeats(body: str, message: str) -> bool:
    """Whether ``body`` is the error's ``message``, with at most a word like "Error:" before it."""
    return body.endswith(message) and len(body) - len(message) <= _PREFIX


def _head(response: ToolResponse) -> list[str]:
    """Return the lines before the answer: the error, and the reason of a partial result."""
    error = response.error
    lines = []
    if error is not None:
        lines.append(f"{'Error' if response.status == 'error' else 'Problem'} {error.code}: {error.message}")
        if error.retryable is not None:
            lines.append(f"Retryable: {'yes' if error.retryable else 'no, the same call will fail again'}")
        if error.suggestion:
            lines.append(f"Suggestion: {error.suggestion}")
    if response.status == "partial" and response.reason:
        lines.append(f"Partial result: {response.reason}")
    return lines


def _openai(_: ToolResponse, call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def _anthropic(response: ToolResponse, call_id: str, text: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return {**block, "is_error": True} if response.status == "error" else block


def _text_only(_: ToolResponse, __: str, text: str) -> str:
    return text


_STYLES: dict[str, Callable[[ToolResponse, str, str], Any]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "plain": _text_only,
}
