"""Several observers of one call: an integration around the framework, and the decorator of the function that it runs.

The outermost observer decides what became of the call, because it has what the model got. An observer inside it that may see
the same call records in an attempt with the same ids, which waits for the outer one's end. If both are about one execution,
they become one row, with the inner outcome: it has the tool's own result, exception and duration. Otherwise the inner one is a
call of its own, a child.

They are about one execution where the function object or the framework's call id is the same. Where an integration does not
know the function, a function of the tool's name counts if it runs once and its outcome is that of the call: a framework
formats results and errors, but makes no success of a failure.
"""

from __future__ import annotations

from dataclasses import replace
from time import time_ns
from typing import TYPE_CHECKING, Any

from tooltrace.recording.call_numbers import REUSED_ID, reads_as_failure
from tooltrace.recording.lazy_results import HANDED_OVER
from tooltrace.recording.model_messages import NOT_RUN, repeats_failure
from tooltrace.recording.reading import ResponseSnapshot, ValueSnapshot, read_response

if TYPE_CHECKING:
    from tooltrace.recording.attempt import Attempt
    from tooltrace.recording.context import CallId
    from tooltrace.recording.tool_spec import ToolSpec

_SHARED = (
    "trace_id", "span_id", "parent", "trace_flags", "trace_state", "start", "pipeline", "call_id", "number", "use", "linked_by",
    "flags", "around",
)  # fmt: skip


def continued_by(call: CallId, spec: ToolSpec, current: Any) -> tuple[Attempt, bool] | None:
    """Return the open attempt of ``call`` that an execution of the tool ``spec`` may be, and whether it surely is.

    ``current``: the current span: inside another tool, an execution is that tool's.
    """
    outer: Attempt | None = call.open_attempt
    if (
        outer is None
        or outer.held
        or not outer.is_recording()
        or (type(current) is type(outer) and current is not outer)
    ):
        return None
    is_same = call.spec is spec
    if not is_same and spec.name not in call.names:
        return None
    if outer.inner is not None:
        outer.runs_again |= outer.inner.held  # of several executions none is the call itself
        return None
    return outer, is_same


def join(outer: Attempt, inner: Attempt, *, is_same: bool) -> None:
    """Make ``inner``, which begins now, an attempt inside ``outer`` with the ids of it."""
    for name in _SHARED:
        setattr(inner, name, getattr(outer, name))
    inner.outer, inner.is_same = outer, is_same
    outer.inner = inner


def settle(attempt: Attempt) -> tuple[Attempt | None, list[Attempt]]:
    """Return the attempt that becomes the row of ``attempt``, which ends; None where it waits for the outer observer.

    Also returned are the attempts that turned out to be calls of their own.
    """
    row, own = attempt, []
    inner, attempt.inner = attempt.inner, None
    if inner is not None and inner.held:  # else it runs, and becomes a call of its own when it ends
        inner.outer = None
        if not attempt.runs_again and (inner.is_same or _agree(attempt, inner)):
            row = _merged(attempt, inner)
        else:
            own.append(inner)
    outer, attempt.outer = attempt.outer, None
    if outer is None:
        return row, own
    row.past_end_ns = row.past_end_ns or time_ns()
    if outer.held or not outer.is_recording():
        return None, own if _agree(outer, row) else [*own, row]  # the row of the outer one is written
    row.outer, row.is_same, row.held = outer, attempt.is_same, True
    outer.inner = row
    return None, own


def separate(inner: Attempt) -> None:
    """Prepare ``inner`` to begin as a call of its own."""
    inner.held, inner.span_id, inner.call_id, inner.number, inner.use, inner.linked_by = False, 0, None, 1, None, None
    inner.flags = tuple(flag for flag in inner.flags if flag != REUSED_ID)
    inner.renew_id()


def _merged(outer: Attempt, inner: Attempt) -> Attempt:
    """Return the attempt that becomes the row of both: the outer one only where it alone knows the result."""
    if inner.ending == HANDED_OVER:
        outer.add_from(inner)
        return outer
    # Of two frameworks the outer one knows the name that the model used, as with a tool of a mounted server. A decorated
    # function, which has parameters, keeps its own name.
    if inner.spec.name != outer.spec.name and not inner.spec.parameters:
        inner.spec = replace(inner.spec, name=outer.spec.name)
    inner.held, inner.start_time = False, outer.start_time
    inner.add_from(outer)
    outer.ending, outer.end_time = inner.ending, inner.past_end_ns
    return inner


def _agree(outer: Attempt, inner: Attempt) -> bool:
    """Whether the outcome of ``outer`` may be that of ``inner``, as a framework formats it."""
    if outer.ending in NOT_RUN or inner.ending in NOT_RUN:
        return inner.ending in NOT_RUN  # the outer one may have got a text about it
    failed, told = _has_failed(inner), _has_failed(outer)
    if failed == told:
        return True
    return failed and outer.ending == "returned" and repeats_failure(_text_of(outer), _failure_of(inner))


def _has_failed(attempt: Attempt) -> bool:
    return attempt.ending not in ("returned", HANDED_OVER, None) or reads_as_failure(attempt)


def _failure_of(attempt: Attempt) -> tuple[str, ...]:
    """Return the message and the code of the error with which ``attempt`` ended."""
    if attempt.error is not None:
        return tuple(filter(None, (attempt.error.message, attempt.error.type)))
    response = read_response(attempt)
    error = None if response is None else response.failure
    return () if error is None else tuple(filter(None, (error.message, error.code)))


def _text_of(attempt: Attempt) -> str:
    found = attempt.result
    if isinstance(found, ResponseSnapshot):
        return found.text
    value = found.value if isinstance(found, ValueSnapshot) else None
    return value.decode() if isinstance(value, bytes) else str(value or "")
