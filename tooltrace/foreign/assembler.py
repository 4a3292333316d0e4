"""Spans of any library as records: those that show a tool call as that call, once; all others as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from threading import RLock

from tooltrace.foreign import merge
from tooltrace.foreign.build import build
from tooltrace.foreign.dialects import AROUND, sighted
from tooltrace.foreign.dialects.mcp import NAME as MCP
from tooltrace.foreign.doubles import Doubles, Group, Node, group_of, marks_of
from tooltrace.foreign.own import is_ours, recovered
from tooltrace.foreign.sighting import Key, Sighting
from tooltrace.foreign.spans import Origin, span_of
from tooltrace.otel.form import SpanForm
from tooltrace.record import Span, ToolCall
from tooltrace.settings import Settings
from tooltrace.surroundings import AttemptCounter

TOGETHER = 4096
"""Spans that are looked at together: far fewer than are remembered."""
NOWHERE = Origin()
"""Nobody knows who made a span whose resource does not say."""


class Assembler:
    """Makes records of spans, in batches of any size; what belongs to a call that an earlier batch had is recognised.

    ``here``: who made the spans whose resource does not say.
    """

    def __init__(self, settings: Settings, here: Origin = NOWHERE) -> None:
        self.settings = settings
        self.here = here
        self._doubles = Doubles()
        self._attempts = AttemptCounter(20_000)
        self._lock = RLock()

    def after_fork(self) -> None:
        """In a forked child: another thread of the parent may have held the locks."""
        self._lock = RLock()
        self._attempts.after_fork()

    def take(self, forms: Sequence[SpanForm]) -> list[ToolCall | Span]:
        """A record for each span of ``forms``, in their order; a span that comes twice has one. Never raises.

        Of the spans that show one call one becomes the ``ToolCall``: tooltrace's own, else the outermost, with what the
        others know better; else, where an earlier batch had one of them, none. The others are kept as ``Span``.
        """
        once = list({_key(form): form for form in forms}.values())
        with self._lock:
            rounds = range(0, len(once), TOGETHER)
            return [record for start in rounds for record in self._take(once[start : start + TOGETHER])]

    def know(self, forms: Iterable[SpanForm]) -> None:
        """Spans that need no record: those of this process's own recorder, and what merely stands between calls."""
        with self._lock:
            nodes = [self._node(form, sighted(form), ours=is_ours(form)) for form in forms]
            self._doubles.add(nodes)
            for node in nodes:
                group = group_of(node)
                if group is not None and group.ours:
                    group.recorded = node.key

    def _take(self, forms: list[SpanForm]) -> list[ToolCall | Span]:
        own = {_key(form): call for form in forms if is_ours(form) and (call := recovered(form, self.settings))}
        seen = {_key(form): found for form in forms if (found := sighted(form)) is not None}
        self._doubles.add([self._node(form, seen.get(_key(form)), ours=_key(form) in own) for form in forms])
        calls: dict[Key, ToolCall] = dict(own)
        for group, members in self._groups(seen, own).items():
            call = self._call(group, members)
            if call is not None:
                calls[group.recorded or members[0].key] = call
        return [calls.get(_key(form)) or span_of(form, self.settings, self.here) for form in forms]

    def _node(self, form: SpanForm, seen: Sighting | None, *, ours: bool) -> Node:
        """What is remembered of ``form``; a span that comes again is what it was."""
        key = _key(form)
        known = self._doubles.node(key)
        if known is not None and (known.group is None) == (seen is None):
            return known
        parent = (form.trace_id, form.parent_span_id) if form.parent_span_id else None
        node = Node(key, parent, end_ns=form.end_ns)
        if seen is None:
            node.through = not any(name in form.attributes for name in AROUND)
        else:
            node.group = Group(seen.tool, seen.call_id, marks_of(seen.arguments), ours=ours)
            node.remote = MCP in seen.dialects
            node.layer = (form.scope, form.kind, *seen.dialects)
        return node

    def _groups(self, seen: dict[Key, Sighting], own: Iterable[Key]) -> dict[Group, list[Sighting]]:
        """The calls that are seen, each with the spans that show it, the outermost first."""
        groups: dict[Group, list[Sighting]] = {}
        for key, each in seen.items():
            group = group_of(self._doubles.node(key))
            if group is None:
                continue
            if key in own:
                group.recorded = key
            groups.setdefault(group, []).append(each)
        for members in groups.values():
            members.sort(key=lambda member: self._doubles.depth(member.key))
        return dict(
            sorted(groups.items(), key=lambda item: item[1][0].form.end_ns)
        )  # a retry ends after what it retries

    def _call(self, group: Group, members: list[Sighting]) -> ToolCall | None:
        """The record of one call; None where it is made already, or is another's to make."""
        if group.ours:
            return None
        if group.recorded is None:
            group.recorded = members[0].key
        if group.recorded not in {each.key for each in members}:
            return None
        foreign = merge.merged(members, self.settings, self.here)
        call_id = foreign.call_id or group.call_id
        if call_id is not None and group.attempt is None:
            group.attempt = self._attempts.next((foreign.trace_id, foreign.tool, call_id))
        return build(replace(foreign, call_id=call_id, attempt=group.attempt or 1), self.settings)


def _key(form: SpanForm) -> Key:
    return form.trace_id, form.span_id
