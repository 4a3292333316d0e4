"""``TraceLogger``: the same records for those who cannot decorate."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Token
from types import TracebackType
from typing import Any, Self

from opentelemetry.context.context import Context

from tooltrace.faults import pass_on_signal
from tooltrace.otel.sdk_internals import detach
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.recorder import UNKNOWN, Recorder, activate
from tooltrace.recording.tool_spec import ToolSpec, named_spec

LONGEST_MS = 1e12
"""Thirty years: what is said to have lasted longer is a mistake."""

_UNFINISHED: Any = object()


class TraceLogger:
    """Records calls that somebody else makes.

    ``options``: what ``trace_tool`` takes of every call of this logger (``version``, ``tool_type``,
    ``capture``, ``redact``, …).
    """

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._specs: dict[str, ToolSpec] = {}

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        call_id: str | None = None,
        attempt: int | None = None,
    ) -> LoggedCall:
        """A call that is about to be made: ``with log.call("search", {...}) as call: call.finish(result)``,
        or ``async with``. An exception that leaves the block is recorded and goes on. A block that ends
        without ``finish`` is recorded without a status: nobody said."""
        return LoggedCall(self._spec(tool), arguments, call_id, attempt)

    def record(
        self,
        tool: str,
        result: Any,
        *,
        call_id: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        duration_ms: float | None = None,
        attempt: int | None = None,
    ) -> str | None:
        """A call that was made: its result, or the exception that it raised. Returns the span id;
        None where it could not be recorded."""
        recorder = get_recorder()
        begun = recorder.begin(self._spec(tool), _plain(arguments), call_id=call_id, number=attempt)
        if begun is None:
            return None
        duration_ns = _nanoseconds(duration_ms)
        begun.backdate(max(duration_ns, 0))
        if issubclass(type(result), BaseException):
            recorder.raised(begun, result, duration_ns=duration_ns)
        else:
            recorder.returned(begun, result, duration_ns=duration_ns)
        return begun.hex_id

    def _spec(self, tool: str) -> ToolSpec:
        spec = self._specs.get(tool)
        if spec is None:
            spec = self._specs[tool] = named_spec(tool, **self._options)
        return spec


class LoggedCall:
    """A call inside its ``with`` block."""

    def __init__(
        self, spec: ToolSpec, arguments: Mapping[str, Any] | None, call_id: str | None, number: int | None
    ) -> None:
        self._spec = spec
        self._arguments = arguments
        self._call_id = call_id
        self._number = number
        self._result: Any = _UNFINISHED
        self._recorder: Recorder | None = None
        self._attempt: Attempt | None = None
        self._token: Token[Context] | None = None

    def finish(self, result: Any) -> None:
        """The call's result: any value, a ToolResponse, or an exception that was caught."""
        self._result = result

    @property
    def span_id(self) -> str | None:
        """The attempt's id; None outside the block."""
        return None if self._attempt is None else self._attempt.hex_id

    def __enter__(self) -> Self:
        self._recorder = get_recorder()
        self._attempt = self._recorder.begin(
            self._spec, _plain(self._arguments), call_id=self._call_id, number=self._number
        )
        if self._attempt is not None:
            self._token = activate(self._attempt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        attempt, recorder = self._attempt, self._recorder
        if attempt is None or recorder is None or self._token is None:
            return
        detach(self._token)
        if error is not None:
            recorder.raised(attempt, error)
        elif self._result is _UNFINISHED:
            recorder.finish_unknown(attempt)
        elif issubclass(type(self._result), BaseException):
            recorder.raised(attempt, self._result)
        else:
            recorder.returned(attempt, self._result)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)


def _plain(arguments: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if arguments is None:
        return None
    try:
        return dict(arguments)
    except BaseException as error:  # the caller's agent runs on, whatever its model said
        pass_on_signal(error)
        return {"value": arguments}


def _nanoseconds(duration_ms: float | None) -> int:
    """A duration as the span wants it; what is no duration is unknown."""
    plausible = isinstance(duration_ms, int | float) and 0 <= duration_ms < LONGEST_MS
    return round(duration_ms * 1e6) if plausible and duration_ms is not None else UNKNOWN
