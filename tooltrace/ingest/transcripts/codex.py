"""Transcripts of Codex: ``~/.codex/sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl``, compressed or not.

A line is ``{"timestamp", "type", "payload"}``. The calls and their results are items of the Responses API. The events beside them state what the
items do not: the result and the duration of an MCP call, an interruption, and the tokens of a model call. Files of before September 2025 have the
items alone, without times: their calls have the time of the session, and no duration.

Read from files of 0.171.0, from that program itself, and from the protocol in its sources.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson

from tooltrace.ingest.call_builder import ExternalCall
from tooltrace.ingest.moments import moment_ns
from tooltrace.ingest.transcripts.codex_results import ending_of, output_text, readable
from tooltrace.ingest.transcripts.session import (
    Ending,
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
    text_of,
    trace_of,
)

SERVICE: Final = "codex"
_CHAIN: Final = "main"

_LINES: Final = frozenset(
    (
        *(
            "session_meta",
            "response_item",
            "event_msg",
            "turn_context",
            "compacted",
            "world_state",
            "token_usage_record",
        ),
        *("inter_agent_communication", "inter_agent_communication_metadata", "security_risk_score", "realtime_item"),
    )
)
_CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call")
_RESULTS: Final = ("function_call_output", "custom_tool_call_output", "tool_search_output", "mcp_tool_call_output")
_HOSTED: Final = ("web_search_call", "image_generation_call")
"""Calls that the service ran: the item is the result too."""
_ANSWERS: Final = ("message", "reasoning", "agent_message", *_CALLS, *_HOSTED)
_ITEMS: Final = frozenset(
    (
        *_ANSWERS,
        *_RESULTS,
        "ghost_snapshot",
        "compaction",
        "compaction_summary",
        "compaction_trigger",
        "context_compaction",
        "other",
    )
)
_ENDED: Final = ("mcp_tool_call_end", "item_completed")
"""Events with the whole result of an MCP call, under its id; other events repeat what items say."""

_KNOWN: Final = re.compile(
    rb'"type"\s*:\s*"session_meta".{0,2000}?"(?:cli_version|originator|cwd)"|"timestamp"\s*:\s*"[^"]{1,40}",\s*(?:"ordinal"\s*:\s*\d+,\s*)?'
    rb'"type"\s*:\s*"(?:response_item|event_msg|turn_context|compacted)",\s*"payload"|"payload"\s*:\s*\{.{0,4000}\},\s*"timestamp"\s*:\s*"[^"]{1,40}",'
    rb'\s*"type"\s*:\s*"(?:session_meta|response_item|event_msg|turn_context)"|\A\s*\{"id":"[0-9a-f-]{36}","timestamp":"[^"]{1,40}","instructions":',
    re.DOTALL,
)


def knows(head: bytes) -> bool:
    """Whether ``head``, the beginning of a file, has lines of Codex."""
    return head.lstrip()[:1] == b"{" and _KNOWN.search(head) is not None


class CodexReader:
    """The lines of one session."""

    def __init__(self, _path: Path) -> None:
        self.version: str | None = None
        self.last_ns = 0
        self._calls = OpenCalls(SERVICE)
        self._session: str | None = None
        self._agent: str | None = None
        self._model: str | None = None
        self._turn: str | None = None
        self._project: str | None = None
        self._branch: str | None = None
        self._about: dict[str, tuple[float | None, Any]] = {}
        """Duration and result of the MCP calls that wait, as an event states them."""
        self._timed = False
        """Whether the lines have times."""
        self._input_ns = 0
        self._answer: tuple[int, int] | None = None
        """Beginning and end of the model's answer."""
        self._records_tokens = False
        """Whether the file has lines for the tokens of each model call, beside events that repeat them."""
        self._total: Any = None

    def read(self, line: dict[str, Any], note: Note) -> list[Found]:
        """Return the calls, and the model call, that end with ``line``."""
        kind, payload = line.get("type"), line.get("payload")
        at_ns = moment_ns(line.get("timestamp"))
        if not isinstance(payload, dict):
            return self._read_bare(line, at_ns, note)
        if at_ns is not None:
            self._timed = True
            self.last_ns = max(self.last_ns, at_ns)
        at_ns = at_ns or self.last_ns
        if kind == "session_meta":
            self._begin(payload)
        elif kind == "turn_context":
            self._turn = text_of(payload.get("turn_id")) or str(line.get("timestamp"))
            self._model = text_of(payload.get("model")) or self._model
            self._calls.follow(_CHAIN, None)
        elif kind == "response_item":
            return self._read_item(payload, at_ns, note)
        elif kind == "event_msg":
            return self._read_event(payload, at_ns)
        elif kind == "token_usage_record":
            self._records_tokens = True
            return self._model_call(members_of(payload.get("usage")), text_of(payload.get("response_id")), at_ns)
        elif kind not in _LINES:
            note(f"lines of the type {kind}" if isinstance(kind, str) else "lines without a type")
        return []

    def rest(self, *, may_go_on: bool) -> tuple[list[Found], int]:
        """Return the calls that have no result."""
        lost, left = self._calls.rest(may_go_on=may_go_on)
        return [*lost], left

    def _read_bare(self, line: dict[str, Any], at_ns: int | None, note: Note) -> list[Found]:
        """Read a line of an old file: the session, its state, or an item."""
        if "instructions" in line and "id" in line:
            self.last_ns = at_ns or self.last_ns
            self._begin(line)
            return []
        if "record_type" in line:
            return []
        if not isinstance(line.get("type"), str) or not self.last_ns:
            note("lines without a type" if self.last_ns else "lines without a time")
            return []
        return self._read_item(line, self.last_ns, note)

    def _begin(self, about: dict[str, Any]) -> None:
        """Read where and by what the session runs."""
        self.version = text_of(about.get("cli_version")) or self.version
        self._session = text_of(about.get("session_id")) or text_of(about.get("id")) or self._session
        self._project = self._project or text_of(about.get("cwd"))
        self._branch = text_of(members_of(about.get("git")).get("branch")) or self._branch
        subagent = members_of(about.get("source")).get("subagent")
        if subagent is not None:
            spawned = members_of(members_of(subagent).get("thread_spawn"))
            named = text_of(about.get("agent_role")) or text_of(spawned.get("agent_role"))
            self._agent = named or text_of(subagent) or "subagent"

    def _read_item(self, item: dict[str, Any], at_ns: int, note: Note) -> list[Found]:
        kind = str(item.get("type"))
        if kind in _RESULTS:
            return self._end(item, at_ns, note)
        if kind == "message" and item.get("role") != "assistant":
            self._input_ns = at_ns
        elif kind in _ANSWERS:
            begun = self._answer[0] if self._answer else self._input_ns or at_ns
            self._answer = (begun, at_ns)
        if kind in _CALLS:
            self._ask(item, kind, at_ns, note)
        elif kind in _HOSTED:
            return self._hosted(item, kind, at_ns)
        elif kind not in _ITEMS:
            note(f"items of the type {kind}")
        return []

    def _ask(self, item: dict[str, Any], kind: str, at_ns: int, note: Note) -> None:
        call_id = text_of(item.get("call_id")) or text_of(item.get("id"))
        tool = text_of(item.get("name")) or ("local_shell" if kind == "local_shell_call" else None)
        tool = tool or ("tool_search" if kind == "tool_search_call" else None)
        if tool is None or call_id is None:
            note("calls without a name or an id")
            return
        space = text_of(item.get("namespace")) or ""
        if space.startswith("mcp__"):
            tool = f"{space.rstrip('_')}__{tool}"
        self._calls.ask(self._call(tool, call_id, _arguments(item), at_ns))

    def _call(self, tool: str, call_id: str, arguments: Any, at_ns: int) -> OpenCall:
        attributes: dict[str, Any] = {"project": self._project, "branch": self._branch}
        if tool.startswith("mcp__"):
            server, _, name = tool.removeprefix("mcp__").partition("__")
            attributes |= {"mcp.server.name": server, "mcp.tool.name": name}
        fields = {
            "trace_id": trace_of(SERVICE, self._session, self._turn),
            "conversation_id": self._session,
            "agent": self._agent,
            "model": self._model,
            "release": self.version,
            "attributes": {name: value for name, value in attributes.items() if value},
        }
        return OpenCall(tool=tool, call_id=call_id, at_ns=at_ns, arguments=arguments, chain=_CHAIN, fields=fields)

    def _end(self, item: dict[str, Any], at_ns: int, note: Note) -> list[Found]:
        call_id = item.get("call_id")
        self._input_ns = at_ns
        if not self._calls.is_open(call_id):
            note("results without their calls")
            return []
        ms, stated = self._about.pop(str(call_id), (None, None))
        output = next((item[name] for name in ("output", "result", "tools") if item.get(name) is not None), None)
        how = ending_of(output)
        result = output if stated is None else stated
        return [self._answered(str(call_id), readable(result), at_ns, how, ms)]

    def _answered(self, call_id: str, result: Any, at_ns: int, how: Ending, ms: float | None) -> ExternalCall:
        call = self._calls.answer(call_id, result, at_ns, how, ms=ms)
        return call if self._timed else _without_duration(call)

    def _hosted(self, item: dict[str, Any], kind: str, at_ns: int) -> list[Found]:
        call_id = text_of(item.get("id")) or f"{kind}_{at_ns}"
        call = self._call(kind.removesuffix("_call"), call_id, item.get("action"), at_ns)
        if not self._calls.ask(call):
            return []
        failed = item.get("status") == "failed"
        result = {"status": "error", "error": "the item has the status failed"} if failed else None
        return [_without_duration(self._calls.answer(call_id, result, at_ns))]

    def _read_event(self, event: dict[str, Any], at_ns: int) -> list[Found]:
        kind = event.get("type")
        if kind == "turn_aborted":
            stopped = cancelled(f"the turn was aborted: {event.get('reason') or 'unknown reason'}")
            return [self._answered(call.call_id, None, at_ns, stopped, None) for call in self._calls.latest(_CHAIN)]
        if kind in _ENDED:
            self._note_end(members_of(event.get("item")) or event)
        elif kind == "token_count" and not self._records_tokens:
            info = members_of(event.get("info"))
            total = info.get("total_token_usage")
            if total is not None and total != self._total:  # limits are reported with the same tokens again
                self._total = total
                return self._model_call(members_of(info.get("last_token_usage")), None, at_ns)
        return []

    def _note_end(self, event: dict[str, Any]) -> None:
        """Note what ``event`` states about the MCP call that it ends."""
        call_id = text_of(event.get("call_id")) or text_of(event.get("id"))
        if not self._calls.is_open(call_id):
            return
        result = event.get("result")
        if isinstance(result, dict) and result.keys() & {"Ok", "Err"}:  # Rust's names
            failed = {"isError": True, "content": [{"type": "text", "text": output_text(result.get("Err"))}]}
            result = result.get("Ok", failed)
        # the durations that 0.171 states of commands are microseconds where they took milliseconds
        if isinstance(result, dict) and "content" in result:
            took = members_of(event.get("duration"))
            ms = milliseconds_of(took.get("secs", 0) * 1000 + took.get("nanos", 0) / 1e6) if took else None
            self._about[str(call_id)] = (ms, result)

    def _model_call(self, used: dict[str, Any], response: str | None, at_ns: int) -> list[Found]:
        begun, ended = self._answer or (at_ns, at_ns)
        self._answer = None
        if not used or not at_ns:
            return []
        call = ModelCall(
            service=SERVICE,
            identity=f"{self._session} {response or ''} {at_ns}",
            trace_id=trace_of(SERVICE, self._session, self._turn),
            conversation_id=self._session,
            agent=self._agent,
            model=self._model,
            release=self.version,
            start_ns=begun,
            end_ns=ended,
            input=count_of(used.get("input_tokens")),
            output=count_of(used.get("output_tokens")),
            cache_read=count_of(used.get("cached_input_tokens")),
            cache_write=count_of(used.get("cache_write_input_tokens")),
            reasoning=count_of(used.get("reasoning_output_tokens")),
        )
        return [call]


FORMAT: Final = TranscriptFormat(SERVICE, knows, CodexReader)


def _arguments(item: dict[str, Any]) -> Any:
    """Return the arguments of a call: parsed, where they are the text of a JSON object."""
    given = next(
        (item[name] for name in ("arguments", "input", "action", "execution") if item.get(name) is not None), None
    )
    if not isinstance(given, str):
        return given
    try:
        found = orjson.loads(given)
    except ValueError:
        return given
    return found if isinstance(found, dict) else given


def _without_duration(call: ExternalCall) -> ExternalCall:
    return replace(call, duration_ns=None)
