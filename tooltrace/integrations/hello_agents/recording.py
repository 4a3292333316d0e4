"""Recording of one attempt, from the outermost function of the package that runs it to the innermost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from functools import lru_cache
from threading import RLock
from types import TracebackType
from typing import Any, NamedTuple, Self

from msgspec.structs import replace

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ErrorInfo
from tooltrace.faults import suppress_faults
from tooltrace.normalize import normalize
from tooltrace.normalize.exceptions.reader import class_name
from tooltrace.otel.sdk_internals import attach, current_context, detach
from tooltrace.recording import context
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.context import CallContext
from tooltrace.recording.recorder import Recorder, activate
from tooltrace.recording.result_copy import with_failed_value
from tooltrace.recording.tool_spec import ToolSpec, named_spec
from tooltrace.tools.adapters.hello_agents_stack import UNKNOWN_CALLER, CallerInfo

_NOTHING: Any = object()


class ExpectedCall(NamedTuple):
    """The next function that belongs to an open attempt, not to a new call."""

    recording: Recording
    tool: Any = None
    """The tool object whose ``run_with_timing`` is expected."""
    name: str | None = None
    """The tool name for which ``run_with_timing`` or ``execute_tool`` is expected."""


class Recording:
    """An open attempt, with its observed result, message and failure."""

    def __init__(self, tool: str, arguments: Any, *, target: Any = None, caller: CallerInfo = UNKNOWN_CALLER) -> None:
        self.tool = tool
        self.target = target
        """The tool object that runs, if there is one."""
        self._arguments = arguments
        self._caller = caller
        self._recorder: Recorder | None = None
        self._attempt: Attempt | None = None
        self._token: Token[CallContext] | None = None
        self._span: Token[Any] | None = None
        self.result: Any = _NOTHING
        self.duration_ns: int | None = None
        """Duration in nanoseconds, if it is not the time between begin and end of this recording."""
        self.seen_text: str | None = None
        """The text that the model receives."""
        self.failure: str | None = None
        """Class of the exception that the package turned into a response."""
        self.ran = False
        """Whether the tool or the function is known to have run."""
        self.unusable = False
        """Whether the package answered in place of the tool: an unknown name, or arguments that are not JSON."""

    @property
    def answered(self) -> bool:
        """Whether a result was observed."""
        return self.result is not _NOTHING

    @property
    def span_id(self) -> str | None:
        """Span id of the attempt, in hex; None if there is no attempt."""
        return None if self._attempt is None else self._attempt.hex_id

    def begin(self) -> None:
        """Begin the attempt and make its span current."""
        with suppress_faults("begin", lost=1):
            self._token = context.current.set(self._call_context())
            self._recorder = get_recorder()
            description = getattr(self.target, "description", None)
            spec = _spec(str(self.tool), description if isinstance(description, str) else None)
            arguments = self._arguments if isinstance(self._arguments, dict) else {"input": self._arguments}
            self._attempt = self._recorder.begin(spec, arguments, call_id=self._caller.call_id)
            if self._attempt is not None:
                self._span = activate(self._attempt)

    def end(self, error: BaseException | None) -> None:
        """End the attempt: ``error`` left it, or it returned the observed result."""
        if self._span is not None:
            detach(self._span)
        if self._token is not None:
            with suppress(ValueError):  # a coroutine that the garbage collector closed in another context
                context.current.reset(self._token)
        if self._recorder is None or self._attempt is None:
            return
        with suppress_faults("record", lost=1):
            if error is not None:
                self._recorder.raised(self._attempt, error)
            elif self.answered:
                if (refusal := self._refusal(self._attempt)) is not None:
                    self._recorder.refused(self._attempt, refusal.code, refusal.message)
                else:
                    self._recorder.returned(self._attempt, self._answer(), duration_ns=self.duration_ns)
                self._record_message(self._recorder, self._attempt)
            else:
                self._recorder.finish_unknown(self._attempt)

    def drop_references(self) -> None:
        """Drop the references to the tool and its result: a task that the tool started may keep this recording."""
        self.result = self._arguments = self.target = None

    def watch(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap ``function`` to keep the class of its exceptions, which the package turns into responses."""

        def watched(*args: Any, **kwargs: Any) -> Any:
            self.ran = True
            try:
                return function(*args, **kwargs)
            except Exception as error:
                self.observe_error(error)
                raise

        return watched

    def watch_async(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a coroutine function as ``watch`` does."""

        async def watched(*args: Any, **kwargs: Any) -> Any:
            self.ran = True
            try:
                return await function(*args, **kwargs)
            except Exception as error:
                self.observe_error(error)
                raise

        return watched

    def observe_error(self, error: Exception) -> None:
        """Store the class of an exception that left the tool."""
        with suppress_faults("read"):
            self.failure = class_name(error)

    def _call_context(self) -> CallContext:
        """Return the call context: the nearest agent, and the conversation.

        The conversation is the application's if it set one, else the session.
        """
        outer = context.current.get()
        return replace(
            outer,
            agent=self._caller.agent or outer.agent,
            model=self._caller.model or outer.model,
            conversation_id=outer.conversation_id or self._caller.session,
        )

    def _record_message(self, recorder: Recorder, attempt: Attempt) -> None:
        if self.seen_text is not None:
            span_id = attempt.hex_id
            recorder.record_model_message(attempt.call_id or span_id, self.seen_text, style="openai", span_id=span_id)

    def _refusal(self, attempt: Attempt) -> ErrorInfo | None:
        """Return why the package did not run the tool; None where it may have run.

        Only the breaker of the package's registry answers CIRCUIT_OPEN for a tool that did not run.
        """
        if self.ran:
            return None
        error = normalize(self.result, rules=attempt.rules).error
        refused = error is not None and (self.unusable or error.code == ToolErrorCode.CIRCUIT_OPEN)
        return error if refused else None

    def _answer(self) -> Any:
        """Return the result; an error that was an exception gets the exception's class."""
        if self.failure is None or self._attempt is None:
            return self.result
        response = with_failed_value(normalize(self.result, rules=self._attempt.rules), self.result)
        error = response.error
        if error is None or error.type is not None:
            return self.result
        return response.model_copy(update={"failure": error.model_copy(update={"type": self.failure})})


_current: ContextVar[Recording | None] = ContextVar("tooltrace_hello_agents", default=None)
_expected: ContextVar[ExpectedCall | None] = ContextVar("tooltrace_hello_agents_expected", default=None)
_awaited_lock = RLock()
_awaited: dict[tuple[int, int], list[Recording]] = {}
"""Recordings of running ``arun_with_timing`` calls, by the identity of tool and parameters.

The call may continue in a thread, which has no context variables.
"""


class Step:
    """One function of the package that an attempt passes through; the first begins the attempt and ends it."""

    def __init__(
        self, recording: Recording, inside: ExpectedCall | None, *, opens: bool, key: tuple[int, int] | None = None
    ) -> None:
        self.recording = recording
        self._inside = inside
        self._opens = opens
        self._key = key

    def __enter__(self) -> Self:
        if self._opens:
            self.recording.begin()
        self._current_token = _current.set(self.recording)
        self._expected_token = _expected.set(self._inside)
        if self._key is not None:
            with _awaited_lock:
                _awaited.setdefault(self._key, []).append(self.recording)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._key is not None:
            _forget(self._key, self.recording)
        with suppress(ValueError):
            _expected.reset(self._expected_token)
            _current.reset(self._current_token)
        if self._opens:
            self.recording.end(error)
            self.recording.drop_references()
        elif isinstance(error, Exception):  # the package may turn it into a response
            self.recording.observe_error(error)


def current() -> Recording | None:
    """Return the recording of the innermost running tool."""
    return _current.get()


def expected_tool(tool: Any) -> Recording | None:
    """Return the open attempt that continues with ``tool``; None if this is a separate call."""
    expected = _expected.get()
    if expected is None or not (expected.tool is tool or expected.name == tool.name):
        return None
    return expected.recording


def awaited(tool: Any, parameters: Any) -> Recording | None:
    """Return the attempt whose ``arun_with_timing`` calls this ``run_with_timing``, perhaps in another thread."""
    recordings = _awaited.get((id(tool), id(parameters)))
    return recordings[-1] if recordings else None


def expected_name(name: str) -> Recording | None:
    """Return the open attempt that continues with an ``execute_tool`` of ``name``; None if this is a separate call."""
    expected = _expected.get()
    return expected.recording if expected is not None and expected.name == name else None


def carried(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``function`` for another thread, where our current context is restored.

    The user's own context variables stay as the package leaves them.
    """
    otel, outer, recording = current_context(), context.current.get(), _current.get()

    def run(*args: Any, **kwargs: Any) -> Any:
        with _with_context(otel, outer, recording):
            return function(*args, **kwargs)

    return run


@contextmanager
def _with_context(otel: Any, outer: CallContext, recording: Recording | None) -> Iterator[None]:
    span, context_token, token = attach(otel), context.current.set(outer), _current.set(recording)
    try:
        yield
    finally:
        _current.reset(token)
        context.current.reset(context_token)
        detach(span)


def _forget(key: tuple[int, int], recording: Recording) -> None:
    with _awaited_lock:
        left = [other for other in _awaited.pop(key, ()) if other is not recording]
        if left:
            _awaited[key] = left


@lru_cache(maxsize=1024)
def _spec(tool: str, description: str | None) -> ToolSpec:
    return named_spec(tool, description=description)
