"""Deduplication of spans that show the same call.

Often several spans show one call: those of the client and the server of MCP, of an agent framework around both, or of
two instrumentations. Such spans are nested, with only transport spans between them. Nested spans are *doubles* if their
tool, call id and arguments do not contradict each other. Each span has at most one double directly inside it: a second
one is a retry, and therefore a separate call.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import orjson

from tooltrace.ingest.spans.conventions.base import Key
from tooltrace.ingest.spans.conventions.enclosing import NOTHING_STATED, StatedContext
from tooltrace.recording.call_numbers import CallUse
from tooltrace.redact.plain_data import json_of
from tooltrace.redact.snapshot import snapshot

_MAX_DEPTH = 32
"""Maximum number of steps from a span up to the span around it that shows the same call."""
_MAX_ANCESTORS = 64
"""Maximum number of steps from a tool call up to a span that states its agent, conversation or model."""
_MAX_NODES = 64
"""Maximum number of arguments compared for a call, and of calls that wait for one span (the latest are kept)."""
ArgumentDigests = dict[str, bytes]
"""A digest of each argument by name, so that no argument value stays in memory."""
_SEPARATORS = "_./:-"
"""Characters that may separate the name of a server from that of its tool."""


@dataclass(eq=False, slots=True)
class CallGroup:
    """A group of spans that show one call."""

    tool: str | None = None
    call_id: str | None = None
    arguments: ArgumentDigests | None = None
    is_native: bool = False
    """Whether one of the spans is tooltrace's own."""
    recorded: Key | None = None
    """Key of the span whose id the call's record has."""
    attempt: int | None = None
    use: CallUse | None = None
    """The call among those with its id."""
    joined: CallGroup | None = None
    """The group into which this group was merged."""


@dataclass(eq=False, slots=True)
class SpanNode:
    """The remembered data of a span."""

    key: Key
    parent: Key | None
    through: bool = False
    """Whether the span is transport: spans on both sides of it may show one call."""
    layer: tuple[str | None, ...] = ()
    """Scope, kind and conventions of the span.

    An instrumentation does not show a call twice in the same layer, so two spans of one layer need proof to be doubles.
    """
    remote: bool = False
    """Whether the span shows the call under the server's name for the tool."""
    end_ns: int = 0
    group: CallGroup | None = None
    """The call that the span shows; None if it shows none."""
    inner: Key | None = None
    """Key of the double directly inside this span."""
    outer: Key | None = None
    context: StatedContext = NOTHING_STATED
    """Agent, conversation and model that the span itself states."""


@dataclass(slots=True)
class SpanDeduplicator:
    """The most recent spans, grouped by call. Not thread-safe."""

    capacity: int = 20_000
    _nodes: OrderedDict[Key, SpanNode] = field(default_factory=OrderedDict)
    _waiting: OrderedDict[Key, deque[Key]] = field(default_factory=OrderedDict)
    """Keys of missing parent spans, with the tool calls below each."""

    def add(self, nodes: list[SpanNode]) -> None:
        """Remember ``nodes``, and find their doubles among all remembered spans."""
        for node in nodes:
            self._remember(node)
        # Children end, and arrive, before their parents: the calls that waited for a span of this batch are looked up
        # again.
        lost = [key for node in nodes for key in self._waiting.pop(node.key, ())]
        calls = {node.key: node for node in nodes if node.group is not None}
        calls |= {key: found for key in lost if (found := self._nodes.get(key)) is not None}
        # Latest end first: a span has one double inside, and the last retry gives the result of the outer span.
        for node in sorted(calls.values(), key=lambda node: -node.end_ns):
            self._look_up(node)

    def node(self, key: Key) -> SpanNode | None:
        """Return the node of a span; None if it is not remembered."""
        return self._nodes.get(key)

    def depth(self, key: Key) -> int:
        """Return the number of doubles around the span."""
        depth, node = 0, self._nodes.get(key)
        while node is not None and node.outer is not None and depth < _MAX_DEPTH:
            depth, node = depth + 1, self._nodes.get(node.outer)
        return depth

    def enclosing_context(self, key: Key) -> StatedContext:
        """Return what the nearest remembered spans around ``key`` state."""
        found = NOTHING_STATED
        node = self._nodes.get(key)
        for _ in range(_MAX_ANCESTORS):
            # Also across model calls and agents, because these state the agent and the conversation.
            node = None if node is None or node.parent is None else self._nodes.get(node.parent)
            if node is None or None not in found:
                break
            found = found.completed(node.context)
        return found

    def _remember(self, node: SpanNode) -> None:
        self._nodes.pop(node.key, None)
        self._nodes[node.key] = node
        if len(self._nodes) > self.capacity:
            self._nodes.popitem(last=False)

    def _look_up(self, node: SpanNode) -> None:
        """Find the nearest tool call above ``node``, and join both if they show the same call."""
        if node.outer is not None or node.group is None:
            return
        at = node.parent
        for _ in range(_MAX_DEPTH):
            if at is None or at == node.key:
                return
            above = self._nodes.get(at)
            if above is None:
                self._wait(at, node.key)
                return
            if above.group is not None:
                self._join(above, node)
                return
            # A model call or an agent between two tool calls means that the inner call is a call of its own.
            if not above.through:
                return
            at = above.parent

    def _wait(self, missing: Key, key: Key) -> None:
        self._waiting.setdefault(missing, deque(maxlen=_MAX_NODES)).append(key)
        if len(self._waiting) > self.capacity:
            self._waiting.popitem(last=False)

    def _join(self, outer: SpanNode, inner: SpanNode) -> None:
        outer_call, inner_call = group_of(outer), group_of(inner)
        if (
            outer_call is inner_call
            or outer_call is None
            or inner_call is None
            or not _is_same_call(outer_call, inner_call, remote=inner.remote)
        ):
            return
        # A tool that calls itself, or a second tool of the same name, is shown by the same instrumentation.
        if outer.layer == inner.layer and not _has_same_identity(outer_call, inner_call):
            return
        if outer.inner is not None and not outer_call.is_native:  # a retry inside one call
            # The id shows that both are attempts of one call, which numbers them.
            inner_call.call_id = inner_call.call_id or outer_call.call_id
            return
        if outer_call.recorded is None or inner_call.recorded is None:  # two written records cannot be merged
            outer.inner, inner.outer = inner.key, outer.key
            _merge_groups(outer_call, inner_call)


