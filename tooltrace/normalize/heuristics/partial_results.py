"""Rule for answers that report a gap: {"truncated": true}, "partial_success", "[output truncated]"."""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics.error_members import describes_an_entity
from tooltrace.normalize.heuristics.report_signs import may_be_read
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.response_builders import MemberReader, build_response
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import snake_case

_CUT = ("truncated", "is_truncated", "was_truncated", "output_truncated", "results_truncated", "incomplete_results")
_PARTLY = frozenset(
    {"partial", "partial success", "partial failure", "partially succeeded", "partially failed", "partial content"}
)
_GOES_ON = lazy(r"(?:.*_)?(?:next|cursor|continuation|marker)(?:_.*)?|has_more")
_CURSOR = lazy(r"(?:.*_)?(?:next|cursor|continuation|marker|page|offset|limit|per_page|start_at)(?:_.*)?")
"""Members with which a caller asks for the next page."""
_THING = lazy(r"(?:.*_)?(?:id|uuid|at)")
_MORE = ("has_more", "more_available", "more_results", "is_partial", "has_more_results")
_TOTALS = ("total", "total_count", "total_results", "total_hits", "matched", "total_rows")
_NOTES = ("message", "note", "warning", "notice", "info", "summary")
"""Members in which an answer says what it left out."""
_SHOWN = lazy(
    r"(?i)(?:.*[\[(. -])?(?:only )?(?:showing|displaying|returning|returned|listing|displayed|shown|limited to|first)(?: the)?(?: (?:first|top|last|most recent))?"
    r" (?P<shown>\d[\d,]*)(?: \w+){0,3} (?:of|out of|/) (?:a total of |about )?(?P<all>\d[\d,]*)(?: \w+){0,3}[^\n]{0,100}"
)
"""A line that says how many of how many are shown."""
_LINE = 300
_COUNTED = lazy(
    r"(?!.*(?:测试|用例|\btests?\b|\bspecs?\b|\bchecks?\b))(?:[^\n]{0,60}?成功\D{0,3}[1-9]\d*\D{1,6}失败\D{0,3}[1-9]\d*.*"
    r"|[A-Z][a-z]+ed \d+ (?:of|/|out of) \d+ [^\n.;,]{1,40}[.;,] (?:[1-9]\d*|\w+) [^\n]{0,40}?(?:could not be|failed|were not|was not|were rejected)\b.*)"
)
"""A short text that counts what succeeded and what failed."""
_HINTS = ("truncated", "clipped", "cut off", "omitted", "incomplete", "partial")
_MISSING = lazy(
    r"(?i)[\[(<{]\s*(?:\.\.\.|…)?\s*(?:(?:the )?(?:output|results?|content|response|text|file|log|list|message)"
    r"(?: was| is| has been| have been| were)? |\d[\d,.]* (?:\w+ ){1,3})?(?:truncated|clipped|cut off|omitted)"
    r"(?:(?: to| at| after| by| because| due|[,;:.—-])[^\n]{0,120})?(?:\.\.\.|…)?\s*[\])>}]"
    r"|(?:\.\.\.|…)\s*[\[(]?(?:output )?truncated\b[^\n]{0,120}"
    r"|(?:output|results?|response|content) (?:was |is |has been |have been |were )?truncated (?:to|at|after)\b[^\n]{0,120}"
    r"|[^\n]{0,200}\b(?:results?|output|answer|data|list) (?:may|might|could) be (?:incomplete|partial|truncated)\b[^\n]{0,40}"
)
"""A line that reports that the text around it is not whole."""


_IGNORED = "W: Some index files failed to download."
"""Beginning of the last line of an update of package lists in which some failed."""


@builtin(
    "incomplete",
    "heuristic",
    Matches(members=(*_CUT, "status", *_MORE, *_NOTES), texts=True, texts_with=may_be_read),
)
def RULE(view: ResultView) -> ToolResponse | None:
    """Read an answer that reports that something is missing as partial.

    The report is a flag beside a list or a text, unless a cursor offers the rest; a status; or the first or the last
    line of a text. The whole answer stays the data.
    """
    if isinstance(view.data, dict):
        reason = _by_flag(view.data) or _by_status(view.data) or _by_rest(view.data)
        return build_response("partial", "", view.data, reason=reason) if reason else None
    if view.text is None or not isinstance(view.data, str):
        return None
    return _by_line(view.text)


def _by_flag(data: dict[str, Any]) -> str | None:
    members = MemberReader(data)
    if not (present := members.present(_CUT)):
        return None
    names = members.names()
    name = next((name for name in present if members.get(name) is True), None)
    # With a cursor the caller gets the rest by another call; with an id the flag is of an entity.
    if name is None or any(map(_GOES_ON.fullmatch, names)) or any(map(_THING.fullmatch, names)):
        return None
    has_content = any(isinstance(value, list | str | dict) and value for value in data.values())
    return name.replace("_", " ") if has_content else None


def _by_rest(data: dict[str, Any]) -> str | None:
    """Read an answer that says how much it left out, without a cursor that offers the rest."""
    members = MemberReader(data)
    lists = [value for value in data.values() if isinstance(value, list) and value]
    if not lists or any(_CURSOR.fullmatch(name) for name in members.names()):
        return None
    total = members.get(*_TOTALS)
    if members.get(*_MORE) is True and type(total) is int and len(lists) == 1 and len(lists[0]) < total:
        return f"{len(lists[0])} of {total}"
    note = members.get(*_NOTES)
    if not isinstance(note, str) or len(note) > _LINE:
        return None
    return note if _MISSING.fullmatch(note) or _is_shown(note) else None


def _is_shown(line: str) -> bool:
    """Whether ``line`` says that fewer are shown than there are."""
    found = _SHOWN.fullmatch(line.strip())
    return found is not None and _number(found["shown"]) < _number(found["all"])


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))


def _by_status(data: dict[str, Any]) -> str | None:
    members = MemberReader(data)
    word = members.pop("status", only=str)
    phrase = snake_case(word or "").replace("_", " ")
    if phrase not in _PARTLY:
        return None
    things = [snake_case(name) for name in data if snake_case(name) not in ("status", "total", "count")]
    if phrase == "partial" and len(data) == 1:  # a state alone is an answer of its own
        return None
    return None if any(map(describes_an_entity, things)) else phrase


def _by_line(text: str) -> ToolResponse | None:
    words = text.strip()
    first, last = words[:_LINE].partition("\n")[0], words[-_LINE:].rpartition("\n")[2]
    lines = (line.strip() for line in (last, first) if any(map(line.lower().__contains__, _HINTS)))
    line = next((line for line in lines if _MISSING.fullmatch(line)), None)
    if line is None:
        line = next((each for each in (last, first) if " of " in each and _is_shown(each)), None)
    line = last if last.startswith(_IGNORED) else line
    counted = len(words) <= _LINE and ("失败" in words or " of " in words or "/" in words)
    if line is None and counted and _COUNTED.fullmatch(words):
        line = words
    return build_response("partial", text, text, reason=line) if line is not None else None
