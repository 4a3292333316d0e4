"""One execution of an Agno tool: every run of the tool's own code becomes an attempt.

Agno's ``FunctionCall.execute`` runs hooks around the tool, turns exceptions into text and answers from a
cache. It is run on a view of the call in which only the tool differs: it is the same tool, recorded. So a
hook that tries again makes two attempts, an exception is seen before it is text, and a hook's own time is
not the tool's. Where the tool did not run, the call is recorded once, with what came of it instead.
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
from tooltrace.recording import decorator
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.recorder import Recorder

RAN = "agno.ran"
"""Attribute: false where the tool's own code did not run: a hook or a cache answered, or a hook refused."""


class Execution:
    """One ``FunctionCall`` while Agno executes it."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.facts: AgnoContext = context_for_function(call.function, call.call_id)
        self.recorder: Recorder = get_recorder()
        self.traced = hasattr(call.function.entrypoint, "__tooltrace__")
        """Whether the tool is recorded by a decorator already."""
        self.answer: Answered | None = answered_by(call)
        self.number: int | None = None if self.answer is None else self.answer.number
        """Which attempt of its call the next run is, where that is known."""
        self.runs = 0
        self.cached = False
        self.error: BaseException | None = None
        """What left the hooks, before Agno made text of it."""
        self.started = perf_counter_ns()

    def begin(self) -> Attempt | None:
        """The tool is about to run; None where its decorator records it, or nobody can."""
        if not self.traced:
            return self._begin()
        self.runs += 1
        self._tell(None)
        return None

    def begin_instead(self) -> Attempt | None:
        """Something else than the tool is about to answer."""
        attempt = self._begin()
        if attempt is not None:
            attempt.set_attribute(RAN, value=False)
        return attempt

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While a decorated tool runs: what is refused before the decorator sees it is recorded here."""
        try:
            yield
        except BaseException as error:
            with suppress_faults("record", lost=1):
                if self.traced and not _seen_by_decorator(error):
                    self._instead(error)
            raise

    def raised(self, attempt: Attempt, error: BaseException) -> None:
        """``error`` left the tool."""
        if is_cancellation(error):
            cancelled(self.recorder, attempt, error)
        else:
            self.recorder.raised(attempt, error)

    def left(self, error: BaseException) -> None:
        """``error`` left Agno's execution."""
        with suppress_faults("record", lost=1):
            if not self.runs:
                self._instead(error)

    def ended(self, outcome: Any) -> None:
        """Agno's execution came to its end."""
        with suppress_faults("record", lost=1):
            error, self.error = self.error, None  # it holds the frames, and they hold this
            if not self.runs:
                self._instead(self._answer(outcome) if error is None else error)

    def _begin(self) -> Attempt | None:
        self.runs += 1
        attempt = self.facts.begin(self.recorder, self.call.arguments, number=self.number)
        if self.number is not None:
            self.number += 1
        if attempt is not None:
            with suppress_faults("record"):
                model_messages.remember_attempt(self.call, attempt)
            self._tell(attempt)
        return attempt

    def _tell(self, attempt: Attempt | None) -> None:
        """Whoever was asked about the call is answered by its first attempt."""
        answer, self.answer = self.answer, None
        if answer is not None:
            answer.approved(self.recorder, attempt, self.call.arguments)

    def _answer(self, outcome: Any) -> Any:
        """What the model gets, where the tool did not run and nobody raised."""
        if outcome.status == "failure":
            return ToolResponse.error("EXECUTION_ERROR", outcome.error or "the tool did not run")
        if not self.cached:
            return outcome.result
        response = normalize(outcome.result, rules=self.recorder.settings.rules)
        return response.model_copy(update={"meta": response.meta.model_copy(update={"cached": True})})

    def _instead(self, result: Any) -> None:
        """The tool did not run, and this came of the call."""
        elapsed = perf_counter_ns() - self.started
        attempt = self.begin_instead()
        if attempt is None:
            return
        attempt.backdate(elapsed)
        if not isinstance(result, BaseException):
            self.recorder.returned(attempt, result, duration_ns=elapsed)
        elif is_cancellation(result):
            cancelled(self.recorder, attempt, result)
        else:
            self.recorder.raised(attempt, result, duration_ns=elapsed)


def _seen_by_decorator(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == decorator.__file__:
            return True
        trace = trace.tb_next
    return False
