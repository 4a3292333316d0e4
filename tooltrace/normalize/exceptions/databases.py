"""Codes of databases' errors: SQLSTATE, and the numbers and words of databases without it."""

from __future__ import annotations

import re

from tooltrace.core.codes import ToolErrorCode as C
from tooltrace.normalize.exceptions.codes import ErrorClassification

_FINAL_CONFLICT = ErrorClassification(C.CONFLICT, retryable=False)
"""Violation of a constraint: the same row will not fit later either."""

_STATES: dict[str, ErrorClassification] = {
    "02": ErrorClassification(C.NOT_FOUND), "P0": ErrorClassification(C.EXECUTION_ERROR), "P0002": ErrorClassification(C.NOT_FOUND), "P0003": _FINAL_CONFLICT,
    "08": ErrorClassification(C.NETWORK_ERROR),
    "0A": ErrorClassification(C.INVALID_PARAM), "21": ErrorClassification(C.INVALID_PARAM), "22": ErrorClassification(C.INVALID_PARAM),
    "42": ErrorClassification(C.INVALID_PARAM), "54": ErrorClassification(C.INVALID_PARAM), "07": ErrorClassification(C.INVALID_PARAM),
    "23": _FINAL_CONFLICT, "27": _FINAL_CONFLICT, "44": _FINAL_CONFLICT, "2B": _FINAL_CONFLICT,
    "25006": ErrorClassification(C.PERMISSION_DENIED), "25P03": ErrorClassification(C.TIMEOUT), "25": ErrorClassification(C.INTERNAL_ERROR),
    "28": ErrorClassification(C.ACCESS_DENIED),
    "3D": ErrorClassification(C.NOT_FOUND), "3F": ErrorClassification(C.NOT_FOUND), "34": ErrorClassification(C.NOT_FOUND), "26": ErrorClassification(C.NOT_FOUND),
    "40": ErrorClassification(C.CONFLICT), "40002": _FINAL_CONFLICT,
    "42501": ErrorClassification(C.PERMISSION_DENIED), "42601": ErrorClassification(C.INVALID_FORMAT), "42000": ErrorClassification(C.INVALID_PARAM),
    **dict.fromkeys(("42P01", "42703", "42704", "42883", "42P02", "42S02", "42S22"), ErrorClassification(C.NOT_FOUND)),
    **dict.fromkeys(("42P07", "42710", "42P04", "42P06", "42P05", "42P03", "42723", "42701", "42S01"), ErrorClassification(C.ALREADY_EXISTS)),
    "53": ErrorClassification(C.SERVICE_UNAVAILABLE),
    "55": _FINAL_CONFLICT, "55006": ErrorClassification(C.CONFLICT), "55P03": ErrorClassification(C.CONFLICT),
    "57": ErrorClassification(C.SERVICE_UNAVAILABLE), "57014": ErrorClassification(C.TIMEOUT), "57P04": ErrorClassification(C.NOT_FOUND), "57P05": ErrorClassification(C.TIMEOUT),
    "58": ErrorClassification(C.INTERNAL_ERROR), "58P01": ErrorClassification(C.NOT_FOUND), "F0": ErrorClassification(C.INTERNAL_ERROR),
    "XX": ErrorClassification(C.INTERNAL_ERROR), "HYT00": ErrorClassification(C.TIMEOUT), "HYT01": ErrorClassification(C.TIMEOUT),
}  # fmt: skip
"""Classification by SQLSTATE: the whole, or its class of two characters.

Sources: SQL, PostgreSQL's appendix A, ODBC.
"""

_STATE = r"[0-9A-Z]{5}"

SQLITE: dict[str, ErrorClassification] = {
    "BUSY": ErrorClassification(C.CONFLICT), "LOCKED": ErrorClassification(C.CONFLICT),
    "CONSTRAINT": _FINAL_CONFLICT, "MISMATCH": ErrorClassification(C.INVALID_PARAM), "RANGE": ErrorClassification(C.INVALID_PARAM),
    "TOOBIG": ErrorClassification(C.INVALID_PARAM), "PERM": ErrorClassification(C.PERMISSION_DENIED), "READONLY": ErrorClassification(C.PERMISSION_DENIED),
    "AUTH": ErrorClassification(C.PERMISSION_DENIED), "CANTOPEN": ErrorClassification(C.NOT_FOUND), "NOTADB": ErrorClassification(C.INVALID_FORMAT),
    "CORRUPT": ErrorClassification(C.INVALID_FORMAT), "INTERRUPT": ErrorClassification(C.TIMEOUT), "NOMEM": ErrorClassification(C.INTERNAL_ERROR),
    "FULL": ErrorClassification(C.EXECUTION_ERROR, retryable=False),
}  # fmt: skip
"""Classification by SQLite's result codes, without ``SQLITE_`` and the extension."""

