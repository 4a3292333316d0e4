"""The response that the rules read from a recorded result, in the thread that writes."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tooltrace.core.response import ToolResponse
from tooltrace.normalize import ENVELOPES, RULES
from tooltrace.normalize.engine import apply_rules_to_view, index_of
from tooltrace.normalize.protocols import value_error_pair
from tooltrace.normalize.result_view import view_of
from tooltrace.recording.snapshots import ResponseSnapshot, ValueSnapshot
from tooltrace.redact.snapshot import snapshot
from tooltrace.redact.texts import cut_text, utf8_size

if TYPE_CHECKING:
    from tooltrace.recording.attempt import Attempt

_UNCHANGING, _CHANGING = (
    itemgetter(*ResponseSnapshot.__struct_fields__[:-4]),
    itemgetter(*ResponseSnapshot.__struct_fields__[-4:]),
)


def read_response(attempt: Attempt) -> ResponseSnapshot | None:
    """Return the response of the ended ``attempt``: the tool's own, or what the rules read from its result or stream text."""
    result = attempt.result
    if not isinstance(result, ValueSnapshot):
        return result
    if attempt.error is not None or attempt.ending != "returned":
        return None
    value = result.value if attempt.stream is None else attempt.stream.text
    if value is None:
        return None
    if not result.kinds:  # most results: the quick test is made here, because each call of a function counts
        index = index_of(attempt.rules)
        if type(value) is bytes:
            may_recognise = index.may_recognise(value)
        else:
            may_recognise = index.may_recognise_text(value) if type(value) is str else index.reads_any
        if not may_recognise:
            return None
    view = view_of(value, result.kinds)
    if type(value) is bytes and attempt.rules is RULES:  # a rule of a user may change the data
        attempt.parsed = value, view.data
    response = apply_rules_to_view(view, attempt.rules) or value_error_pair.RULE.read(view)
    return None if response is None else with_value(snapshot_response(response, attempt), attempt)


def snapshot_response(response: ToolResponse, attempt: Attempt) -> ResponseSnapshot:
    """Return a snapshot of ``response``; its content only where ``attempt`` captures content. Notes sizes of cut texts."""
    fields, limit = vars(response), attempt.settings.field_limit
    unchanging = _UNCHANGING(fields)
    if not attempt.captures_content:
        return ResponseSnapshot(*unchanging)
    taken = ResponseSnapshot(
        *unchanging, *[None if part is None else snapshot(part, limit) for part in _CHANGING(fields)]
    )
    text = cut_text(taken.text, limit)
    data = cut_text(taken.payload, limit) if type(taken.payload) is str else taken.payload
    if text is taken.text and data is taken.payload:
        return taken
    sizes = {"text": utf8_size(taken.text)} if text is not taken.text else {}
    if type(taken.payload) is str and data is not taken.payload:
        sizes["result"] = utf8_size(taken.payload) + 2
    attempt.full_sizes = sizes
    return replace(taken, text=text, payload=data)


def with_value(response: ResponseSnapshot, attempt: Attempt) -> ResponseSnapshot:
    """Return ``response`` with the plain result as its data where a rule found only an error in that result."""
    result = attempt.result
    if response.payload is not None or response.status != "error" or not isinstance(result, ValueSnapshot):
        return response
    if result.kinds or type(result.value) is not bytes or response.meta.rule in ENVELOPES:
        return response
    return replace(response, payload=result.value)
