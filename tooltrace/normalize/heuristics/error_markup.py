"""Rule for texts whose markup states the failure: error elements, faults in XML, error pages, and notes of a timeout."""

from __future__ import annotations

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics.failure_phrases import is_no_error_phrase
from tooltrace.normalize.heuristics.report_signs import may_be_read
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.response_builders import build_error
from tooltrace.normalize.rule import Matches, ResultView, builtin

_LONGEST = 20_000
"""Maximum characters of a text that is markup of a failure."""
_MOST_MESSAGE = 2000
_MOST_LINE = 400

_ELEMENT = lazy(
    r"(?s)<(?P<tag>(?:tool_use_|tool_|function_|system_)?error(?:_details|_message)?)(?: [^>]*)?>\s*(?P<message>.+?)\s*</(?P=tag)>"
)
_FAULT = lazy(
    r"(?s)(?:<\?xml[^>]*\?>\s*)?(?:<[\w:]*Envelope\b.*?<(?:\w+:)?Fault\b.*|<(?:Error|ErrorResponse|ServiceException|ows:ExceptionReport)\b.*)"
)
_FAULT_TEXT = lazy(r"(?is)<(?:\w+:)?(?:faultstring|message|text|exceptiontext)\b[^>]*>\s*([^<]+?)\s*<")
_FAULT_CODE = lazy(r"(?is)<(?:\w+:)?(?:code|faultcode)\b[^>]*>\s*([^<]+?)\s*<")
_PAGE = lazy(
    r"(?is)\s*(?:<!doctype[^>]*>\s*)?<html\b.{0,400}?<title>\s*(?:error )?(?P<status>[45]\d\d)\b[ :|-]*(?P<title>[^<]{0,80}?)\s*</title>.*"
)
_HEADING = lazy(r"(?is)<h1[^>]*>\s*(?:error )?(?P<status>[45]\d\d)?[^<]{0,80}</h1>")
_TAGS = lazy(r"<[^>]{1,200}>")
_MOST_PAGE_TEXT = 400
"""Maximum characters of the text on a server's own error page; a site's page about an error has more."""

_LATE = lazy(
    r"(?i)[\[(<](?:the )?(?:command|process|script|execution|program|cell|tool)\b[^\n\])>]{0,40}\btimed out\b[^\n]{0,300}[\])>]"
)
"""A last line that reports that the command was stopped."""


@builtin("error_markup", "certain", Matches(texts=True, texts_with=may_be_read))
def RULE(view: ResultView) -> ToolResponse | None:
    """Read a text that is an error element, an XML fault, a server's error page, or a stopped command's output."""
    text = view.text
    if text is None or isinstance(view.data, dict | list):
        return None
    words = text.strip()
    if words[:1] == "<" and len(words) <= _LONGEST:
        found = _element(words, text) or _fault(words, text) or _page(words, text)
        if found is not None:
            return found
    last = words.rpartition("\n")[2].strip()
    return build_error(last, ToolErrorCode.TIMEOUT, text=text) if _LATE.fullmatch(last[:_MOST_LINE]) else None


def _element(words: str, text: str) -> ToolResponse | None:
    found = _ELEMENT.fullmatch(words)
    if found is None or is_no_error_phrase(found["message"]):
        return None
    return build_error(" ".join(_TAGS.sub(" ", found["message"]).split())[:_MOST_MESSAGE], text=text)


def _fault(words: str, text: str) -> ToolResponse | None:
    if _FAULT.fullmatch(words) is None:
        return None
    message, kind = _FAULT_TEXT.search(words), _FAULT_CODE.search(words)
    if message is None:
        return None
    return build_error(message[1], type=kind[1].rpartition(":")[2] if kind else None, text=text)


def _page(words: str, text: str) -> ToolResponse | None:
    """Read the page that a web server or a proxy makes for a failed request."""
    found = _PAGE.fullmatch(words)
    if found is None:
        return None
    heading = _HEADING.search(words)
    shown = " ".join(_TAGS.sub(" ", words).split())
    if heading is None or heading["status"] not in (None, found["status"]) or len(shown) > _MOST_PAGE_TEXT:
        return None
    return build_error(f"{found['status']} {found['title']}".strip(), int(found["status"]), text=text)
