"""The value that follows the name of a secret in a text: ``password := "…"``, ``--token …``, ``"api_key", "…"``."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tooltrace.redact.secret_names import NAME_OF, Strength, is_name_at, is_plural

Span = tuple[int, int]
"""The positions where a secret begins and ends."""

# The quantifiers ``*+``, ``++`` and ``{…}+`` give no character back: a text is read once. A text may be JSON, with JSON
# in its strings, or part of an address: there white space and quotation marks are escapes.
WHITE = r"(?:\s|\\++[nrt](?![A-Za-z]{2}))"
QUOTE = r"(?:\\*+[\"'`]|%(?:25)?2[27]|&quot;|&\#3[49];)"
_TYPE = r"&?'?(?:static )?(?:str|string|String|std::string|text|char|bytes|NSString)\b(?: ?\| ?None)?\*?"
_OPERATOR = r"[?.:+|!]{0,3}+={1,3}+>?|::?(?!:)|：|%(?:25)?3[AaDd]|->"
_HEAD = re.compile(
    rf"([\w-]{{0,40}}+)(?:\.assign)?(?:\[\d{{0,4}}\])?((?:{QUOTE}|\]){{0,3}}+){WHITE}{{0,16}}+"
    rf"(?:(?::\s?)?{_TYPE}\s{{0,4}}(?==))?({_OPERATOR}|[,(>]|)({WHITE}{{0,16}}+(?:[|>][+-]?[ \t]{{0,3}}+\n\s{{0,20}}+)?)",
    re.ASCII,
)
"""What stands between a name and its value: the rest of the name, quotation marks, a type, an operator, white space."""
_KEY = re.compile(rf"([\w\-. ]{{0,60}}+)\\*+\"{WHITE}*+[:,\]}}]")
"""The rest of a name that is a key of JSON, or a text of its own."""
_COMPARISONS = ("==", "===", "!=", "!==", "+=", "|=")
"""Operators after which a word is the name of a variable, or a part of a value."""
_QUOTED = re.compile(
    r"[A-Za-z$@]{0,2}(?:(\"\"\"|'''|[\"'`](?!\s|[),;:\]}.]))|(\\++[\"'])|(%(?:25)?2[27]|&quot;|&\#3[49];))", re.ASCII
)
"""A quotation mark that opens a value: one before a space or a comma closes what came before."""
_CONTENT = {
    '"': r"(?:[^\"\\\n]++|\\.)++",
    "'": r"(?:[^'\\\n]++|\\.)++",
    "`": r"[^`]{1,4000}+",
    '"""': r"(?:[^\"\\]++|\\.|\"(?!\"\"))++",
    "'''": r"(?:[^'\\]++|\\.|'(?!''))++",
    "\\": r"[^\"'\\]++(?:\\(?![\"'\\])[^\"'\\]*+)*+",
    "%": r"(?:[^%&\s\"']++|%(?!(?:25)?2[27]))++",
    "&": r"(?:[^&\s<>]++|&(?!quot;|\#3[49];))++",
}
"""What may stand between quotation marks, by the mark or its first character."""
_CONTENT_PATTERNS = {mark: re.compile(source, re.DOTALL) for mark, source in _CONTENT.items()}
_BARE_PART = r"(?:[^\s\"'`\\&,;}\])<>]|\\(?![nrtu\"'\\])|&(?!amp;|quot;|\w{1,20}=)|[,;)\]<>](?=[^\s\"'\\,;)\]}<>]{3}))"
_LONGEST_WORD = 160
"""Maximum characters of a value without quotation marks that may be code or prose. All of a longer one is a secret."""
_BARE = re.compile(rf"{_BARE_PART}{{1,{_LONGEST_WORD}}}+")
_REST = re.compile(rf"{_BARE_PART}*+")
_ELEMENT = re.compile(r"\s{0,40}+([^<\s][^<]{0,2000}+)(?=</)")
_CONTAINER = re.compile(r"\{[^{}]{0,4000}+\}?|\[[^\[\]]{0,4000}+\]?")
_ARGUMENT = re.compile(r"[\"']?(?![-<$\[{%(|])[^\s\"'`\\]{3,}+")
_TAG = re.compile(r"<[\w:.-]{0,38}\Z", re.ASCII)
_OPTION = re.compile(r"-[\w-]{0,28}\Z", re.ASCII)
_REVERSED = re.compile(r"[!=]==? {0,2}(?:[\w.-]{0,30})\Z", re.ASCII)

