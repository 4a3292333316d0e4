"""One execution of an Agno tool: every run of the tool's own code becomes an attempt.

Agno's ``FunctionCall.execute`` runs hooks around the tool, turns exceptions into text and answers from a cache. It runs
on a proxy of the call whose only difference is that the tool is recorded. Therefore a hook that retries makes two
attempts, an exception is recorded before it becomes text, and a hook's own time does not count as the tool's. If the
tool did not run, the call is recorded once, with its outcome.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.faults import suppress_faults
from tooltrace.integrations.agno import model_messages
from tooltrace.integrations.agno.call_context import AgnoContext, context_for_function
from tooltrace.integrations.agno.event_stream import cancelled, is_cancellation
from tooltrace.integrations.agno.human_review import Answered, answered_by
from tooltrace.normalize import normalize
from tooltrace.normalize.exceptions.control_flow import ending_of
from tooltrace.normalize.exceptions.reader import class_name
from tooltrace.recording import decorator
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.recorder import Recorder
from tooltrace.recording.result_copy import with_failed_value

RAN = "agno.ran"
"""Attribute: false if the tool's own code did not run, because a hook or a cache answered, or a hook refused."""


class Execution:
    """One ``FunctionCall`` while Agno executes it."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.context: AgnoContext = context_for_function(call.function, call.call_id)
        self.recorder: Recorder = get_recorder()
        self.traced = hasattr(call.function.entrypoint, "__tooltrace__")
        """Whether a decorator already records the tool."""
        self.answer: Answered | None = answered_by(call)
        self.number: int | None = None if self.answer is None else self.answer.number
        """Number of the next attempt of the call, if it is known."""
        self.runs = 0
        self.cached = False
        self.error: BaseException | None = None
        """The exception that left the hooks, before Agno turned it into text."""
        self.started = perf_counter_ns()

    def begin(self) -> Attempt | None:
        """Begin an attempt before the tool runs; None if its decorator records it, or it cannot be recorded."""
        if not self.traced:
            return self._begin()
        self.runs += 1
        self._record_approval(None)
        return None

    def begin_without_run(self) -> Attempt | None:
        """Begin an attempt for an answer that does not come from the tool."""
        attempt = self._begin()
        if attempt is not None:
            attempt.set_attribute(RAN, value=False)
        return attempt

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Record an exception of a decorated tool that was raised before the decorator could record it."""
        try:
            yield
        except BaseException as error:
            with suppress_faults("record", lost=1):
                if self.traced and not _recorded_by_decorator(error):
                    self._record_without_run(error)
            raise

    def returned(self, attempt: Attempt, result: Any) -> None:
        """Record what the tool returned. The option ``stop_after_tool_call`` states the next action of a success."""
        if getattr(self.call.function, "stop_after_tool_call", None):
            with suppress_faults("read", lost=0):
                response = normalize(result, rules=self.recorder.settings.rules)
                if response.ok and response.next_action is None:
                    result = response.model_copy(update={"next_action": "stop"})
        self.recorder.returned(attempt, result)

    def raised(self, attempt: Attempt, error: BaseException) -> None:
        """Record that ``error`` left the tool."""
        if is_cancellation(error):
            cancelled(self.recorder, attempt, error)
        elif _unfit_arguments(error):
            self.recorder.refused(attempt, "INVALID_PARAM", str(error), class_name(error))
        else:
            self.recorder.raised(attempt, error)

    def left(self, error: BaseException) -> None:
        """Record that ``error`` left Agno's execution."""
        with suppress_faults("record", lost=1):
            if not self.runs:
                self._record_without_run(error)

    def ended(self, outcome: Any) -> None:
        """Record the end of Agno's execution, if the tool did not run."""
        with suppress_faults("record", lost=1):
            error, self.error = self.error, None  # break the cycle: it holds the frames, and they hold this object
            if not self.runs:
                self._record_without_run(self._answer(outcome) if error is None else error)

    def _begin(self) -> Attempt | None:
        self.runs += 1
        attempt = self.context.begin(self.recorder, self.call.arguments, number=self.number)
        if self.number is not None:
            self.number += 1
        if attempt is not None:
            with suppress_faults("record"):
                model_messages.remember_attempt(self.call, attempt)
            self._record_approval(attempt)
        return attempt

    def _record_approval(self, attempt: Attempt | None) -> None:
        """Record the person's answer, if there is one, with the first attempt that resumes the call."""
        answer, self.answer = self.answer, None
        if answer is not None:
            answer.approved(self.recorder, attempt, self.call.arguments)

    def _answer(self, outcome: Any) -> Any:
        """Return the result for the model if the tool did not run and no exception was raised."""
        if outcome.status == "failure":
            return ToolResponse.error("EXECUTION_ERROR", outcome.error or "the tool did not run")
        if not self.cached:
            return outcome.result
        response = with_failed_value(normalize(outcome.result, rules=self.recorder.settings.rules), outcome.result)
        return response.model_copy(update={"meta": response.meta.model_copy(update={"cached": True})})

    def _record_without_run(self, result: Any) -> None:
        """Record ``result`` as the outcome of a call whose tool did not run."""
        elapsed = perf_counter_ns() - self.started
        attempt = self.begin_without_run()
        if attempt is None:
            return
        attempt.backdate(elapsed)
        raised = isinstance(result, BaseException)
        if raised and is_cancellation(result):
            cancelled(self.recorder, attempt, result)
        elif raised and ending_of(type(result)) != "raised":
            self.recorder.raised(attempt, result, duration_ns=elapsed)
        elif (why := normalize(result, rules=self.recorder.settings.rules).error) is not None and not self.cached:
            # a hook answered with an error or raised, or the arguments do not fit
            self.recorder.refused(attempt, why.code, why.message, class_name(result) if raised else "")
        else:
            self.recorder.returned(attempt, result, duration_ns=elapsed)


def _recorded_by_decorator(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None:
        # The decorator records every exception that passes its frame.
        if trace.tb_frame.f_code.co_filename == decorator.__file__:
            return True
        trace = trace.tb_next
    return False


def _unfit_arguments(error: BaseException) -> bool:
    """Whether pydantic, with which Agno validates the arguments, raised ``error`` before it called the tool."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")
    return type(error).__name__ == "ValidationError" and module == "pydantic._internal._validate_call"
