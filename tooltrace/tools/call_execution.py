"""One recorded run of a prepared call: begun, current while the tool runs, ended with one answer."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Self

from opentelemetry.trace import SpanContext, TraceFlags

from tooltrace.core.response import ResponseMeta, ToolResponse
from tooltrace.faults import suppress_faults
from tooltrace.normalize import normalize
from tooltrace.otel.sdk_internals import detach
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.recorder import Recorder, activate
from tooltrace.tools import builtin_responses, claims, injection
from tooltrace.tools.cache import Key, key_of
from tooltrace.tools.hooks import ToolInvocation
from tooltrace.tools.invoke import ToolRaised
from tooltrace.tools.registered_tool import RegisteredTool
from tooltrace.tools.state import RegistryState
from tooltrace.tools.validation import PreparedCall


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A call with everything that the tool needs."""

    tool: RegisteredTool
    key: Key | None
    """Where the answer is kept."""
    values: dict[str, Any]


class CallExecution:
    """A call from the moment that it is on record until its answer is. As a context manager it makes the attempt's
    span current, and records what leaves the block by force: a cancellation, an interrupt, an exit."""

    def __init__(self, state: RegistryState, prepared: PreparedCall) -> None:
        self._state = state
        self.prepared = prepared
        self._recorder = get_recorder()
        self._started = perf_counter_ns()
        self._attempt = begin(self._recorder, prepared)
        self._failures: list[tuple[ToolResponse, Exception]] = []
        self._token: Any = None
        self.refusal = self._refusal(prepared)
        """The answer, where the call is not to be run."""

    def __enter__(self) -> Self:
        if self._attempt is not None:
            self._token = activate(self._attempt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._attempt is not None:
            detach(self._token)
            if error is not None:
                self._recorder.raised(self._attempt, error)

    @property
    def invocation(self) -> ToolInvocation:
        """The call as hooks see it; with arguments of its own, which they may change."""
        return ToolInvocation(self.prepared.spec.name, dict(self.prepared.arguments), self.prepared.call_id)

    def ready(self, call: ToolInvocation) -> BoundCall | ToolResponse:
        """What to call the tool with; or the answer that makes that needless, or impossible."""
        tool = self.prepared.tool
        assert tool is not None, "a call of no tool has its answer"
        try:
            injected = injection.values(tool.injected, self._state.provided)
        except injection.MissingInjection as missing:
            return builtin_responses.not_injected(f"the tool {tool.name!r} cannot be run: {missing}")
        except Exception as error:  # a factory of the user's
            return builtin_responses.not_injected(
                f"what is to be injected for {tool.name!r} could not be made: {error}"
            )
        values = call.arguments | injected
        key = key_of(tool, values)
        kept = None if key is None else self._state.cache.get(key)
        return BoundCall(tool, key, values) if kept is None else kept

    def answer(self, ready: BoundCall, result: Any) -> ToolResponse:
        """What the tool returned, or raised, as its answer; kept, where it is to be given again."""
        if type(result) is ToolRaised:
            return self._failed(result.release())
        tool = ready.tool
        response = normalize(result, rules=self._recorder.rules_of(tool.spec))
        if tool.claims is not None:
            response = claims.claimed(response, result, tool.claims)
        if ready.key is not None:
            self._state.cache.put(ready.key, response)
        return response

    def finish(self, response: ToolResponse) -> ToolResponse:
        """Record ``response``, and return it with what is known of the call."""
        error = next((error for failure, error in self._failures if failure is response), None)
        self._failures.clear()  # an exception holds its frames, and they hold this
        tool = self.prepared.tool
        if tool is not None and tool.options.stop_after_call and response.ok:
            response = response.model_copy(update={"next_action": "stop"})
        elapsed = perf_counter_ns() - (self._started if self._attempt is None else self._attempt.started)
        response = response.model_copy(update={"meta": self._meta(response.meta, elapsed)})
        if self._attempt is None:
            return response
        if error is None:
            self._recorder.returned(self._attempt, response, duration_ns=elapsed)
        else:
            self._recorder.raised(self._attempt, error, duration_ns=elapsed)
        return response

    def _refusal(self, prepared: PreparedCall) -> ToolResponse | None:
        if isinstance(prepared.refusal, Exception):
            return self._failed(prepared.refusal)
        return prepared.refusal

    def _failed(self, error: Exception) -> ToolResponse:
        """The answer where the tool raised ``error``. Where it is the call's answer, on record is the exception."""
        response = normalize(error)
        told = response.error
        if told is not None and isinstance(error, self.prepared.spec.retryable):
            response = response.model_copy(update={"error_info": told.model_copy(update={"retryable": True})})
        self._failures.append((response, error))
        return response

    def _meta(self, meta: ResponseMeta, elapsed: int) -> ResponseMeta:
        spec, attempt = self.prepared.spec, self._attempt
        known: dict[str, Any] = {
            "tool_name": spec.name,
            "tool_version": spec.version or meta.tool_version,
            "call_id": self.prepared.call_id,
            "duration_ms": elapsed / 1e6,
            "cached": bool(meta.cached),
        }
        if attempt is not None:
            span_id = attempt.hex_id
            known |= {"span_id": span_id, "trace_id": f"{attempt.trace_id:032x}", "attempt": attempt.number}
            known["call_id"] = attempt.call_id or span_id
        return meta.model_copy(update=known)


def begin(recorder: Recorder, prepared: PreparedCall) -> Attempt | None:
    """The attempt that goes on with a paused one: its number, and a link to it."""
    held = prepared.resumed
    number = None if held is None else held.attempt
    attempt = recorder.begin(prepared.spec, prepared.recorded, call_id=prepared.call_id, number=number)
    if attempt is not None and held is not None:
        with suppress_faults("link"):
            flags = TraceFlags(TraceFlags.SAMPLED)
            attempt.add_link(
                SpanContext(int(held.trace_id, 16), int(held.span_id, 16), is_remote=True, trace_flags=flags)
            )
    return attempt
