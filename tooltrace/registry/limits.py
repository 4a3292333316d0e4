"""How many calls are run before the answer is that there were enough."""

from __future__ import annotations

from collections import Counter
from threading import RLock

from tooltrace.registry import answers
from tooltrace.registry.options import check_limit
from tooltrace.registry.registered import RegisteredTool
from tooltrace.response import ToolResponse


class Limits:
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
                return answers.over_limit(self._limit, None)
            if own is not None and self._counts[tool] >= own:
                return answers.over_limit(own, tool.name)
            self._counts[tool] += 1
        return None

    def reset(self) -> None:
        """Start anew."""
        with self._lock:
            self._counts.clear()
