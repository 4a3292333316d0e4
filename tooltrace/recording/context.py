"""What the agent around a tool knows: the model's call id, the conversation, the agent's name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from opentelemetry.baggage import set_baggage
from opentelemetry.context.context import Context


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


CONVERSATION, AGENT = "gen_ai.conversation.id", "gen_ai.agent.name"
"""Members of W3C baggage that say what ``context`` does not."""
BAGGAGE_KEY = next(iter(set_baggage(AGENT, AGENT, Context())))
"""Where baggage is kept in a context: most have none, and to look is all that it may cost them."""

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


def call_context(otel: Context) -> CallContext:
    """What is known around a call that begins in ``otel``: what ``context`` says, else the W3C baggage."""
    known = current.get()
    return with_baggage(known, otel) if BAGGAGE_KEY in otel else known


def with_baggage(known: CallContext, otel: Context) -> CallContext:
    """``known``, with the conversation and the agent of the baggage in ``otel`` where it has none."""
    baggage = otel.get(BAGGAGE_KEY)
    if not isinstance(baggage, Mapping):
        return known
    return known._replace(
        conversation_id=known.conversation_id or _said(baggage, CONVERSATION),
        agent=known.agent or _said(baggage, AGENT),
    )


def _said(baggage: Mapping[str, object], key: str) -> str | None:
    value = baggage.get(key)
    return value if isinstance(value, str) and value else None
