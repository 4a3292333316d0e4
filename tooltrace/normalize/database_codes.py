"""What databases call their errors: SQLSTATE, and the numbers and words of those that have none."""

from __future__ import annotations

import re

from tooltrace.codes import ToolErrorCode as C
from tooltrace.normalize.verdict import Verdict

_FINAL_CONFLICT = Verdict(C.CONFLICT, retryable=False)
"""A constraint: the same row will not fit later either."""

_STATES: dict[str, Verdict] = {
    "02": Verdict(C.NOT_FOUND), "P0": Verdict(C.EXECUTION_ERROR), "P0002": Verdict(C.NOT_FOUND), "P0003": _FINAL_CONFLICT,
    "08": Verdict(C.NETWORK_ERROR),
    "0A": Verdict(C.INVALID_PARAM), "21": Verdict(C.INVALID_PARAM), "22": Verdict(C.INVALID_PARAM),
    "42": Verdict(C.INVALID_PARAM), "54": Verdict(C.INVALID_PARAM), "07": Verdict(C.INVALID_PARAM),
    "23": _FINAL_CONFLICT, "27": _FINAL_CONFLICT, "44": _FINAL_CONFLICT, "2B": _FINAL_CONFLICT,
    "25006": Verdict(C.PERMISSION_DENIED), "25P03": Verdict(C.TIMEOUT), "25": Verdict(C.INTERNAL_ERROR),
    "28": Verdict(C.ACCESS_DENIED),
    "3D": Verdict(C.NOT_FOUND), "3F": Verdict(C.NOT_FOUND), "34": Verdict(C.NOT_FOUND), "26": Verdict(C.NOT_FOUND),
    "40": Verdict(C.CONFLICT), "40002": _FINAL_CONFLICT,
    "42501": Verdict(C.PERMISSION_DENIED), "42601": Verdict(C.INVALID_FORMAT), "42000": Verdict(C.INVALID_PARAM),
    **dict.fromkeys(("42P01", "42703", "42704", "42883", "42P02", "42S02", "42S22"), Verdict(C.NOT_FOUND)),
    **dict.fromkeys(("42P07", "42710", "42P04", "42P06", "42P05", "42P03", "42723", "42701", "42S01"), Verdict(C.ALREADY_EXISTS)),
    "53": Verdict(C.SERVICE_UNAVAILABLE),
    "55": _FINAL_CONFLICT, "55006": Verdict(C.CONFLICT), "55P03": Verdict(C.CONFLICT),
    "57": Verdict(C.SERVICE_UNAVAILABLE), "57014": Verdict(C.TIMEOUT), "57P04": Verdict(C.NOT_FOUND), "57P05": Verdict(C.TIMEOUT),
    "58": Verdict(C.INTERNAL_ERROR), "58P01": Verdict(C.NOT_FOUND), "F0": Verdict(C.INTERNAL_ERROR),
    "XX": Verdict(C.INTERNAL_ERROR), "HYT00": Verdict(C.TIMEOUT), "HYT01": Verdict(C.TIMEOUT),
}  # fmt: skip
"""SQLSTATE, whole or by its class of two (SQL, PostgreSQL's appendix A, ODBC)."""

_STATE = r"[0-9A-Z]{5}"

SQLITE: dict[str, Verdict] = {
    "BUSY": Verdict(C.CONFLICT), "LOCKED": Verdict(C.CONFLICT),
    "CONSTRAINT": _FINAL_CONFLICT, "MISMATCH": Verdict(C.INVALID_PARAM), "RANGE": Verdict(C.INVALID_PARAM),
    "TOOBIG": Verdict(C.INVALID_PARAM), "PERM": Verdict(C.PERMISSION_DENIED), "READONLY": Verdict(C.PERMISSION_DENIED),
    "AUTH": Verdict(C.PERMISSION_DENIED), "CANTOPEN": Verdict(C.NOT_FOUND), "NOTADB": Verdict(C.INVALID_FORMAT),
    "CORRUPT": Verdict(C.INVALID_FORMAT), "INTERRUPT": Verdict(C.TIMEOUT), "NOMEM": Verdict(C.INTERNAL_ERROR),
    "FULL": Verdict(C.EXECUTION_ERROR, retryable=False),
}  # fmt: skip
"""SQLite's result codes, without ``SQLITE_`` and the extension."""

