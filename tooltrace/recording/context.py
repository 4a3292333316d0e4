"""Context of a call, set by the agent: the model's call id, the conversation, the agent's name."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from opentelemetry.baggage import set_baggage
from opentelemetry.context.context import Context

from tooltrace.errors import ConfigError

P = ParamSpec("P")
R = TypeVar("R")


class CallId:
    """The model's id for one call.

    An object rather than a string, because its identity distinguishes the call that the model requested from calls that
    the tool itself makes inside the same ``context``.
    """

    __slots__ = ("names", "open_attempt", "spec", "stated", "value")

    def __init__(
        self,
        value: str | None,
        open_attempt: Any = None,
        names: frozenset[str] = frozenset(),
        *,
        spec: Any = None,
        stated: bool = False,
    ) -> None:
        self.value = value
        self.stated = stated
        """Whether the application says that all attempts with this id are of one call."""
        self.open_attempt = open_attempt
        """The attempt that an integration began for the call."""
        self.names = names
        """Names of decorated tools that may be the execution of ``open_attempt``, where its function is not known."""
        self.spec = spec
        """The spec of the decorated function that the framework runs, where it is known."""


class CallContext(Struct, frozen=True):
    """The values that ``context`` or the W3C baggage provides for a call."""

    call: CallId | None = None
    conversation_id: str | None = None
    agent: str | None = None
    model: str | None = None
    attributes: dict[str, Any] | None = None


CONVERSATION, AGENT = "gen_ai.conversation.id", "gen_ai.agent.name"
"""Members of W3C baggage that are used where ``context`` sets no value."""
BAGGAGE_KEY = next(iter(set_baggage(AGENT, AGENT, Context())))
"""Key of the baggage in an OpenTelemetry context.

Most contexts have no baggage; with the key, they cost one lookup per call.
"""

EMPTY = CallContext()
current: ContextVar[CallContext] = ContextVar("tooltrace_context", default=EMPTY)


@contextmanager
def context(
    *,
    call_id: str | None = None,
    conversation_id: str | None = None,
    agent: str | None = None,
    model: str | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> Iterator[None]:
    """Set what the agent knows about the tool calls made inside the block.

    A value that is left out is inherited from the enclosing block. ``call_id`` is the model's id of the call; the same
    id again is the next attempt of the call. ``agent``: name of the agent that makes the calls. ``model``: name of the
    model that asks for them. ``attributes`` are recorded with every call, beside those of the enclosing blocks. Raises
    ConfigError for ``attributes`` that are not a mapping.
    """
    if attributes is not None and not (
        isinstance(attributes, Mapping) and all(isinstance(name, str) for name in attributes)
    ):
        raise ConfigError(
            f"attributes must be a dict with texts as keys, such as {{'tenant': 'a'}}, got {attributes!r}"
        )
    outer = current.get()
    token = current.set(
        CallContext(
            call=outer.call if call_id is None else CallId(str(call_id), stated=True),
            conversation_id=outer.conversation_id if conversation_id is None else str(conversation_id),
            agent=outer.agent if agent is None else str(agent),
            model=outer.model if model is None else str(model),
            attributes={**(outer.attributes or {}), **(attributes or {})} or None,
        )
    )
    try:
        yield
    finally:
        current.reset(token)


def copy_context(function: Callable[P, R], /) -> Callable[P, R]:
    """Return ``function`` with the context of this moment, for a plain thread pool.

    Such a pool runs its functions without the call id, conversation, agent and span that are current where they are
    submitted: ``pool.map(tt.copy_context(search), queries)`` passes them on. The calls may run at the same time.
    """
    if not callable(function):
        raise ConfigError(f"copy_context() needs a function, got {function!r}: pass the function, not its result")
    here = contextvars.copy_context()

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        # a context runs one function at a time: each call has a copy
        return here.copy().run(function, *args, **kwargs)

    return run


def call_context(otel: Context) -> CallContext:
    """Return the context of a call that begins in ``otel``: values of ``context``, else of the W3C baggage."""
    known = current.get()
    return with_baggage(known, otel) if BAGGAGE_KEY in otel else known


def with_baggage(known: CallContext, otel: Context) -> CallContext:
    """Return ``known``, with missing conversation and agent filled in from the baggage in ``otel``."""
    baggage = otel.get(BAGGAGE_KEY)
    if not isinstance(baggage, Mapping):
        return known
    return replace(
        known,
        conversation_id=known.conversation_id or _text_member(baggage, CONVERSATION),
        agent=known.agent or _text_member(baggage, AGENT),
    )


def _text_member(baggage: Mapping[str, object], key: str) -> str | None:
    value = baggage.get(key)
    return value if isinstance(value, str) and value else None
