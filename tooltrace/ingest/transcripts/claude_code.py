"""Transcripts of Claude Code: ``~/.claude/projects/FOLDER/SESSION.jsonl``, and ``SESSION/subagents/agent-ID.jsonl``.

A line of the type ``assistant`` has one block of the model's answer: several lines with one message id are one model call.
A line of the type ``user`` has what a person wrote, or the results of calls. Of a call that did not run,
``toolDenialKind`` and ``permissionDecision`` say why since 2.1; before, only the words of the result do. Subagents have files of their own,
with their type and the call that started them in ``agent-ID.meta.json``; before 2.0.28 their lines are among those of the session.

Read from transcripts of 1.0, 2.0 and 2.1.332, from that program itself, and from the types of its SDK.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from tooltrace.ingest.call_builder import ExternalCall
from tooltrace.ingest.moments import moment_ns
from tooltrace.ingest.transcripts.claude_code_results import read_result
from tooltrace.ingest.transcripts.session import (
    Found,
    ModelCall,
    Note,
    OpenCall,
    OpenCalls,
    TranscriptFormat,
    cancelled,
    count_of,
    members_of,
    milliseconds_of,
    span_of,
    text_of,
    trace_of,
)

SERVICE: Final = "claude-code"
_MAIN: Final = "main"
_MCP: Final = "mcp__"
"""Beginning of the name of a tool of an MCP server, which ``__`` separates from the server's."""

_WITHOUT_CALLS: Final = frozenset(
    (
        *(
            "system",
            "attachment",
            "progress",
            "summary",
            "queue-operation",
            "file-history-snapshot",
            "file-history-delta",
        ),
        *("last-prompt", "continued-in", "resume-head-vouch", "content-replacement", "data-flow-records"),
        *("data-flow-incomplete", "derived-from", "api-request", "api-request-shape", "api-request-blob"),
        *("api-request-resumed", "fork-context-ref", "frame-link", "custom-title", "ended-by-model", "ai-title", "tag"),
        *("relocated", "agent-name", "agent-color", "agent-setting", "pr-link", "artifact-comment-monitor"),
        *("artifact-autoreact-ledger", "bridge-session", "history-suppression", "attribution-snapshot", "mode"),
        *("permission-mode", "session-owner", "isolation-latch", "dev-mods", "atis-latch", "worktree-state"),
        *("tools-used", "cost-state", "memory-mode", "observer-ref", "repl-mode", "speculation-accept"),
    )
)
"""Types of lines that have neither a call nor a result."""
_BLOCKS: Final = frozenset(
    (
        *(
            "text",
            "thinking",
            "redacted_thinking",
            "image",
            "document",
            "fallback",
            "search_result",
            "container_upload",
        ),
        # the service ran these: their results are blocks of the same answer
        *("server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result"),
        *(
            "bash_code_execution_tool_result",
            "text_editor_code_execution_tool_result",
            "mcp_tool_use",
            "mcp_tool_result",
        ),
        *("tool_search_tool_result", "tool_reference"),
    )
)
"""Blocks of a message that are neither a call of Claude Code nor its result."""

_INTERRUPTED: Final = "[Request interrupted by user"
_SUBAGENT: Final = "subagent"
"""Name of a subagent whose type no file states."""
_MAX_ABOUT: Final = 64 * 1024
"""Bytes that are read of what is known about a subagent."""
_HEAD: Final = re.compile(
    rb'"sessionId"\s*:\s*"|"type"\s*:\s*"(?:summary|file-history-snapshot|queue-operation|last-prompt)"'
)
_MESSAGE: Final = re.compile(
    rb'"type"\s*:\s*"(?:user|assistant|system|attachment|progress|summary|file-history-snapshot|queue-operation)"'
)


def knows(head: bytes) -> bool:
    """Whether ``head``, the beginning of a file, has lines of Claude Code."""
    first = head.lstrip()[:1] == b"{"
    named = b'"leafUuid"' in head or b'"parentUuid"' in head or b'"isSidechain"' in head or b'"messageId"' in head
    return first and bool(_MESSAGE.search(head)) and (named or b'"operation"' in head) and bool(_HEAD.search(head))


