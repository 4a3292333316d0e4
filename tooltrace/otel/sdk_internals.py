"""The private names of the OpenTelemetry SDK that a light span needs, in one place.

The public ways to the same values cost several microseconds per call. A test fails when the SDK moves one of these
names.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Mapping
from contextvars import ContextVar, Token
from functools import cache
from typing import TYPE_CHECKING, Any

import opentelemetry._logs._internal as logs_api
import opentelemetry.context as context_api
import opentelemetry.metrics._internal as metrics_api
import opentelemetry.trace as trace_api
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.context.context import Context
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
from opentelemetry.environment_variables import _OTEL_PYTHON_LOGGER_PROVIDER as OTEL_PYTHON_LOGGER_PROVIDER
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision, ParentBased, Sampler, StaticSampler
from opentelemetry.trace import SpanContext, TraceFlags, TraceState
from opentelemetry.trace.propagation import _SPAN_KEY as SPAN_KEY

from tooltrace.core import forking

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
    from opentelemetry.sdk.trace.id_generator import IdGenerator

__all__ = ["SPAN_KEY", "BoundedAttributes", "attach", "current_context", "detach", "global_provider", "restore"]

_runtime = context_api._RUNTIME_CONTEXT  # noqa: SLF001

if isinstance(_runtime, ContextVarsRuntimeContext):
    _var: ContextVar[Context] = _runtime._current_context  # noqa: SLF001
    current_context = _var.get
    attach = _var.set
    restore = _var.reset

    def detach(token: Token[Context]) -> None:
        """Restore the context that was current before ``attach``.

        In another context (a generator closed by the garbage collector) there is nothing to restore.
        """
        try:  # contextlib.suppress costs a third of a microsecond
            _var.reset(token)
        except ValueError:
            return
else:  # a runtime context of the user's own (OTEL_PYTHON_CONTEXT)
    current_context = context_api.get_current  # type: ignore[assignment]  # the same, less fast
    attach = context_api.attach
    detach = context_api.detach
    restore = context_api.detach


def _fast_local_context(trace_id: int, span_id: int, flags: TraceFlags, state: TraceState) -> SpanContext:
    is_valid = 0 < trace_id < 1 << 128 and 0 < span_id < 1 << 64
    return tuple.__new__(SpanContext, (trace_id, span_id, False, flags, state, is_valid))


def _local_context(trace_id: int, span_id: int, flags: TraceFlags, state: TraceState) -> SpanContext:
    return SpanContext(trace_id, span_id, False, flags, state)


def _has_known_layout() -> bool:
    """Whether ``_fast_local_context`` makes what the constructor makes, which needs four times as long."""
    flags, state = TraceFlags(TraceFlags.SAMPLED), TraceState()
    try:
        return all(
            tuple(_fast_local_context(*ids, flags, state)) == tuple(_local_context(*ids, flags, state))
            for ids in ((1, 2), (0, 0), (1 << 128, 1 << 64))
        )
    except TypeError:
        return False


local_context = _fast_local_context if _has_known_layout() else _local_context
"""Return the context of a span of this process."""


def global_provider() -> trace_api.TracerProvider | None:
    """Return the provider that the application has set; None if it has set none yet."""
    return trace_api._TRACER_PROVIDER  # noqa: SLF001


def attributes_of(span: object) -> Mapping[str, Any]:
    """Return the attributes of a running ``span`` of any library, for reading; empty where it has none."""
    attributes = getattr(span, "_attributes", None)  # a span of the SDK; its public property makes two wrappers
    if type(attributes) is BoundedAttributes:
        return attributes._dict  # noqa: SLF001
    attributes = getattr(span, "attributes", None)
    return attributes if isinstance(attributes, Mapping) else {}


def has_meter_provider() -> bool:
    """Whether the application has set a MeterProvider."""
    return metrics_api._METER_PROVIDER is not None  # noqa: SLF001


def has_logger_provider() -> bool:
    """Whether the application has set a LoggerProvider, or names one in the environment, which the first use loads."""
    return logs_api._LOGGER_PROVIDER is not None or _names_logger_provider()  # noqa: SLF001


@cache
def _names_logger_provider() -> bool:
    return OTEL_PYTHON_LOGGER_PROVIDER in os.environ


def constant_decisions(sampler: Sampler) -> tuple[Decision | None, Decision | None]:
    """Return the constant decisions of ``sampler`` at the root and under a sampled local parent.

    The SDK's always-on and always-off samplers have constant decisions, also as parts of a parent-based sampler. None
    where the decision is not constant: the sampler must be called.
    """
    if type(sampler) is StaticSampler:
        return sampler._decision, sampler._decision  # noqa: SLF001
    if type(sampler) is not ParentBased:
        return None, None
    inner = (sampler._root, sampler._local_parent_sampled)  # noqa: SLF001
    root, child = (made._decision if type(made) is StaticSampler else None for made in inner)  # noqa: SLF001
    return root, child


def span_processor(provider: TracerProvider) -> SpanProcessor:
    """Return the processor that receives the provider's spans at start and at end."""
    return provider._active_span_processor  # noqa: SLF001


