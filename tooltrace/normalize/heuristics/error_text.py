"""Rule for a text that as a whole is the message of an error.

Signs are a prefix that says so, a traceback, or the complaint of a shell.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.exceptions.services import JSON_RPC
from tooltrace.normalize.heuristics import programs
from tooltrace.normalize.heuristics.crashes import EXIT, read_crash
from tooltrace.normalize.heuristics.error_patterns import (
    ADVISED,
    BEFORE_A_TRACE,
    CHINESE,
    CHINESE_OPENING,
    CLAUSE,
    CLOSINGS,
    COUNTED,
    DEFINITION,
    HEADED,
    LISTED,
    MARKED,
    NOT_A_CHINESE_REPORT,
    NOT_A_REPORT,
    OF_A_LIST,
    OF_A_LOG,
    OF_A_MANUAL,
    OF_A_PAGE,
    OF_AN_INTRODUCTION,
    OFFERS,
    ONE_LINERS,
    OPENING,
    OTHER_LANGUAGES,
    PREFIXES,
    RUNTIME,
    SENTENCES,
    SIMPLIFIED,
    STATES_NONE,
    WARNED,
)
from tooltrace.normalize.heuristics.failure_phrases import is_no_error_phrase, is_success_phrase
from tooltrace.normalize.heuristics.report_signs import LONGEST, may_be_read, may_report
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.response_builders import build_error
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import guess_code_from_message
from tooltrace.normalize.transports.completed_process import exit_code

_MOST_LINES, _MOST_SENTENCES = 6, 6
_ONE_LINE = 400
_LONGEST_TRACE = 60_000
_MOST_AFTER_TRACE = 12
"""Maximum lines of an exception's message."""

_LONGEST_LEAD = 240
"""Maximum characters before a traceback."""

_TRACEBACK = "Traceback (most recent call last):"
_WRAPPED = lazy(r"[(\[]((?!Empty|No )[A-Z][^()\[\]\n]{8,300})[)\]]")
_COUNT = lazy(r"\d+ \w+")
"""A count of failures, which is not a message."""
_LAST_LINE = lazy(r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?::\s?(?P<message>.*))?", re.DOTALL)


@builtin("error_text", "heuristic", Matches(texts=True, texts_with=may_be_read), words=True)
def RULE(view: ResultView) -> ToolResponse | None:
    """Read a text that is an error message and nothing more.

    A text that only begins like one is a log, a document or a finding.
    """
    return read_text(view.text) if view.text is not None and not isinstance(view.data, dict | list) else None


def read_text(text: str) -> ToolResponse | None:
    """Return the error that ``text`` is; None if it is not an error message."""
    words = text.strip()
    while (stated := STATES_NONE.match(words)) is not None:  # the next lines may still report a failure
        words = words[stated.end() :]
    if words[:1] in "#*" and HEADED.match(words):
        return _headed(HEADED.sub("", words, count=1), text)
    # Most texts end here: the patterns below take much longer than this test.
    if not words or (len(words) <= LONGEST and not may_report(words) and not programs.may_report(words)):
        return None
    # From the whole form to the parts: tracebacks first, then programs, then sentences.
    if _TRACEBACK in words[:_LONGEST_LEAD]:
        return _traceback(words, text)
    return _of_a_program(words, text) or (_message(words, text) if len(words) <= LONGEST else None)


def _of_a_program(words: str, text: str) -> ToolResponse | None:
    """Read what a program printed: a crash, or the report of its failure."""
    crash = read_crash(words, text)
    if crash is not None:
        return crash
    report = programs.read_output(words)
    return build_error(report.message, programs.coded(report), text=text) if report is not None else None


def _message(words: str, text: str) -> ToolResponse | None:
    """Read a short text that is one message."""
    words = _without_options(_unwrapped(words))
    if not _is_one_message(words) or COUNTED.match(words):
        return None
    return _prefixed(words, text) or _one_line(words, text) or _sentence(words, text)


def _unwrapped(words: str) -> str:
    """Return a line without the parentheses or brackets around all of it: ``(Request failed: timeout)``."""
    found = _WRAPPED.fullmatch(words)
    return found[1] if found is not None else words


