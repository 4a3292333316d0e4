"""Recording of the tools of the Claude Agent SDK: built-in ones, those of MCP servers, and those of this process.

::

    from tooltrace.integrations import claude_agent_sdk

    claude_agent_sdk.install()
    ...
    claude_agent_sdk.remove()

The tools run in the Claude Code process, which reports every call and its result in the stream of messages. The stream
is observed as the SDK reads it; nothing is added to the options, no hook is registered, and the process behaves as
before. Recorded are the model's call id, the session as conversation, the subagent's type as agent, the arguments, the
result and the text that the model read. The duration is that between both messages, so it includes the time in which a
person decided about a permission. A call that a person or ``can_use_tool`` denied is ``declined``.

A tool of this process, made with ``tool`` and ``create_sdk_mcp_server``, runs inside its call: an exception is recorded
before the SDK turns it into text, and a decorated tool is the same row.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from tooltrace.core.codes import BLOCKED
from tooltrace.errors import ConfigError
from tooltrace.faults import suppress_faults
from tooltrace.integrations.framework_call import FrameworkCall, ended_outside, spec_for
from tooltrace.integrations.monkeypatch import MonkeyPatcher, PatchPoint

__all__ = ["FRAMEWORK", "install", "remove"]

FRAMEWORK = "claude_agent_sdk"
STYLE = "claude_agent_sdk"
CALL_ID = "claudecode/toolUseId"
"""Member of an MCP request's metadata that holds the model's call id."""
_SESSION = "_tooltrace_session"
"""Attribute of the SDK's ``Query`` that holds the calls of its session."""
_REFUSED = (("No such tool available", "NOT_FOUND"), ("InputValidationError", "INVALID_PARAM"))
"""Text in the message of a call that Claude Code did not execute, and the code that it means."""

_RULES = frozenset(
    {"rule", "mode", "subcommandResults", "hook", "sandboxOverride", "workingDir", "safetyCheck", "classifier"}
)
"""Reasons of a refusal that no person gave."""
_STOPPED = ("interrupted", "cancelled")
"""Why a call was not executed: somebody stopped the run."""

_patches = MonkeyPatcher()


class _OpenCall:
    """A call between its message and its result."""

    def __init__(self, call: FrameworkCall) -> None:
        self.call = call
        self.error: BaseException | None = None
        """The exception of a tool of this process, which the SDK turned into text."""


_running: ContextVar[_OpenCall | None] = ContextVar("tooltrace_claude_agent_sdk_running", default=None)


def install() -> None:
    """Record the sessions that begin from now on; a second call has no effect.

    Raises ImportError if the SDK is not installed, and ConfigError if its version is not supported.
    """
    try:
        import_module("claude_agent_sdk")
    except ImportError as error:
        raise ImportError(
            "claude-agent-sdk is not installed: pip install 'tooltrace-recorder[claude-agent-sdk]'"
        ) from error
    try:
        _patches.make(_hook)
    except (ImportError, AttributeError, KeyError) as error:
        raise ConfigError(f"this version of claude-agent-sdk is not known ({error}); nothing is recorded") from error


def remove() -> None:
    """Stop recording, also of sessions that are open, and restore the SDK's own functions."""
    _patches.undo()


def _hook() -> None:
    sdk = import_module("claude_agent_sdk")
    query = import_module("claude_agent_sdk._internal.query").Query
    points: list[PatchPoint] = [
        (query, "__init__", _new_session),
        (query, "_handle_sdk_mcp_request", _local_tool),
        (sdk, "_tool_error_result", _tool_error),
    ]
    _patches.wrap_all(points)


def _new_session(original: Callable[..., Any]) -> Callable[..., Any]:
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807 - it replaces one
        original(self, *args, **options)
        with suppress_faults("begin"):
            session = _Session()
            setattr(self, _SESSION, session)
            # After the SDK's own __init__, which stores the transport; it reads the messages later, from the
            # attribute.
            self.transport = _ObservedTransport(self.transport, session)

    return __init__


class _ObservedTransport:
    """A transport whose messages are recorded as they are read."""

    def __init__(self, transport: Any, session: _Session) -> None:
        self._transport = transport
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    async def read_messages(self) -> AsyncIterator[Any]:
        """Yield the messages of the transport."""
        try:
            async for message in self._transport.read_messages():
                if _patches.on:
                    with suppress_faults("record"):
                        self._session.observe(message)
                yield message
        finally:
            self._session.close()


