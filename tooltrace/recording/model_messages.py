"""What the model was told of a call, until it becomes a record in the background."""

from __future__ import annotations

import os
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
from tooltrace.recording.settings import Settings
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.redact.snapshot import fix_unicode

NOT_RUN = frozenset({"paused", "declined", "expired"})
"""Endings of an attempt in which the tool was not executed, and so cannot have failed."""
REMEMBERED_CHARS = 1_000
"""How many characters of an error's message are remembered, to find them in what the model is told."""
_DISTINCTIVE_CHARS = 20
"""From so many characters on, a message stands in a text by no chance, be it inside longer words."""
_MIN_BYTES = 3
"""Bytes; what is shorter stands in any text."""


class AttemptOutcome(NamedTuple):
    """What came of an attempt, as far as a message can tell of it."""

    ran: bool
    failure: tuple[str, ...] = ()
    """The error's message and code."""


_ended: LruMap[AttemptOutcome] = LruMap(5_000)
"""The attempts of this process that failed lately, or were not run; by span."""

os.register_at_fork(after_in_child=_ended.reset_after_fork)


def remember_attempt(call: ToolCall) -> None:
    """The model will be told of ``call``, perhaps."""
    if call.ending in NOT_RUN:
        _ended.put(call.span_id, AttemptOutcome(ran=False))
    elif call.status == "error":
        words = (" ".join((said or "")[:REMEMBERED_CHARS].split()) for said in (call.error_message, call.code))
        _ended.put(call.span_id, AttemptOutcome(ran=True, failure=tuple(filter(None, words))))


def tells_error(text: str, rules: Sequence[Rule], failure: Sequence[str] = ()) -> bool:
    """Whether ``text`` tells its reader of an error: it repeats the ``failure`` of the attempt, which is the error's
    message and its code, or ``rules`` read it as an error by itself."""
    if repeats_failure(text, failure):
        return True
    found = apply_rules(text, rules)
    return found is not None and found.status == "error"


def repeats_failure(text: str, failure: Sequence[str]) -> bool:
    """Whether ``text`` says what went wrong, in its own words or their beginning."""
    words = " ".join(text.split())
    return any(_contains(words, said) for said in failure)


def _contains(text: str, said: str) -> bool:
    """Whether ``said`` stands in ``text``; what is short, as a word of its own."""
    if text == said or (len(text) >= _DISTINCTIVE_CHARS and said.startswith(text)):
        return True
    if len(said) >= _DISTINCTIVE_CHARS:
        return said in text
    if len(said.encode()) < _MIN_BYTES or not any(map(str.isalpha, said)):
        return False
    before, after = (r"\b" if re.match(r"\w", end, re.ASCII) else "" for end in (said[0], said[-1]))
    return re.search(before + re.escape(said) + after, text, re.ASCII) is not None


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """A message that the model was given; its text is not redacted yet."""

    settings: Settings
    spec: ToolSpec | None
    """The tool's, where this process called it."""
    call_id: str
    span_id: str | None
    text: str
    style: str
    error: bool | None
    """Whether it tells of an error; None: it is to be found out from the text."""
    at: datetime

    def record(self) -> Message:
        """Redacted whole, measured then, and cut last."""
        redactions = [self.settings.redaction]
        if self.spec is not None and self.spec.redact is not None:
            redactions.append(self.spec.redact)
        text = fix_unicode(self.text)
        whole = Sanitizer(redactions, max(len(text), 1)).sanitize_text("seen_text", text) or ""
        capture = (self.spec and self.spec.capture) or self.settings.capture
        return Message(
            call_id=self.call_id,
            span_id=self.span_id,
            style=self.style,
            text=whole[: self.settings.field_limit] if capture == "full" else None,
            sha256=sha256(whole.encode()).hexdigest(),
            length=len(whole),
            error=self._is_error_message(text, whole) if self.error is None else self.error,
            at=self.at,
        )

    def _is_error_message(self, text: str, whole: str) -> bool:
        """Whether ``text`` tells of an error; ``whole`` is the same, redacted, as is what is remembered of errors."""
        ended = None if self.span_id is None else _ended.get(self.span_id)
        if ended is not None and not ended.ran:
            return False
        failure = () if ended is None else ended.failure
        rules = self.settings.rules if self.spec is None or self.spec.rules is None else self.spec.rules
        return repeats_failure(whole, failure) or tells_error(text, rules, failure)
