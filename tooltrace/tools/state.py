"""State of a registry, shared by its calls."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import RLock

from tooltrace.tools.cache import Cache
from tooltrace.tools.hooks import AnyHook
from tooltrace.tools.injection import Provided
from tooltrace.tools.registered_tool import CallLimiter, RegisteredTool


class RecentIds:
    """A thread-safe set of the most recent ids, which recognizes an id that was used before."""

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._recent: OrderedDict[str, None] = OrderedDict()
        self._lock = RLock()

    def first(self, name: str) -> bool:
        """Add ``name``; return whether it was not in the set."""
        with self._lock:
            if name in self._recent:
                return False
            self._recent[name] = None
            if len(self._recent) > self._capacity:
                self._recent.popitem(last=False)
            return True


@dataclass(slots=True, kw_only=True)
class RegistryState:
    """State of a registry, shared by its calls."""

    limits: CallLimiter
    cache: Cache
    provided: Provided
    review: bool = True
    """Whether a result with the next action ``human_review`` waits for a person."""
    answered: RecentIds = field(default_factory=RecentIds)
    """Span ids of paused calls that were resumed in this registry."""
    tools: dict[str, RegisteredTool] = field(default_factory=dict)
    hooks: tuple[AnyHook, ...] = ()
    """Replaced as a whole when a hook is added, so that a running call keeps the hooks it began with."""