class _Session:
    """The calls of one session that have no result yet."""

    def __init__(self) -> None:
        self.running: dict[str, _OpenCall] = {}
        self._agents: dict[str, str] = {}
        """Types of subagents, by the call that started them."""

    def observe(self, message: Any) -> None:
        """Begin the calls in ``message``, and end those whose results it has."""
        kind = message.get("type") if isinstance(message, Mapping) else None
        if kind not in ("assistant", "user"):
            return
        content = message["message"].get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use":
                self._begin(message, block)
            elif block.get("type") == "tool_result":
                running = self.running.pop(block.get("tool_use_id"), None)
                if running is not None:
                    _end(running, message, block)

    def close(self) -> None:
        """End the calls that have no result."""
        while self.running:
            self.running.popitem()[1].call.finish("abandoned")

    def _begin(self, message: Mapping[str, Any], block: Mapping[str, Any]) -> None:
        name, arguments, outer = block["name"], block.get("input"), message.get("parent_tool_use_id")
        if isinstance(arguments, Mapping) and isinstance(arguments.get("subagent_type"), str):
            self._agents[block["id"]] = arguments["subagent_type"]
        enclosing = self.running.get(outer) if outer else None
        # A subagent's call belongs inside the call that started the subagent, which the message names.
        if enclosing is not None:
            enclosing.call.enter()
        try:
            call = FrameworkCall(
                spec_for(name),
                arguments,
                style=STYLE,
                call_id=block["id"],
                agent=self._agents.get(outer) if outer else None,
                conversation=message.get("session_id"),
                model=message["message"].get("model"),
                aliases=(name.rpartition("__")[2],),
            )
        finally:
            if enclosing is not None:
                enclosing.call.leave()
        self.running[block["id"]] = _OpenCall(call)


def _end(running: _OpenCall, message: Mapping[str, Any], block: Mapping[str, Any]) -> None:
    """End the call with ``block``, its result in ``message``."""
    call, content = running.call, block.get("content")
    text = _text(content)
    found = (each for each in message.get("tool_result_meta") or () if each.get("id") == block["tool_use_id"])
    notes: Mapping[str, Any] = next(found, {})
    decision = notes.get("permission_decision") or {}
    if notes.get("non_execution_kind") in _STOPPED:
        call.finish("cancelled")
    elif decision.get("decision") == "reject" or notes.get("non_execution_kind"):
        if _by_rule(notes, decision):
            call.refused(BLOCKED, text)
        else:
            call.finish("declined")
    elif not block.get("is_error"):
        result = message.get("tool_use_result")
        call.returned(content if result is None else result)
    elif running.error is not None:
        call.raised(running.error)
    else:
        code = next((code for words, code in _REFUSED if words in text), None)
        if code is not None and text.startswith("<tool_use_error>"):
            call.refused(code, text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>"))
        else:
            call.returned({"content": [{"type": "text", "text": text}], "isError": True})
    call.model_reads(text)


def _by_rule(notes: Mapping[str, Any], decision: Mapping[str, Any]) -> bool:
    """Whether a rule, a mode or a hook of Claude Code refused the call, and not a person or ``can_use_tool``."""
    automatic = str(notes.get("non_execution_kind")).startswith("automode")
    return automatic or decision.get("reason_type") in _RULES


def _text(content: Any) -> str:
    """Return the text of a tool result's content."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    return "\n".join(str(block.get("text")) for block in blocks if block.get("type") == "text")


# tools of this process


def _local_tool(original: Callable[..., Any]) -> Callable[..., Any]:
    async def _handle_sdk_mcp_request(self: Any, server_name: str, message: Any) -> Any:
        running = None
        with suppress_faults("begin"):
            params = message.get("params") if message.get("method") == "tools/call" else None
            call_id = ((params or {}).get("_meta") or {}).get(CALL_ID)
            session = getattr(self, _SESSION, None)
            running = None if session is None else session.running.get(call_id)
        if running is None:
            return await original(self, server_name, message)
        # The tool runs in a task of the server, with this context. An installed integration with MCP leaves it alone.
        token, ended = _running.set(running), ended_outside.set(True)
        try:
            with running.call.active():
                return await original(self, server_name, message)
        finally:
            _running.reset(token)
            ended_outside.reset(ended)

    return _handle_sdk_mcp_request


def _tool_error(original: Callable[..., Any]) -> Callable[..., Any]:
    def _tool_error_result(text: str) -> Any:
        # The SDK calls this function in its except block: the exception is only known to the interpreter.
        running, error = _running.get(), sys.exc_info()[1]
        if running is not None and error is not None:
            with suppress_faults("record"):
                if type(error).__module__.startswith("jsonschema"):
                    running.call.refused("INVALID_PARAM", text)
                else:
                    running.error = error
        return original(text)

    return _tool_error_result