MYSQL: dict[int, ErrorClassification] = {
    **dict.fromkeys((1045, 1698, 1862), ErrorClassification(C.ACCESS_DENIED)),
    **dict.fromkeys((1044, 1142, 1143, 1227, 1290, 1370, 1792), ErrorClassification(C.PERMISSION_DENIED)),
    **dict.fromkeys((1008, 1049, 1051, 1054, 1091, 1146, 1305), ErrorClassification(C.NOT_FOUND)),
    **dict.fromkeys((1007, 1050, 1060, 1061, 1304), ErrorClassification(C.ALREADY_EXISTS)),
    **dict.fromkeys((1048, 1062, 1216, 1217, 1451, 1452, 1557, 1586, 3819), _FINAL_CONFLICT),
    **dict.fromkeys((1205, 1213, 3572), ErrorClassification(C.CONFLICT)),
    **dict.fromkeys((1040, 1053, 1203, 1226), ErrorClassification(C.SERVICE_UNAVAILABLE)),
    **dict.fromkeys((1317, 3024), ErrorClassification(C.TIMEOUT)),
    **dict.fromkeys((1064, 1149), ErrorClassification(C.INVALID_FORMAT)),
    **dict.fromkeys((1052, 1136, 1264, 1292, 1364, 1366, 1406), ErrorClassification(C.INVALID_PARAM)),
    **dict.fromkeys((1152, 1158, 1160, 2002, 2003, 2005, 2006, 2013, 2055), ErrorClassification(C.NETWORK_ERROR)),
    **dict.fromkeys((1159, 1161), ErrorClassification(C.TIMEOUT)),
}
"""Classification by the error numbers of MySQL's and MariaDB's server (1000…) and client (2000…)."""

MONGO: dict[int, ErrorClassification] = {
    13: ErrorClassification(C.PERMISSION_DENIED), 18: ErrorClassification(C.ACCESS_DENIED), 26: ErrorClassification(C.NOT_FOUND), 27: ErrorClassification(C.NOT_FOUND),
    43: ErrorClassification(C.NOT_FOUND), 48: ErrorClassification(C.ALREADY_EXISTS), 85: _FINAL_CONFLICT, 86: _FINAL_CONFLICT,
    11000: _FINAL_CONFLICT, 11001: _FINAL_CONFLICT, 12582: _FINAL_CONFLICT, 112: ErrorClassification(C.CONFLICT), 251: ErrorClassification(C.CONFLICT),
    50: ErrorClassification(C.TIMEOUT), 89: ErrorClassification(C.TIMEOUT), 262: ErrorClassification(C.TIMEOUT), 9: ErrorClassification(C.INVALID_FORMAT),
    **dict.fromkeys((2, 14, 72, 121, 10334), ErrorClassification(C.INVALID_PARAM)), 59: ErrorClassification(C.NOT_FOUND),
    6: ErrorClassification(C.NETWORK_ERROR), 7: ErrorClassification(C.NETWORK_ERROR), 16500: ErrorClassification(C.RATE_LIMIT),
    **dict.fromkeys((91, 189, 10107, 11600, 11602, 13435, 13436), ErrorClassification(C.SERVICE_UNAVAILABLE)),
}  # fmt: skip
"""Classification by MongoDB's error codes."""

_WORDS: tuple[tuple[str, ErrorClassification], ...] = (
    (r"syntax error|incomplete input|unrecognized token", ErrorClassification(C.INVALID_FORMAT)),
    (r"already exists", ErrorClassification(C.ALREADY_EXISTS)),
    (r"could not set lock|is locked|conflicting lock|deadlock", ErrorClassification(C.CONFLICT)),
    (r"permission denied|read-?only|not authorized", ErrorClassification(C.PERMISSION_DENIED)),
    (r"no such|does ?n[o']t exist|not found|no files found|cannot open file|unable to open database", ErrorClassification(C.NOT_FOUND)),
    (r"timed? ?out|timeout", ErrorClassification(C.TIMEOUT)),
    ((r"could(?: not|n't) (?:connect|establish|translate|resolve)|failed to resolve|server closed the connection|lost connection"
     r"|connection (?:refused|reset|error|failed|is bad|is closed|to server)"), ErrorClassification(C.NETWORK_ERROR)),
    (r"no space left|disk is full|disk full", ErrorClassification(C.EXECUTION_ERROR, retryable=False)),
)  # fmt: skip
"""Classification by the messages of drivers without codes; only for exceptions of those drivers."""


def of_sqlstate(state: object) -> ErrorClassification | None:
    """Return the classification of an SQLSTATE; None if ``state`` is not one, or an unknown one."""
    if not isinstance(state, str) or not re.fullmatch(_STATE, state):
        return None
    return _STATES.get(state) or _STATES.get(state[:2])


def of_words(message: str) -> ErrorClassification | None:
    """Return the classification of the message of a database's error; None for unknown words."""
    front = message[:500].lower()
    return next((verdict for words, verdict in _WORDS if re.search(words, front)), None)
