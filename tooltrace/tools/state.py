"""What a registry holds while its calls run."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import RLock

from tooltrace.tools.cache import Cache
from tooltrace.tools.hooks import AnyHook
from tooltrace.tools.injection import Provided
from tooltrace.tools.registered_tool import CallLimiter, RegisteredTool


class SeenSet:
    """Lets each of the last many ids through once, whichever thread asks."""

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._lock = RLock()

    def first(self, name: str) -> bool:
        """Whether ``name`` comes for the first time."""
        with self._lock:
            if name in self._seen:
                return False
            self._seen[name] = None
            if len(self._seen) > self._capacity:
                self._seen.popitem(last=False)
            return True


@dataclass(slots=True, kw_only=True)
class RegistryState:
    """What a registry holds while its calls run."""

    limits: CallLimiter
    cache: Cache
    provided: Provided
    answered: SeenSet = field(default_factory=SeenSet)
    """Paused calls that were gone on with here."""
    tools: dict[str, RegisteredTool] = field(default_factory=dict)
    hooks: tuple[AnyHook, ...] = ()
    """Replaced whole when one is added: a call that runs keeps those that it began with."""
