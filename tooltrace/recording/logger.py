"""``TraceLogger``: records of calls that cannot be traced by the decorator."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Token
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self, Unpack

from opentelemetry.context.context import Context

from tooltrace.core.keywords import named_options
from tooltrace.core.response import ToolResponse
from tooltrace.errors import ConfigError
from tooltrace.faults import faults, pass_on_signal, suppress_faults
from tooltrace.normalize import normalize
from tooltrace.otel.sdk_internals import detach
from tooltrace.otel.timestamps import EPOCH, nanoseconds
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.recorder import UNKNOWN, Recorder, activate
from tooltrace.recording.tool_spec import ToolSettings, ToolSpec, named_spec

MAX_DURATION_MS = 1e12
"""Maximum plausible duration in milliseconds, about thirty years; a longer one is treated as unknown."""

MAX_ATTEMPT = 2**31 - 1
"""Maximum number of an attempt that the store can hold."""

_CLOCK_ERROR = timedelta(minutes=5)
"""How far the clock of another machine may be ahead."""
_UNFINISHED: Any = object()


class TraceLogger:
    """A logger that records calls made by other code.

    ``options``: the options of ``trace_tool`` except the name, for every call of this logger. Raises UnknownOption for
    another one, and ConfigError for an unusable value. What is passed for a single call raises nothing: a value that cannot
    be used is unknown in the record, and a warning is logged once.
    """

    @named_options(ToolSettings)
    def __init__(self, **options: Unpack[ToolSettings]) -> None:
        named_spec("tool", **options)  # raises for an unusable value, before the first call
        self._options = options
        self._specs: dict[tuple[str, str | None], ToolSpec] = {}

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        call_id: str | None = None,
        attempt: int | None = None,
    ) -> LoggedCall:
        """Return a context manager that records the call made inside its block.

        Used as ``with log.call("search", {...}) as call: call.finish(result)``, or with ``async with``. An exception
        that leaves the block is recorded and propagates. A block that ends without ``finish`` is recorded without a
        status, because the result is unknown.
        """
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
        started_at: datetime | None = None,
        tool_version: str | None = None,
    ) -> str | None:
        """Record a call that has ended. Returns the span id, or None where the call could not be recorded.

        ``result``: the result of the call, or the exception that it raised. ``started_at``: start of a call of the past, such
        as one of your own logs, in UTC unless it has a time zone; default: ``duration_ms`` ago. ``duration_ms``: default: the
        duration that the result states, such as ``stats.time_ms``, ``meta.durationMs`` or ``execution_time``. ``tool_version``: version of
        the tool then; default: that of the logger's options. Raises ConfigError for another type of either, and for a start
        before 1970 or in the future.
        """
        started_ns, spec = _past(started_at), self._spec(tool, tool_version)
        recorder = get_recorder()
        logged = recorder.begin(
            spec, _as_dict(arguments), call_id=_id(call_id), number=_number(attempt), started_ns=started_ns
        )
        if logged is None:
            return None
        if duration_ms is None:
            with suppress_faults("read", lost=0):
                duration_ms = _stated_duration(normalize(result, rules=recorder.rules_of(spec)))
        duration_ns = _nanoseconds(duration_ms)
        if started_ns is None:
            logged.backdate(max(duration_ns, 0))
        else:
            logged.past_end_ns = started_ns + max(duration_ns, 0)
        # by its type: ``isinstance`` would read ``__class__`` from the object, which may run its code
        if issubclass(type(result), BaseException):
            recorder.raised(logged, result, duration_ns=duration_ns)
        else:
            recorder.returned(logged, result, duration_ns=duration_ns)
        return logged.hex_id

    def _spec(self, tool: str, version: str | None = None) -> ToolSpec:
        if version is not None and not isinstance(version, str):
            raise ConfigError(f"tool_version must be a text; got {type(version).__name__} for the tool {tool!r}")
        spec = self._specs.get((tool, version))
        if spec is None:
            options = self._options if version is None else {**self._options, "version": version}
            spec = self._specs[tool, version] = named_spec(tool, **options)
        return spec


class LoggedCall:
    """The context manager of one call, returned by ``TraceLogger.call``."""

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
        """Set the call's result: any value, a ToolResponse, or an exception that was caught."""
        self._result = result

    @property
    def span_id(self) -> str | None:
        """Span id of the attempt; None before the block, or where the call cannot be recorded."""
        return None if self._attempt is None else self._attempt.hex_id

    def __enter__(self) -> Self:
        self._recorder = get_recorder()
        self._attempt = self._recorder.begin(
            self._spec, _as_dict(self._arguments), call_id=_id(self._call_id), number=_number(self._number)
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


def _as_dict(arguments: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if arguments is None:
        return None
    try:
        return dict(arguments)
    except BaseException as error:  # invalid arguments of a model must not stop the caller's agent
        pass_on_signal(error)
        return {"value": arguments}


def _past(started_at: datetime | None) -> int | None:
    """Return ``started_at`` in nanoseconds since 1970. Raises ConfigError where it is not a time of the past."""
    if started_at is None:
        return None
    expected = "started_at must be a datetime from 1970 to now, in UTC unless it has a time zone"
    if not isinstance(started_at, datetime):
        raise ConfigError(f"{expected}; got {type(started_at).__name__}")
    moment = started_at.replace(tzinfo=UTC) if started_at.tzinfo is None else started_at
    if not EPOCH <= moment <= datetime.now(UTC) + _CLOCK_ERROR:
        raise ConfigError(f"{expected}; got {started_at.isoformat()}")
    return nanoseconds(moment)


def _stated_duration(response: ToolResponse) -> Any:
    """Return the milliseconds that a result states in its metadata or in ``stats.time_ms``; None where it states none."""
    stated = response.meta.duration_ms
    return (response.stats or {}).get("time_ms") if stated is None else stated


def _nanoseconds(duration_ms: float | None) -> int:
    """Return ``duration_ms`` in nanoseconds; ``UNKNOWN`` where it is not a plausible duration."""
    if duration_ms is None:
        return UNKNOWN
    if (
        isinstance(duration_ms, int | float)
        and not isinstance(duration_ms, bool)
        and 0 <= duration_ms < MAX_DURATION_MS
    ):
        return round(duration_ms * 1e6)
    _warn_of_unknown("duration_ms", "milliseconds of at least 0", duration_ms)
    return UNKNOWN


def _number(attempt: int | None) -> int | None:
    """Return the number of an attempt; None, so that attempts are counted, where it is not one."""
    if attempt is None or (type(attempt) is int and 1 <= attempt <= MAX_ATTEMPT):
        return attempt
    _warn_of_unknown("attempt", "a whole number of at least 1", attempt)
    return None


def _id(call_id: Any) -> str | None:
    return call_id if call_id is None or type(call_id) is str else str(call_id)


def _warn_of_unknown(argument: str, expected: str, got: object) -> None:
    faults.warn_once(
        f"logger_{argument}",
        f"TraceLogger got a value of the type {type(got).__name__} as {argument}, which must be {expected}: it is unknown in "
        "the record",
        counted=False,
    )