_TEMPLATE = re.compile(r"<[^<>\n]{1,60}>|\$?\{\{[^{}\n]{1,80}\}\}")
"""A placeholder with spaces in it."""
_DEEPEST = 4
_LONGEST_COUNT = 10
_PLACEHOLDER = re.compile(
    r"\[redacted\].{0,8}|\*{3,}.{0,4}|x{3,}|\.{3,}|…|\$\{?\w{1,60}\}?|\$?[{<(]{1,2}[^{}<>()]{0,80}[)}>]{1,2}|%\(?\w{0,40}\)?[sd]?%?"
    r"|(?:none|null|nil|true|false|undefined|str|string|bytes|int|bool|any|object|self|required|optional|redacted|empty|unset)\b[)|\[\]]{0,3}.{0,12}",
    re.IGNORECASE | re.DOTALL,
)
"""What stands in the place of a secret."""
_CODE = re.compile(
    r"(?:await |new |not |lambda\b)?[A-Za-z_$][\w$]{0,60}+(?:(?:\?|\[[\w'\":-]{0,40}\])?(?:\.|::|->)[A-Za-z_]\w{0,60}+){0,8}+(?:\(|\[(?:[A-Za-z_'\":\d-]|\Z)|\.\.\.)"
    r"|(?:self|this|cls|os|env|process|config|settings|args|opts|options|ctx|request|req|params|data|kwargs)(?:\.[A-Za-z_]\w{0,60}+){1,8}+\Z"
    r"|[-+*/|=!<>]?=|[(\[{][\w*]?"
)
"""Code that computes a value: a call, an index, a member of an object."""
_WORD = re.compile(r"[A-Za-z_]++(?:[.-][A-Za-z_]++)*+[.,:;]?")
_NOT_RANDOM = re.compile(
    r"[\d.,:/+\- TZ]++|[A-Za-z_]\w*+(?:[./\\:-][A-Za-z_]\w*+)*+\(?|(?:[a-z]+:/)?[/~.].*|\d+[a-z]{1,3}", re.DOTALL
)


def looks_random(value: str) -> bool:
    """Whether ``value`` looks like the output of a generator: letters and digits mixed, in no known order."""
    start = value[:200]
    if len(value) < 8 or any(map(str.isspace, start)):
        return False
    digits = sum(map(str.isdigit, start))
    if _NOT_RANDOM.fullmatch(start):
        # an identifier with many digits, such as a hexadecimal number, is no name
        return len(value) >= 16 and digits >= 3 and value.isalnum() and len(set(start)) >= 8 and not value.isdigit()
    return digits > 0 and any(map(str.isalpha, start)) and len(set(start)) >= 6


def is_secret_value(strength: Strength, value: Any) -> bool:
    """Whether ``value``, JSON data, is a secret because its name has ``strength``."""
    if strength is Strength.RANDOM:
        return isinstance(value, str) and looks_random(value)
    return strength is not Strength.COUNTED or not _is_count(value)


def _is_count(value: Any, depth: int = 0) -> bool:
    """Whether ``value`` has only numbers, as in ``{"tokens": {"input": 5, "output": 7}}``."""
    if isinstance(value, (dict, list)):
        parts = value.values() if isinstance(value, dict) else value
        return depth < _DEEPEST and all(_is_count(part, depth + 1) for part in parts)
    return value is None or isinstance(value, (int, float)) or (isinstance(value, str) and _is_number(value))


def _is_number(text: str) -> bool:
    return text.isdigit() and len(text) < _LONGEST_COUNT


class _Name(NamedTuple):
    """The name of a secret that stands in a text."""

    text: str
    spelling: str
    start: int
    strength: Strength
    plural: bool
    quotes: str
    """The quotation marks and brackets after the name."""
    operator: str
    place: int
    """Where the value may begin."""


def may_have_value(text: str, low: str, start: int, end: int) -> bool:
    """Whether the name at ``start`` to ``end`` may be a key of JSON or have a value in a text, somewhat more broadly.

    ``text`` may be JSON, with escapes where the texts in it have quotation marks and white space.
    """
    head = _HEAD.match(text, end)
    assert head is not None
    suffix, quotes, operator, _ = head.groups()
    if NAME_OF[low[start:end]].strength is not Strength.RANDOM:
        key = _KEY.match(text, end)
        if key is not None and is_name_at(text, low, start, end, key[1]):
            return True
        if (operator or quotes) and is_name_at(text, low, start, end, suffix):
            return True
    return value_after(text, low, start, end) is not None or compared_before(text, low, start, end) is not None


def value_after(text: str, low: str, start: int, end: int) -> Span | None:
    """Return the value of the name at ``start`` to ``end``; None where it is not the name of a secret with a value."""
    head = _HEAD.match(text, end)
    assert head is not None
    suffix, quotes, operator, _ = head.groups()
    space = head.end() > head.end(2)
    if not (operator or space or quotes) or not is_name_at(text, low, start, end, suffix):
        return None
    spelling = low[start:end]
    plural = is_plural(suffix)
    name = _Name(text, spelling, start, NAME_OF[spelling].strength, plural, quotes, operator, head.end())
    if operator in (",", "("):
        return _argument(name) if quotes or operator == "(" else None
    if operator == ">":
        return None if quotes else _element(name)
    if operator:
        return _assigned(name)
    if space and quotes:
        return _argument(name)
    return _after_option(name, suffix) if space else None


