"""Read confidence and sources from a tool's own result, as configured with ``trace_tool``."""

from __future__ import annotations

from typing import Any

from tooltrace.core.confidence import Score
from tooltrace.core.response import Source, ToolResponse
from tooltrace.faults import pass_on_signal
from tooltrace.recording.attempt import validate_confidence
from tooltrace.recording.tool_spec import ToolSpec


def claimed(response: ToolResponse, result: Any, spec: ToolSpec) -> ToolResponse:
    """Return ``response`` with the confidence and sources that ``spec`` reads from ``result``, where it has none.

    A value that cannot be read adds a flag.
    """
    said: dict[str, Any] = {}
    flags: list[str] = []
    if response.confidence is None and spec.confidence is not None:
        _confidence(result, spec, said, flags)
    if not response.sources and spec.sources is not None:
        _sources(result, spec, said, flags)
    if flags:
        said["meta"] = response.meta.model_copy(update={"flags": (*response.meta.flags, *flags)})
    return response.model_copy(update=said) if said else response


def _confidence(result: Any, spec: ToolSpec, said: dict[str, Any], flags: list[str]) -> None:
    try:
        found = spec.confidence(result) if callable(spec.confidence) else spec.confidence
    except BaseException as error:  # raised by the user's own reader
        pass_on_signal(error)
        flags.append("confidence_failed")
        return
    said["confidence"] = validate_confidence(found)
    if isinstance(found, Score) and found.signals:
        said["signals"] = found.signals
    if found is not None and said["confidence"] is None:
        flags.append("confidence_out_of_range")


def _sources(result: Any, spec: ToolSpec, said: dict[str, Any], flags: list[str]) -> None:
    try:
        found = spec.sources(result) if callable(spec.sources) else spec.sources
        said["sources"] = tuple(Source.model_validate(source) for source in found or ())
    except BaseException as error:  # raised by the user's own reader
        pass_on_signal(error)
        flags.append("sources_failed")
