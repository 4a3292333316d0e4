"""The flight recorder for the tools of an LLM agent.

::

    import tooltrace as tt

    @tt.trace_tool
    def search(query: str) -> tt.ToolResponse: ...

Every call becomes an OpenTelemetry span, a structured log line and a row in DuckDB.
"""

from tooltrace.asking import connect, query
from tooltrace.codes import NextAction, ToolErrorCode
from tooltrace.decorator import trace_tool
from tooltrace.errors import TooltraceError
from tooltrace.logger import TraceLogger
from tooltrace.normalize import normalize
from tooltrace.outcomes import label
from tooltrace.record import ToolCall
from tooltrace.redaction import Redaction
from tooltrace.response import ResponseMeta, Source, ToolError, ToolResponse
from tooltrace.runtime import configure, flush, shutdown
from tooltrace.surroundings import context
from tooltrace.version import __version__

__all__ = [
    "NextAction",
    "Redaction",
    "ResponseMeta",
    "Source",
    "ToolCall",
    "ToolError",
    "ToolErrorCode",
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
    "query",
    "shutdown",
    "trace_tool",
]
