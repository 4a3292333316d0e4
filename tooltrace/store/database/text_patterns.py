"""Patterns of texts, as regular expressions of RE2 inside SQL: what varies between equal errors, requests and results, and searches."""

from __future__ import annotations

from typing import Final

VARYING: Final = (
    (r"""(\B|\b[bru])''.*?''\B|\B".*?"\B|`[^`]*`|“[^”]*”|「[^」]*」""", "<text>"),
    (r"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s<>()]+", "<url>"),
    (
        (
            r"(\B(~|\.{1,2})?|\b[A-Za-z]:)[/\\]+[\w.@%+~-]+([/\\]+[\w.@%+~-]+)*[/\\]?"  # absolute or relative
            r"|\b[\w.@+-]+([/\\][\w.@+-]+){2,}"  # a/b/c; a/b may be "and/or"
            r"|\b[\w@+-]+[/\\][\w@+-]+\.\w+"
        ),  # a/b.txt
        "<path>",
    ),
    (
        (
            r"\b[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b"  # UUID
            r"|\b0x[0-9A-Fa-f]+\b|\b\d*[A-Fa-f][0-9A-Fa-f]{7,}\b|\b\d{4,}[A-Fa-f]+\b"  # hex, with a letter in it
            r"|\b\w*\d[A-Za-z_]+\d\w*\b"
        ),  # letters between digits
        "<id>",
    ),
    (r"\d+([.,]\d+)*([eE][-+]\d+)?", "<n>"),
)
"""Parts of a message that vary, as regular expressions inside SQL text, and what replaces them, in this order."""
TIMES: Final = (
    (
        (
            r'"((request|trace|span|correlation|idempotency|tool_?call|call|event)[_-]?(id|key)|nonce|seq|sequence|attempt|retry'
            r'|retry_count|timestamp|ts|now|requested_at|sent_at|fetched_at|checked_at|updated_at|generated_at)"\s*:\s*'
            r'("[^"]*"|-?\d+(\.\d+)?)'
        ),
        '"<request>":0',
    ),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?", "<time>"),
    (r"\b\d{1,2}:\d\d:\d\d([.,]\d+)?\b", "<time>"),
    (r"\b1[4-9]\d{8}(\.\d+|\d{3}|\d{6}|\d{9})?\b", "<time>"),
)
"""Parts of results that differ between equal requests, and what replaces them, in this order."""
_SECONDS: Final = r":(0[1-9]([.,]\d+)?|[1-5]\d([.,]\d+)?|00[.,]0*[1-9]\d*)"
"""Seconds that are not 0."""
MOMENTS: Final = (
    TIMES[0],
    (rf"\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d{_SECONDS}(Z|[+-]\d\d:?\d\d)?", "<time>"),
    (rf"\b\d{{1,2}}:\d\d{_SECONDS}\b", "<time>"),
    TIMES[3],
)
"""The same of arguments. A time at a full minute remains: it is a slot, or the limit of a window, and rarely the time of the request."""
ADDRESSES: Final = (
    "id|page|offset|cursor|index|idx|position|pos|row|column|col|line|record|item|number|no|nr|num|key|start|begin"
    "|from|first|skip|after|end|to|until|last|before|limit|size|part|chunk|block|batch|segment|section|chapter|volume"
    "|slide|sheet|level|floor|room|year|month|week|day|hour|minute|version|port|channel|slot|shard|partition|depth|x|y"
    "|z|order|issue|ticket|case|user|customer|account|question|task|seed"
)
"""Names of numbers that address something, as page 1, 2 and 3 do; a number of another name may be a counter."""
ACKNOWLEDGED: Final = (
    r"\b(ok|okay|done|true|success|successful|successfully|succeeded|created|written|wrote|saved|stored|inserted|added|appended"
    r"|updated|changed|edited|deleted|removed|sent|posted|uploaded|moved|copied|set|applied|completed|accepted|queued|scheduled"
    r"|processed|clicked|scrolled|typed|pressed|opened|closed|started|stopped)\b|成功|完成|已"
)
DURATIONS: Final = (
    (
        r'"(elapsed|duration|took|latency|uptime|age)(_?(ms|s|sec|secs|seconds|us|ns|time))?"\s*:\s*("[^"]*"|-?\d+(\.\d+)?)',
        '"<duration>":0',
    ),
    (r"\b\d+([.,]\d+)? ?(ms|µs|us|ns|s|sec|secs|seconds?|min|minutes?)\b", "<duration>"),
    (r"\d+([.,]\d+)? ?(毫秒|微秒|秒|分钟)", "<duration>"),
)


def replace_all(column: str, patterns: tuple[tuple[str, str], ...]) -> str:
    """Return the expression that replaces ``patterns`` in ``column``, one after the other."""
    expression = column
    for pattern, name in patterns:
        expression = f"regexp_replace({expression}, '{pattern}', '{name}', 'g')"
    return expression


def without(patterns: tuple[tuple[str, str], ...]) -> str:
    """Return ``value`` without ``patterns``, as an expression: most values have nothing to replace, and one search shows that."""
    searched = "|".join(pattern for pattern, _ in patterns)
    return f"CASE WHEN regexp_matches(value, '{searched}') THEN {replace_all('value', patterns)} ELSE value END"


def search_pattern() -> str:
    """Return the expression of the macro ``search_pattern``.

    Punctuation is escaped. A backslash in the text is matched by one or more, a quote with any backslashes before it, and
    white space by white space or its escapes, so that JSON text matches too.
    """
    tidy = r"nullif(trim(regexp_replace(text, '\s+', ' ', 'g')), '')"
    escaped = rf"regexp_replace(replace({tidy}, '\', chr(1)), '([!#-/:-@\[-^`{{-~])', '\\\1', 'g')"
    for char, pattern in (("chr(1)", r"'\\+'"), ("'\"'", "'\\\\*\"'"), ("' '", r"'(?:\s|\\[nrt])+'")):
        escaped = f"replace({escaped}, {char}, {pattern})"
    begin = r"CASE WHEN regexp_matches(text, '^\s*\w') THEN start ELSE '' END"
    end = r"CASE WHEN start <> '' AND regexp_matches(text, '\w\s*$') THEN '\b' ELSE '' END"
    return f"{begin} || {escaped} || {end}"
