"""Which spans show one and the same call.

A call is often seen twice or more: by the client and the server of MCP, by an agent's framework around both, by two
instrumentations at once. Such spans stand one inside the other, with nothing but transport between them. They are *doubles*
where what they say does not differ. Each span has at most one double right inside it: a second one is a retry, and a
call of its own.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import orjson

from tooltrace.ingest.spans.conventions.base import Key
from tooltrace.redact.snapshot import snapshot

_MAX_DEPTH = 32
"""How many spans of transport may stand between two that show one call."""
_MAX_NODES = 64
"""Arguments of a call that are compared, and calls that wait for one span: the latest."""
ArgumentDigests = dict[str, bytes]
"""A digest of each argument: no argument stays in memory for it."""
_JOINTS = "_./:-"
"""What may stand between the name of a server and that of its tool."""


@dataclass(eq=False, slots=True)
class CallGroup:
    """Spans that show one call."""

    tool: str | None = None
    call_id: str | None = None
    arguments: ArgumentDigests | None = None
    ours: bool = False
    """One of them is tooltrace's own."""
    recorded: Key | None = None
    """The span that the call's record has its id from."""
    attempt: int | None = None
    joined: CallGroup | None = None
    """What it has become a part of."""


@dataclass(eq=False, slots=True)
class SpanNode:
    """What is remembered of a span."""

    key: Key
    parent: Key | None
    through: bool = False
    """Transport: a call may be seen on either side of it."""
    layer: tuple[str | None, ...] = ()
    """Whose span it is, of what kind, and how it is written: one instrumentation does not show a call twice in a layer."""
    remote: bool = False
    """It shows the call under the name that the server has for it."""
    end_ns: int = 0
    group: CallGroup | None = None
    """None: no tool call."""
    inner: Key | None = None
    """The double right inside it."""
    outer: Key | None = None


@dataclass(slots=True)
class SpanDeduplicator:
    """The spans of the last while, and which of them are one call. Not thread-safe."""

    capacity: int = 20_000
    _nodes: OrderedDict[Key, SpanNode] = field(default_factory=OrderedDict)
    _waiting: OrderedDict[Key, deque[Key]] = field(default_factory=OrderedDict)
    """Spans that have not been seen, and the tool calls below them."""

    def add(self, nodes: list[SpanNode]) -> None:
        """Remember ``nodes``, and find their doubles among them and what is remembered."""
        for node in nodes:
            self._remember(node)
        lost = [key for node in nodes for key in self._waiting.pop(node.key, ())]
        calls = {node.key: node for node in nodes if node.group is not None}
        calls |= {key: found for key in lost if (found := self._nodes.get(key)) is not None}
        for node in sorted(calls.values(), key=lambda node: -node.end_ns):  # the last one's result is the outer's
            self._look_up(node)

    def node(self, key: Key) -> SpanNode | None:
        """What is remembered of a span."""
        return self._nodes.get(key)

    def depth(self, key: Key) -> int:
        """How many doubles stand around the span."""
        depth, node = 0, self._nodes.get(key)
        while node is not None and node.outer is not None and depth < _MAX_DEPTH:
            depth, node = depth + 1, self._nodes.get(node.outer)
        return depth

    def _remember(self, node: SpanNode) -> None:
        self._nodes.pop(node.key, None)
        self._nodes[node.key] = node
        if len(self._nodes) > self.capacity:
            self._nodes.popitem(last=False)

    def _look_up(self, node: SpanNode) -> None:
        """Find the tool call right above ``node``, and join it where both are the same."""
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
            if not above.through:
                return
            at = above.parent

    def _wait(self, missing: Key, key: Key) -> None:
        self._waiting.setdefault(missing, deque(maxlen=_MAX_NODES)).append(key)
        if len(self._waiting) > self.capacity:
            self._waiting.popitem(last=False)

    def _join(self, outer: SpanNode, inner: SpanNode) -> None:
        around, within = group_of(outer), group_of(inner)
        if around is within or around is None or within is None or not _same(around, within, remote=inner.remote):
            return
        if outer.layer == inner.layer and not _proven(around, within):
            return
        if outer.inner is not None and not around.ours:  # a retry inside one call
            within.call_id = within.call_id or around.call_id
            return
        if around.recorded is None or within.recorded is None:  # else both are written already
            outer.inner, inner.outer = inner.key, outer.key
            _unite(around, within)


def group_of(node: SpanNode | None) -> CallGroup | None:
    """The call that a span shows; None where it shows none."""
    group = None if node is None else node.group
    while group is not None and group.joined is not None:
        group.joined = group.joined.joined or group.joined  # a shorter way for the next who asks
        group = group.joined
    return group


def marks_of(arguments: Any) -> ArgumentDigests | None:
    """What arguments are compared by; None where they are not known by name."""
    if not isinstance(arguments, dict):
        return None
    data = orjson.loads(snapshot(arguments))  # type: ignore[arg-type]  # of a dict it is bytes
    return {key: blake2b(_bytes(value), digest_size=12).digest() for key, value in list(data.items())[:_MAX_NODES]}


def _bytes(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _same(around: CallGroup, within: CallGroup, *, remote: bool) -> bool:
    """Whether nothing that is known of the two differs."""
    if around.call_id is not None and within.call_id is not None:
        return around.call_id == within.call_id and _same_name(around.tool, within.tool, remote=remote)
    return _agree(around.arguments, within.arguments) and _same_name(around.tool, within.tool, remote=remote)


def _same_name(outer: str | None, inner: str | None, *, remote: bool) -> bool:
    """Whether both are names of one tool. An agent may know a server's tool with the server's name before it."""
    if outer is None or inner is None or outer == inner:
        return True
    return remote and outer.endswith(inner) and outer[: -len(inner)][-1:] in tuple(_JOINTS)


def _agree(around: ArgumentDigests | None, within: ArgumentDigests | None) -> bool:
    """Whether no argument differs. The inner may know more of them, or fewer: defaults, injected ones."""
    if not around or not within:
        return around is None or within is None or around == within
    common = around.keys() & within.keys()
    return bool(common) and all(around[key] == within[key] for key in common)


def _proven(around: CallGroup, within: CallGroup) -> bool:
    """Whether both say the same id, or the same arguments."""
    if around.call_id is not None and within.call_id is not None:
        return around.call_id == within.call_id
    return around.arguments is not None and around.arguments == within.arguments


def _unite(around: CallGroup, within: CallGroup) -> None:
    within.joined = around
    around.tool = around.tool or within.tool
    around.call_id = around.call_id or within.call_id
    around.arguments = within.arguments if around.arguments is None else around.arguments
    around.ours = around.ours or within.ours
    around.recorded = around.recorded or within.recorded
    around.attempt = around.attempt or within.attempt
