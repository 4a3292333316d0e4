"""What a tool returned or yielded, copied in its own thread for the thread that writes.

Here the rules of a user read the live object. A copy keeps no object of the tool alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tooltrace.core.response import ToolResponse, is_response
from tooltrace.normalize import ENVELOPES, RULES, Rule
from tooltrace.normalize.engine import apply_rules, apply_rules_to_view
from tooltrace.normalize.result_view import snapshot_result, view_of
from tooltrace.recording.lazy_results import HANDED_OVER, is_lazy
from tooltrace.recording.reading import (
    ResponseSnapshot,
    ValueSnapshot,
    decisive,
    of_stream,
    read_claims,
    snapshot_response,
)
from tooltrace.recording.retryable import with_retryable
from tooltrace.redact.snapshot import Snapshot, snapshot
from tooltrace.redact.texts import cut_text, utf8_size

if TYPE_CHECKING:
    from tooltrace.recording.attempt import Attempt

_NEVER_RESPONSES = frozenset({str, int, float, bool, type(None), dict, list, bytes})
"""Types that are never a ToolResponse nor a class that a rule reads.

Checked first, because ``isinstance`` on pydantic models is slow.
"""


def set_result(attempt: Attempt, result: Any) -> None:
    """Copy the tool's ``result`` into ``attempt``."""
    kind = type(result)
    is_plain_value = type(kind) is type and kind in _NEVER_RESPONSES  # a metaclass may define a __hash__
    if is_plain_value and attempt.rules is RULES:  # most results
        value = snapshot(result, attempt.settings.field_limit)
        attempt.result = ValueSnapshot(_cut_result(attempt, value) if kind is str else value)
    elif not is_plain_value and is_response(result):
        if attempt.spec.retryable and result.failure is not None:
            result, flags = with_retryable(result, attempt.spec.retryable)
            attempt.flags = (*attempt.flags, *flags)
        attempt.result = snapshot_response(result, attempt)
    elif attempt.rules is not RULES and (response := _apply_live_rules(result, attempt)) is not None:
        attempt.result = snapshot_response(response, attempt)
    elif is_plain_value:
        attempt.result = ValueSnapshot(_cut_result(attempt, snapshot(result, attempt.settings.field_limit)))
    else:
        value, kinds = snapshot_result(result, attempt.settings.field_limit)
        attempt.result = ValueSnapshot(_cut_result(attempt, value), kinds)
        if is_lazy(kind):  # what it will be is unknown
            attempt.ending, attempt.result = HANDED_OVER, None
            return
    if attempt.spec.confidence is not None or attempt.spec.sources is not None:
        _read_confidence_and_sources(attempt, result)


def set_stream_result(attempt: Attempt, last: Any, value: Any) -> None:
    """Copy what may state the outcome of a stream, whose items ``attempt`` already has.

    ``last``: the last item: a ToolResponse, a text, or a snapshot. ``value``: what the generator returned.
    """
    stream, items = attempt.stream, attempt.result
    assert stream is not None
    stated = decisive(end for end in (last, value) if is_response(end))
    if stated is not None:
        set_result(attempt, stated)
    else:
        _read_confidence_and_sources(attempt, None)
    ends: list[ValueSnapshot | ResponseSnapshot] = []
    for end in (last, value):
        if end is stated and isinstance(attempt.result, ResponseSnapshot):
            ends.append(attempt.result)
        elif type(end) is ValueSnapshot:
            ends.append(end)
        elif end is not None and not is_response(end):
            ends.append(ValueSnapshot(*snapshot_result(end, attempt.settings.field_limit)))
    attempt.stream = stream = replace(stream, ends=tuple(ends))
    if stated is None and attempt.rules is not RULES and _has_live_rule(attempt.rules):
        found = decisive(_read_live(end, attempt.rules) for end in (last, value, stream.text) if end is not None)
        if found is not None:
            attempt.result = of_stream(snapshot_response(found, attempt), attempt, items)


def _read_live(end: Any, rules: tuple[Rule, ...]) -> ToolResponse | None:
    """Return what ``rules``, some of them live, read from the end of a stream. The last item is a copy by now."""
    if type(end) is ValueSnapshot:
        return apply_rules_to_view(view_of(end.value, end.kinds), rules, depth=1)
    return apply_rules(end, rules)


def with_failed_value(response: ToolResponse, result: Any) -> ToolResponse:
    """Return ``response``, read from ``result``, with ``result`` as its data where it has only an error.

    For callers that let the rules read a result themselves: its record is that of :func:`set_result`.
    """
    if response.status != "error" or response.payload is not None or type(result) not in (dict, list):
        return response
    if response.meta.rule in ENVELOPES:
        return response
    return response.model_copy(update={"data": result})


def _apply_live_rules(result: Any, attempt: Attempt) -> ToolResponse | None:
    """Return the response that the rules read, where one of them is a user's rule, which reads the live object."""
    return apply_rules(result, attempt.rules) if _has_live_rule(attempt.rules) else None


def _has_live_rule(rules: tuple[Rule, ...]) -> bool:
    return any(rule.live for rule in rules)


def _cut_result(attempt: Attempt, value: Snapshot) -> Snapshot:
    """Return ``value``, without the rest of a text that no field could hold. Notes the full size in ``attempt``."""
    if type(value) is not str:
        return value
    kept = cut_text(value, attempt.settings.field_limit)
    if kept is not value:
        size = utf8_size(value)
        # the field ``result`` is JSON: the text in quotation marks
        attempt.full_sizes = {"text": size, "result": size + 2}
    return kept


def _read_confidence_and_sources(attempt: Attempt, result: Any) -> None:
    """Read confidence and sources from ``result``, with the functions or values that the decorator has."""
    attempt.confidence, attempt.sources, flags = read_claims(result, attempt.spec.confidence, attempt.spec.sources)
    attempt.flags = (*attempt.flags, *flags)
