"""What the sessions of all coding agents have in common: calls that wait for their results, and model calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from tooltrace.core.codes import BLOCKED
from tooltrace.ingest.call_builder import NO_RESULT, ExternalCall, stable_id
from tooltrace.normalize.exceptions.reader import ExceptionSummary
from tooltrace.recording.cancellation import CANCELLED

Found: TypeAlias = "ExternalCall | ModelCall"
"""A call of a tool, or a call of the model."""
Note = Callable[[str], None]
"""Callback that receives what a reader does not know: the kind of a line, or of a part of one."""

UNIQUE_ID: Final = 20
"""Length from which an id of a call is unique among all sessions: those of the providers are random, a local model counts."""


class SessionReader(Protocol):
    """A reader of the lines of one session."""

    version: str | None
    """Version of the agent that wrote the last line."""
    last_ns: int
    """Time of the last line, in nanoseconds since 1970."""

    def read(self, line: dict[str, Any], note: Note) -> list[Found]:
        """Return what ends with ``line``. Raises an exception of MALFORMED where a member has a value of another type."""
        ...

    def rest(self, *, may_go_on: bool) -> tuple[list[Found], int]:
        """Return the calls that have no result, and the number of those left out because they may still run."""
        ...


@dataclass(frozen=True, slots=True)
class TranscriptFormat:
    """The transcripts of one agent: how they are recognised and read."""

    service: str
    """Name of the agent, as the column ``service`` has it."""
    knows: Callable[[bytes], bool]
    """Whether the beginning of a file is a transcript of this agent."""
    reader: Callable[[Path], SessionReader]
    """Return a reader for the file at this path, whose neighbours may say more about it."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a call ended, as far as the agent itself says."""

    ending: str = "returned"
    error: ExceptionSummary | None = None


RETURNED: Final = Ending()


def refused(message: str, code: str = BLOCKED) -> Ending:
    """Return the ending of a call that the agent did not run."""
    return Ending("refused", ExceptionSummary(code, "", message, None))


def declined(message: str) -> Ending:
    """Return the ending of a call that a person rejected."""
    return Ending("declined", ExceptionSummary("", "", message, None))


def cancelled(message: str) -> Ending:
    """Return the ending of a call that a person or the agent stopped."""
    return Ending("cancelled", ExceptionSummary(CANCELLED, "", message, None))


@dataclass(slots=True, kw_only=True)
class OpenCall:
    """A call that has no result yet."""

    tool: str
    call_id: str
    at_ns: int
    arguments: Any
    chain: str
    """The conversation of one agent within the session: its calls are in order."""
    turn: str | None = None
    """Id of the model's answer that asked for the call."""
    followed: bool = False
    """Whether the conversation went on without a result."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Further fields of the call."""


class OpenCalls:
    """The calls of one session that wait for their results."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._open: dict[str, OpenCall] = {}
        self._latest: dict[str, list[OpenCall]] = {}
        """The calls of each chain that nothing has followed yet."""
        self._seen: dict[str, list[int]] = {}
        """Times of the calls with an id: a local model may use one again."""

    def ask(self, call: OpenCall) -> bool:
        """Add ``call``; return False where it is a copy of one that is known."""
        times = self._seen.setdefault(call.call_id, [])
        if call.at_ns in times:
            return False
        times.append(call.at_ns)
        self._open[call.call_id] = call
        self._latest.setdefault(call.chain, []).append(call)
        return True

    def is_open(self, call_id: Any) -> bool:
        """Whether the call waits for its result."""
        return isinstance(call_id, str) and call_id in self._open

    def tool_of(self, call_id: str) -> str:
        """Return the tool of a call that waits."""
        return self._open[call_id].tool

    def follow(self, chain: str, turn: str | None) -> None:
        """Note that the conversation of ``chain`` went on with ``turn``."""
        latest = self._latest.get(chain, [])
        self._latest[chain] = [call for call in latest if turn is not None and call.turn == turn]
        for call in latest:
            call.followed = turn is None or call.turn != turn

    def answer(
        self, call_id: str, result: Any, at_ns: int, how: Ending = RETURNED, *, ms: float | None = None, **more: Any
    ) -> ExternalCall:
        """Return the call with its result; it waits no more. ``ms``: its duration, where the agent states one."""
        call = self._open.pop(call_id)
        took = round(ms * 1e6) if ms is not None else at_ns - call.at_ns
        result = result if how is RETURNED else NO_RESULT
        return self._external(call, how, result=result, duration_ns=took if took >= 0 else None, **more)

    def rest(self, *, may_go_on: bool) -> tuple[list[ExternalCall], int]:
        """Return the calls without a result as lost, and the number of those that may still run."""
        lost = [call for call in self._open.values() if call.followed or not may_go_on]
        left = len(self._open) - len(lost)
        self._open.clear()
        return [self._external(call, Ending("lost")) for call in lost], left

    def latest(self, chain: str) -> list[OpenCall]:
        """Return the calls of ``chain`` that wait and that nothing has followed yet."""
        return [call for call in self._latest.get(chain, ()) if self._open.get(call.call_id) is call]

    def _external(self, call: OpenCall, how: Ending, **more: Any) -> ExternalCall:
        fields = {**call.fields, **more}
        times = self._seen[call.call_id]
        occurrence = times.index(call.at_ns)
        span_id = span_of(self._service, fields.get("conversation_id"), call.call_id, occurrence)
        return ExternalCall(
            tool=call.tool,
            span_id=span_id,
            started_ns=call.at_ns,
            tool_type="function",
            call_id=call.call_id,
            arguments=call.arguments,
            service=self._service,
            ending=how.ending,
            error=how.error,
            **fields,
        )


@lru_cache(maxsize=1024)
def span_of(service: str, session: str | None, call_id: str, occurrence: int = 0) -> int:
    """Return the span id of a call: the same in every file that has it, also where a session was copied when it was resumed."""
    where = None if len(call_id) >= UNIQUE_ID else session
    return stable_id(8, service, where, call_id, *((occurrence,) if occurrence else ()))


@lru_cache(maxsize=1024)
def trace_of(service: str, *parts: str | None) -> int:
    """Return the trace id of a session, or of one prompt in it."""
    return stable_id(16, service, *parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call of the model, and its tokens."""

    service: str
    identity: str
    """What tells it from the other model calls of the agent."""
    trace_id: int
    parent_span_id: int | None = None
    conversation_id: str | None
    agent: str | None
    model: str | None
    release: str | None
    start_ns: int
    end_ns: int
    input: int
    """Tokens of the whole input, with those that were read from the cache or written to it."""
    output: int
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


def text_of(value: Any) -> str | None:
    """Return ``value`` where it is a text that is not empty."""
    return value if isinstance(value, str) and value else None


def members_of(value: Any) -> dict[str, Any]:
    """Return ``value`` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def count_of(value: Any) -> int:
    """Return ``value`` where it is a count, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else 0


def milliseconds_of(value: Any) -> float | None:
    """Return ``value`` where it is a duration in milliseconds."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return float(value) if usable else None
