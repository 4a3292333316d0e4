"""The flight recorder for the tools of an LLM agent.

::

    import tooltrace as tt

    @tt.trace_tool
    def search(query: str) -> tt.ToolResponse: ...

Every call becomes an OpenTelemetry span, a structured log line and a row in DuckDB.
"""

from tooltrace.asking import connect, query
from tooltrace.codes import NextAction, ToolErrorCode
from tooltrace.confidence import ConfidenceRules
from tooltrace.decorator import trace_tool
from tooltrace.errors import TooltraceError
from tooltrace.logger import TraceLogger
from tooltrace.next_step import resolve_next_step
from tooltrace.normalize import CERTAIN_RULES, RULES, Rule, normalize, rule
from tooltrace.outcomes import label, outcome_from
from tooltrace.paused import PausedCall
from tooltrace.record import ToolCall
from tooltrace.redaction import Redaction
from tooltrace.registry import ToolRegistry, tool
from tooltrace.response import ResponseMeta, Source, ToolError, ToolResponse
from tooltrace.runtime import configure, flush, shutdown
from tooltrace.surroundings import context
from tooltrace.version import __version__

__all__ = [
    "CERTAIN_RULES",
    "RULES",
    "ConfidenceRules",
    "NextAction",
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
    "TraceLogger",
    "__version__",
    "configure",
    "connect",
    "context",
    "flush",
    "label",
    "normalize",
    "outcome_from",
    "query",
    "resolve_next_step",
    "rule",
    "shutdown",
    "tool",
    "trace_tool",
]
