"""``CircuitBreaker``: refuses the calls of a tool that fails repeatedly, in one process."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Any, Final, Literal, Self

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.forking import ForkSafeLock
from tooltrace.core.response import ResponseMeta, ToolResponse
from tooltrace.errors import CircuitOpen, ConfigError
from tooltrace.normalize import RULES, Rule, normalize
from tooltrace.normalize.engine import apply_rules_to_view
from tooltrace.normalize.exceptions.control_flow import ending_of
from tooltrace.normalize.result_view import ResultSnapshot, snapshot_result, view_of

State = Literal["closed", "open", "half_open"]

FAILURE_THRESHOLD: Final = 3
RECOVERY_TIMEOUT: Final = 300.0
"""The defaults of the breaker, and of the query ``breaker``, which replays one over the history."""

_READ: Final = 4096
"""Size limit of what is read of the items of a stream."""


@dataclass(slots=True)
class _Circuit:
    """The state of one tool."""

    failures: int = 0
    """Failures in a row."""
    opened_at: float | None = None
    """Time when the circuit opened; None while it is closed."""
    probed_at: float | None = None
    """Start of the call that an open circuit lets through; None where none is running."""


class CircuitBreaker:
    """Refuses the calls of a tool for a time after several failures in a row.

    A hook of ``ToolRegistry`` (``hooks=[CircuitBreaker()]``) and an option of ``trace_tool`` (``breaker=CircuitBreaker()``).
    Each tool has a circuit of its own, in this process. After ``recovery_timeout`` seconds one call is let through: if it
    does not fail, the circuit closes, else it stays open as long again. A refused call is recorded with the ending
    ``refused`` and the code CIRCUIT_OPEN. The query ``breaker`` replays these numbers over the history.

    A failure is an exception or an error of the tool. An error that is marked not retryable, such as NOT_FOUND or
    INVALID_PARAM, is about the call and not about the tool: it counts neither as a failure nor as a success. Thread-safe.
    """

    def __init__(self, failure_threshold: int = FAILURE_THRESHOLD, recovery_timeout: float = RECOVERY_TIMEOUT) -> None:
        """``failure_threshold``: failures in a row that open the circuit. ``recovery_timeout``: seconds until a probe."""
        if isinstance(failure_threshold, bool) or not isinstance(failure_threshold, int) or failure_threshold < 1:
            raise ConfigError(f"failure_threshold must be an integer of at least 1, got {failure_threshold!r}")
        usable = isinstance(recovery_timeout, int | float) and not isinstance(recovery_timeout, bool)
        if not usable or not 0 < recovery_timeout < math.inf:
            raise ConfigError(f"recovery_timeout must be a number of seconds above 0, got {recovery_timeout!r}")
        self.failure_threshold = failure_threshold
        self.recovery_timeout = recovery_timeout
        self._clock = monotonic
        self._lock = ForkSafeLock()
        self._circuits: dict[str, _Circuit] = {}

    def __repr__(self) -> str:
        return f"CircuitBreaker(failure_threshold={self.failure_threshold}, recovery_timeout={self.recovery_timeout:g})"

    def state(self, tool: str) -> State:
        """Return ``closed``, ``open``, or ``half_open`` where the next call or a running one is the probe."""
        with self._lock.current:
            circuit = self._circuits.get(tool)
            if circuit is None or circuit.opened_at is None:
                return "closed"
            probing = circuit.probed_at is not None or self._seconds_left(circuit) <= 0
            return "half_open" if probing else "open"

    def reset(self, tool: str | None = None) -> None:
        """Close the circuit of ``tool``; without a name, those of all tools."""
        with self._lock.current:
            if tool is None:
                self._circuits.clear()
            else:
                self._circuits.pop(tool, None)

    def check(self, tool: str) -> None:
        """Raise CircuitOpen where a call of ``tool`` must not run. A call that may run ends with ``record``."""
        with self._lock.current:
            circuit = self._circuits.get(tool)
            if circuit is None or circuit.opened_at is None:
                return
            left = self._seconds_left(circuit)
            if left <= 0:
                circuit.probed_at = self._clock()
                return
            failures = circuit.failures
        raise CircuitOpen(
            f"the circuit breaker of {tool!r} is open after {failures} failures in a row: the call was not run; "
            f"the next one may run in {math.ceil(left)} s"
        )

    def record(self, tool: str, *, failed: bool | None) -> None:
        """Record how a call that ``check`` let through ended. ``failed``: None where it says nothing about the tool."""
        with self._lock.current:
            circuit = self._circuits.get(tool)
            if failed is False:
                if circuit is not None:
                    del self._circuits[tool]
                return
            if circuit is None:
                if failed is None:
                    return
                circuit = self._circuits[tool] = _Circuit()
            was_probe, circuit.probed_at = circuit.probed_at is not None, None
            if failed:
                circuit.failures += 1
                if was_probe or circuit.failures >= self.failure_threshold:
                    circuit.opened_at = self._clock()

    def _seconds_left(self, circuit: _Circuit) -> float:
        """Return the seconds until a call is let through. A probe that does not end is given up after the same time."""
        since = circuit.opened_at if circuit.probed_at is None else circuit.probed_at
        return self.recovery_timeout - (self._clock() - (since or 0.0))

    # as a hook of a registry

    def __call__(self, call: Any, proceed: Callable[[], ToolResponse]) -> ToolResponse:
        """Respond instead of the tool while its circuit is open."""
        try:
            self.check(call.tool)
        except CircuitOpen as refusal:
            return _response(refusal)
        failed: bool | None = None
        try:
            response = proceed()
            failed = _has_failed(response)
            return response
        finally:
            self.record(call.tool, failed=failed)

    async def acall(self, call: Any, proceed: Callable[[], Awaitable[ToolResponse]]) -> ToolResponse:
        """Do what the hook does, in an event loop."""
        try:
            self.check(call.tool)
        except CircuitOpen as refusal:
            return _response(refusal)
        failed: bool | None = None
        try:
            response = await proceed()
            failed = _has_failed(response)
            return response
        finally:
            self.record(call.tool, failed=failed)

    # as an option of trace_tool

    def guard(
        self, tool: Callable[..., Any], code: Any, name: str, rules: tuple[Rule, ...] | None
    ) -> Callable[..., Any]:
        """Return ``tool`` with this breaker around each call, which then raises CircuitOpen while the circuit is open.

        ``code``: the function that tells the kind of ``tool``. ``rules``: those that read its results.
        """
        wrapper: Any
        if inspect.iscoroutinefunction(code):

            async def wrapper(*args: Any, **kwargs: Any) -> Any:
                with _Run(self, name, rules) as run:
                    return run.returned(await tool(*args, **kwargs))

        elif inspect.isasyncgenfunction(code):
            wrapper = _guarded_stream(tool, functools.partial(_Run, self, name, rules))

        elif inspect.isgeneratorfunction(code):
            wrapper = _guarded_generator(tool, functools.partial(_Run, self, name, rules))

        else:

            def wrapper(*args: Any, **kwargs: Any) -> Any:
                with _Run(self, name, rules) as run:
                    return run.returned(tool(*args, **kwargs))

        return functools.wraps(tool)(wrapper)


class _Run:
    """One call of a guarded tool; its end is recorded with the breaker."""

    def __init__(self, breaker: CircuitBreaker, name: str, rules: tuple[Rule, ...] | None) -> None:
        self._breaker = breaker
        self._name = name
        self._rules = RULES if rules is None else rules
        self.failed: bool | None = None
        self._last: ResultSnapshot = (None, ())
        """The last item of a stream, as a copy: a consumer may drop its items."""
        self._text: list[str] | None = []
        """The first items of a stream, where all are texts."""
        self._length = 0
        """Characters of these items."""

    def __enter__(self) -> Self:
        self._breaker.check(self._name)
        return self

    def returned(self, result: Any) -> Any:
        """Return ``result``, and note whether it reports a failure."""
        self.failed = _has_failed(normalize(result, rules=self._rules))
        return result

    def add_item(self, item: Any) -> Any:
        """Return ``item`` of a stream, and note what it may say about its end."""
        self._last = snapshot_result(item, _READ)
        if type(item) is not str:
            self._text = None
        elif self._text is not None and item and self._length < _READ:
            self._text.append(item[:_READ])
            self._length += len(item)
        return item

    def stream_returned(self, value: Any) -> Any:
        """Return the ``value`` that a stream returned; the last item, it and the joined text may report a failure."""
        text = snapshot_result("".join(self._text)) if self._text else (None, ())
        for end in (self._last, snapshot_result(value, _READ), text):
            response = apply_rules_to_view(view_of(*end), self._rules)
            if response is not None:
                self.failed = _has_failed(response)
                if self.failed is not False:
                    return value
        self.failed = bool(self.failed)
        return value

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is not None and ending_of(type(error)) == "raised":
            self.failed = _has_failed(normalize(error))
        self._breaker.record(self._name, failed=self.failed)


def _guarded_generator(tool: Callable[..., Any], begin: Callable[[], _Run]) -> Callable[..., Generator[Any, Any, Any]]:
    """Return the generator function ``tool`` with a run around each stream; otherwise it is ``yield from``."""

    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with begin() as run:
            stream = tool(*args, **kwargs)
            try:
                item = next(stream)
                while True:
                    try:
                        sent = yield run.add_item(item)
                    except GeneratorExit:
                        stream.close()
                        raise
                    except BaseException as error:
                        item = stream.throw(error)
                    else:
                        item = stream.send(sent)
            except StopIteration as stop:
                return run.stream_returned(stop.value)

    return wrapper


def _guarded_stream(tool: Callable[..., Any], begin: Callable[[], _Run]) -> Callable[..., AsyncGenerator[Any, Any]]:
    """Return the async generator function ``tool`` with a run around each stream.

    It does what ``yield from`` would: values that are sent and exceptions that are thrown into the stream are the tool's.
    """

    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        with begin() as run:
            stream = tool(*args, **kwargs)
            try:
                item = await anext(stream)
                while True:
                    try:
                        sent = yield run.add_item(item)
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        item = await stream.athrow(error)
                    else:
                        item = await stream.asend(sent)
            except StopAsyncIteration:
                run.stream_returned(None)
            finally:
                await stream.aclose()

    return wrapper


def _has_failed(response: ToolResponse) -> bool | None:
    """Whether the tool failed; None for an error of the call, which says nothing about the tool."""
    if response.error is None or response.ok:
        return False
    return None if response.error.retryable is False else True


def _response(refusal: CircuitOpen) -> ToolResponse:
    return ToolResponse.error(
        ToolErrorCode.CIRCUIT_OPEN,
        str(refusal),
        suggestion="Do not call this tool again for now; use another one, or answer with what you have.",
        meta=ResponseMeta(rule="registry", rule_grade="certain"),
    )
