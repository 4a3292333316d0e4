"""Format of the JSON Lines that HelloAgents' own ``TraceLogger`` writes.

A line is ``{"ts", "session_id", "step", "event", "payload"}``. The event ``tool_call`` has the tool, the model's id of
the call and its arguments; ``tool_result`` has the result. The logger writes local times without a zone, which are read
as local times of this process; times with a zone are read as they are. If a process in another time zone imports the
file, its times are wrong by the difference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.records import ToolCall
from tooltrace.core.response import ResponseMeta, Status, ToolResponse
from tooltrace.ingest.call_builder import ExternalCall, begin_attempt, build_call, stable_id
from tooltrace.ingest.files.reader import Format, TraceFile, parsed
from tooltrace.normalize import normalize
from tooltrace.normalize.exceptions.reader import ExceptionSummary
from tooltrace.otel.timestamps import nanoseconds
from tooltrace.recording.call_numbers import CallNumbers, CallUse
from tooltrace.recording.logger import MAX_DURATION_MS
from tooltrace.recording.settings import Settings

NAME = "hello-agents"
RULE = "hello_agents_trace"
"""Rule name for results that the event's own status decides."""
_ARGUMENTS = ("args", "parameters", "arguments", "input")
"""Names of the member with the arguments: in the agents, in the package's guide, and elsewhere."""
_STATUSES: dict[str | None, Status] = {"success": "success", "partial": "partial", "error": "error"}
_BEGINNING = re.compile(
    rb'\s*\{"ts": ?"[^"]{1,64}", ?"session_id": ?"[^"]{0,200}", ?"step": ?\w+, ?"event": ?"\w+", ?"payload": ?\{'
)
"""Beginning of a line of the logger, to recognise a first line that is longer than the examined part."""
_ABOUT = frozenset({"tool_name", "tool_call_id", "duration_ms"})
"""Members of a ``tool_result`` that describe the call, not its result."""
_VERDICTS = frozenset({"status", "error", "error_code", "error_message", "success", "ok", "is_error"})


def knows(head: bytes) -> bool:
    """Whether one of the first lines is an event of the logger."""
    return any(_is_event(parsed(line)) for line in head.splitlines()) or _BEGINNING.match(head) is not None


def read(source: TraceFile, settings: Settings) -> Iterator[ToolCall]:
    """Yield every call of the file once its result is read; calls without a result come last."""
    sessions = _Sessions()
    for number, line in source.objects():
        if not _is_event(line):
            source.skip(number, "not an event of a HelloAgents trace")
            continue
        try:
            external = sessions.add_event(line)
        except _Unusable as error:
            source.skip(number, str(error))
            continue
        if external is not None:
            yield build_call(external, settings)
    for external in sessions.left():
        yield build_call(external, settings)


FORMAT = Format(NAME, knows, read)


class _Unusable(Exception):
    """Error for an event that has too little data to be recorded."""


@dataclass(slots=True, eq=False)
class _PendingCall:
    """A ``tool_call`` event that waits for its result."""

    session: str | None
    step: str
    tool: str
    call_id: str | None
    occurrence: int
    at: datetime
    arguments: Any
    agent: str | None
    use: CallUse | None = None
    attempt: int | None = None

    def external(self, **more: Any) -> ExternalCall:
        # Without a session only the time distinguishes calls of two runs. With a session it is left out, so that the
        # same run gives the same ids.
        when = self.at.isoformat() if self.session is None else None
        identity = (NAME, self.session, self.step, self.call_id or self.tool, self.occurrence, when)
        return ExternalCall(
            tool=self.tool,
            trace_id=stable_id(16, *(identity if self.session is None else (NAME, self.session))),
            span_id=stable_id(8, *identity),
            started_ns=nanoseconds(self.at),
            tool_type="function",
            call_id=self.call_id,
            conversation_id=self.session,
            agent=self.agent,
            arguments=self.arguments,
            use=self.use,
            attempt=self.attempt,
            **more,
        )


_Place = tuple[str | None, ...]


class _Waiting:
    """The calls that wait for their results, indexed by every key that a result may match."""

    def __init__(self) -> None:
        self._at: dict[_Place, dict[_PendingCall, None]] = {(): {}}

    def add(self, pending: _PendingCall) -> None:
        for place in _places(pending):
            self._at.setdefault(place, {})[pending] = None

    def add_event(self, session: str | None, step: str, call_id: str | None, tool: str | None) -> _PendingCall | None:
        """Remove and return the call of a result: the last with its id, otherwise the first with its step and tool."""
        same = self._at.get(("id", session, call_id)) if call_id is not None else None
        if same:
            # the last call with the id is the one that ended
            return self._remove(next(reversed(same)))
        there = self._at.get(("step", session, step, tool, "any" if call_id is None else "nameless"))
        return self._remove(next(iter(there))) if there else None

    def all(self) -> Iterator[_PendingCall]:
        yield from self._at[()]

    def _remove(self, pending: _PendingCall) -> _PendingCall:
        for place in _places(pending):
            del self._at[place][pending]
            if place and not self._at[place]:
                del self._at[place]
        return pending


def _places(pending: _PendingCall) -> Iterator[_Place]:
    yield ()
    if pending.call_id is not None:
        yield ("id", pending.session, pending.call_id)
    # A result may lack the name of the tool.
    for tool in (pending.tool, None):
        yield ("step", pending.session, pending.step, tool, "any")
        if pending.call_id is None:
            yield ("step", pending.session, pending.step, tool, "nameless")


