"""A recorder for the tool calls of LLM agents.

::

    import tooltrace as tt

    @tt.trace_tool
    def search(query: str) -> tt.ToolResponse: ...

Every call becomes an OpenTelemetry span, a structured log line and a row in DuckDB.
"""

from typing import TYPE_CHECKING, Any

from tooltrace import clickhouse as _clickhouse  # noqa: F401 - registers its URLs and its destination
from tooltrace.analysis.api import connect, query
from tooltrace.core.codes import NextAction, ToolErrorCode
from tooltrace.core.confidence import ConfidenceRules
from tooltrace.core.next_step import NextStep, resolve_next_step
from tooltrace.core.records import ToolCall
from tooltrace.core.response import PausedCall, ResponseMeta, Source, ToolError, ToolResponse
from tooltrace.errors import TooltraceError
from tooltrace.installation import warn_if_overlapping as _warn_if_overlapping
from tooltrace.labels import correct, label, outcome_from
from tooltrace.normalize import CERTAIN_RULES, RULES, Rule, normalize, rule
from tooltrace.recording.config import configure, flush, shutdown
from tooltrace.recording.context import context
from tooltrace.recording.decorator import trace_tool
from tooltrace.recording.integration_registry import install, uninstall
from tooltrace.recording.logger import TraceLogger
from tooltrace.redact.redaction import Redaction
from tooltrace.version import __version__

if TYPE_CHECKING:
    from tooltrace.ingest.spans import TooltraceSpanProcessor
    from tooltrace.tools import ToolRegistry, tool

__all__ = [
    "CERTAIN_RULES",
    "RULES",
    "ConfidenceRules",
    "NextAction",
    "NextStep",
    "PausedCall",
    "Redaction",
    "ResponseMeta",
    "Rule",
    "Source",
    "ToolCall",
    "ToolError",
    "ToolErrorCode",
    "ToolRegistry",
    "ToolResponse",
    "TooltraceError",
    "TooltraceSpanProcessor",
    "TraceLogger",
    "__version__",
    "configure",
    "connect",
    "context",
    "correct",
    "flush",
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


_warn_if_overlapping()


def __getattr__(name: str) -> Any:
    """Import a public name on first access.

    The registry is often not needed, because an agent's framework brings its own; neither is the span processor.
    """
    if name in ("ToolRegistry", "tool"):
        from tooltrace import tools

        return getattr(tools, name)
    if name == "TooltraceSpanProcessor":
        from tooltrace.ingest.spans import TooltraceSpanProcessor

        return TooltraceSpanProcessor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
