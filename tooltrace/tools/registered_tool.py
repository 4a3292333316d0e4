"""A registered tool, and its call limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.tools import builtin_responses
from tooltrace.tools.injection import Injected
from tooltrace.tools.options import ToolOptions, check_limit
from tooltrace.tools.schema import Parameters

Invoke = Callable[[dict[str, Any]], Any]
"""Function that calls the tool with its arguments by name."""

Adapt = Callable[[ToolResponse, Any], ToolResponse]
"""Function that completes the response, given the value that the tool returned."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegisteredTool:
    """One tool of a registry."""

    spec: ToolSpec
    """Spec with which calls are recorded, without ``confidence`` and ``sources``, which are in ``claims``."""
    claims: ToolSpec | None = None
    """Spec whose ``confidence`` and ``sources`` read the result, if ``trace_tool`` set them."""
    options: ToolOptions
    description: str | None
    parameters: Parameters
    """All parameters that the model and a person provide together."""
    from_model: Parameters
    """The parameters that the model sees and provides."""
    injected: tuple[Injected, ...] = ()
    invoke: Invoke
    asynchronous: bool = False
    """Whether ``invoke`` must be called in the event loop; otherwise it is called in a thread."""
    checks_itself: bool = False
    """Whether the tool is run although parameters are missing, because it answers that in its own words."""
    adapt: Adapt | None = None
    original: Any = None
    """The function or object that was registered."""
    definition: Mapping[str, Any] | None = None
    """The tool as a model API defines it, if the provider of the model runs it and not the registry."""

    @property
    def name(self) -> str:
        """The name under which the model calls the tool."""
        return self.spec.name


class CallLimiter:
    """Thread-safe counter of the calls of one registry.

    Every call of a known tool counts, whatever its outcome, so that a model that repeats a mistake is stopped as well.
    """

    def __init__(self, limit: int | None = None) -> None:
        """``limit``: maximum number of all calls together; None for no limit."""
        check_limit(limit)
        self._limit = limit
        self._lock = RLock()
        self._counts: Counter[RegisteredTool] = Counter()

    def count_call(self, tool: RegisteredTool) -> ToolResponse | None:
        """Count a call and return None. Beyond the limit, return the error response and do not count."""
        tool_limit = tool.options.call_limit
        with self._lock:
            if self._limit is not None and self._counts.total() >= self._limit:
                return builtin_responses.over_limit(self._limit, None)
            if tool_limit is not None and self._counts[tool] >= tool_limit:
                return builtin_responses.over_limit(tool_limit, tool.name)
            self._counts[tool] += 1
        return None

    def reset(self) -> None:
        """Set the counts back to zero."""
        with self._lock:
            self._counts.clear()
