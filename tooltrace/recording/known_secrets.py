"""Secrets that an attempt removed from one field: they are removed from its other fields, its attempts and its children.

A child's record may be made before that of the attempt around it, whose arguments are then searched for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from tooltrace.core.begun import Begun
from tooltrace.core.lru import LruMap
from tooltrace.core.record_redaction import remove_known
from tooltrace.core.records import ToolCall
from tooltrace.redact.known_values import MAX_VALUES, KnownValues, removed_values
from tooltrace.redact.snapshot import split_cut

if TYPE_CHECKING:
    from tooltrace.recording.attempt import Attempt
    from tooltrace.redact.sanitizer import Sanitizer

Secrets = frozenset[str]
NOTHING: Final[Secrets] = frozenset()
_MAX_DEPTH: Final = 32
"""Maximum number of attempts around an attempt whose arguments are searched."""

_by_span: LruMap[Secrets] = LruMap(1000)
"""Secrets of attempts by span id, for messages to the model about them."""
_by_call: LruMap[Secrets] = LruMap(1000)
"""Secrets of the attempts of calls, for further attempts; few, because they are kept in memory as they are."""


def remove_secrets(attempt: Attempt, sanitizer: Sanitizer, fields: dict[str, Any]) -> None:
    """Remove the secrets known of ``attempt``, of the attempts before it and of those around it from its ``fields``."""
    hidden = NOTHING if attempt.captures_content else _in_arguments(attempt)
    if attempt.around is None and attempt.use is None and not sanitizer.removed and not hidden:  # most attempts
        attempt.secrets = NOTHING
        return
    found = _around(attempt).union(sanitizer.removed, hidden)
    known = _with_earlier(attempt, found)
    if known and attempt.use is not None:
        _by_call.put(attempt.use, known)
    attempt.secrets, attempt.around = known, None
    if not known:
        return
    values = KnownValues(known)
    _by_span.put(attempt.hex_id, known)
    if remove_known(ToolCall, fields, values):
        sanitizer.redacted = True
    if attempt.has_user_events:
        attempt.redact_events(lambda found: _without(found, values), values.removed_from)


def remove_secrets_of_running(attempt: Attempt, sanitizer: Sanitizer, fields: dict[str, Any]) -> None:
    """Remove the same from ``fields`` of the record of ``attempt``, which runs."""
    hidden = NOTHING if attempt.captures_content else _in_arguments(attempt)
    known = _with_earlier(attempt, _around(attempt).union(sanitizer.removed, hidden))
    if known and remove_known(Begun, fields, KnownValues(known)):
        sanitizer.redacted = True


def _with_earlier(attempt: Attempt, known: Secrets) -> Secrets:
    """Return ``known`` with the secrets of the earlier attempts of the call."""
    earlier = None if attempt.use is None else _by_call.get(attempt.use)
    return known if earlier is None or len(known) >= MAX_VALUES else known | earlier


def without_secrets(span_id: str | None, text: str) -> str:
    """Return ``text``, a message about the attempt ``span_id``, without the secrets known of it."""
    known = None if span_id is None else _by_span.get(span_id)
    return text if known is None else KnownValues(known).removed_from(text)


def _around(attempt: Attempt) -> Secrets:
    """Return the secrets known of the attempts around ``attempt``."""
    chain: list[Attempt] = []
    around = attempt.around
    while around is not None and around.secrets is None and len(chain) < _MAX_DEPTH:
        chain.append(around)
        around = around.around
    known = NOTHING if around is None or around.secrets is None else around.secrets
    for each in reversed(chain):
        each.secrets = known = known | _in_arguments(each)
    return known


def _in_arguments(attempt: Attempt) -> Secrets:
    if type(attempt.arguments) is not bytes:
        return NOTHING
    raw = split_cut(attempt.arguments)[0]
    redactions = (attempt.settings.redaction, *(() if attempt.spec.redact is None else (attempt.spec.redact,)))
    if all(redaction.may_skip(raw.decode()) for redaction in redactions):
        return NOTHING
    data = orjson.loads(raw)
    # by the rules alone: a function of the user gets each field once
    return frozenset(found for each in redactions for found in removed_values(data, each.redact_value(data)))


def _without(values: dict[str, Any], known: KnownValues) -> dict[str, Any]:
    return {name: known.removed_from(value) if isinstance(value, str) else value for name, value in values.items()}
