"""Messages of exceptions of Python, JavaScript, SQL engines and browsers, without the name of the exception.

A tool that returns ``str(error)`` returns one of these. Each pattern describes a whole line, because the runtimes fill
in names and numbers only.
"""

from __future__ import annotations

_QUOTED = r"['\"‘`][^'\"’`\n]{0,120}['\"’`]"

RUNTIMES = (
    # Python
    r"(?:(?:integer |float )?(?:division or modulo|division|modulo) by (?:zero|0)|(?:list|string|tuple|range object|deque|pop) (?:assignment )?index out of range|pop from (?:an )?empty (?:list|set|deque).*)",
    rf"(?:module |type object )?{_QUOTED} (?:object )?has no attribute {_QUOTED}.*",
    rf"{_QUOTED} object (?:is not (?:subscriptable|iterable|callable|a mapping|an iterator)|does not support item (?:assignment|deletion)|cannot be interpreted as an integer).*",
    r"(?:unsupported operand type\(s\) for|can only concatenate|string indices must be integers|list indices must be integers|not enough values to unpack|too many values to unpack|invalid literal for int\(\)|could not convert string to float|maximum recursion depth exceeded|must be real number|unhashable type|object of type)\b.*",
    r"\w[\w.]*\(\) (?:missing \d+ required (?:positional|keyword-only) arguments?|got an unexpected keyword argument|takes (?:no arguments|from \d+ to \d+|\d+ positional))\b.*",
    rf"(?:No module named|cannot import name) {_QUOTED}.*",
    r"(?:Expecting (?:value|property name[^:]{0,40}|',' delimiter|':' delimiter)|Extra data|Unterminated string starting at|Invalid control character at|Invalid \\escape): line \d+ column \d+ \(char \d+\)",
    # JavaScript
    r"Unexpected (?:token|end of JSON input|non-whitespace character)\b.*(?:JSON|position \d+).*|Unexpected end of JSON input",
    r"Cannot (?:read|set) propert(?:y|ies) .{0,80}of (?:undefined|null).*|[\w.$]{1,80} is not (?:a function|defined|iterable|a constructor)",
    r"(?:socket hang up|Client network socket disconnected\b.*|(?:read|write|connect|getaddrinfo|queryA|spawn) E[A-Z_]{4,15}\b.*|self[- ]signed certificate(?: in certificate chain)?|unable to (?:verify the first|get local issuer) certificate|certificate has expired)",
    # Browsers' drivers
    r"(?:locator|page|frame|element|elementHandle|browser|browserType|browserContext|request)\.\w{2,40}: .{0,300}?(?:Timeout \d+ms exceeded|net::ERR_\w+|has been closed|strict mode violation|not visible|Protocol error|not attached)\b.*",
    # Databases
    r"near \"[^\"\n]{0,80}\": syntax error.*|no such (?:table|column|function|index): \S.*|(?:UNIQUE|NOT NULL|FOREIGN KEY|CHECK) constraint failed\b.*|database is locked|attempt to write a readonly database",
    r"(?:duplicate key value violates|null value in column|value too long for type|insert or update on table|syntax error at or near|operator does not exist:|invalid input syntax for)\b.*",
    # Proxies
    r"(?:upstream connect error or disconnect/reset before headers\b.*|no healthy upstream|upstream request timeout|no route matched with those values)",
)
"""Whole lines that are the message of an exception."""

SIGNS = (
    *("by zero", "index out", "has no attr", "object", "operand", "indices", "values to", "literal", "recursion"),
    *("line 1", "column", "econn", "enotfound", "eai_", "hang up", "certificate", "syntax", "constraint", "upstream"),
    *(
        "module",
        "concatenate",
        "convert string",
        "unhash",
        "token",
        "net::",
        "position",
        "argument",
        "disconnect",
        "route",
    ),
)
"""Parts in lower case of which each such message has one."""
