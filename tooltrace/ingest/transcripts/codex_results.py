"""How a call of Codex ended, by the words of its result, and the result as the rules read it."""

from __future__ import annotations

import re
from typing import Any, Final

from tooltrace.ingest.transcripts.session import RETURNED, Ending, cancelled, declined, refused

_ENDINGS: Final = (
    (re.compile(r"unsupported (?:custom tool )?call: "), "NOT_FOUND"),
    (re.compile(r"failed to parse function arguments: "), "INVALID_PARAM"),
    (
        re.compile(
            r"approval policy is .{1,40}; reject command|writing (?:is blocked|outside of the project).{1,80}approval settings"
        ),
        "BLOCKED",
    ),
)
"""Beginnings of the results of calls that did not run, and the code of each."""
_REJECTED: Final = re.compile(
    r"(?:exec command |patch |command |request )?(?:rejected|denied|declined) by (?:the )?user|user (?:cancelled|rejected|declined) MCP tool call"
)
_STOPPED: Final = re.compile(r"(?:command )?aborted by user|aborted\b.{0,40}\Z|MCP tool call cancelled", re.DOTALL)


def ending_of(output: Any) -> Ending:
    """Return how a call ended, by the words with which Codex answers one that it did not run to its end."""
    text = output_text(output)
    for words, code in _ENDINGS:
        if words.match(text):
            return refused(text, code)
    if _REJECTED.match(text):
        return declined(text)
    return cancelled(text) if _STOPPED.match(text) else RETURNED


def output_text(output: Any) -> str:
    """Return the text of a result."""
    if isinstance(output, dict):
        output = output.get("content", output.get("output"))
    if isinstance(output, list):
        return "\n".join(
            str(part.get("text")) for part in output if isinstance(part, dict) and part.get("text") is not None
        )
    return output if isinstance(output, str) else ""


def readable(output: Any) -> Any:
    """Return a result as the rules read it: items as blocks of text, without the bytes of images."""
    if isinstance(output, dict) and isinstance(output.get("success"), bool) and "content" in output:
        return {"type": "tool_result", "content": output["content"], "is_error": not output["success"]}
    if isinstance(output, list) and all(isinstance(part, dict) for part in output):
        return "\n".join(
            str(part["text"]) if part.get("text") is not None else f"[{part.get('type')}]" for part in output
        )
    return output
