"""Rule for a dict that ``str()`` made a text: ``{'error': 'no such column'}``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics import api_error, error_members, error_status, flags
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.rule import Matches, ResultView, Rule, builtin

_LONGEST = 10_000
_TOKEN = lazy(
    r"(?P<text>'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")|(?P<word>True|False|None)\b"
    r"|(?P<same>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])|[{}\[\],:]|\s+)"
)
_ESCAPE = lazy(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt\\'\"])")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"True": "true", "False": "false", "None": "null"}
_RULES: tuple[Rule, ...] = (api_error.RULE, flags.RULE, error_members.RULE, error_status.RULE)


@builtin("python_text", "heuristic", Matches(texts=True))
def RULE(seen: ResultView) -> ToolResponse | None:
    """Read a dict in Python's notation that another rule recognises as an error."""
    text = seen.text
    if text is None or len(text) > _LONGEST or not text.lstrip().startswith("{'"):
        return None
    data = parsed(text)
    readings = (rule.read(ResultView(data)) for rule in _RULES) if isinstance(data, dict) else ()
    found = next((found for found in readings if found is not None), None)
    if found is None or found.status == "success":
        return None
    return found.model_copy(update={"text": text})


def parsed(text: str) -> Any:
    """Return the data of a text in Python's notation; None if it uses more than JSON's types."""
    try:
        return orjson.loads("".join(map(_json, _tokens(text))))
    except (ValueError, TypeError, OverflowError):  # not JSON, or an escape that is not a character
        return None


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(text[at : at + 20])
        at = found.end()
        yield found


def _json(found: re.Match[str]) -> str:
    if found["text"]:
        return orjson.dumps(_ESCAPE.sub(_unescaped, found["text"][1:-1])).decode()
    return _WORDS[found["word"]] if found["word"] else found["same"]


def _unescaped(found: re.Match[str]) -> str:
    said = found[1]
    return chr(int(said[1:], 16)) if len(said) > 1 else _ESCAPED.get(said, said)
