"""The OpenTelemetry form of what is recorded, and ``TooltraceSpanProcessor``, which records what others show."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """The processor stands far above this floor, by its public name it is found here: loaded when asked for."""
    if name == "TooltraceSpanProcessor":
        return import_module("tooltrace.foreign").TooltraceSpanProcessor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
