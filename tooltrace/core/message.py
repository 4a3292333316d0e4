"""The message that a model receives for a response: the error first, and never empty."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from tooltrace.core import attachments
from tooltrace.core.confidence import LOW, is_uncertain
from tooltrace.errors import MessageError
from tooltrace.redact.walk import to_json_bytes

if TYPE_CHECKING:
    from tooltrace.core.response import ErrorInfo, ToolResponse

Style = Literal["openai", "anthropic", "plain", "json"]

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
    tool = f"the tool {response.meta.tool_name!r}" if response.meta.tool_name else "a tool"
    if not isinstance(call_id, str) or not call_id.strip():
        # the content is not logged: nothing has redacted it
        logger.warning("a message of %s was refused, because it has no id of its call", tool)
        raise MessageError(
            f"a message of {tool} needs the id of its call, as a non-empty text, got {call_id!r}: pass the id that the model"
            " gave the call"
        )
    wrap = _STYLES.get(style)
    if wrap is None:
        raise MessageError(f"no message style {style!r}: pass one of {', '.join(_STYLES)}")
    text = json_text(response) if style == "json" else message_text(response)
    if not text.strip():
        logger.warning("the message of %s for call %s is empty: the model receives %r instead", tool, call_id, NOTHING)
        text = NOTHING
    for listener in listeners:
        listener(response, call_id, text, style)
    return wrap(response, call_id, text)


def message_text(response: ToolResponse) -> str:
    """Return the text of the message for ``response``; empty where the response has no text."""
    body = response.text.strip() and response.text
    if not body and response.data is not None:
        body = _data_text(response.data)
    if response.error is not None and _repeats(body, response.error.message):
        body = ""
    attached = (f"Attached {words}" for words in attachments.describe(response.context))
    return "\n".join(filter(None, (*_head(response), body, *attached)))


def json_text(response: ToolResponse) -> str:
    """Return the message for ``response`` as a JSON object: ``success``, ``data`` and ``error``.

    ``text`` stands beside data or an error that do not repeat it. ``partial``, ``reason``, ``confidence``, ``note``,
    ``system`` and ``attachments`` are present where :func:`message_text` has a line for them.
    """
    data, text, error = response.data, response.text or None, response.error
    if data is None and error is None:
        data = text
    if text and ((isinstance(data, str) and text == data) or (error is not None and _repeats(text, error.message))):
        text = None
    members: dict[str, Any] = {
        "success": response.ok,
        "data": data,
        "text": text,
        "error": error and _error_members(error),
    }
    if response.status == "partial":
        members |= {"partial": True, "reason": response.reason}
    if note := _uncertainty(response):
        members |= {"confidence": response.confidence, "note": note}
    members |= {"system": response.system or None, "attachments": attachments.describe(response.context) or None}
    return to_json_bytes({name: value for name, value in members.items() if value is not None}).decode()


def _error_members(error: ErrorInfo) -> dict[str, Any]:
    members = {
        "code": error.code,
        "message": error.message,
        "retryable": error.retryable,
        "suggestion": error.suggestion,
    }
    return {name: value for name, value in members.items() if value is not None}


def answer_text(response: ToolResponse) -> str:
    """Return the answer in words: the text, else the data; of an error ``Error: `` and its text."""
    words = response.text.strip() and response.text
    if response.status == "error" and response.error is not None:
        words = words or response.error.message
        return words if words.lower().startswith("error:") else f"Error: {words}"
    return words or ("" if response.data is None else _data_text(response.data))


def _data_text(data: Any) -> str:
    return data if isinstance(data, str) else to_json_bytes(data).decode()


def _repeats(body: str, message: str) -> bool:
    """Whether ``body`` is the error's ``message``, with at most a word like "Error:" before it."""
    return body.endswith(message) and len(body) - len(message) <= _PREFIX


def _head(response: ToolResponse) -> list[str]:
    """Return the lines before the answer: the error, what a partial result lacks, the uncertainty, the system note."""
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
    if note := _uncertainty(response):
        lines.append(f"Uncertain (confidence {response.confidence:g}): {note}")
    if response.system:
        lines.append(f"System: {response.system}")
    return lines


def _uncertainty(response: ToolResponse) -> str:
    """Return what the model should do about an uncertain answer; empty for any other response."""
    confidence = response.confidence
    if not response.ok or confidence is None or not is_uncertain(confidence):
        return ""
    return "check this answer before relying on it" if confidence >= LOW else "do not rely on this answer alone"


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
    "json": _text_only,
}