def group_of(node: SpanNode | None) -> CallGroup | None:
    """Return the call that a span shows; None if it shows none."""
    group = None if node is None else node.group
    while group is not None and group.joined is not None:
        group.joined = group.joined.joined or group.joined  # shorten the chain of merged groups for later lookups
        group = group.joined
    return group


def digests_of(arguments: Any) -> ArgumentDigests | None:
    """Return digests to compare arguments by; None if the arguments are not known by name."""
    if not isinstance(arguments, dict):
        return None
    data = orjson.loads(snapshot(arguments))  # type: ignore[arg-type]  # the snapshot of a dict is bytes
    return {
        key: blake2b(json_of(value, sorted_names=True), digest_size=12).digest()
        for key, value in list(data.items())[:_MAX_NODES]
    }


def _is_same_call(outer_call: CallGroup, inner_call: CallGroup, *, remote: bool) -> bool:
    """Whether the known ids, tools and arguments of both calls agree."""
    if outer_call.call_id is not None and inner_call.call_id is not None:
        return outer_call.call_id == inner_call.call_id and _same_name(outer_call.tool, inner_call.tool, remote=remote)
    return _arguments_agree(outer_call.arguments, inner_call.arguments) and _same_name(
        outer_call.tool, inner_call.tool, remote=remote
    )


def _same_name(outer: str | None, inner: str | None, *, remote: bool) -> bool:
    """Whether both names may mean one tool; an agent may prefix a server's tool with the server's name."""
    if outer is None or inner is None or outer == inner:
        return True
    return remote and outer.endswith(inner) and outer[: -len(inner)][-1:] in tuple(_SEPARATORS)


def _arguments_agree(outer_call: ArgumentDigests | None, inner_call: ArgumentDigests | None) -> bool:
    """Whether both calls have common arguments and none of these differs; unknown arguments agree with any.

    The inner call may have more arguments, or fewer: defaults and injected arguments.
    """
    if not outer_call or not inner_call:
        return outer_call is None or inner_call is None or outer_call == inner_call
    common = outer_call.keys() & inner_call.keys()
    return bool(common) and all(outer_call[key] == inner_call[key] for key in common)


def _has_same_identity(outer_call: CallGroup, inner_call: CallGroup) -> bool:
    """Whether both calls have the same id, or else the same arguments."""
    if outer_call.call_id is not None and inner_call.call_id is not None:
        return outer_call.call_id == inner_call.call_id
    return outer_call.arguments is not None and outer_call.arguments == inner_call.arguments


def _merge_groups(outer_call: CallGroup, inner_call: CallGroup) -> None:
    inner_call.joined = outer_call
    outer_call.tool = outer_call.tool or inner_call.tool
    outer_call.call_id = outer_call.call_id or inner_call.call_id
    outer_call.arguments = inner_call.arguments if outer_call.arguments is None else outer_call.arguments
    outer_call.is_native = outer_call.is_native or inner_call.is_native
    outer_call.recorded = outer_call.recorded or inner_call.recorded
    if outer_call.attempt is None:
        outer_call.attempt, outer_call.use = inner_call.attempt, inner_call.use
