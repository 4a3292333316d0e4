"""Cache of successful responses, returned again for the same arguments."""

from __future__ import annotations

import copy
import json
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from typing import Any

from pydantic_core import to_jsonable_python

from tooltrace.core.response import ToolResponse
from tooltrace.errors import ConfigError
from tooltrace.faults import pass_on_signal
from tooltrace.tools.registered_tool import RegisteredTool


@dataclass(frozen=True, slots=True)
class CacheKey:
    """A call of a tool with certain arguments, as a cache key."""

    tool: RegisteredTool
    text: str
    """The arguments as canonical JSON."""
    arguments: dict[str, Any]
    """A copy of the arguments. Values that JSON does not show (a secret, an excluded field) must be equal too."""


@dataclass(frozen=True, slots=True)
class _CachedResponse:
    arguments: dict[str, Any]
    response: ToolResponse
    until: float


class Cache:
    """A thread-safe cache of the latest responses; the least recently used one is evicted first."""

    def __init__(self, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        """``size``: maximum number of responses in the cache."""
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ConfigError(f"cache_size must be an integer of at least 1, got {size!r}")
        self._size = size
        self._clock = clock
        self._lock = RLock()
        self._entries: OrderedDict[tuple[RegisteredTool, str], _CachedResponse] = OrderedDict()

    def get(self, key: CacheKey) -> ToolResponse | None:
        """Return a copy of the cached response for ``key``, marked as cached; None if there is none."""
        place = (key.tool, key.text)
        with self._lock:
            entry = self._entries.get(place)
            if entry is None:
                return None
            if entry.until <= self._clock():
                del self._entries[place]
                return None
            self._entries.move_to_end(place)
        if not _equal(entry.arguments, key.arguments):
            return None
        return _copied(entry.response, cached=True)

    def put(self, key: CacheKey, response: ToolResponse) -> None:
        """Store a success; a response of another status, or one that cannot be copied, is not stored."""
        if response.status != "success":
            return
        copied = _copied(response, cached=False)
        if copied is None:
            return
        lasts = key.tool.options.cache
        until = float("inf") if lasts is True else self._clock() + lasts
        with self._lock:
            self._entries[key.tool, key.text] = _CachedResponse(key.arguments, copied, until)
            self._entries.move_to_end((key.tool, key.text))
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)

    def clear(self) -> None:
        """Remove every response."""
        with self._lock:
            self._entries.clear()


def key_of(tool: RegisteredTool, arguments: dict[str, Any]) -> CacheKey | None:
    """Return the cache key of a call; None if the tool is not cached, or its arguments cannot be serialized and copied."""
    if tool.options.cache is False:
        return None
    try:
        text = json.dumps(to_jsonable_python(arguments), sort_keys=True)
        return CacheKey(tool, text, copy.deepcopy(arguments))
    except BaseException as error:  # raised by the arguments' own serializers and copy methods
        pass_on_signal(error)
        return None


def _copied(response: ToolResponse, *, cached: bool) -> ToolResponse | None:
    try:
        copied = response.model_copy(deep=True)
    except BaseException as error:  # whatever the data's own __deepcopy__ raises, e.g. for a lock or a connection
        pass_on_signal(error)
        return None
    return copied.model_copy(update={"meta": copied.meta.model_copy(update={"cached": cached})})


def _equal(left: dict[str, Any], right: dict[str, Any]) -> bool:
    try:
        return bool(left == right)
    except BaseException as error:  # raised by the arguments' own comparison
        pass_on_signal(error)
        return False
