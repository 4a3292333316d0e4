"""Messages to the model about a call, before the background thread turns them into records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from tooltrace.core.lru import LruMap
from tooltrace.core.records import Message, ToolCall
from tooltrace.normalize import Rule
from tooltrace.normalize.engine import apply_rules
from tooltrace.recording.known_secrets import without_secrets
from tooltrace.recording.settings import Settings
from tooltrace.recording.token_count import count_tokens
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.redact.texts import fix_unicode

NOT_RUN = frozenset({"paused", "declined", "expired"})
"""Endings of an attempt in which the tool was not executed and therefore cannot have failed."""
MAX_REMEMBERED_CHARS = 1_000
"""Number of characters of an error's message that are remembered, to search for them in messages to the model."""
_DISTINCTIVE_CHARS = 20
"""Minimum length of an error text that counts wherever it occurs, even inside longer words.

A text of this length does not occur by chance.
"""
_MIN_BYTES = 3
"""Minimum bytes of an error text to search for: a shorter one occurs in almost any text."""


class AttemptOutcome(NamedTuple):
    """The outcome of an attempt, as far as it matters for a message to the model."""

    ran: bool
    message: str = ""
    code: str = ""

    @property
    def failure(self) -> tuple[str, ...]:
        """Message and code of the error, those that are not empty, with single spaces."""
        return tuple(filter(None, (" ".join(part.split()) for part in (self.message, self.code))))


_outcomes: LruMap[AttemptOutcome] = LruMap(5_000)
"""Latest attempts of this process that failed or were not run, by span id."""


def remember_attempt(call: ToolCall) -> None:
    """Remember the outcome of ``call`` if it failed, was refused or was not run, for a later message to the model."""
    if call.ending in NOT_RUN:
        _outcomes.put(call.span_id, AttemptOutcome(ran=False))
    elif call.status == "error" or call.ending == "refused":
        message, code = (call.error_message or "")[:MAX_REMEMBERED_CHARS], (call.code or "")[:MAX_REMEMBERED_CHARS]
        _outcomes.put(call.span_id, AttemptOutcome(ran=True, message=message, code=code))


def has_failed(span_id: str) -> bool:
    """Whether the attempt ``span_id`` of this process, whose record was made, failed or was refused."""
    outcome = _outcomes.get(span_id)
    return outcome is not None and outcome.ran


def reports_error(text: str, rules: Sequence[Rule], failure: Sequence[str] = ()) -> bool:
    """Whether ``text`` reports an error to its reader.

    True where ``text`` repeats the ``failure`` of the attempt (message and code of the error), or where ``rules`` read
    ``text`` itself as an error.
    """
    if repeats_failure(text, failure):
        return True
    response = apply_rules(text, rules)
    return response is not None and response.status == "error"


def repeats_failure(text: str, failure: Sequence[str]) -> bool:
    """Whether ``text`` contains an entry of ``failure``, or is the beginning of one."""
    normalized = " ".join(text.split())
    return any(_contains(normalized, part) for part in failure)


def _contains(text: str, part: str) -> bool:
    """Whether ``text`` contains ``part``, or is the beginning of it.

    A short ``part`` counts only as a separate word.
    """
    if text == part or (len(text) >= _DISTINCTIVE_CHARS and part.startswith(text)):
        return True
    if len(part) >= _DISTINCTIVE_CHARS:
        return part in text
    if len(part.encode()) < _MIN_BYTES or not any(map(str.isalpha, part)):
        return False
    before, after = (r"\b" if re.match(r"\w", end, re.ASCII) else "" for end in (part[0], part[-1]))
    return re.search(before + re.escape(part) + after, text, re.ASCII) is not None


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """A message that the model received; its text is not redacted yet."""

    settings: Settings
    spec: ToolSpec | None
    """Spec of the tool, where this process called it."""
    call_id: str
    span_id: str | None
    text: str
    style: str
    error: bool | None
    """Whether the message reports an error; None: decided from the text."""
    at: datetime

    def record(self) -> Message:
        """Return the record of the message.

        The whole text is redacted first, then measured and hashed, and cut last: a secret at the limit would otherwise
        be cut in two and missed.
        """
        redactions = [self.settings.redaction]
        if self.spec is not None and self.spec.redact is not None:
            redactions.append(self.spec.redact)
        text = fix_unicode(self.text)
        safe = Sanitizer(redactions, max(len(text), 1)).sanitize_text("seen_text", text) or ""
        safe = without_secrets(self.span_id, safe)
        capture = (self.spec and self.spec.capture) or self.settings.capture
        names = Sanitizer(redactions, self.settings.field_limit)
        return Message(
            call_id=names.sanitize_name("call_id", self.call_id),
            span_id=self.span_id,
            style=names.sanitize_name("style", self.style),
            text=safe[: self.settings.field_limit] if capture == "full" else None,
            sha256=sha256(safe.encode()).hexdigest(),
            length=len(safe),
            error=self._is_error_message(text, safe) if self.error is None else self.error,
            at=self.at,
            tokens=count_tokens(self.settings.tokens, safe),
        )

    def _is_error_message(self, text: str, safe: str) -> bool:
        """Whether ``text`` reports an error.

        ``safe``: the redacted ``text``. Needed because the remembered errors are redacted too.
        """
        outcome = None if self.span_id is None else _outcomes.get(self.span_id)
        if outcome is not None and not outcome.ran:
            return False
        failure = () if outcome is None else outcome.failure
        rules = self.settings.rules if self.spec is None or self.spec.rules is None else self.spec.rules
        return repeats_failure(safe, failure) or reports_error(text, rules, failure)
