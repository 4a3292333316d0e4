"""How each library traces a tool. A library is imported where it is set up, in its own environment.

A function of this module is a peer. It gets an empty folder and returns how to trace a tool, and how to flush.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

Tool = Callable[..., Any]

NOWHERE = "http://127.0.0.1:9"
"""An address of this machine where nothing listens, for libraries that insist on one."""


class Peer(NamedTuple):
    """A library that is ready to trace."""

    trace: Callable[[Tool], Tool]
    flush: Callable[[], object]
    versions: str
    response: Any = None
    """The library's own object for a result."""


def otel_span(_folder: Path) -> Peer:
    """The reference: a span with ten attributes, without arguments and result."""
    from benchmarks.bare_span import in_bare_span, provider

    spans = provider()
    return Peer(functools.partial(in_bare_span, spans), spans.force_flush, _version("opentelemetry-sdk"))


def otel_span_with_content(_folder: Path) -> Peer:
    """A span with arguments and result as JSON, written by hand with the standard library."""
    from benchmarks.bare_span import provider

    spans = provider()
    tracer = spans.get_tracer("content")

    def trace(tool: Tool) -> Tool:
        @functools.wraps(tool)
        def call(**arguments: Any) -> Any:
            with tracer.start_as_current_span("execute_tool search") as span:
                span.set_attribute("gen_ai.operation.name", "execute_tool")
                span.set_attribute("gen_ai.tool.name", "search")
                span.set_attribute("gen_ai.tool.type", "function")
                span.set_attribute("gen_ai.tool.call.arguments", json.dumps(arguments, default=_dumped))
                result = tool(**arguments)
                span.set_attribute("gen_ai.tool.call.result", json.dumps(result, default=_dumped))
                return result

        return call

    return Peer(trace, spans.force_flush, _version("opentelemetry-sdk"))


def structlog_line(folder: Path) -> Peer:
    """A log line for each call, with arguments and result, as JSON by orjson, into a file."""
    import orjson
    import structlog

    file = (folder / "log.jsonl").open("wb")
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=orjson.dumps),
        ],
        logger_factory=structlog.BytesLoggerFactory(file),
        cache_logger_on_first_use=True,
    )
    log = structlog.get_logger()

    def trace(tool: Tool) -> Tool:
        @functools.wraps(tool)
        def call(**arguments: Any) -> Any:
            try:
                result = tool(**arguments)
            except Exception:
                log.exception("tool_call", tool="search", arguments=arguments)
                raise
            log.info("tool_call", tool="search", arguments=arguments, result=result)
            return result

        return call

    def flush() -> None:
        file.flush()
        file.truncate(0)
        file.seek(0)

    return Peer(trace, flush, _version("structlog"))


def logfire(_folder: Path) -> Peer:
    """``logfire.instrument`` with arguments and result."""
    os.environ["LOGFIRE_IGNORE_NO_CONFIG"] = "1"
    import logfire as library
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from benchmarks.bare_span import NullExporter

    processor = BatchSpanProcessor(NullExporter(), max_queue_size=1_000_000)
    library.configure(send_to_logfire=False, console=False, metrics=False, additional_span_processors=[processor])
    trace = library.instrument("search", extract_args=True, record_return=True)
    return Peer(trace, processor.force_flush, _version("logfire"))


def openinference(_folder: Path) -> Peer:
    """The ``tool`` decorator of an OpenInference tracer, as Phoenix documents it."""
    from openinference.instrumentation import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from benchmarks.bare_span import NullExporter

    spans = TracerProvider()
    spans.add_span_processor(BatchSpanProcessor(NullExporter(), max_queue_size=1_000_000))
    return Peer(spans.get_tracer("tools").tool, spans.force_flush, _version("openinference-instrumentation"))


def langfuse(_folder: Path) -> Peer:
    """``observe(as_type="tool")``."""
    from langfuse import Langfuse, observe

    from benchmarks.bare_span import NullExporter

    os.environ |= {"OTEL_BSP_MAX_QUEUE_SIZE": "1000000"}
    client = Langfuse(public_key="pk-lf-1", secret_key="sk-lf-1", base_url=NOWHERE, span_exporter=NullExporter())
    return Peer(observe(as_type="tool"), client.flush, _version("langfuse"))


def mlflow(folder: Path) -> Peer:
    """``mlflow.trace(span_type="TOOL")`` into a SQLite file, which is MLflow's default."""
    os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "GIT_PYTHON_REFRESH": "quiet"}
    import mlflow as library

    library.set_tracking_uri(f"sqlite:///{folder / 'mlflow.db'}")
    library.set_experiment("peers")
    return Peer(library.trace(span_type="TOOL"), _mlflow_flush, _version("mlflow"))


def _mlflow_flush() -> None:
    import mlflow as library

    library.flush_trace_async_logging()


def tooltrace_journal(folder: Path) -> Peer:
    """``trace_tool`` with the journal alone."""
    import tooltrace as tt

    tt.configure(store=folder / "tooltrace.duckdb", durability="batch")
    return Peer(tt.trace_tool, tt.flush, tt.__version__, _response())


def tooltrace_everything(folder: Path) -> Peer:
    """``trace_tool`` with a span for a batch processor, the metric, a log line and the journal."""
    import tooltrace as tt
    from benchmarks import rivals

    spans = rivals.everything_on(folder / "tooltrace.duckdb")

    def flush() -> None:
        tt.flush()
        spans.force_flush()

    return Peer(tt.trace_tool, flush, tt.__version__, _response())


def _response() -> Any:
    from benchmarks.rivals import tool_response

    return tool_response()


def _version(distribution: str) -> str:
    return metadata.version(distribution)


def _dumped(value: Any) -> Any:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else str(value)
