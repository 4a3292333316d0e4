"""SQL macros that the named queries share: confidence intervals, finished attempts, identity of a call, known durations.

A store contains the macros beside its views, so that the SQL file of a query runs in any DuckDB that has the store
open. ClickHouse has no such macros: there the translator replaces each macro call by the macro's body.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True)
class Macro:
    """One scalar macro: its parameters, its SQL expression, and its meaning."""

    name: str
    parameters: tuple[str, ...]
    body: str
    comment: str

    @property
    def signature(self) -> str:
        """The text after CREATE MACRO."""
        return f"{self.name}({', '.join(self.parameters)}) AS {self.body}"

    @property
    def temporary(self) -> str:
        """The statement that creates the macro for one connection; a read-only database allows it too."""
        return f"CREATE OR REPLACE TEMP MACRO {self.signature};\n"


def _wilson(exact: str, limit: str, sign: str) -> str:
    """Return a limit of the Wilson score interval (Wilson 1927), 95 %: z = 1.959963984540054.

    ``exact``: the k at which the limit is exactly ``limit``; there the formula is not used, because it may round.
    """
    half = "1.959963984540054 * sqrt(k * ((n - k) / nullif(n, 0)) + 0.960364705173531)"
    return (
        f"CASE WHEN k = {exact} AND n > 0 THEN {limit} "
        f"ELSE (k + 1.920729410347062 {sign} {half}) / (nullif(n, 0) + 3.841458820694124) END"
    )


MACROS: Final = (
    Macro(
        "wilson_low",
        ("k", "n"),
        _wilson("0", "0.0", "-"),
        "Lower limit of the 95 % Wilson score interval of k / n; NULL where n is 0.",
    ),
    Macro(
        "wilson_high",
        ("k", "n"),
        _wilson("n", "1.0", "+"),
        "Upper limit of the 95 % Wilson score interval of k / n; NULL where n is 0.",
    ),
    Macro(
        "is_finished",
        ("status", "ending"),
        "(status IS NOT NULL AND ending IN ('returned', 'raised'))",
        "Whether an attempt ran to its end and reported a status; others say nothing about the tool.",
    ),
    Macro(
        "call_key",
        ("tool", "call_id", "conversation_id", "host", "pid"),
        "row(tool, call_id, coalesce(conversation_id, host, ''), "
        "CASE WHEN conversation_id IS NULL THEN coalesce(pid, -1) ELSE -2 END)",
        "Identity of the call that an attempt belongs to: tool, call_id and conversation; without a conversation, host "
        "and process, because some models number their calls anew in each process.",
    ),
    Macro(
        "draw_key",
        ("call_id", "conversation_id", "host", "pid"),
        "coalesce(conversation_id, concat(call_id, '/', coalesce(host, ''), '/', coalesce(pid, -1)))",
        "What counts as one statistical draw: all calls of a conversation, because they are similar; without a "
        "conversation, the call alone.",
    ),
    Macro(
        "known_ms",
        ("duration_ms",),
        "CASE WHEN duration_ms BETWEEN 0 AND 1e12 THEN duration_ms END",
        "A duration from 0 to 1e12 ms (31 years), else NULL: imported records may hold any number, or NaN.",
    ),
)

_CALLED: Final = {macro.name: re.compile(rf"\b{macro.name}\(", re.IGNORECASE) for macro in MACROS}


def create_macros(con: DuckDBPyConnection, scope: str = "") -> None:
    """Create the macros in the current schema, or in ``scope``: a catalog and schema, followed by a dot."""
    for macro in MACROS:
        con.execute(f"CREATE OR REPLACE MACRO {scope}{macro.signature}")


def with_definitions(sql: str) -> str:
    """Return ``sql`` after definitions of the macros that it uses, to run where the macros do not exist."""
    used = [macro for macro in MACROS if _CALLED[macro.name].search(sql)]
    return "".join(macro.temporary for macro in used) + sql


def without_definitions(sql: str) -> str:
    """Return ``sql`` without the leading definitions that ``with_definitions`` added."""
    rest = sql
    while (start := rest.lstrip()) and (found := _leading(start)):
        rest = start.removeprefix(found)
    return rest


def _leading(sql: str) -> str | None:
    return next((text for macro in MACROS if sql.startswith(text := macro.temporary)), None)