def _without_options(words: str) -> str:
    """Return ``words`` without the list of what the caller can choose instead, which follows the report."""
    lines = words.splitlines()
    number = next((n for n, line in enumerate(lines[:3]) if len(line) <= _ONE_LINE and OFFERS.search(line)), None)
    if number is None or not 1 < len(lines) <= _MOST_OPTIONS:
        return words
    return "\n".join(lines[:number] if number else lines[:1]).strip()


def _headed(words: str, text: str) -> ToolResponse | None:
    """Read a report under a heading "Error", with whatever lines after its message."""
    first = words.partition("\n")[0]
    found = read_text(words) or read_text(first)
    return found and found.model_copy(update={"text": text})


_LONGEST_REPORT, _MOST_REPORT_LINES, _MOST_REPORT_SENTENCES = 600, 6, 2
_LONGEST_OPENING = 300
_LONGEST_CLAUSE = 160
_LONGEST_CLOSING = 120
_MOST_OPTIONS = 60
"""Maximum lines of a report and the list of options after it."""


def _sentence(words: str, text: str) -> ToolResponse | None:
    """Return the error that a short text reports in its first line, or by a closing advice to try again."""
    lines = words.splitlines()
    if text.rstrip().endswith((":", "：")) and "\n" not in text.strip():  # the introduction of a list
        return None
    if len(words) > _LONGEST_REPORT or len(lines) > _MOST_REPORT_LINES:
        return None
    if len(LISTED.findall(words)) > 1 or len(SENTENCES.findall(words)) > _MOST_REPORT_SENTENCES:
        return None
    marked = MARKED.match(words)
    if marked is not None:
        reports = not is_no_error_phrase(marked["message"]) and not NOT_A_REPORT.match(words)
        return build_error(marked["message"], text=text) if reports else None
    opening = WARNED.sub("", lines[0])[:_LONGEST_OPENING]
    if not _reports_failure(opening, words) or NOT_A_REPORT.match(WARNED.sub("", words)):
        return None
    return build_error(words, text=text)


def _reports_failure(opening: str, words: str) -> bool:
    """Whether the first line, in English or in Chinese, reports a failure, or the end advises to try again."""
    if CHINESE.search(opening):
        simple = opening.translate(SIMPLIFIED)
        if NOT_A_CHINESE_REPORT.match(simple):
            return False
        if CHINESE_OPENING.fullmatch(simple):
            return True
    if RUNTIME.fullmatch(opening) or programs.report_of(opening) is not None:
        return True
    if (
        len(words) <= _LONGEST_CLAUSE
        and len(words.split(maxsplit=1)) + (not words.isascii()) > 1
        and OTHER_LANGUAGES.fullmatch(opening)
    ):
        return True
    # The patterns expect a capital; tools often begin a message in lower case.
    opening = opening[:1].upper() + opening[1:]
    if len(words) <= _LONGEST_CLAUSE and "\n" not in words and CLAUSE.fullmatch(opening):
        return True
    if OPENING.fullmatch(opening):
        return True
    end = words[-_LONGEST_CLOSING:].lower()
    return any(word in end for word in ADVISED) and CLOSINGS.fullmatch(words) is not None


def _is_one_message(words: str) -> bool:
    """Whether ``words`` has few lines and sentences, and no line is an item of a list or an entry of a log."""
    lines = words.splitlines()
    if OF_A_LOG.match(lines[0]) and len(lines) > 1:
        return False
    reported = all(line.startswith("ERROR: ") for line in lines)  # pip reports each of its errors in a line
    if len(lines) > _MOST_LINES or (not reported and any(map(OF_A_LIST.match, lines[1:]))):
        return False
    return (
        len(SENTENCES.findall(words)) <= _MOST_SENTENCES
        and not OF_A_PAGE.search(words)
        and not is_success_phrase(words)
    )


