"""Attempts that belong to one call although nobody gave the call an id: retries by tenacity or stamina.

The last failed attempt of a task or thread is remembered. The next attempt of the same tool with the same arguments in
the same conversation is its retry if a retry library says so: one of its frames, or of the frames that use it, holds the
state of a retry that began before the failed attempt. An integration (``tooltrace.integrations.tenacity``, ``.stamina``)
says it by :func:`announce` instead, also where the tool runs in another thread than the retry.

No retry library is imported. A call costs one lookup more; frames are searched only after a failure.
"""

from __future__ import annotations

import sys
import time
from contextvars import ContextVar
from types import FrameType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from opentelemetry.trace import get_current_span

from tooltrace.core.lru import LruMap
from tooltrace.faults import pass_on_signal
from tooltrace.otel.tool_span import ToolSpan
from tooltrace.redact.inspection import module_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tooltrace.recording.attempt import Attempt

LIBRARIES: Final = ("stamina", "tenacity")
MAX_FRAMES: Final = 60
"""Maximum number of frames that are searched for the state of a retry."""

INNER_RETRIES: Final = "tooltrace.inner_retries"
"""Attribute of an attempt: number of retries inside it, of a part of the tool that is not a traced call."""
INNER_RETRY_ERRORS: Final = "tooltrace.inner_retry_errors"
"""Attribute of an attempt: classes of the exceptions that these retries followed."""
MAX_INNER_ERRORS: Final = 20
"""Maximum number of these classes."""

CLOCK_ERROR: Final = 0.001
"""Seconds by which the start of an attempt, computed from its duration, may differ from the true one."""


class FailedAttempt(Struct, frozen=True, gc=False):
    """An attempt that failed, with what its retry has in common with it."""

    tool: str
    arguments: Any
    conversation_id: str | None
    call_id: str
    number: int
    first_span_id: str | None
    began: float
    """Start on the clock of ``time.monotonic``, which retry libraries use."""


class RetryLink(Struct, frozen=True, gc=False):
    """The attempt that is retried, and the library that retries it."""

    failed: FailedAttempt
    library: str


last_failed: ContextVar[FailedAttempt | None] = ContextVar("tooltrace_last_failed", default=None)
_announced: ContextVar[RetryLink | None] = ContextVar("tooltrace_announced_retry", default=None)
_last_counted: ContextVar[tuple[int, int, str] | None] = ContextVar("tooltrace_last_counted_retry", default=None)
"""Span, ``id()`` of the exception and library of the last counted retry inside a tool."""
_by_exception: LruMap[FailedAttempt] = LruMap(1000)
"""Failed attempts by ``id()`` of their exceptions, and by ``_key_of_copies``, for a retry in another thread than the tool.

The map does not keep an exception alive, so a later one may have its id. ``find_link`` therefore compares the tool, the
arguments and the conversation too.
"""
announcing_libraries: set[str] = set()
"""The libraries whose integrations are installed."""


def is_wanted() -> bool:
    """Whether a retry library is loaded, so that a failure has to be remembered. stamina uses tenacity."""
    return "tenacity" in sys.modules


def set_announced_by(library: str, *, on: bool) -> None:
    """Note whether the integration of ``library`` is installed."""
    (announcing_libraries.add if on else announcing_libraries.discard)(library)


def remember(attempt: Attempt, error: BaseException | None) -> None:
    """Remember ``attempt``, which failed, with the ``error`` that it raised, if any."""
    failed = FailedAttempt(
        attempt.spec.name,
        attempt.arguments,
        attempt.call_context.conversation_id,
        attempt.call_id or attempt.hex_id,
        attempt.number,
        attempt.first_span_id,
        time.monotonic() - (attempt.duration_ns or 0) / 1e9,
    )
    last_failed.set(failed)
    if error is not None and announcing_libraries:
        _by_exception.put(id(error), failed)
        _by_exception.put(_key_of_copies(error), failed)


def announce(library: str, error: BaseException | None) -> None:
    """Note that ``library`` is about to retry what failed with ``error``; None: what returned an unwanted result.

    Inside a running attempt, where no traced call failed, the library retries a part of the tool: the attempt counts it.
    """
    failed = None if error is None else _by_exception.get(id(error)) or _by_exception.get(_key_of_copies(error))
    failed = failed or last_failed.get()
    running = get_current_span()
    if isinstance(running, ToolSpan) and (failed is None or failed.began < _began(running)):
        _count_inner_retry(running, library, error)
        return
    # stamina announces a retry that tenacity then announces again: the first one names the library that was used
    before = _announced.get()
    if failed is not None and (before is None or before.failed is not failed):
        _announced.set(RetryLink(failed, library))


