"""Rule for a dict that ``str()`` made a text: ``{'error': 'no such column'}``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics import api_error, error_members, error_status, flags
from tooltrace.normalize.heuristics.report_signs import may_be_read
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.rule import Matches, ResultView, Rule, builtin
from tooltrace.redact.plain_data import json_of

_LONGEST = 10_000
_TOKEN = lazy(
    r"(?P<text>'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")|(?P<word>True|False|None)\b"
    r"|(?P<same>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])|[{}\[\],:]|\s+)"
)
_ESCAPE = lazy(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt\\'\"])")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"True": "true", "False": "false", "None": "null"}
_RULES: tuple[Rule, ...] = (api_error.RULE, flags.RULE, error_members.RULE, error_status.RULE)


@builtin("python_text", "heuristic", Matches(texts=True, texts_with=may_be_read))
def RULE(view: ResultView) -> ToolResponse | None:
    """Read a dict in Python's notation that another rule recognises as an error."""
    text = view.text
    if text is None or len(text) > _LONGEST or not text.lstrip().startswith("{'"):
        return None
    data = parsed(text)
    readings = (rule.read(ResultView(data)) for rule in _RULES) if isinstance(data, dict) else ()
    response = next((response for response in readings if response is not None), None)
    if response is None or response.status == "success":
        return None
    return response.model_copy(update={"text": text})


# ast.literal_eval would accept more than JSON's types, and deeply nested input can exhaust its stack.
def parsed(text: str) -> Any:
    """Return the data of a text in Python's notation; None if it uses more than JSON's types."""
    try:
        return orjson.loads("".join(map(_json, _tokens(text))))
    except (ValueError, TypeError, OverflowError):  # not JSON, or an escape that is not a character
        return None


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(text[at : at + 20])
        at = token.end()
        yield token


def _json(token: re.Match[str]) -> str:
    if token["text"]:
        return json_of(_ESCAPE.sub(_unescaped, token["text"][1:-1])).decode()
    return _WORDS[token["word"]] if token["word"] else token["same"]


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _ESCAPED.get(escape, escape)
