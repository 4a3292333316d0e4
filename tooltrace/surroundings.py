"""What the agent around a tool knows: the model's call id, the conversation, the agent's name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Any, NamedTuple


class CallId:
    """The model's id for one call. An object, so that the tools which a tool calls, inside the same
    ``context``, can tell that it was not them the model asked for."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value


class CallContext(NamedTuple):
    """What is known around a call."""

    call: CallId | None = None
    conversation_id: str | None = None
    agent: str | None = None
    attributes: dict[str, Any] | None = None


EMPTY = CallContext()
current: ContextVar[CallContext] = ContextVar("tooltrace_context", default=EMPTY)


@contextmanager
def context(
    *,
    call_id: str | None = None,
    conversation_id: str | None = None,
    agent_name: str | None = None,
    **attributes: Any,
) -> Iterator[None]:
    """Say what the agent knows about the tool calls made inside the block.

    What is left out is taken from the block around. ``call_id`` is the id that the model gave the
    call; the same id again is the call's next attempt. ``attributes`` are kept with every call.
    """
    outer = current.get()
    token = current.set(
        CallContext(
            call=outer.call if call_id is None else CallId(str(call_id)),
            conversation_id=outer.conversation_id if conversation_id is None else str(conversation_id),
            agent=outer.agent if agent_name is None else str(agent_name),
            attributes={**(outer.attributes or {}), **attributes} or None,
        )
    )
    try:
        yield
    finally:
        current.reset(token)


class AttemptCounter:
    """Numbers the attempts of each call of this process, whichever thread or task makes them.

    Remembers the last ``capacity`` calls: a call that is retried after that many others begins at 1 again.
    """

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._seen: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = RLock()  # the garbage collector may run another call in between

    def after_fork(self) -> None:
        """In a forked child: another thread of the parent may have held the lock."""
        self._lock = RLock()

    def next(self, tool: str, call_id: str) -> int:
        """The number of the attempt that begins now: 1, 2, …"""
        key = (tool, call_id)
        with self._lock:
            attempt = self._seen.pop(key, 0) + 1
            self._seen[key] = attempt
            if len(self._seen) > self._capacity:
                self._seen.popitem(last=False)
        return attempt
