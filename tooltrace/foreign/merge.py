"""One record of all the spans that show a call: each fact from the span that knows it best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tooltrace.foreign.build import NO_RESULT, Foreign
from tooltrace.foreign.dialects import CONSUMED
from tooltrace.foreign.failure import RULE, End, end_of
from tooltrace.foreign.sighting import TEXTS, Sighting
from tooltrace.foreign.spans import Origin, events_of, kept, links_of, number, origin_of
from tooltrace.otel import attributes as names
from tooltrace.otel.content import EVENTS
from tooltrace.response import is_response
from tooltrace.settings import Settings

SCOPE = "otel.scope.name"
"""OpenTelemetry's name for the instrumentation, where there is no field for it."""


def merged(members: Sequence[Sighting], settings: Settings, here: Origin) -> Foreign:
    """What ``members``, the outermost first, say of their call together. Ids, parent and times are the outermost's."""
    form = members[0].form
    told: dict[str, Any] = {name: _first(getattr(each, name) for each in members) for name in TEXTS}
    told["tool"] = told["tool"] or form.name or "unknown"
    end = _end([end_of(each, settings.rules) for each in members])
    trace = number(form.trace_id, 32)
    parent = None if not form.parent_span_id else number(form.parent_span_id, 16)
    return Foreign(
        **told,
        trace_id=trace,
        span_id=number(form.span_id, 16),
        parent_span_id=parent,
        started_ns=form.start_ns,
        duration_ns=form.end_ns - form.start_ns,
        arguments=_first(each.arguments for each in members),
        result=end.result,
        error=end.error,
        ending=end.ending,
        attributes=_attributes(members, settings),
        **origin_of(form, here)._asdict(),
    )


def _first(values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _end(ends: list[End]) -> End:
    """How the call ended. A failure that any of the spans saw is the call's, in the words of the one that says most of
    it, the innermost of equals; a result is the outermost's."""
    stopped = [end for end in ends if end.ending not in ("returned", "raised")]
    if stopped:
        return stopped[0]
    failed = sorted((end for end in ends if end.failed), key=lambda end: end.detail)
    if failed:
        return failed[-1]
    return next((end for end in ends if not _is_bare(end)), ends[0])


def _is_bare(end: End) -> bool:
    """Whether it says no more than that nothing failed."""
    return bool(end.result is NO_RESULT or (is_response(end.result) and end.result.meta.rule == RULE))


def _attributes(members: Sequence[Sighting], settings: Settings) -> dict[str, Any]:
    """What else the spans say; where two say different things, the outer's counts."""
    out: dict[str, Any] = {}
    for each in reversed(members):
        form = each.form
        if form.scope:
            out[SCOPE] = form.scope
        out |= {key: value for key, value in kept(form.attributes, settings).items() if key not in CONSUMED}
    events = [event for each in members for event in events_of(each.form, settings) if event["name"] != "exception"]
    links = [link for each in members for link in links_of(each.form, settings)]
    if events:
        out[EVENTS] = events
    if links:
        out["otel.links"] = links
    return {key: value for key, value in out.items() if key not in names.RESERVED}