def _prefixed(words: str, text: str) -> ToolResponse | None:
    for pattern in PREFIXES:
        match = pattern.fullmatch(words)
        if match:
            parts = match.groupdict()
            if DEFINITION.match(parts["message"]):
                return None
            if is_no_error_phrase(parts.get("tail") or parts["message"]) or _COUNT.fullmatch(parts.get("tail") or ""):
                return None
            inner = _one_line(parts["message"], text)  # "Error: HTTP 404 …" means the same as "HTTP 404 …"
            if inner is not None and inner.error is not None:
                return inner
            return build_error(
                parts["message"], parts.get("code") or parts.get("code2"), type=parts.get("type"), text=text
            )
    return None


def _one_line(words: str, text: str) -> ToolResponse | None:
    lines = words.splitlines()
    if not lines or len(words) > _ONE_LINE or len(lines) > 3 or len(SENTENCES.findall(words)) > 1:
        return None
    for pattern in ONE_LINERS:
        match = pattern.fullmatch(lines[0])
        if match:
            return _build_from_match(match, words, text)
    return None


def _build_from_match(match: re.Match[str], words: str, text: str) -> ToolResponse | None:
    parts = match.groupdict()
    message = parts.get("message") or words
    if OF_A_MANUAL.match(message) or (is_no_error_phrase(message) and not parts.get("quote")):
        return None
    if parts.get("status") and "\n" in words:  # the head of an HTTP response, with more after it
        return None
    if parts.get("status"):
        status = int(parts["status"])
        if status == HTTPStatus.FORBIDDEN and guess_code_from_message(words) == ToolErrorCode.RATE_LIMIT:  # GitHub
            return build_error(words, ToolErrorCode.RATE_LIMIT, type=parts["status"], text=text)
        return build_error(words, status, text=text)
    if parts.get("rpc"):
        return build_error(message, JSON_RPC.get(int(parts["rpc"])), type=parts["rpc"], text=text)
    if parts.get("exit"):
        return build_error(words, exit_code(int(parts["exit"])), type=f"exit_{parts['exit']}", text=text)
    kind = parts.get("type")
    return build_error(message, type=kind.rpartition(".")[2] if kind else None, text=text)


def _traceback(words: str, text: str) -> ToolResponse | None:
    """Return the exception of the last traceback, if the text is that traceback and nothing more.

    A page with a traceback in a fence, or a log with one in it, is not an error.
    """
    lead, _, _ = words.partition(_TRACEBACK)
    lead = lead.strip()
    if len(words) > _LONGEST_TRACE or "```" in words or not (_may_lead(lead) or _restates(lead, words)):
        return None
    lines = words.rpartition(_TRACEBACK)[2].strip("\n").splitlines()
    frames = [number for number, line in enumerate(lines) if line.startswith("  ")]
    end = lines[_first_flush(lines, frames[0]) :] if frames else []
    if len(end) > 1 and (exited := EXIT.fullmatch(end[-1].strip())):
        if exited["exit"] == "0":  # the exception was caught and printed
            return None
        end.pop()
    if not end or len(end) > _MOST_AFTER_TRACE or any(map(OF_A_LOG.match, end[1:])):
        return None
    match = _LAST_LINE.fullmatch("\n".join(end).strip())
    if match is None or not match["type"]:
        return None
    return build_error(match["message"] or match["type"], type=match["type"].rpartition(".")[2], text=text)


def _may_lead(lead: str) -> bool:
    """Whether a failed program may have printed ``lead`` before its traceback: an announcement, or its last output."""
    if not lead or BEFORE_A_TRACE.fullmatch(lead):
        return True
    lines = lead.splitlines()
    quoted = any(OF_A_LOG.match(line) or OF_A_LIST.match(line) for line in lines)
    return (
        len(lines) <= _MOST_LINES and not quoted and not OF_AN_INTRODUCTION.search(lead) and not OF_A_PAGE.search(lead)
    )


def _restates(lead: str, words: str) -> bool:
    """Whether ``lead`` is one line that ends with the message of the traceback, as in "Error: " and the message."""
    message = words.rpartition("\n")[2].partition(": ")[2].strip()
    return bool(message) and "\n" not in lead and lead.endswith(f": {message}")


def _first_flush(lines: list[str], start: int) -> int:
    """Return the number of the first line from ``start`` on that is not indented."""
    return next((number for number in range(start, len(lines)) if lines[number][:1].strip()), len(lines))