@dataclass(frozen=True, slots=True)
class _Message:
    """A line with a message: the model's, or one to it."""

    line: dict[str, Any]
    message: dict[str, Any]
    chain: str
    """The session's own chain of lines, or a subagent's."""
    at_ns: int

    @property
    def blocks(self) -> list[dict[str, Any]]:
        content = self.message.get("content")
        return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []

    @property
    def texts(self) -> list[str]:
        content = self.message.get("content")
        blocks = [str(block.get("text")) for block in self.blocks if block.get("type") == "text"]
        return [content] if isinstance(content, str) else blocks


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer of the model, whose last line may not be there yet."""

    turn: str
    """Id of the message."""
    last: _Message
    start_ns: int


class ClaudeCodeReader:
    """The lines of one session, or of one subagent."""

    def __init__(self, path: Path) -> None:
        self.version: str | None = None
        self.last_ns = 0
        self._calls = OpenCalls(SERVICE)
        about = _about_subagent(path)
        self._agent = text_of(about.get("agentType"))
        self._started_by = text_of(about.get("toolUseId"))
        self._project: str | None = None
        self._session: str | None = None
        self._prompts: dict[str, str] = {}
        """Id of the last prompt of each chain."""
        self._roots: dict[str, str] = {}
        """First line of the subagent of each line, where subagents have no id."""
        self._inline: dict[str, tuple[str | None, str]] = {}
        """Type and call of the subagents whose prompt is known: their lines follow in this file."""
        self._begun: dict[str, tuple[str | None, str]] = {}
        self._times: dict[str, int] = {}
        """Time of the last line of each chain."""
        self._answer: dict[str, _Answer] = {}
        """The model's answer that each chain is in."""

    def read(self, line: dict[str, Any], note: Note) -> list[Found]:
        """Return the calls that end with ``line``, and the model call that ended before it."""
        kind = line.get("type")
        if kind not in ("user", "assistant"):
            if kind not in _WITHOUT_CALLS:
                note(f"lines of the type {kind}" if isinstance(kind, str) else "lines without a type")
            return []
        message = line.get("message")
        at_ns = moment_ns(line.get("timestamp"))
        if not isinstance(message, dict) or at_ns is None:
            note(f"lines of the type {kind} without a {'time' if isinstance(message, dict) else 'message'}")
            return []
        self._place(line, at_ns)
        said = _Message(line, message, self._chain(line), at_ns)
        found = self._read_answer(said, note) if kind == "assistant" else self._read_user(said, note)
        self._times[said.chain] = at_ns
        return found

    def rest(self, *, may_go_on: bool) -> tuple[list[Found], int]:
        """Return the last model calls and the calls that have no result."""
        found = [span for chain in list(self._answer) for span in self._end_answer(chain)]
        lost, left = self._calls.rest(may_go_on=may_go_on)
        return [*found, *lost], left

    def _place(self, line: dict[str, Any], at_ns: int) -> None:
        """Note where and when the agent runs."""
        self.version = text_of(line.get("version")) or self.version
        self.last_ns = max(self.last_ns, at_ns)
        self._project = self._project or text_of(line.get("cwd"))
        self._session = text_of(line.get("sessionId")) or self._session

    def _chain(self, line: dict[str, Any]) -> str:
        """Return the chain of ``line``: the session's own, or a subagent's."""
        named = text_of(line.get("agentId"))
        if named is not None:
            return named
        if line.get("isSidechain") is not True:
            return _MAIN
        uuid, parent = str(line.get("uuid")), str(line.get("parentUuid"))
        root = self._roots[uuid] = self._roots.get(parent, uuid)
        if root == uuid:
            prompt = members_of(line.get("message")).get("content")
            if isinstance(prompt, str) and prompt in self._begun:
                self._inline[root] = self._begun.pop(prompt)
        return root

    def _read_answer(self, said: _Message, note: Note) -> list[Found]:
        turn = text_of(said.message.get("id")) or str(said.line.get("uuid"))
        known = self._answer.get(said.chain)
        goes_on = known is not None and known.turn == turn
        found = [] if known is None or goes_on else self._end_answer(said.chain)
        start = known.start_ns if known is not None and goes_on else self._times.get(said.chain, said.at_ns)
        self._answer[said.chain] = _Answer(turn, said, start)
        self._calls.follow(said.chain, turn)
        for block in said.blocks:
            kind = block.get("type")
            if kind == "tool_use":
                self._ask(said, block, turn, note)
            elif kind not in _BLOCKS:
                note(f"blocks of the type {kind}")
        return found

    def _ask(self, said: _Message, block: dict[str, Any], turn: str, note: Note) -> None:
        tool, call_id, arguments = text_of(block.get("name")), text_of(block.get("id")), block.get("input")
        if tool is None or call_id is None:
            note("calls without a name or an id")
            return
        agent, started_by = self._who(said.chain)
        attributes: dict[str, Any] = {"project": self._project, "branch": text_of(said.line.get("gitBranch"))}
        if tool.startswith(_MCP):
            server, _, name = tool.removeprefix(_MCP).partition("__")
            attributes |= {"mcp.server.name": server, "mcp.tool.name": name}
        begun = members_of(arguments)
        if said.chain == _MAIN and isinstance(begun.get("prompt"), str):
            self._begun[begun["prompt"]] = (text_of(begun.get("subagent_type")), call_id)
        self._calls.ask(
            OpenCall(
                tool=tool,
                call_id=call_id,
                at_ns=said.at_ns,
                arguments=arguments,
                chain=said.chain,
                turn=turn,
                fields={
                    "trace_id": self._trace(said.chain),
                    "parent_span_id": started_by,
                    "conversation_id": self._session,
                    "agent": agent,
                    "model": _model(said.message),
                    "release": self.version,
                    "attributes": {name: value for name, value in attributes.items() if value},
                },
            )
        )

    def _read_user(self, said: _Message, note: Note) -> list[Found]:
        found: list[Found] = []
        results = []
        for block in said.blocks:
            if block.get("type") == "tool_result":
                results.append(block)
            elif block.get("type") not in _BLOCKS:
                note(f"blocks of the type {block.get('type')}")
        for block in results:
            call_id = block.get("tool_use_id")
            if self._calls.is_open(call_id):
                found.append(self._result(said, block, str(call_id), alone=len(results) == 1))
            else:
                note("results without their calls")
        if any(text.startswith(_INTERRUPTED) for text in said.texts):
            stopped = cancelled("the user interrupted the request")
            waiting = self._calls.latest(said.chain)
            found += [self._calls.answer(call.call_id, None, said.at_ns, stopped) for call in waiting]
        prompt = text_of(said.line.get("promptId"))
        if not results and said.line.get("isMeta") is not True:
            self._calls.follow(said.chain, None)
            prompt = prompt or str(said.line.get("uuid"))
        if prompt is not None:
            self._prompts[said.chain] = prompt
        return found

    def _result(self, said: _Message, block: dict[str, Any], call_id: str, *, alone: bool) -> ExternalCall:
        """Return the call that ``block`` ends. ``alone``: what the line says besides is about this call."""
        line, tool = said.line if alone else {}, self._calls.tool_of(call_id)
        data = members_of(line.get("toolUseResult"))
        result, how = read_result(line, block, data, of_mcp=tool.startswith(_MCP))
        stated = (milliseconds_of(data.get(name)) for name in ("durationMs", "totalDurationMs"))
        return self._calls.answer(
            call_id, result, said.at_ns, how, ms=next((ms for ms in stated if ms is not None), None)
        )

    def _who(self, chain: str) -> tuple[str | None, int | None]:
        """Return the agent of ``chain``, and the span of the call that started it."""
        if chain == _MAIN:
            return None, None
        agent, call_id = self._inline.get(chain, (self._agent, self._started_by))
        return agent or _SUBAGENT, None if call_id is None else span_of(SERVICE, self._session, call_id)

    def _trace(self, chain: str) -> int:
        """Return the trace of what follows the last prompt; a subagent in the file of its session has that of the session."""
        prompt = self._prompts.get(_MAIN if chain in self._inline else chain)
        return trace_of(SERVICE, self._session, prompt)

    def _end_answer(self, chain: str) -> list[Found]:
        """Return the model call of the answer that ended; an error of the service is none."""
        answer = self._answer.pop(chain)
        used, model = members_of(answer.last.message.get("usage")), _model(answer.last.message)
        if not used or model is None:
            return []
        read, written = count_of(used.get("cache_read_input_tokens")), count_of(used.get("cache_creation_input_tokens"))
        agent, started_by = self._who(chain)
        call = ModelCall(
            service=SERVICE,
            identity=answer.turn,
            trace_id=self._trace(chain),
            parent_span_id=started_by,
            conversation_id=self._session,
            agent=agent,
            model=model,
            release=self.version,
            start_ns=answer.start_ns,
            end_ns=answer.last.at_ns,
            input=count_of(used.get("input_tokens")) + read + written,
            output=count_of(used.get("output_tokens")),
            cache_read=read,
            cache_write=written,
            reasoning=count_of(members_of(used.get("output_tokens_details")).get("thinking_tokens")),
        )
        return [call]


FORMAT: Final = TranscriptFormat(SERVICE, knows, ClaudeCodeReader)


def _model(message: dict[str, Any]) -> str | None:
    model = text_of(message.get("model"))
    return None if model == "<synthetic>" else model


def _about_subagent(path: Path) -> dict[str, Any]:
    """Return what the file beside the transcript of a subagent says about it."""
    if not path.name.startswith("agent-"):
        return {}
    try:
        with path.with_name(f"{path.name.partition('.')[0]}.meta.json").open("rb") as file:
            return members_of(orjson.loads(file.read(_MAX_ABOUT)))
    except (OSError, ValueError):
        return {}
