"""Rules for HelloAgents' ``ToolResponse``: the object, its serialised form, the strings of earlier versions."""

from __future__ import annotations

import re
from typing import Any

from tooltrace.core.response import Status, ToolResponse
from tooltrace.normalize.heuristics.failure_phrases import is_no_error_phrase
from tooltrace.normalize.heuristics.report_signs import may_be_read
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.response_builders import (
    MemberReader,
    build_error,
    build_partial,
    build_response,
    merge_context,
    read_error,
)
from tooltrace.normalize.rule import Matches, ResultView, builtin

_STATUSES: dict[Any, Status] = {"success": "success", "partial": "partial", "error": "error"}
_MEMBERS = frozenset({"status", "text", "data", "error", "error_info", "stats", "context"})
_LONGEST, _MOST_LINES = 2000, 6
"""Maximum characters and lines of a failure in words; a longer text only mentions failures."""

_MARK = r"(?:❌\s*)"
_WRONG = lazy(rf"{_MARK}?错误\s*(?:\[(?P<code>[^\]\n]{{1,60}})\]\s*)?[:：]\s*(?P<message>.+)", re.DOTALL)
_CROSS = lazy(rf"{_MARK}(?P<message>\S.*)", re.DOTALL)
_WARNING = lazy(r"⚠\ufe0f?+\s*(?P<prefix>部分成功\s*[:：]\s*)?(?P<text>\S.*)", re.DOTALL)
_LACKS = lazy(
    r"(?i)未|没有|没能|无法|不能|不可用|不存在|失败|跳过|忽略|超时|缺少|缺失|不足|不完整|截断|仅|只|部分|降级|出错|错误|异常|警告"
    r"|\b(?:no|not|only|some|part(?:ial|ly)?|skipped|ignored|missing|failed|could|cannot|unable|timed|truncated|incomplete"
    r"|fallback|warning|error|without|limited|unavailable)\b|n't\b"
)
"""Words of a warning about an answer that is not whole."""
_LIST = lazy(r"^\s*(?:[❌✗✅✓✔☑⚠]|[-*•]\s|\d{1,3}[.)、]\s|#|\|)", re.MULTILINE)


@builtin("hello_agents", "certain", Matches(members=("text",)), opens="words")
def OBJECT(view: ResultView) -> ToolResponse | None:
    """Read a class called ToolResponse with a status and a text, or an object with only these members.

    The class may be from any module. HelloAgents' registry wraps a function's result in a success.
    """
    data = view.data
    if not isinstance(data, dict) or not isinstance(data.get("status"), str) or "text" not in data:
        return None
    named = any(kind.rpartition(".")[2] == "ToolResponse" for kind in view.kinds)
    # The class may have an enum with names in capitals; as data only the exact words count.
    status = _STATUSES.get(data["status"].lower() if named else data["status"])
    if status is None or not (named or (set(data) <= _MEMBERS and isinstance(data["text"], str))):
        return None
    return _response(status, MemberReader(data))


def _response(status: Status, members: MemberReader) -> ToolResponse:
    members.pop("status")
    text, data, error = members.pop("text", only=str), members.pop("data"), members.pop("error", "error_info")
    fields = {"stats": members.pop("stats"), "context": members.pop("context", only=dict)}
    left = members.remaining()
    fields["context"] = {**(fields["context"] or {}), **(left or {})} or None
    data = None if data == {} else data  # HelloAgents' empty value
    if status == "error":
        return build_error(
            **merge_context(read_error(error or text), fields.pop("context")), text=text, data=data, **fields
        )
    if error:
        return build_partial(error, text, data, **fields)
    reason = text.partition("\n")[0] if text and status == "partial" else None
    return build_response(status, text, data, reason=reason, **fields)


@builtin("hello_agents_text", "heuristic", Matches(texts=True, texts_with=may_be_read), words=True)
def TEXT(view: ResultView) -> ToolResponse | None:
    """Read ``❌ 错误 [CODE]: …``, ``错误：…``, ``❌ …`` as errors, ``⚠️ …`` as partial.

    A list of such lines is neither.
    """
    return read_text(view.text) if view.text is not None else None


def read_text(text: str) -> ToolResponse | None:
    """Return the error or partial response that ``text`` is; None if it is neither."""
    words = text.strip()
    if words[:1] not in ("❌", "错", "⚠"):
        return None
    warning = _WARNING.fullmatch(words)
    if warning:
        return _partial(text, warning)
    match = _WRONG.fullmatch(words) or _CROSS.fullmatch(words)
    if match is None or not _is_message(words):
        return None
    code = match.groupdict().get("code")
    message = match["message"].strip()
    if is_no_error_phrase(message):
        return None
    again = _WRONG.fullmatch(message)  # an error inside an error
    return build_error(message, code or (again and again["code"]), text=text)


def _partial(text: str, warning: re.Match[str]) -> ToolResponse | None:
    """Read a warning as a partial response.

    ``部分成功`` is HelloAgents' own prefix of a partial response, whose text may be of any length.
    """
    if not warning["prefix"] and not (_is_message(text.strip()) and _LACKS.search(warning["text"])):
        return None
    reason = warning["text"].strip().partition("\n")[0]
    return build_response("partial", text, reason=reason)


def _is_message(words: str) -> bool:
    """Whether the text as a whole is one message: short, and not a list of ticks and crosses."""
    lines = words.splitlines()
    return len(words) <= _LONGEST and len(lines) <= _MOST_LINES and not any(map(_LIST.match, lines[1:]))


RULES = (OBJECT, TEXT)