def compared_before(text: str, low: str, start: int, end: int) -> Span | None:
    """Return the quoted value that is compared with the name at ``start`` to ``end``: ``"…" == password``."""
    comparison = _REVERSED.search(text, max(0, start - 36), start)
    if comparison is None:
        return None
    close = comparison.start() - 1
    if text[close : close + 1] == " ":
        close -= 1
    mark = text[close : close + 1]
    if mark not in ('"', "'", "`") or not mark:
        return None
    opening = text.rfind(mark, max(0, close - 400), close)
    value = text[opening + 1 : close]
    if (
        opening < 0
        or len(value) < 3
        or "\n" in value
        or _PLACEHOLDER.fullmatch(value)
        or not is_name_at(text, low, start, end, "")
    ):
        return None
    return opening + 1, close


def _argument(name: _Name) -> Span | None:
    """Return the value in ``("--password", "…")``, ``set("api_key", "…")`` and ``secret("…")``."""
    quoted = _QUOTED.match(name.text, name.place)
    if quoted is None:
        return None
    end = _content_end(name.text, quoted)
    value = name.text[quoted.end() : end]
    is_option = name.text[name.start - 1 : name.start] == "-" and value[:1] not in ("", "-")
    header = name.operator == "," and _is_header(name)
    return (quoted.end(), end) if is_option or looks_random(value) or (header and value) else None


def _is_header(name: _Name) -> bool:
    """Whether ``name`` is the first of a pair: ``("x-api-key", …)``."""
    before = name.text[max(0, name.start - 30) : name.start]
    return re.search(r"[(\[]\\*[\"'][\w-]{0,26}-\Z", before) is not None


def _element(name: _Name) -> Span | None:
    """Return the value in ``<password>…</password>``."""
    if _TAG.search(name.text, max(0, name.start - 40), name.start) is None:
        return None
    match = _ELEMENT.match(name.text, name.place)
    if match is None or _PLACEHOLDER.fullmatch(match[1][:100]):
        return None
    return match.start(1), match.start(1) + len(match[1].rstrip())


def _after_option(name: _Name, suffix: str) -> Span | None:
    """Return the value in ``--password …`` and ``password "…";``."""
    text, place = name.text, name.place
    if text[name.start - 1 : name.start] == "-" or _OPTION.search(text, max(0, name.start - 30), name.start):
        match = _ARGUMENT.match(text, place)
        is_name = match is None or (match[0].isupper() and _WORD.fullmatch(match[0])) or suffix
        return None if match is None or is_name or _PLACEHOLDER.fullmatch(match[0][:100]) else match.span()
    quoted = _QUOTED.match(text, place)
    if quoted is None or not quoted[1]:
        return None
    end = _content_end(text, quoted)
    closed = text[end : end + 2] == quoted[1][0] + ";"
    return (quoted.end(), end) if closed and looks_random(text[quoted.end() : end]) else None


def _content_end(text: str, quoted: re.Match[str]) -> int:
    mark = quoted[1] or quoted[2] or quoted[3]
    content = _CONTENT_PATTERNS[mark if mark in _CONTENT_PATTERNS else mark[0]].match(text, quoted.end())
    return quoted.end() if content is None else content.end()


def _assigned(name: _Name) -> Span | None:
    """Return the value after an operator: quoted, in brackets, or a word."""
    text, place = name.text, name.place
    if quoted := _QUOTED.match(text, place):
        end = _content_end(text, quoted)
        value = text[quoted.end() : end]
        if (
            not value
            or _PLACEHOLDER.fullmatch(value[:100])
            or (name.strength is Strength.RANDOM and not looks_random(value))
        ):
            return None
        return quoted.end(), end
    if container := _CONTAINER.match(text, place):
        has_texts = '"' in container[0] or "'" in container[0]
        return container.span() if has_texts and name.strength is not Strength.RANDOM else None
    bare = _BARE.match(text, place)
    if bare is None or _TEMPLATE.match(text, place):
        return None
    value, end = bare[0], bare.end()
    if len(value) < _LONGEST_WORD:
        value = value.rstrip(".:")
        end = place + len(value)
        return (place, end) if _is_secret_word(name, value) else None
    if name.strength is Strength.RANDOM and not looks_random(value):
        return None
    rest = _REST.match(text, end)
    return place, end if rest is None else rest.end()


def _is_secret_word(name: _Name, value: str) -> bool:
    """Whether ``value``, without quotation marks, is a secret, and not code or a word of prose."""
    if len(value) < 3 or _PLACEHOLDER.fullmatch(value[:100]) or _CODE.match(value):
        return False
    if name.strength is Strength.RANDOM:
        return looks_random(value)
    if name.spelling == "pwd" and value[0] in "/~":  # the working directory
        return False
    if name.plural and _is_number(value):  # a count
        return False
    if _WORD.fullmatch(value):
        # the name of a variable or of a type, or prose after a name in quotation marks
        return not (name.spelling in value.lower() or "`" in name.quotes or name.operator in _COMPARISONS)
    return True
