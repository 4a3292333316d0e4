"""Counts of tokens by the application's own function, in the recorder's thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tooltrace.faults import suppress_faults

if TYPE_CHECKING:
    from tooltrace.recording.settings import CountTokens


def count_tokens(count: CountTokens | None, text: str | None) -> int | None:
    """Return the tokens of ``text`` by ``count``; None where there is no function or no text, or the function fails."""
    if count is None or text is None:
        return None
    with suppress_faults("count the tokens of"):
        tokens = count(text)
        if isinstance(tokens, bool) or not isinstance(tokens, int) or not 0 <= tokens < 2**63:
            raise TypeError(f"tokens= must return a whole number of at least 0; got {type(tokens).__name__}")
        return tokens
    return None


def result_text(fields: Mapping[str, Any]) -> str | None:
    """Return the text that a model reads as the result of a record, where nothing recorded the message itself.

    ``fields``: the fields of the record. A message has the error first, then the text, or the data where there is no text.
    """
    error = fields.get("error_message") if fields.get("status") == "error" else None
    parts = [part for part in (error, fields.get("text") or fields.get("result")) if part is not None]
    return "\n".join(parts) if parts else None
