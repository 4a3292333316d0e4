"""A registered tool, and its call limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
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
"""Calls the tool with its arguments by name."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegisteredTool:
    """One tool of a registry."""

    spec: ToolSpec
    """How its calls are recorded; without ``confidence`` and ``sources``, which are in ``claims``."""
    claims: ToolSpec | None = None
    """Where ``trace_tool`` was told how to read confidence or sources from a result."""
    options: ToolOptions
    description: str | None
    parameters: Parameters
    """All that a model and a person give together."""
    asked: Parameters
    """What the model is shown and gives."""
    injected: tuple[Injected, ...] = ()
    invoke: Invoke
    asynchronous: bool = False
    """Whether ``invoke`` must be called in the event loop; else it is called in a thread."""

    @property
    def name(self) -> str:
        """The name that the model calls."""
        return self.spec.name


class CallLimiter:
    """Counts the calls of one registry, from any thread. Every call of a known tool counts, whatever comes of it:
    a model that repeats a mistake is to be stopped as well."""

    def __init__(self, limit: int | None = None) -> None:
        """``limit``: of all calls together; None for none."""
        check_limit(limit)
        self._limit = limit
        self._lock = RLock()
        self._counts: Counter[RegisteredTool] = Counter()

    def take(self, tool: RegisteredTool) -> ToolResponse | None:
        """Count a call; or the answer that it is one too many, and then it is not counted."""
        own = tool.options.call_limit
        with self._lock:
            if self._limit is not None and self._counts.total() >= self._limit:
                return builtin_responses.over_limit(self._limit, None)
            if own is not None and self._counts[tool] >= own:
                return builtin_responses.over_limit(own, tool.name)
            self._counts[tool] += 1
        return None

    def reset(self) -> None:
        """Start anew."""
        with self._lock:
            self._counts.clear()
