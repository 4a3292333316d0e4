"""Conversion of other instrumentations' spans to the records that tooltrace itself would have made.

``Assembler`` converts spans that are plain data, from any source. ``TooltraceSpanProcessor`` and ``StoreSpanExporter``
receive spans from the SDK of this process.
"""

from typing import TYPE_CHECKING, Any

from tooltrace.ingest.spans.assembler import Assembler

if TYPE_CHECKING:
    from tooltrace.ingest.spans.exporter import StoreSpanExporter
    from tooltrace.ingest.spans.processor import TooltraceSpanProcessor

__all__ = ["Assembler", "StoreSpanExporter", "TooltraceSpanProcessor"]


def __getattr__(name: str) -> Any:
    """Import the classes that need the recorder of this process on first access."""
    if name == "StoreSpanExporter":
        from tooltrace.ingest.spans.exporter import StoreSpanExporter

        return StoreSpanExporter
    if name == "TooltraceSpanProcessor":
        from tooltrace.ingest.spans.processor import TooltraceSpanProcessor

        return TooltraceSpanProcessor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
