"""Conversion of spans to records: spans that show one tool call become that call, all others stay spans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any

from tooltrace.core import forking
from tooltrace.core.records import Span, ToolCall
from tooltrace.core.response import is_response
from tooltrace.ingest.call_builder import NO_RESULT, ExternalCall, begin_attempt, build_call
from tooltrace.ingest.spans.conventions.base import TEXTS, Key, SpanToolCall
from tooltrace.ingest.spans.conventions.detect import ENCLOSING, consumed, parse_tool_call
from tooltrace.ingest.spans.conventions.enclosing import stated_context
from tooltrace.ingest.spans.conventions.mcp import NAME as MCP
from tooltrace.ingest.spans.conventions.semconv_genai import CONTENT_EVENTS
from tooltrace.ingest.spans.deduplication import CallGroup, SpanDeduplicator, SpanNode, digests_of, group_of
from tooltrace.ingest.spans.native import decode_native, is_native
from tooltrace.ingest.spans.outcome import RULE, CallOutcome, outcome_of
from tooltrace.ingest.spans.span_records import (
    SpanOrigin,
    allowed_attributes,
    events_of,
    links_of,
    origin_of,
    parse_id,
    to_span_record,
)
from tooltrace.otel import attributes as names
from tooltrace.otel.content_policy import EVENTS
from tooltrace.otel.span_data import SpanData
from tooltrace.recording.call_numbers import CallNumbers
from tooltrace.recording.settings import Settings

READ_EVENTS = CONTENT_EVENTS | {"exception"}
"""Events that fields of the record cover."""
SCOPE = "otel.scope.name"
"""OpenTelemetry's attribute for the instrumentation's name, where a record has no field for it."""


def merge_group(members: Sequence[SpanToolCall], settings: Settings, here: SpanOrigin) -> ExternalCall:
    """Return one call from ``members``, the spans that show it, outermost first.

    Ids, parent and times are those of the outermost span.
    """
    form = members[0].form
    fields: dict[str, Any] = {name: _first(getattr(each, name) for each in members) for name in TEXTS}
    fields["tool"] = fields["tool"] or form.name or "unknown"
    end = _end([outcome_of(each, settings.rules) for each in members])
    trace = parse_id(form.trace_id, 32)
    parent = None if not form.parent_span_id else parse_id(form.parent_span_id, 16)
    return ExternalCall(
        **fields,
        trace_id=trace,
        span_id=parse_id(form.span_id, 16),
        parent_span_id=parent,
        started_ns=form.start_ns,
        duration_ns=form.duration_ns,
        arguments=_first(each.arguments for each in members),
        result=end.result,
        error=end.error,
        ending=end.ending,
        attributes=_attributes(members, settings),
        **origin_of(form, here)._asdict(),
    )


def _first(values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _end(ends: list[CallOutcome]) -> CallOutcome:
    """Return the outcome of the call from the outcomes of its spans, outermost first.

    A pause, cancellation or other such ending of the outermost span that has one decides. Otherwise the call failed if
    any span failed, with the error of the most detailed span, the innermost among equals. Otherwise the result is that
    of the outermost span that has one.
    """
    stopped = [end for end in ends if end.ending not in ("returned", "raised", None)]
    if stopped:
        return stopped[0]
    failed = sorted((end for end in ends if end.failed), key=lambda end: end.detail)
    if failed:
        return failed[-1]
    return next((end for end in ends if not _is_bare(end)), ends[0])


def _is_bare(end: CallOutcome) -> bool:
    """Whether ``end`` reports only that nothing failed."""
    return bool(end.result is NO_RESULT or (is_response(end.result) and end.result.meta.rule == RULE))


def _attributes(members: Sequence[SpanToolCall], settings: Settings) -> dict[str, Any]:
    """Return the remaining attributes of the spans; where two spans differ, the outer one takes precedence."""
    out: dict[str, Any] = {}
    # Innermost first, so that the outer spans overwrite.
    for each in reversed(members):
        form = each.form
        if form.scope:
            out[SCOPE] = form.scope
        out |= {
            key: value
            for key, value in allowed_attributes(form.attributes, settings).items()
            if key not in consumed(each)
        }
    events = [event for each in members for event in events_of(each.form, settings) if event["name"] not in READ_EVENTS]
    links = [link for each in members for link in links_of(each.form, settings)]
    if events:
        out[EVENTS] = events
    if links:
        out["otel.links"] = links
    return {key: value for key, value in out.items() if key not in names.RESERVED}


BATCH_SIZE = 4096
"""Spans examined together: far fewer than the deduplicator remembers."""
NO_PARENTS: Mapping[str, str] = {}
UNKNOWN_ORIGIN = SpanOrigin()
"""Unknown origin, for a span whose resource does not name one."""


class Assembler:
    """Converter of spans to records, in batches of any size.

    It recognises spans of a call that was in an earlier batch. ``here`` is the origin of spans whose resource does not
    name one. Thread-safe.
    """

    def __init__(self, settings: Settings, here: SpanOrigin = UNKNOWN_ORIGIN) -> None:
        self.settings = settings
        self.here = here
        self._doubles = SpanDeduplicator()
        self._numbers = CallNumbers(20_000)
        self._lock = RLock()
        forking.register(self)

    def reset_after_fork(self) -> None:
        """Replace the lock in a forked child: another thread of the parent may have held it."""
        self._lock = RLock()

    def convert(self, forms: Sequence[SpanData], inside: Mapping[str, str] = NO_PARENTS) -> list[ToolCall | Span]:
        """Return a record for each span of ``forms``, in their order; a repeated span has one record. Never raises.

        Of the spans that show one call, one becomes the ``ToolCall``: tooltrace's own span, otherwise the outermost,
        completed from the others. If an earlier batch already had that call's record, none does. The other spans become
        ``Span`` records. ``inside``: the id of the span around a span, by its id, where that is not the span's parent.
        """
        # A retry of the sender repeats spans: the last form counts, at the place of the first.
        once = list({_key(form): form for form in forms}.values())
        with self._lock:
            rounds = range(0, len(once), BATCH_SIZE)
            return [record for start in rounds for record in self._convert(once[start : start + BATCH_SIZE], inside)]

    def know(self, forms: Iterable[SpanData]) -> None:
        """Register spans that need no record: those of this process's recorder, and those between calls."""
        with self._lock:
            nodes = [self._node(form, parse_tool_call(form), native=is_native(form)) for form in forms]
            self._doubles.add(nodes)
            for node in nodes:
                group = group_of(node)
                if group is not None and group.is_native:
                    group.recorded = node.key

    def _convert(self, forms: list[SpanData], inside: Mapping[str, str]) -> list[ToolCall | Span]:
        native = {
            _key(form): call for form in forms if is_native(form) and (call := decode_native(form, self.settings))
        }
        parsed = {_key(form): found for form in forms if (found := parse_tool_call(form)) is not None}
        self._doubles.add(
            [
                self._node(form, parsed.get(_key(form)), native=_key(form) in native, inside=inside.get(form.span_id))
                for form in forms
            ]
        )
        calls: dict[Key, ToolCall] = dict(native)
        for group, members in self._groups(parsed, native).items():
            call = self._call(group, members)
            if call is not None:
                calls[group.recorded or members[0].key] = call
        return [calls.get(_key(form)) or to_span_record(form, self.settings, self.here) for form in forms]

    def _node(
        self, form: SpanData, parsed: SpanToolCall | None, *, native: bool, inside: str | None = None
    ) -> SpanNode:
        """Return the node of ``form``; a repeated span keeps its node.

        It has a new node if only one of the two spans shows a tool call.
        """
        key = _key(form)
        known = self._doubles.node(key)
        stated = stated_context(form.attributes)
        # A repeated span must keep its group, because its record may be written already.
        if known is not None and (known.group is None) == (parsed is None):
            known.context = stated.completed(known.context)
            return known
        around = inside or form.parent_span_id
        parent = (form.trace_id, around) if around else None
        node = SpanNode(key, parent, end_ns=form.end_ns, context=stated)
        if parsed is None:
            node.through = not any(name in form.attributes for name in ENCLOSING)
        else:
            node.group = CallGroup(parsed.tool, parsed.call_id, digests_of(parsed.arguments), is_native=native)
            node.remote = MCP in parsed.conventions
            node.layer = (form.scope, form.kind, *parsed.conventions)
        return node

    def _groups(self, parsed: dict[Key, SpanToolCall], native: Iterable[Key]) -> dict[CallGroup, list[SpanToolCall]]:
        """Return the calls that the spans show, each with its spans, outermost first."""
        groups: dict[CallGroup, list[SpanToolCall]] = {}
        for key, each in parsed.items():
            group = group_of(self._doubles.node(key))
            if group is None:
                continue
            if key in native:
                group.recorded = key
            groups.setdefault(group, []).append(each)
        for members in groups.values():
            members.sort(key=lambda member: self._doubles.depth(member.key))
        # Attempts are numbered in this order: a retry ends later.
        return dict(sorted(groups.items(), key=lambda item: item[1][0].form.end_ns))

    def _call(self, group: CallGroup, members: list[SpanToolCall]) -> ToolCall | None:
        """Return the record of one call; None if another span, or tooltrace's own recorder, has the record."""
        if group.is_native:
            return None
        if group.recorded is None:
            group.recorded = members[0].key
        # A span outside this batch has the record: a second one would be a second row of the same call.
        if group.recorded not in {each.key for each in members}:
            return None
        external = merge_group(members, self.settings, self.here)
        if None in (external.agent, external.conversation_id, external.model):
            around = self._doubles.enclosing_context(members[0].key)
            external = replace(
                external,
                agent=external.agent or around.agent,
                conversation_id=external.conversation_id or around.conversation,
                model=external.model or around.model,
            )
        call_id = external.call_id or group.call_id
        external = replace(external, call_id=call_id)
        if call_id is not None and group.use is None:
            group.use, group.attempt = begin_attempt(external, self._numbers)
        return build_call(replace(external, use=group.use, attempt=group.attempt), self.settings)


def _key(form: SpanData) -> Key:
    return form.trace_id, form.span_id