def span_limits(provider: TracerProvider) -> SpanLimits:
    """Return the provider's limits on attributes, events and links."""
    return provider._span_limits  # noqa: SLF001


def is_disabled(provider: TracerProvider) -> bool:
    """Whether OTEL_SDK_DISABLED switched the provider off."""
    return provider._disabled  # noqa: SLF001


def makes_random_ids(ids: IdGenerator) -> bool:
    """Whether ``ids`` makes ids of random bits and nothing else, as the SDK's own generator does."""
    return type(ids) is RandomIdGenerator


_EMPTY_METHODS = {
    name: tuple(getattr(known, name, None) for known in (SpanProcessor, BatchSpanProcessor, SimpleSpanProcessor))
    for name in ("on_start", "_on_ending")
}


def acting(processors: tuple[SpanProcessor, ...], method: str) -> tuple[SpanProcessor, ...]:
    """Return the processors whose ``method``, ``on_start`` or ``_on_ending``, is not an empty one of the SDK."""
    empty = _EMPTY_METHODS[method]
    return tuple(one for one in processors if getattr(getattr(one, method, None), "__func__", None) not in empty)


class BatchQueue:
    """The queue of the SDK's ``BatchSpanProcessor``, filled without waking its thread.

    ``on_end`` sets a ``threading.Event`` once a batch is full. An event's lock is not reentrant: a signal handler that
    calls a traced tool at that moment would deadlock. Therefore the recorder's thread sets the event, in :meth:`wake`.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._generation = -1
        """Generation of the process that was last compared with the process of the queue."""
        # One entry per dropped span: deque operations are atomic, so tool threads need no lock.
        self._dropped: deque[None] = deque()

    @classmethod
    def of(cls, processor: SpanProcessor) -> BatchQueue | None:
        """Return the queue of ``processor``; None if only its public methods are known."""
        inner = getattr(processor, "_batch_processor", None)
        needed = ("_queue", "_max_queue_size", "_max_export_batch_size", "_worker_awaken", "_shutdown", "_pid", "emit")
        # Exact type: a subclass may override on_end.
        if type(processor) is not BatchSpanProcessor or not all(hasattr(inner, name) for name in needed):
            return None
        return cls(inner)

    def add(self, span: ReadableSpan) -> bool:
        """Queue ``span``. Return whether a batch is full. A full queue drops its oldest span, as the SDK does."""
        inner = self._inner
        waiting = inner._queue  # noqa: SLF001
        if inner._shutdown or (self._generation != forking.generation and not self._is_in_this_process()):  # noqa: SLF001
            # After a shutdown, and in a forked child, the SDK's own method decides what happens to the span.
            inner.emit(span)
            return False
        if len(waiting) >= inner._max_queue_size:  # noqa: SLF001
            self._dropped.append(None)
        waiting.appendleft(span)
        is_due: bool = len(waiting) >= inner._max_export_batch_size  # noqa: SLF001
        return is_due

    def _is_in_this_process(self) -> bool:
        if self._inner._pid != os.getpid():  # noqa: SLF001
            return False
        self._generation = forking.generation
        return True

    def wake(self) -> None:
        """Wake the exporting thread if a batch is full, and report the spans that were dropped."""
        inner = self._inner
        if len(inner._queue) >= inner._max_export_batch_size and not inner._worker_awaken.is_set():  # noqa: SLF001
            inner._worker_awaken.set()  # noqa: SLF001
        dropped = 0
        while self._dropped:
            self._dropped.popleft()
            dropped += 1
        if dropped:
            metrics = getattr(inner, "_metrics", None)
            if metrics is not None:
                metrics.drop_items(dropped)
            logging.getLogger(type(inner).__module__).warning("Queue full, dropping %d spans.", dropped)
