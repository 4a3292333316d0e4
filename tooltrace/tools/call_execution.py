"""One recorded run of a prepared call: started, made current while the tool runs, finished with one response."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Self

from opentelemetry.trace import SpanContext, TraceFlags

from tooltrace.core.codes import next_step
from tooltrace.core.confidence import OUT_OF_RANGE, Score, valid_confidence, warn_of_unknown
from tooltrace.core.response import ResponseMeta, ToolResponse
from tooltrace.faults import suppress_faults
from tooltrace.normalize import normalize
from tooltrace.otel.sdk_internals import detach
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.call_numbers import KnownCall
from tooltrace.recording.config import get_recorder
from tooltrace.recording.reading import read_claims
from tooltrace.recording.recorder import Recorder, activate
from tooltrace.recording.result_copy import with_failed_value
from tooltrace.recording.retryable import judged, with_retryable
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.tools import builtin_responses, injection
from tooltrace.tools.cache import CacheKey, key_of
from tooltrace.tools.hooks import ToolInvocation
from tooltrace.tools.invoke import ToolRaised
from tooltrace.tools.registered_tool import RegisteredTool
from tooltrace.tools.state import RegistryState
from tooltrace.tools.validation import PreparedCall


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A call with all values that the tool needs."""

    tool: RegisteredTool
    key: CacheKey | None
    """Cache key of the response; None if the tool is not cached."""
    values: dict[str, Any]


class CallExecution:
    """A call from the start of its attempt until its response is recorded.

    As a context manager it makes the attempt's span current, and records an exception that leaves the block: a
    cancellation, an interrupt or an exit.
    """

    def __init__(self, state: RegistryState, prepared: PreparedCall) -> None:
        self._state = state
        self.prepared = prepared
        self._recorder = get_recorder()
        self._started = perf_counter_ns()
        self._attempt = begin(self._recorder, prepared)
        self._failures: list[tuple[ToolResponse, Exception]] = []
        self._ran = False
        """Whether the tool was run, or its response came from the cache."""
        self._read: tuple[ToolResponse, Any] | None = None
        """The response that the rules read from the tool's result, and that result."""
        self._token: Any = None
        self.refusal = self._refused_response(prepared)
        """The response, if the call must not be run."""

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
        """The call as hooks receive it, with a copy of the arguments that hooks may change."""
        return ToolInvocation(self.prepared.spec.name, dict(self.prepared.arguments), self.prepared.call_id)

    def ready(self, call: ToolInvocation) -> BoundCall | ToolResponse:
        """Return the call bound to its values; or the response that makes running it needless or impossible."""
        tool = self.prepared.tool
        assert tool is not None, "a call of an unknown tool is refused before it runs"
        try:
            injected = injection.values(tool.injected, self._state.provided)
        except injection.MissingInjection as missing:
            return builtin_responses.not_injected(f"the tool {tool.name!r} cannot be run: {missing}")
        except Exception as error:  # raised by a factory of the user
            return builtin_responses.not_injected(
                f"what is to be injected for {tool.name!r} could not be made: {error}"
            )
        values = call.arguments | injected
        key = key_of(tool, values)
        cached = None if key is None else self._state.cache.get(key)
        self._ran = True
        return BoundCall(tool, key, values) if cached is None else cached

    def answer(self, ready: BoundCall, result: Any) -> ToolResponse:
        """Return the response for what the tool returned or raised; a response to be cached is stored."""
        if type(result) is ToolRaised:
            return self._failed(result.release())
        tool = ready.tool
        response = normalize(result, rules=self._recorder.rules_of(tool.spec))
        if tool.claims is not None:
            response = _with_claims(response, result, tool.claims)
        if tool.adapt is not None:
            response = tool.adapt(response, result)
        if self.prepared.spec.retryable:
            response, flags = with_retryable(response, self.prepared.spec.retryable)
            if flags:
                meta = response.meta.model_copy(update={"flags": (*response.meta.flags, *flags)})
                response = response.model_copy(update={"meta": meta})
        self._read = response, result
        if ready.key is not None:
            self._state.cache.put(ready.key, response)
        return response

    def finish(self, response: ToolResponse) -> ToolResponse:
        """Record ``response``, and return it with the metadata of the call."""
        # Compared by identity: if a hook replaced the failure's response, the exception is not the outcome.
        error = next((error for failure, error in self._failures if failure is response), None)
        result = self._read[1] if self._read is not None and self._read[0] is response else None
        self._failures.clear()  # break the reference cycle: the exception holds its frames, which hold this object
        tool = self.prepared.tool
        if tool is not None and tool.options.stop_after_tool_call and response.ok:
            response = response.model_copy(update={"next_action": "stop"})
        elapsed = perf_counter_ns() - (self._started if self._attempt is None else self._attempt.started)
        response = response.model_copy(update={"meta": self._meta(response.meta, elapsed)})
        if self._attempt is None:
            return response
        why = response.error
        if why is not None and not (self._ran or response.ok):
            self._recorder.refused(self._attempt, why.code, why.message, why.type or "")
        elif error is None:
            self._recorder.returned(self._attempt, with_failed_value(response, result), duration_ns=elapsed)
        else:
            self._recorder.raised(self._attempt, error, duration_ns=elapsed)
        return response

    def _refused_response(self, prepared: PreparedCall) -> ToolResponse | None:
        if isinstance(prepared.refusal, Exception):
            return self._failed(prepared.refusal)
        return prepared.refusal

    def _failed(self, error: Exception) -> ToolResponse:
        """Return the response for the exception ``error``.

        If that becomes the call's response, the exception is recorded.
        """
        response = self.prepared.incomplete or normalize(error)
        error_info = response.error
        again, _ = judged(self.prepared.spec.retryable, error)
        if error_info is not None and again is not None:
            error_info = error_info.model_copy(update={"retryable": again})
            advised = {
                "next_action": next_step(error_info.code, again, error_info.suggestion),
                "next_action_advised": True,
            }
            response = response.model_copy(update={"failure": error_info, **advised})
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


def _with_claims(response: ToolResponse, result: Any, spec: ToolSpec) -> ToolResponse:
    """Return ``response`` with the confidence and sources that ``spec`` reads from ``result``, where it has none."""
    confidence, sources, flags = read_claims(
        result,
        spec.confidence if response.confidence is None else None,
        None if response.sources else spec.sources,
    )
    known: dict[str, Any] = {} if sources is None else {"sources": sources}
    if confidence is not None:
        known["confidence"] = valid_confidence(confidence)
        if isinstance(confidence, Score) and confidence.signals:
            known["signals"] = confidence.signals
        if known["confidence"] is None:
            warn_of_unknown(confidence)
            flags = (*flags, OUT_OF_RANGE)
    if flags:
        known["meta"] = response.meta.model_copy(update={"flags": (*response.meta.flags, *flags)})
    return response.model_copy(update=known) if known else response


def begin(recorder: Recorder, prepared: PreparedCall) -> Attempt | None:
    """Begin an attempt. An attempt that resumes a paused one continues its number and links to its span."""
    paused = prepared.resumed
    known = None if paused is None else KnownCall(paused.attempt, paused.first_span_id)
    attempt = recorder.begin(prepared.spec, prepared.recorded, call_id=prepared.call_id, known=known)
    if attempt is not None and paused is not None:
        with suppress_faults("link"):
            flags = TraceFlags(TraceFlags.SAMPLED)
            attempt.add_link(
                SpanContext(int(paused.trace_id, 16), int(paused.span_id, 16), is_remote=True, trace_flags=flags)
            )
    return attempt
