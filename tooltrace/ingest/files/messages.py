"""Format of lists of chat messages: OpenAI's Chat Completions and Responses, and Anthropic's content blocks.

A file is one JSON list of messages, one object that holds such a list, or JSON Lines of either. A line that is one message
continues the conversation of the lines before it. A call is a request of the model for a tool; its result is the message,
item or block with the id of the request, which the rules read.

Messages have no times, unless a member of the message, or of the object around the list, states one: the calls then have
the time of the file's last change, in their order. They have no duration.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tooltrace.core.records import ToolCall
from tooltrace.ingest.call_builder import NO_RESULT, ExternalCall, build_call, stable_id
from tooltrace.ingest.files.reader import Format, TraceFile, parsed
from tooltrace.ingest.moments import moment_ns
from tooltrace.normalize.exceptions.reader import ExceptionSummary
from tooltrace.recording.call_numbers import CallNumbers
from tooltrace.recording.settings import Settings

NAME: Final = "messages"
_LISTS: Final = ("messages", "input", "output", "items")
"""Members of an object that hold messages, in the order of the conversation."""
_CONVERSATION: Final = ("conversation_id", "session_id", "thread_id", "conversation", "id")
_TIMES: Final = ("timestamp", "created_at", "created")
_SIGNS: Final = re.compile(
    rb'"role"\s*:\s*"(?:user|assistant|system|developer|tool|function)"'
    rb'|"type"\s*:\s*"(?:function_call|function_call_output|custom_tool_call|mcp_call|tool_use|tool_result)"'
)
_BEGINNING: Final = re.compile(rb'\s*\[?\s*\{\s*"(?:role|content|messages)"\s*:')
"""Beginning of a file whose first message is longer than the examined part."""
_STEP_NS: Final = 1_000
"""Nanoseconds between calls without a time of their own, so that they keep their order."""
_NOT_ARGUMENTS: Final = frozenset({"type", "id", "call_id", "status", "name", "output", "error", "outputs", "results"})


def knows(head: bytes) -> bool:
    """Whether ``head``, the beginning of a file, has chat messages."""
    return head.lstrip()[:1] in (b"[", b"{") and bool(_SIGNS.search(head) or _BEGINNING.match(head))


def read(source: TraceFile, settings: Settings) -> Iterator[ToolCall]:
    """Yield every call of the file, in the order of the requests."""
    numbers = CallNumbers()
    for conversation in _conversations(source):
        yield from (build_call(call, settings, numbers) for call in conversation.calls())


FORMAT = Format(NAME, knows, read)


def _conversations(source: TraceFile) -> Iterator[_Conversation]:
    """Yield the conversations of the file; a part that holds no messages is reported as skipped."""
    changed = source.path.stat().st_mtime_ns
    single: _Conversation | None = None
    for number, value in source.documents():
        if _is_item(value):
            single = single or _Conversation(source.path.stem, [value], value, changed)
            single.add(value)
            continue
        items = _items_of(value)
        if items is None:
            source.skip(number, "neither a chat message nor a list of chat messages")
            continue
        found = _Conversation(source.path.stem, items, value, changed)
        for item in items:
            if isinstance(item, dict):
                found.add(item)
            else:
                source.skip(number, f"a {type(item).__name__} in a list of chat messages, where an object is expected")
        yield found
    if single is not None:
        yield single


def _is_item(value: Any) -> bool:
    """Whether ``value`` is one message, or one item of the Responses API."""
    if not isinstance(value, dict) or any(isinstance(value.get(name), list) for name in _LISTS[:2]):
        return False
    return "role" in value or str(value.get("type")).endswith(("_call", "_call_output"))


def _items_of(value: Any) -> list[Any] | None:
    """Return the messages of ``value``: a list, or an object around one, such as a request or a response; None without."""
    if isinstance(value, list):
        return value if any(map(_is_item, value)) else None
    if not isinstance(value, dict):
        return None
    lists = [value[name] for name in _LISTS if isinstance(value.get(name), list)]
    choices = value.get("choices")
    if isinstance(choices, list):
        lists.append(
            [each["message"] for each in choices if isinstance(each, dict) and isinstance(each.get("message"), dict)]
        )
    return [item for each in lists for item in each] if lists else None


_ORPHANED: Final = ExceptionSummary("ORPHANED", "", "the conversation went on without a result of this call", None)
"""Why a call that a model asked for did not run, as far as a conversation says."""


@dataclass(slots=True)
class _Request:
    """A call that the model asked for, and its result once that is read."""

    tool: str
    call_id: str | None
    arguments: Any
    at_ns: int | None
    agent: str | None
    occurrence: int
    """How often the call's id has occurred."""
    result: Any = NO_RESULT
    followed: bool = False
    """Whether another message of the model or of the user follows."""