class _Sessions:
    """State of the sessions in one file."""

    def __init__(self) -> None:
        self._numbers = CallNumbers()
        self._agents: dict[str | None, str | None] = {}
        self._occurrences: Counter[tuple[Any, ...]] = Counter()
        self._waiting = _Waiting()

    def add_event(self, line: dict[str, Any]) -> ExternalCall | None:
        """Process one event; return the attempt that it ends, if any."""
        event, payload = line["event"], line["payload"]
        session = _text(line.get("session_id"))
        if event == "session_start":
            self._agents[session] = _text(payload.get("agent_name"))
        elif event == "tool_call":
            self._waiting.add(self._pending_call(line, payload, session))
        elif event == "tool_result":
            return self._ended_call(line, payload, session)
        return None

    def left(self) -> Iterator[ExternalCall]:
        """Yield the calls without a result: the trace ends before it."""
        for pending in self._waiting.all():
            yield pending.external(ending="abandoned")

    def _ended_call(self, line: dict[str, Any], payload: dict[str, Any], session: str | None) -> ExternalCall:
        call_id, tool = _text(payload.get("tool_call_id")), _text(payload.get("tool_name"))
        pending = self._waiting.add_event(session, str(line.get("step")), call_id, tool)
        duration = _stated_duration(payload)
        if pending is None:  # asynchronous runs write only the result
            pending = self._pending_call(line, payload, session)
        elif duration is None:
            duration = _between(pending.at, _moment(line.get("ts")))
        result = _result(payload)
        refusal = _refusal(result)
        if refusal is not None:
            return pending.external(ending="refused", error=refusal)
        return pending.external(result=result, duration_ns=None if duration is None else round(duration * 1e6))

    def _pending_call(self, line: dict[str, Any], payload: dict[str, Any], session: str | None) -> _PendingCall:
        tool, at, step = _text(payload.get("tool_name")), _moment(line.get("ts")), str(line.get("step"))
        if tool is None:
            raise _Unusable(f"a {line['event']} without the tool's name")
        if at is None:
            raise _Unusable(f"a {line['event']} without a time")
        call_id = _text(payload.get("tool_call_id"))
        place = (session, call_id) if call_id is not None else (session, step, tool)
        self._occurrences[place] += 1
        agent = self._agents.get(session)
        pending = _PendingCall(session, step, tool, call_id, self._occurrences[place], at, _arguments(payload), agent)
        if call_id is not None:
            pending.use, pending.attempt = begin_attempt(pending.external(), self._numbers)
            pending.use.failed = True  # it was lost, unless its result is read before the id comes again
        return pending


def _is_event(line: Any) -> bool:
    return (
        isinstance(line, dict)
        and isinstance(line.get("event"), str)
        and isinstance(line.get("payload"), dict)
        and ("ts" in line or "session_id" in line)
    )


def _arguments(payload: dict[str, Any]) -> Any:
    return next((payload[name] for name in _ARGUMENTS if payload.get(name) is not None), None)


def _result(payload: dict[str, Any]) -> Any:
    """Return the result for the rules to interpret.

    A result with a status of its own is returned unchanged. Otherwise a status of the event decides, whatever the text
    of the result. If only other members report success or failure, the rules interpret all of them with the result.
    """
    status, result = _STATUSES.get(_text(payload.get("status"))), payload.get("result")
    if isinstance(result, dict) and "status" in result:
        return result
    if status is not None:
        return _stated(payload, status, result)
    members = {name: value for name, value in payload.items() if name not in _ABOUT and value is not None}
    return result if "result" in members and _VERDICTS.isdisjoint(members) else members or None


def _refusal(result: Any) -> ExceptionSummary | None:
    """Return why the tool was not run; None where it ran. Only the breaker of the registry answers CIRCUIT_OPEN."""
    if str(ToolErrorCode.CIRCUIT_OPEN) not in (result if isinstance(result, str) else str(result)):
        return None
    error = normalize(result).error
    refused = error is not None and error.code == ToolErrorCode.CIRCUIT_OPEN
    return ExceptionSummary(error.code, "", error.message, None) if refused and error is not None else None


def _stated(payload: dict[str, Any], status: Status, result: Any) -> ToolResponse:
    text, data = (result, None) if isinstance(result, str) else ("", result)
    meta = ResponseMeta(rule=RULE, rule_grade="certain")
    if status != "error":
        return ToolResponse(status=status, text=text, data=data, meta=meta)
    parsed_error = normalize(text).error  # the text may name the code
    message = (
        _text(payload.get("error_message"))
        or (parsed_error and parsed_error.message)
        or text
        or "the trace names no error"
    )
    code = _text(payload.get("error_code")) or (parsed_error and parsed_error.code) or ToolErrorCode.UNKNOWN
    return ToolResponse.error(code, message, text=text, data=data, meta=meta)


def _stated_duration(payload: dict[str, Any]) -> float | None:
    value = payload.get("duration_ms")
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MAX_DURATION_MS
    return float(value) if usable and value is not None else None


def _between(start: datetime, end: datetime | None) -> float | None:
    """Return the milliseconds between two times; None if the clock was set back meanwhile."""
    if end is None or end < start:
        return None
    return (end - start) / timedelta(milliseconds=1)


def _moment(value: Any) -> datetime | None:
    """Parse a time and return it in UTC; a time without a zone is local. None if it is invalid."""
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
