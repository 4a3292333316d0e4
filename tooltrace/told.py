"""What the model was told of a call, until it becomes a record in the background."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from tooltrace.capture import scrub
from tooltrace.record import Message
from tooltrace.settings import Settings
from tooltrace.sieve import Sieve
from tooltrace.spec import ToolSpec


@dataclass(frozen=True, slots=True)
class Told:
    """A message that the model was given; its text is not redacted yet."""

    settings: Settings
    spec: ToolSpec | None
    """The tool's, where this process called it."""
    call_id: str
    span_id: str | None
    text: str
    style: str
    error: bool
    at: datetime

    def record(self) -> Message:
        """Redacted whole, measured then, and cut last."""
        redactions = [self.settings.redaction]
        if self.spec is not None and self.spec.redact is not None:
            redactions.append(self.spec.redact)
        text = scrub(self.text)
        whole = Sieve(redactions, max(len(text), 1)).text("seen_text", text) or ""
        capture = (self.spec and self.spec.capture) or self.settings.capture
        return Message(
            call_id=self.call_id,
            span_id=self.span_id,
            style=self.style,
            text=whole[: self.settings.field_limit] if capture == "full" else None,
            sha256=sha256(whole.encode()).hexdigest(),
            length=len(whole),
            error=self.error,
            at=self.at,
        )