class _Conversation:
    """The calls of one list of messages."""

    def __init__(self, stem: str, items: list[Any], around: Any, changed_ns: int) -> None:
        around = around if isinstance(around, dict) else {}
        given = next((around[name] for name in _CONVERSATION if isinstance(around.get(name), str)), None)
        # the first message of a conversation that grows stays the same
        self._id = given or f"{stem}-{stable_id(4, items[0] if items else None):08x}"
        self._around = around
        self._changed_ns = changed_ns
        self._requests: list[_Request] = []
        self._waiting: dict[str, list[_Request]] = {}
        self._seen: Counter[str] = Counter()

    def add(self, item: dict[str, Any]) -> None:
        """Read one message or item: the calls that it requests, and the results that it holds."""
        if item.get("role") in ("assistant", "user") and not _has_results(item):
            for request in self._requests:
                request.followed = True
        self._add_message(item)
        self._add_part(item, item)
        content = item.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                self._add_part(block, item)

    def calls(self) -> Iterator[ExternalCall]:
        """Yield the calls; one without a result is not known to have ended."""
        start = _time_of(self._around) or self._changed_ns
        for place, request in enumerate(self._requests):
            start = request.at_ns or start + _STEP_NS
            # the conversation went on without a result of the call, or its end is not known
            is_left = request.result is NO_RESULT and request.followed
            # a call id names a call within its conversation only, and a model may use one again
            identity = (NAME, self._id, request.call_id or place, request.occurrence, request.tool)
            yield ExternalCall(
                tool=request.tool,
                trace_id=stable_id(16, NAME, self._id),
                span_id=stable_id(8, *identity),
                started_ns=start,
                tool_type="function",
                call_id=request.call_id,
                conversation_id=self._id,
                agent=request.agent,
                arguments=request.arguments,
                result=request.result,
                error=_ORPHANED if is_left else None,
                ending="refused" if is_left else "handed_over" if request.result is NO_RESULT else "returned",
            )

    def _add_message(self, message: dict[str, Any]) -> None:
        """Read the calls and the result that a message of Chat Completions has beside its content."""
        if message.get("role") in ("tool", "function"):
            self._answer(message.get("tool_call_id"), message.get("name"), message, message)
        elif message.get("role") == "assistant":
            for call in filter(None, map(_dict, message.get("tool_calls") or ())):
                named = next(filter(None, map(_dict, (call.get("function"), call.get("custom")))), {})
                self._ask(named.get("name"), call.get("id"), _arguments(named), message)
            if old := _dict(message.get("function_call")):
                self._ask(old.get("name"), None, _arguments(old), message)

    def _add_part(self, part: dict[str, Any], message: dict[str, Any]) -> None:
        """Read a content block of Anthropic, or an item of the Responses API."""
        kind = str(part.get("type") or "")
        if kind.endswith("tool_use"):
            self._ask(part.get("name"), part.get("id"), part.get("input"), message)
        elif kind.endswith("tool_result") and "tool_use_id" in part:
            self._answer(part["tool_use_id"], None, part, message)
        elif kind.endswith("_call_output"):
            self._answer(part.get("call_id"), None, part, message)
        elif kind.endswith("_call"):
            self._ask(part.get("name") or kind.removesuffix("_call"), _call_id(part), _arguments(part), message)
            if kind == "mcp_call" or "call_id" not in part:  # the service ran it: the item is its result too
                self._answer(_call_id(part), None, _own_result(part), message)

    def _ask(self, tool: Any, call_id: Any, arguments: Any, message: dict[str, Any]) -> None:
        if not isinstance(tool, str) or not tool:
            return
        call_id = call_id if isinstance(call_id, str) and call_id else None
        if call_id is not None:
            self._seen[call_id] += 1
        agent = message.get("name") if message.get("role") == "assistant" else None
        request = _Request(
            tool,
            call_id,
            arguments,
            _time_of(message),
            agent if isinstance(agent, str) else None,
            self._seen[call_id] if call_id is not None else 1,
        )
        self._requests.append(request)
        self._waiting.setdefault(call_id or f"\0{tool}", []).append(request)

    def _answer(self, call_id: Any, tool: Any, result: Any, message: dict[str, Any]) -> None:
        """Give ``result`` to the last request with its id; a result without a request is a call of its own."""
        key = call_id if isinstance(call_id, str) and call_id else f"\0{tool}"
        if not self._waiting.get(key):
            self._ask(tool or "unknown", call_id, None, message)
        if waiting := self._waiting.get(key):
            waiting.pop().result = result


def _has_results(message: dict[str, Any]) -> bool:
    """Whether ``message`` holds results, as those of Anthropic's user do, and further calls of the same turn."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else ()
    return any(str(_dict(block).get("type")).endswith("tool_result") for block in blocks)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _call_id(item: dict[str, Any]) -> Any:
    return item.get("call_id") or item.get("id")


def _arguments(item: dict[str, Any]) -> Any:
    """Return the arguments of a call: parsed, where they are the text of a JSON object."""
    given = next((item[name] for name in ("arguments", "input", "action") if item.get(name) is not None), None)
    if given is None:
        rest = {name: value for name, value in item.items() if name not in _NOT_ARGUMENTS and value is not None}
        return rest or None
    if isinstance(given, str):
        value = parsed(given.encode("utf-8", "replace"))
        return value if isinstance(value, dict) else given
    return given


def _own_result(item: dict[str, Any]) -> Any:
    """Return the result that an item of the service's own tool holds; NO_RESULT where it has not ended."""
    if item.get("type") == "mcp_call":
        return item if item.get("output") is not None or item.get("error") is not None else NO_RESULT
    if item.get("status") == "failed":
        return {"status": "error", "error": item.get("error") or "the item has the status failed"}
    if item.get("status") != "completed":
        return NO_RESULT
    return next((item[name] for name in ("results", "outputs", "output", "result") if item.get(name) is not None), None)


def _time_of(value: dict[str, Any]) -> int | None:
    return next((ns for name in _TIMES if (ns := moment_ns(value.get(name))) is not None), None)