MYSQL: dict[int, Verdict] = {
    **dict.fromkeys((1045, 1698, 1862), Verdict(C.ACCESS_DENIED)),
    **dict.fromkeys((1044, 1142, 1143, 1227, 1290, 1370, 1792), Verdict(C.PERMISSION_DENIED)),
    **dict.fromkeys((1008, 1049, 1051, 1054, 1091, 1146, 1305), Verdict(C.NOT_FOUND)),
    **dict.fromkeys((1007, 1050, 1060, 1061, 1304), Verdict(C.ALREADY_EXISTS)),
    **dict.fromkeys((1048, 1062, 1216, 1217, 1451, 1452, 1557, 1586, 3819), _FINAL_CONFLICT),
    **dict.fromkeys((1205, 1213, 3572), Verdict(C.CONFLICT)),
    **dict.fromkeys((1040, 1053, 1203, 1226), Verdict(C.SERVICE_UNAVAILABLE)),
    **dict.fromkeys((1317, 3024), Verdict(C.TIMEOUT)),
    **dict.fromkeys((1064, 1149), Verdict(C.INVALID_FORMAT)),
    **dict.fromkeys((1052, 1136, 1264, 1292, 1364, 1366, 1406), Verdict(C.INVALID_PARAM)),
    **dict.fromkeys((1152, 1158, 1160, 2002, 2003, 2005, 2006, 2013, 2055), Verdict(C.NETWORK_ERROR)),
    **dict.fromkeys((1159, 1161), Verdict(C.TIMEOUT)),
}
"""The numbers of MySQL's and MariaDB's server (1000…) and client (2000…)."""

MONGO: dict[int, Verdict] = {
    13: Verdict(C.PERMISSION_DENIED), 18: Verdict(C.ACCESS_DENIED), 26: Verdict(C.NOT_FOUND), 27: Verdict(C.NOT_FOUND),
    43: Verdict(C.NOT_FOUND), 48: Verdict(C.ALREADY_EXISTS), 85: _FINAL_CONFLICT, 86: _FINAL_CONFLICT,
    11000: _FINAL_CONFLICT, 11001: _FINAL_CONFLICT, 12582: _FINAL_CONFLICT, 112: Verdict(C.CONFLICT), 251: Verdict(C.CONFLICT),
    50: Verdict(C.TIMEOUT), 89: Verdict(C.TIMEOUT), 262: Verdict(C.TIMEOUT), 9: Verdict(C.INVALID_FORMAT),
    **dict.fromkeys((2, 14, 72, 121, 10334), Verdict(C.INVALID_PARAM)), 59: Verdict(C.NOT_FOUND),
    6: Verdict(C.NETWORK_ERROR), 7: Verdict(C.NETWORK_ERROR), 16500: Verdict(C.RATE_LIMIT),
    **dict.fromkeys((91, 189, 10107, 11600, 11602, 13435, 13436), Verdict(C.SERVICE_UNAVAILABLE)),
}  # fmt: skip
"""MongoDB's error codes."""

_WORDS: tuple[tuple[str, Verdict], ...] = (
    (r"syntax error|incomplete input|unrecognized token", Verdict(C.INVALID_FORMAT)),
    (r"already exists", Verdict(C.ALREADY_EXISTS)),
    (r"could not set lock|is locked|conflicting lock|deadlock", Verdict(C.CONFLICT)),
    (r"permission denied|read-?only|not authorized", Verdict(C.PERMISSION_DENIED)),
    (r"no such|does ?n[o']t exist|not found|no files found|cannot open file|unable to open database", Verdict(C.NOT_FOUND)),
    (r"timed? ?out|timeout", Verdict(C.TIMEOUT)),
    ((r"could(?: not|n't) (?:connect|establish|translate|resolve)|failed to resolve|server closed the connection|lost connection"
     r"|connection (?:refused|reset|error|failed|is bad|is closed|to server)"), Verdict(C.NETWORK_ERROR)),
    (r"no space left|disk is full|disk full", Verdict(C.EXECUTION_ERROR, retryable=False)),
)  # fmt: skip
"""What drivers without codes write; only of an exception of theirs."""


def of_sqlstate(state: object) -> Verdict | None:
    """The verdict on an SQLSTATE; None for what is none, or none that is known."""
    if not isinstance(state, str) or not re.fullmatch(_STATE, state):
        return None
    return _STATES.get(state) or _STATES.get(state[:2])


def of_words(message: str) -> Verdict | None:
    """The verdict on the message of a database's error; None where it says nothing known."""
    front = message[:500].lower()
    return next((verdict for words, verdict in _WORDS if re.search(words, front)), None)
