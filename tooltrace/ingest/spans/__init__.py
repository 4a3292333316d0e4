"""Spans of other instrumentations, read as the records that tooltrace would have made itself.

``Assembler`` makes records of spans that are plain data, wherever they come from; ``TooltraceSpanProcessor`` and
``StoreSpanExporter`` take them from the SDK of this process.
"""

from typing import TYPE_CHECKING, Any

from tooltrace.ingest.spans.assembler import Assembler

if TYPE_CHECKING:
    from tooltrace.ingest.spans.exporter import StoreSpanExporter
    from tooltrace.ingest.spans.processor import TooltraceSpanProcessor

__all__ = ["Assembler", "StoreSpanExporter", "TooltraceSpanProcessor"]


def __getattr__(name: str) -> Any:
    """What needs the recorder of this process is loaded when asked for."""
    if name == "StoreSpanExporter":
        from tooltrace.ingest.spans.exporter import StoreSpanExporter

        return StoreSpanExporter
    if name == "TooltraceSpanProcessor":
        from tooltrace.ingest.spans.processor import TooltraceSpanProcessor

        return TooltraceSpanProcessor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