def _began(span: ToolSpan) -> float:
    """Return the start of ``span`` on the clock of ``time.monotonic``."""
    return time.monotonic() - (time.time_ns() - span.start_time) / 1e9


def _count_inner_retry(span: ToolSpan, library: str, error: BaseException | None) -> None:
    """Count a retry inside ``span``, once where stamina and the tenacity that it uses both announce it."""
    before, now = _last_counted.get(), (span.span_id, id(error), library)
    if before is not None and before[:2] == now[:2] and before[2] != library:
        _last_counted.set(None)
        return
    _last_counted.set(now)
    attributes: Mapping[str, Any] = span.span_attributes or {}
    count, errors = attributes.get(INNER_RETRIES, 0), attributes.get(INNER_RETRY_ERRORS, ())
    span.set_attribute(INNER_RETRIES, count + 1)
    if error is not None and len(errors) < MAX_INNER_ERRORS:
        span.set_attribute(INNER_RETRY_ERRORS, [*errors, type(error).__name__])


def _key_of_copies(error: BaseException) -> tuple[type, str]:
    """Return a key that an exception and its copies share: asyncio copies a TimeoutError that another thread raised."""
    first = error.args[0] if error.args else None
    return type(error), first if type(first) is str else ""


def find_link(attempt: Attempt) -> RetryLink | None:
    """Return the failed attempt that ``attempt``, which begins without a call id, retries; None where there is none."""
    announced, failed = _announced.get(), last_failed.get()
    link = None
    if announced is not None and _repeats(attempt, announced.failed):
        link = announced
        _announced.set(None)
    elif failed is not None and _repeats(attempt, failed) and (library := _library_on_stack(failed.began)) is not None:
        link = RetryLink(failed, library)
    if link is not None:
        last_failed.set(None)  # a second call with the same arguments is a call of its own
    return link


def _repeats(attempt: Attempt, failed: FailedAttempt) -> bool:
    """Whether ``attempt`` has tool, arguments and conversation of ``failed``.

    Arguments are compared in the form in which they are recorded, so that no code of theirs runs.
    """
    return (
        attempt.spec.name == failed.tool
        and attempt.call_context.conversation_id == failed.conversation_id
        and type(attempt.arguments) is type(failed.arguments)
        and bool(attempt.arguments == failed.arguments)
    )


def _library_on_stack(began: float) -> str | None:
    """Return the library that retries what began at ``began``, or None."""
    # 1 is find_link, 2 Recorder._identify_call, 3 Recorder.begin, behind which the tool's callers are
    frame: FrameType | None = sys._getframe(3)  # noqa: SLF001
    for _ in range(MAX_FRAMES):
        if frame is None:
            return None
        if _may_retry(frame):
            for value in list(frame.f_locals.values()):
                library = module_of(type(value)).partition(".")[0]
                if library in LIBRARIES and _retries(value, began):
                    return "stamina" if _is_stamina(frame) else library
        frame = frame.f_back
    return None


def _may_retry(frame: FrameType) -> bool:
    """Whether ``frame`` is one of a retry library, or of a function or module that uses one.

    The variables of other frames are not read: until Python 3.12, ``f_locals`` keeps the objects alive that it shows.
    """
    code, scope = frame.f_code, frame.f_globals
    if str(scope.get("__name__")).partition(".")[0] in LIBRARIES:
        return True
    names = {*code.co_names, *code.co_freevars, *code.co_varnames}
    return any(name in LIBRARIES or _library_of(scope.get(name)) in LIBRARIES for name in names)


def _library_of(value: Any) -> str:
    """Return the top-level package of a module, class or function, or that of the class of another object."""
    if isinstance(value, ModuleType):
        name = str(value.__name__)
    elif isinstance(value, FunctionType):
        name = str(value.__module__)
    else:
        name = module_of(value if isinstance(value, type) else type(value))
    return name.partition(".")[0]


def _is_stamina(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "stamina"


def _retries(value: Any, began: float) -> bool:
    """Whether ``value`` is the state of a retry, or holds it, that is retrying what began at ``began``."""
    try:
        for name in ("_t_attempt", "retry_state"):  # stamina's attempt holds tenacity's, which holds the state
            value = getattr(value, name, value)
        if getattr(value, "outcome", value) is not None:  # no state, or that of an attempt that has ended
            return False
        number, start = getattr(value, "attempt_number", None), getattr(value, "start_time", None)
        return type(number) is int and number > 1 and type(start) is float and start <= began + CLOCK_ERROR
    except BaseException as error:
        pass_on_signal(error)
        return False
