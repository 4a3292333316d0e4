"""How a call of Claude Code ended: by what the line of its result states, else by the words of the result."""

from __future__ import annotations

import re
from typing import Any, Final

from tooltrace.core.response import ResponseMeta, ToolResponse
from tooltrace.ingest.transcripts.session import RETURNED, Ending, cancelled, declined, members_of, refused, text_of

RULE: Final = "claude_code_flag"
"""Rule of the results that the flag of Claude Code decides."""
_BY_FLAG: Final = ResponseMeta(rule=RULE, rule_grade="certain")
_ERROR: Final = re.compile(r"<tool_use_error>(.*)</tool_use_error>\s*", re.DOTALL)
_NOT_RUN: Final = (
    ("Error: No such tool available", "NOT_FOUND"),
    ("No such tool available", "NOT_FOUND"),
    ("InputValidationError", "INVALID_PARAM"),
    ("The required parameter", "INVALID_PARAM"),
)
"""Beginning of the message of a call that did not run, and the code that it means."""
_BLOCKED: Final = re.compile(
    r"Permission (?:to use|for this|to edit|to read)\b|Claude requested permissions? to |This command requires approval"
    r"|Hook PreToolUse:|PreToolUse:\S+ hook |.{1,200} was blocked\. For security, Claude Code|Command contains multiple operations",
    re.DOTALL,
)
"""Beginning of the message of a call that a rule, a mode or a hook blocked."""
_REJECTED: Final = ("The user doesn't want to proceed with this tool use", "The user doesn't want to take this action")
_STOPPED: Final = (
    "[Request interrupted", "Sibling tool call errored", "Cancelled:", "Tool permission request aborted",
    "[Tool call", "[This turn ended",
)  # fmt: skip


def read_result(
    line: dict[str, Any], block: dict[str, Any], data: dict[str, Any], *, of_mcp: bool
) -> tuple[Any, Ending]:
    """Return the result of ``block`` for the rules to read, and how its call ended.

    ``line``: the line of the block, or an empty one where it is about several calls. ``data``: what the tool returned to the
    program. Of Claude Code's own tools, the flag decides: a file that Read returned may talk of errors. A tool of a server
    may return its error as a text.
    """
    text = _text(block.get("content"))
    error = _ERROR.fullmatch(text)
    if error is not None:
        text = error[1]
        block = {**block, "content": text}
    how = _ending(line, block, text, data)
    if how is not RETURNED or of_mcp or block.get("is_error") is True:
        return _without_images(block), how
    return ToolResponse(status="success", text=text, meta=_BY_FLAG), how


def _ending(line: dict[str, Any], block: dict[str, Any], text: str, data: dict[str, Any]) -> Ending:
    """Return how the call of ``block`` ended: by what the line states, else by the words of its result."""
    if block.get("is_error") is not True:
        return cancelled(text) if data.get("interrupted") is True else RETURNED
    if (stated := _stated(line, text)) is not None:
        return stated
    for words, code in _NOT_RUN:
        if text.startswith(words):
            return refused(text, code)
    if text.startswith(_REJECTED):
        return declined(text)
    if text.startswith(_STOPPED):
        return cancelled(text)
    return refused(text) if _BLOCKED.match(text) else RETURNED


def _stated(line: dict[str, Any], text: str) -> Ending | None:
    """Return the ending that ``line`` states; None where it states none."""
    kind, decision = text_of(line.get("toolDenialKind")), members_of(line.get("permissionDecision"))
    if kind in ("interrupted", "cancelled"):
        return cancelled(text)
    if kind is None and decision.get("decision") != "reject":
        return None
    # without a person who could be asked, a rule decided
    by_rule = kind not in (None, "user-rejected") or decision.get("source") == "config"
    return refused(text) if by_rule else declined(text)


def _text(content: Any) -> str:
    """Return the text of a result's content."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    return "\n".join(
        str(block.get("text")) for block in blocks if isinstance(block, dict) and block.get("type") == "text"
    )


def _without_images(block: dict[str, Any]) -> dict[str, Any]:
    """Return the result ``block`` with the kind of each image in place of its bytes."""
    content = block.get("content")
    if not isinstance(content, list):
        return block
    return {**block, "content": [_described(part) for part in content]}


def _described(part: Any) -> Any:
    if not isinstance(part, dict) or part.get("type") not in ("image", "document"):
        return part
    kind = members_of(part.get("source")).get("media_type")
    return {"type": "text", "text": f"[{kind if isinstance(kind, str) else part['type']}]"}
