"""The reason of a cancellation, as far as it can be read when it leaves the tool.

A task is told that it is cancelled, not why. A deadline is apart from a person who stops an agent, and from a sibling that failed:
the message of the cancellation, an ``asyncio.timeout`` that has expired, and the tasks that wait for this one are asked in turn.
Nothing is found out before a cancellation arrives, so that other calls cost nothing.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Iterator
from types import AsyncGeneratorType, FrameType, FunctionType, MethodType
from typing import Any, Final
from weakref import WeakValueDictionary

from tooltrace.faults import pass_on_signal
from tooltrace.redact.inspection import bases, full_name

TIMEOUT: Final = "TIMEOUT"
"""Code of an attempt that a deadline cancelled."""
CANCELLED: Final = "CANCELLED"
"""Code of an attempt that a person, the program or a sibling's failure cancelled."""

_DEADLINE_WORDS: Final = ("deadline", "timeout", "timed out", "time limit")
_BY_ANYIO: Final = ("Cancelled via cancel scope ", "Cancelled by cancel scope ")
_MAX_TASKS: Final = 64
"""Waiting tasks that are asked at most."""

_args: Final = BaseException.__dict__["args"].__get__
_expired: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""The ``asyncio.Timeout`` that cancelled a task and has not ended yet, by the id of the task, which it refers to."""


def watch_deadlines() -> None:
    """Note from now on which ``asyncio.Timeout`` cancels a task; does nothing without asyncio, or where it differs.

    A Timeout that expires leaves no other trace that the cancelled task could find: only the frame that entered it has it.
    """
    kind = getattr(sys.modules.get("asyncio.timeouts"), "Timeout", None)
    expire = getattr(kind, "_on_timeout", None)
    if type(expire) is not FunctionType or hasattr(expire, "__wrapped__"):
        return

    @functools.wraps(expire)
    def on_timeout(self: Any) -> None:
        expire(self)
        task = getattr(self, "_task", None)
        if task is not None:
            _expired[id(task)] = self

    setattr(kind, "_on_timeout", on_timeout)  # noqa: B010


def reason_of(error: BaseException) -> str | None:
    """Return TIMEOUT or CANCELLED for an ``error`` that cancels; None where the reason is unknown. Raises what a signal raises."""
    try:
        return _read(error)
    except BaseException as met:  # a foreign class, or another version of a library
        pass_on_signal(met)
        return None


def _read(error: BaseException) -> str | None:
    names = [full_name(kind) for kind in bases(type(error))]
    if "trio.Cancelled" in names or "trio._core._exceptions.Cancelled" in names:
        source = getattr(error, "source", None)
        return TIMEOUT if source == "deadline" else CANCELLED if type(source) is str else None
    message = next((part for part in _args(error) if type(part) is str), "")
    if found := _by_message(message):
        return found
    if not any(name.endswith(".CancelledError") for name in names):
        return CANCELLED  # KeyboardInterrupt, SystemExit, and frameworks' errors for a run that was stopped
    current_task = getattr(sys.modules.get("asyncio"), "current_task", None)
    task = current_task() if current_task else None
    found = None if task is None else _by_waiting(task)
    return found or (CANCELLED if _was_interrupted() else None)


def _by_message(message: str) -> str | None:
    """Return what the text given to ``Task.cancel`` states."""
    if message.startswith(_BY_ANYIO):
        # the words before it have the names of tasks
        scope, _, reason = message.rpartition("; reason: ")
        return TIMEOUT if scope and reason == "deadline exceeded" else _by_scope(message)
    lower = message[:500].lower()
    return TIMEOUT if any(word in lower for word in _DEADLINE_WORDS) else None


def _by_scope(message: str) -> str | None:
    """Return the reason of the scope of anyio that ``message`` names, where it is one of the current task."""
    anyio, backend = sys.modules.get("anyio"), sys.modules.get("anyio._backends._asyncio")
    states, current_task = (
        getattr(backend, "_task_states", None),
        getattr(sys.modules.get("asyncio"), "current_task", None),
    )
    if anyio is None or states is None or current_task is None:
        return None
    scope = getattr(states.get(current_task()), "cancel_scope", None)
    named = message.split("cancel scope ", 1)[1].split(" ", 1)[0].split(";", 1)[0]
    for _ in range(_MAX_TASKS):
        if scope is None:
            return None
        if f"{id(scope):x}" == named:
            return TIMEOUT if scope.deadline <= anyio.current_time() else None
        scope = getattr(scope, "_parent_scope", None)
    return None


def _by_waiting(task: Any) -> str | None:
    """Return why ``task`` was cancelled, by the tasks that wait for it: a deadline of one of them, or a group that failed."""
    open_tasks: list[Any] = [task]
    seen: set[int] = set()
    while open_tasks and len(seen) < _MAX_TASKS:
        one = open_tasks.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        timeout = _expired.get(id(one))
        if timeout is not None and getattr(getattr(timeout, "_state", None), "value", "expiring") == "expiring":
            return TIMEOUT
        for waiting in _waiting_for(one):
            if _is_group(waiting):
                if getattr(waiting, "_errors", None):
                    return CANCELLED
                waiting = getattr(waiting, "_parent_task", None)  # noqa: PLW2901
            elif _waited_until_deadline(waiting, one) or _leaves_by_timeout(waiting):
                return TIMEOUT
            if waiting is not None:
                open_tasks.append(waiting)
    return None


def _waiting_for(future: Any, depth: int = 3) -> Iterator[Any]:
    """Yield the tasks and task groups that wait for ``future``, directly or by way of other futures."""
    for callback, *_ in getattr(future, "_callbacks", None) or ():
        owner = getattr(callback, "__self__", None)
        if owner is not None and (_is_group(owner) or hasattr(owner, "get_coro")):
            yield owner
            continue
        parts: list[Any] = []
        if type(callback) is functools.partial:
            parts += callback.args
        elif type(callback) is FunctionType:  # of asyncio.gather and asyncio.shield
            parts += [cell.cell_contents for cell in callback.__closure__ or ()]
        elif type(callback) is MethodType:
            parts.append(owner)
        for part in parts:
            if depth and part is not future and hasattr(part, "_callbacks") and not hasattr(part, "get_coro"):
                yield from _waiting_for(part, depth - 1)


def _is_group(value: Any) -> bool:
    kind = getattr(sys.modules.get("asyncio"), "TaskGroup", None)
    return kind is not None and issubclass(type(value), kind)


def _waited_until_deadline(task: Any, awaited: Any) -> bool:
    """Whether ``task`` is in ``asyncio.wait_for``, of Python 3.11, which cancels ``awaited`` because its time is over."""
    code = getattr(getattr(sys.modules.get("asyncio"), "wait_for", None), "__code__", None)
    for frame in _frames(task):
        if frame.f_code is code and frame.f_locals.get("fut") is awaited:
            waiter = frame.f_locals.get("waiter")
            return waiter is not None and waiter.done() and not waiter.cancelled()
    return False


def _leaves_by_timeout(task: Any) -> bool:
    """Whether ``task`` leaves a block because of a TimeoutError, and waits for what it has cancelled, as LangGraph's ``step_timeout``."""
    for frame in _frames(task):
        if frame.f_code.co_name == "__aexit__" and any(
            isinstance(value, TimeoutError) for value in frame.f_locals.values()
        ):
            return True
    return False


def _frames(task: Any) -> Iterator[FrameType]:
    """Yield the frames in which ``task`` waits, from the outermost one on."""
    step = task.get_coro()
    for _ in range(_MAX_TASKS):
        frame = getattr(step, "cr_frame", None) or getattr(step, "ag_frame", None)
        if frame is not None:
            yield frame
            step = getattr(step, "cr_await", None) or getattr(step, "ag_await", None)
        else:  # an object between an "async for" and its generator, which has no attribute for it
            step = next((part for part in gc.get_referents(step) if type(part) is AsyncGeneratorType), None)
        if step is None:
            return


def _was_interrupted() -> bool:
    """Whether Ctrl-C stopped the event loop that ``asyncio.run`` started."""
    code = getattr(getattr(getattr(sys.modules.get("asyncio"), "Runner", None), "run", None), "__code__", None)
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - as inspect.currentframe, which may be None
    for _ in range(1000):
        if frame is None or code is None:
            return False
        if frame.f_code is code:
            return getattr(frame.f_locals.get("self"), "_interrupt_count", 0) > 0
        frame = frame.f_back
    return False
