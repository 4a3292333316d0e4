"""The message that a model receives for a response: the error first, and never empty."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from tooltrace.core.confidence import LOW, is_uncertain
from tooltrace.errors import MessageError
from tooltrace.redact.walk import to_json_bytes

if TYPE_CHECKING:
    from tooltrace.core.codes import NextAction
    from tooltrace.core.response import ErrorInfo, Source, ToolResponse


KINDS = {"images": "image", "videos": "video", "audios": "audio", "files": "file"}
"""The members of a response's context that hold media, each with the word for one of its items."""

MAX_ATTACHMENTS = 20
"""Maximum number of media that a message describes; it only counts the others."""

MAX_URL = 500
MAX_NAME = 100
"""Maximum lengths of a URL or path, and of a name."""

_URL = re.compile(r"(?i)[a-z][a-z0-9+.-]*://\S")
_DATA_URL = re.compile(r"(?i)data:([^,;\s]*)[^,]*,")
_BASE64 = "base64:"
"""Prefix of bytes in JSON data."""


def describe(context: Mapping[str, Any] | None) -> list[str]:
    """Return words for each image, video, audio and file in ``context``: its kind, name, type, URL or size."""
    found = [(kind, words) for member, kind in KINDS.items() for words in _items((context or {}).get(member), kind)]
    described = [f"{kind}: {words}" for kind, words in found[:MAX_ATTACHMENTS]]
    more = len(found) - len(described)
    return [*described, f"{more} more"] if more else described


def _items(value: Any, kind: str) -> Iterator[str]:
    for item in value if isinstance(value, list | tuple) else (value,):
        words = _of_object(item) if isinstance(item, Mapping) else _of_text(item, kind) if isinstance(item, str) else ""
        if words:
            yield words


def _of_text(text: str, kind: str) -> str:
    """Return the words for a URL, a path or data; a bare name in ``files`` is not a file that was returned."""
    if found := _DATA_URL.match(text):
        return _joined(found[1], _size(_base64_bytes(text[found.end() :])))
    if not _URL.match(text) and len(text) > MAX_URL:
        return _size(_base64_bytes(text.removeprefix(_BASE64)))
    return "" if kind == "file" and not _URL.match(text) else _cut(text, MAX_URL)


def _of_object(item: Mapping[str, Any]) -> str:
    url, content = _first(item, "url", "filepath", "path", "uri"), _first(item, "content", "data")
    kind = _first(item, "mime_type", "mimeType", "media_type", "format")
    if data_url := _DATA_URL.match(url):
        kind, content, url = kind or data_url[1], content or f"{_BASE64}{url[data_url.end() :]}", ""
    name = _first(item, "filename", "name", "title")
    words = _joined(_cut(name, MAX_NAME), _cut(kind, MAX_NAME), _cut(url, MAX_URL), _size_of(item, content))
    return words or _cut(_first(item, "id"), MAX_NAME)


def _first(item: Mapping[str, Any], *names: str) -> str:
    """Return the first of these members that is a text with words in it; else an empty text."""
    texts = (item[name] for name in names if isinstance(item.get(name), str))
    return next((text for text in texts if text.strip()), "")


def _size_of(item: Mapping[str, Any], content: str) -> str:
    size = item.get("size")
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return _size(size)
    if not content:
        return ""
    encoded = content.startswith(_BASE64)
    return _size(_base64_bytes(content[len(_BASE64) :]) if encoded else len(content.encode("utf-8", "replace")))


def _base64_bytes(encoded: str) -> int:
    return len(encoded.rstrip("=")) * 3 // 4


def _size(count: int) -> str:
    for unit, bytes_ in (("MB", 1_000_000), ("KB", 1000)):
        if count >= bytes_:
            return f"{count / bytes_:.1f} {unit}"
    return f"{count} bytes"


def _cut(text: str, length: int) -> str:
    """Return ``text`` on one line, truncated to ``length`` characters."""
    line = " ".join(text[: length * 2].split())
    return line if len(line) <= length and len(text) <= length * 2 else f"{line[:length]}…"


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


Style = Literal["openai", "anthropic", "plain", "json"]

Note = Literal["confidence", "next_action", "sources"]
"""What a message says about the answer: an uncertain confidence, the next action that the tool stated, the sources."""

NOTHING = "(The tool finished and returned nothing.)"
"""Placeholder for an empty message: some model services refuse an empty one, and a model may overlook it."""

_PREFIX = 12
"""Maximum number of characters before an error message in a text that repeats it, such as "Error: "."""

logger = logging.getLogger("tooltrace")

Listener = Callable[["ToolResponse", str, str, str], None]
listeners: list[Listener] = []
"""Functions called with every message: the response, the call's id, the text and the style."""


ACTIONS: dict[NextAction, str] = {
    "continue": "continue with this result",
    "retry": "retry this call",
    "ask_user": "ask the user before you go on",
    "human_review": "wait until a person has reviewed this result",
    "stop": "stop, and do not call this tool again",
}
"""The next actions in words, for the model."""

