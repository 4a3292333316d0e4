"""A recorder for the tool calls of LLM agents.

::

    import tooltrace as tt

    @tt.trace_tool
    def search(query: str) -> tt.ToolResponse: ...

Every call becomes an OpenTelemetry span, a structured log line and a row in DuckDB.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tooltrace.core.codes import NextAction, ToolErrorCode
from tooltrace.core.confidence import ConfidenceRules
from tooltrace.core.installation import warn_if_overlapping as _warn_if_overlapping
from tooltrace.core.next_step import NextStep, resolve_next_step
from tooltrace.core.paused_call import PausedCall
from tooltrace.core.records import ToolCall
from tooltrace.core.response import ErrorInfo, ResponseMeta, Source, ToolResponse, ToolStatus
from tooltrace.errors import TooltraceError
from tooltrace.normalize import CERTAIN_RULES, RULES, Rule, normalize, rule
from tooltrace.normalize.tool_result import ToolResult
from tooltrace.recording.circuit_breaker import CircuitBreaker
from tooltrace.recording.config import configure, flush, health, shutdown
from tooltrace.recording.context import context, copy_context
from tooltrace.recording.decorator import trace_tool
from tooltrace.recording.health import Health
from tooltrace.recording.integration_registry import install, uninstall
from tooltrace.recording.logger import TraceLogger
from tooltrace.redact.redaction import Redaction
from tooltrace.version import __version__

if TYPE_CHECKING:
    from tooltrace.analysis.api import attribute, connect, query
    from tooltrace.analysis.names import DimensionName, QueryName
    from tooltrace.diagnosis.briefing import briefing
    from tooltrace.diagnosis.diagnose import diagnose
    from tooltrace.diagnosis.finding import Finding
    from tooltrace.ingest.spans import TooltraceSpanProcessor
    from tooltrace.labels.api import outcome_from
    from tooltrace.labels.correction import correct
    from tooltrace.labels.label import label
    from tooltrace.maintenance.forget import forget
    from tooltrace.store.result import QueryResult
    from tooltrace.tools import Tool, ToolParameter, ToolRegistry, tool

__all__ = [
    "CERTAIN_RULES",
    "RULES",
    "CircuitBreaker",
    "ConfidenceRules",
    "DimensionName",
    "ErrorInfo",
    "Finding",
    "Health",
    "NextAction",
    "NextStep",
    "PausedCall",
    "QueryName",
    "QueryResult",
    "Redaction",
    "ResponseMeta",
    "Rule",
    "Source",
    "Tool",
    "ToolCall",
    "ToolErrorCode",
    "ToolParameter",
    "ToolRegistry",
    "ToolResponse",
    "ToolResult",
    "ToolSource",
    "ToolStatus",
    "TooltraceError",
    "TooltraceSpanProcessor",
    "TraceLogger",
    "__version__",
    "attribute",
    "briefing",
    "configure",
    "connect",
    "context",
    "copy_context",
    "correct",
    "diagnose",
    "flush",
    "forget",
    "health",
    "install",
    "label",
    "normalize",
    "outcome_from",
    "query",
    "resolve_next_step",
    "rule",
    "shutdown",
    "tool",
    "trace_tool",
    "uninstall",
]

ToolSource = Source
"""The envelope's name for a source."""

_warn_if_overlapping()

_MODULES = {
    "briefing": "tooltrace.diagnosis.briefing",
    "attribute": "tooltrace.analysis.api",
    "connect": "tooltrace.analysis.api",
    "diagnose": "tooltrace.diagnosis.diagnose",
    "Finding": "tooltrace.diagnosis.finding",
    "query": "tooltrace.analysis.api",
    "correct": "tooltrace.labels.correction",
    "label": "tooltrace.labels.label",
    "outcome_from": "tooltrace.labels.api",
    "forget": "tooltrace.maintenance.forget",
    "Tool": "tooltrace.tools",
    "ToolParameter": "tooltrace.tools",
    "DimensionName": "tooltrace.analysis.names",
    "QueryName": "tooltrace.analysis.names",
    "QueryResult": "tooltrace.store.result",
    "ToolRegistry": "tooltrace.tools",
    "tool": "tooltrace.tools",
    "TooltraceSpanProcessor": "tooltrace.ingest.spans",
}
"""The public names that a process that only records does not need, with their modules."""


def __getattr__(name: str) -> Any:
    """Import a public name on first access, where not every process needs it."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    """Return the public names only, which is what a shell completes."""
    return [*__all__]
