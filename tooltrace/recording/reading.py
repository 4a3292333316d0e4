"""What a tool produced, copied when it ended, and the response that the rules read from it in the thread that writes."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tooltrace.core.codes import NextAction
from tooltrace.core.response import ErrorInfo, ResponseMeta, Source, Status, ToolResponse
from tooltrace.faults import pass_on_signal
from tooltrace.normalize import ENVELOPES, RULES
from tooltrace.normalize.engine import apply_rules_to_view
from tooltrace.normalize.protocols import value_error_pair
from tooltrace.normalize.result_view import view_of
from tooltrace.redact.snapshot import Snapshot, snapshot
from tooltrace.redact.texts import cut_text, utf8_size

if TYPE_CHECKING:
    from tooltrace.recording.attempt import Attempt


class ValueSnapshot(Struct, frozen=True, gc=False):
    """A result that no rule has read yet."""

    value: Snapshot
    """The result; for a stream, the JSON array of its items."""
    kinds: tuple[str, ...] = ()
    """Names of the result's class and of its bases."""


class ResponseSnapshot(Struct, frozen=True, gc=False):
    """A ToolResponse, with the parts that can still change as snapshots.

    The response itself is not stored, so that the caller can release it and its data.
    """

    status: Status
    code: str | None
    text: str
    reason: str | None
    explanation: str | None
    confidence: float | None
    next_action: NextAction | None
    next_action_advised: bool
    sources: tuple[Source, ...]
    failure: ErrorInfo | None
    meta: ResponseMeta
    payload: Snapshot = None
    stats: Snapshot = None
    context: Snapshot = None
    signals: Snapshot = None


class StreamSnapshot(Struct, frozen=True, gc=False):
    """The number, the times and the text of a stream's items."""

    items: int
    first_item_ns: int | None
    """Time in the tool until the first item; None where the stream had none."""
    consumer_ns: int
    """Time that the consumer of the stream used between the items."""
    text: str | None = None
    """Joined items, where all items are text."""
    size: int = 0
    """Size of all items, including those that were not stored."""
    ends: tuple[ValueSnapshot | ResponseSnapshot, ...] = ()
    """The last item and the value that the generator returned, which may state the outcome, in this order."""


def read_claims(result: Any, confidence: Any, sources: Any) -> tuple[Any, tuple[Source, ...] | None, tuple[str, ...]]:
    """Return the confidence and the sources of ``result``, and a flag for each that could not be read.

    ``confidence`` and ``sources`` are values, functions of the result, or None. The functions are the user's own, and
    may raise anything.
    """
    flags: list[str] = []
    found_confidence: Any = None
    found_sources: tuple[Source, ...] | None = None
    if confidence is not None:
        try:
            found_confidence = confidence(result) if callable(confidence) else confidence
        except BaseException as error:
            pass_on_signal(error)
            flags.append("confidence_failed")
    if sources is not None:
        try:
            found: Iterable[Any] = sources(result) if callable(sources) else sources
            found_sources = tuple(Source.model_validate(source) for source in found or ())
        except BaseException as error:
            pass_on_signal(error)
            flags.append("sources_failed")
    return found_confidence, found_sources, tuple(flags)


R = TypeVar("R", bound=ToolResponse | ResponseSnapshot)

_SEVERITY = {"error": 0, "partial": 1, "success": 2}
_UNCHANGING, _CHANGING = (
    itemgetter(*ResponseSnapshot.__struct_fields__[:-4]),
    itemgetter(*ResponseSnapshot.__struct_fields__[-4:]),
)


def read_response(attempt: Attempt) -> ResponseSnapshot | None:
    """Return the response of the ended ``attempt``: the tool's own, or what the rules read from its result or stream."""
    result = attempt.result
    if attempt.stream is not None and attempt.stream.items:
        return _read_stream(attempt, attempt.stream)
    if not isinstance(result, ValueSnapshot):
        return result
    if attempt.error is not None or attempt.ending != "returned" or result.value is None:
        return None
    response = _read(result, attempt)
    return None if response is None else with_value(snapshot_response(response, attempt), attempt)


def _read(result: ValueSnapshot, attempt: Attempt) -> ToolResponse | None:
    """Return what the rules read from ``result``."""
    value = result.value
    view = view_of(value, result.kinds)
    if (
        type(value) is bytes and attempt.rules is RULES and result is attempt.result
    ):  # a rule of a user may change the data
        attempt.parsed = value, view.data
    return apply_rules_to_view(view, attempt.rules) or value_error_pair.RULE.read(view)


def _read_stream(attempt: Attempt, stream: StreamSnapshot) -> ResponseSnapshot | None:
    """Return what the last item, the returned value and the joined text of ``stream`` state about its outcome."""
    result = attempt.result
    if attempt.error is not None or attempt.ending != "returned":
        return None
    if isinstance(result, ResponseSnapshot) and (result.status == "error" or result not in stream.ends):
        return result
    ends = stream.ends if stream.text is None else (*stream.ends, ValueSnapshot(stream.text))
    readings: list[ToolResponse | ResponseSnapshot | None] = [
        _read(end, attempt) if isinstance(end, ValueSnapshot) else end for end in ends
    ]
    found = decisive(readings)
    if isinstance(found, ToolResponse):
        return of_stream(snapshot_response(found, attempt), attempt, result)
    return found


def decisive(readings: Iterable[R | None]) -> R | None:
    """Return the first of ``readings`` that is an error, else the first partial one, else the first."""
    found = [reading for reading in readings if reading is not None]
    return min(found, key=lambda reading: _SEVERITY[reading.status], default=None)


def of_stream(
    response: ResponseSnapshot, attempt: Attempt, items: ValueSnapshot | ResponseSnapshot | None
) -> ResponseSnapshot:
    """Return ``response``, read from the end of a stream, with the text and the ``items`` of the whole stream."""
    text = None if attempt.stream is None else attempt.stream.text
    return replace(
        response,
        text=response.text if text is None else text,
        payload=items.value if isinstance(items, ValueSnapshot) and attempt.captures_content else response.payload,
    )


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