MAX_SOURCES = 20
"""Maximum number of sources that a message names; it only counts the others."""


def message_of(
    response: ToolResponse, call_id: str, style: str, is_internal: bool, notes: bool | Collection[Note]
) -> Any:
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
    if is_internal and wrap is _text_only:
        raise MessageError(
            f"is_internal needs a message with members, and style {style!r} is a text: pass openai or anthropic"
        )
    wanted = _wanted(notes)
    text = json_text(response, wanted) if style == "json" else message_text(response, wanted)
    if not text.strip():
        logger.warning("the message of %s for call %s is empty: the model receives %r instead", tool, call_id, NOTHING)
        text = NOTHING
    for listener in listeners:
        listener(response, call_id, text, style)
    message = wrap(response, call_id, text)
    return {**message, "is_internal": True} if is_internal else message


def _wanted(notes: bool | Collection[Note]) -> Collection[Note]:
    known = get_args(Note)
    if isinstance(notes, bool):
        return known if notes else ()
    named = [notes] if isinstance(notes, str) or not isinstance(notes, Collection) else list(notes)
    if unknown := [note for note in named if note not in known]:
        raise MessageError(f"no note {', '.join(map(repr, unknown))}: pass True, False, or some of {', '.join(known)}")
    return cast("Collection[Note]", named)


def message_text(response: ToolResponse, notes: Collection[Note]) -> str:
    """Return the text of the message for ``response``; empty where the response has no text."""
    body = response.text.strip() and response.text
    if not body and response.payload is not None:
        body = _data_text(response.payload)
    if response.error is not None and _repeats(body, response.error.message):
        body = ""
    attached = (f"Attached {words}" for words in describe(response.context))
    cited = [_sources_line(response)] if "sources" in notes and response.sources else []
    return "\n".join(filter(None, (*_head(response, notes), body, *attached, *cited)))


def json_text(response: ToolResponse, notes: Collection[Note]) -> str:
    """Return the message for ``response`` as a JSON object, with the names of the envelope and of Eino's error.

    A member is present where the response has a value for it. ``text`` stands beside data or an error that do not repeat it;
    ``note`` says what to do about an uncertain confidence.
    """
    data, text, error = response.payload, response.text or None, response.error
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
    if "confidence" in notes:
        members |= {"confidence": response.confidence, "note": _uncertainty(response) or None}
    if "sources" in notes:
        members["source"] = [source.model_dump(exclude_none=True) for source in response.sources] or None
    if "next_action" in notes:
        members["nextAction"] = response.stated_next_action
    members["attachments"] = describe(response.context) or None
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
    return words or ("" if response.payload is None else _data_text(response.payload))


def _data_text(data: Any) -> str:
    return data if isinstance(data, str) else to_json_bytes(data).decode()


def _repeats(body: str, message: str) -> bool:
    """Whether ``body`` is the error's ``message``, with at most a word like "Error:" before it."""
    return body.endswith(message) and len(body) - len(message) <= _PREFIX


def _head(response: ToolResponse, notes: Collection[Note]) -> list[str]:
    """Return the lines before the answer: the error, what a partial result lacks, the uncertainty, the next action."""
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
    if "confidence" in notes and (note := _uncertainty(response)):
        lines.append(f"Uncertain (confidence {response.confidence:g}): {note}")
    if "next_action" in notes and (action := response.stated_next_action):
        lines.append(f"Next action: {ACTIONS[action]}")
    return lines


def _sources_line(response: ToolResponse) -> str:
    """Return the sources with numbers, by which the model can cite them."""
    named = [f"[{number}] {_source_words(source)}" for number, source in enumerate(response.sources[:MAX_SOURCES], 1)]
    more = len(response.sources) - len(named)
    return f"Sources: {' '.join(named)}{f' and {more} more' if more else ''}"


def _source_words(source: Source) -> str:
    name = source.label or source.id or source.url or source.type
    url = f" ({source.url})" if source.url and source.url != name else ""
    section = f", {source.section}" if source.section else ""
    return " ".join(f"{name}{section}{url}".split())


def _uncertainty(response: ToolResponse) -> str:
    """Return what the model should do about an uncertain answer; empty for any other response."""
    confidence = response.confidence
    if not response.ok or confidence is None or not is_uncertain(confidence):
        return ""
    return "check this answer before relying on it" if confidence >= LOW else "do not rely on this answer alone"


def _openai(response: ToolResponse, call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text} | _system(response)


def _anthropic(response: ToolResponse, call_id: str, text: str) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": text} | _system(response)
    return {**block, "is_error": True} if response.status == "error" else block


def _system(response: ToolResponse) -> dict[str, Any]:
    return {"system": response.system} if response.system else {}


def _text_only(_: ToolResponse, __: str, text: str) -> str:
    return text


_STYLES: dict[str, Callable[[ToolResponse, str, str], Any]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "plain": _text_only,
    "json": _text_only,
}
