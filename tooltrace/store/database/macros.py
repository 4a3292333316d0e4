"""SQL macros of the views and of the lists of calls, and Wilson's interval for SQL that users write.

A store contains the macros beside its views, so that the SQL file of a query runs in any DuckDB that has the store open.
ClickHouse has no such macros: there the translator replaces each macro call by the macro's body.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from tooltrace.core.codes import ADVICE, NextAction
from tooltrace.store.database.text_patterns import (
    DURATIONS,
    MOMENTS,
    TIMES,
    VARYING,
    replace_all,
    search_pattern,
    without,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def _has_code(action: NextAction) -> str:
    codes = ", ".join(f"'{code}'" for code, advice in ADVICE.items() if advice.next_action == action)
    return f"code IN ({codes})"


def _advised(action: NextAction) -> str:
    return f"WHEN {_has_code(action)} THEN '{action}'"


ADVISED_NEXT_STEP: Final = (
    f"CASE {_advised('stop')} WHEN retryable THEN 'retry' WHEN suggestion IS NOT NULL THEN 'continue' "
    f"WHEN NOT retryable AND {_has_code('retry')} THEN 'human_review' "
    f"{_advised('retry')} {_advised('continue')} {_advised('ask_user')} ELSE 'human_review' END"
)
"""An expression over ``code``, ``retryable`` and ``suggestion``."""


@dataclass(frozen=True, slots=True)
class Macro:
    """One scalar macro: its parameters, its SQL expression, and its meaning."""

    name: str
    parameters: tuple[str, ...]
    body: str
    comment: str
    clickhouse: str | None = None
    """The expression in ClickHouse's SQL, where it is not a translation of ``body``."""

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
    half = "1.959963984540054e0 * sqrt(k * ((n - k) / nullif(n, 0)) + 0.960364705173531e0)"
    return (
        f"CASE WHEN k = {exact} AND n > 0 THEN {limit} "
        f"ELSE (k + 1.920729410347062e0 {sign} {half}) / (nullif(n, 0) + 3.841458820694124e0) END"
    )


MACROS: Final = (
    Macro(
        "wilson_low",
        ("k", "n"),
        _wilson("0", "0e0", "-"),
        "Lower limit of the 95 % Wilson score interval of k / n; NULL where n is 0.",
    ),
    Macro(
        "wilson_high",
        ("k", "n"),
        _wilson("n", "1e0", "+"),
        "Upper limit of the 95 % Wilson score interval of k / n; NULL where n is 0.",
    ),
    Macro(
        "is_finished",
        ("status", "ending"),
        "(status IS NOT NULL AND ending IN ('returned', 'raised'))",
        "Whether an attempt ran to its end and reported a status; others say nothing about the tool.",
    ),
    Macro(
        "advised_next_step",
        ("code", "retryable", "suggestion"),
        ADVISED_NEXT_STEP,
        "Next action that the table of codes advises after an error for which the tool stated none.",
    ),
    Macro(
        "call_key",
        ("tool", "call_id", "first_span_id", "conversation_id", "host", "pid"),
        "row(tool, coalesce(first_span_id, call_id), coalesce(conversation_id, host, ''), "
        "CASE WHEN conversation_id IS NULL THEN coalesce(pid, -1) ELSE -2 END)",
        "Identity of the call that an attempt belongs to: tool, call_id and conversation; without a conversation, host "
        "and process, because some models number their calls anew in each process. first_span_id stands for an id that "
        "had named another call before.",
    ),
    Macro(
        "draw_key",
        ("conversation_id", "trace_id"),
        "coalesce(conversation_id, trace_id)",
        "The cluster of an attempt, one statistical draw: its conversation, because the calls of a conversation are "
        "similar; without a conversation, its trace. An attempt that is alone in its trace is a cluster of its own.",
    ),
    Macro(
        "text_key",
        ("text",),
        "hash(text)",
        "A number of 64 bits for a text, to group and join by: it takes less time and memory than the text. Different texts "
        "have different numbers (two of 10 million texts are equal with a probability of 3 in a million).",
        clickhouse="reinterpretAsInt64(sipHash64(text))",  # signed, because a result in Parquet is read so
    ),
    Macro(
        "span_order",
        ("span_id",),
        "coalesce(TRY_CAST(concat('0x', span_id) AS UBIGINT), text_key(span_id))",
        "Sort key of span ids, in the order of their 16 hex digits: a number, because DuckDB sorts numbers faster than texts. "
        "An id that is not a hexadecimal number has an arbitrary but fixed place.",
        clickhouse="span_id",
    ),
    Macro(
        "attempt_order",
        ("attempt", "started_at", "span_id"),
        # one number of 128 bits, because DuckDB compares numbers several times as fast as rows: 10 bits for the number of
        # the attempt, 53 for microseconds until the year 2255, 64 for the span id
        "(CAST(least(greatest(coalesce(attempt, 0), 0), 1023) AS HUGEINT) << 117) "
        "+ (CAST(least(greatest(epoch_us(started_at), 0), 9007199254740991) AS HUGEINT) << 64) "
        "+ span_order(span_id)",
        "Sort key of the attempts of a call: by number, because clocks step back and imported times are coarse; then by "
        "start, for attempts whose numbers are equal or missing; then by span id, so that no tie remains.",
        clickhouse="tuple(least(greatest(coalesce(attempt, 0), 0), 1023), started_at, span_id)",
    ),
    Macro(
        "label_order",
        ("labeled_at", "correct", "score"),
        "row(labeled_at, NOT correct, -score)",
        "Sort key of labels: by time; of the same microsecond, right before wrong and high before low scores, so that the "
        "order in which labels are stored does not matter.",
    ),
    Macro(
        "attempt_end",
        ("started_at", "duration_ms", "consumer_ms"),
        "(started_at + to_microseconds(CAST(1000 * least(greatest("
        "coalesce(duration_ms, 0) + coalesce(consumer_ms, 0), 0), 1e12) AS BIGINT)))",
        "When an attempt ended: after its time in the tool and in the consumer of a stream, of which at most 1e12 ms "
        "(31 years) count, because imported records may hold any number.",
    ),
    Macro(
        "known_ms",
        ("duration_ms",),
        "CASE WHEN duration_ms BETWEEN 0 AND 1e12 THEN duration_ms END",
        "A duration from 0 to 1e12 ms (31 years), else NULL: imported records may hold any number, or NaN.",
    ),
    Macro(
        "message_pattern",
        ("message",),
        replace_all("message", VARYING),
        "An error message with the parts that vary between messages of one kind replaced: quoted text by <text>, "
        "addresses by <url>, paths by <path>, ids by <id> and numbers by <n>.",
    ),
    Macro(
        "without_times",
        ("value",),
        without(TIMES),
        "A result without what differs between equal requests: times to the minute or finer, Unix times, and "
        "the values of members that number a request, such as request_id, nonce and attempt.",
    ),
    Macro(
        "without_moments",
        ("value",),
        without(MOMENTS),
        "Arguments without what differs between equal requests: as without_times, but a time at a full minute remains, "
        "because it names a slot or the limit of a window.",
    ),
    Macro(
        "arguments_key",
        ("arguments",),
        "CASE WHEN arguments IS NOT NULL THEN text_key(CASE WHEN length(arguments) > 1000 "
        "THEN without_moments(left(arguments, 1000)) || substr(arguments, 1001) ELSE without_moments(arguments) END) END",
        "A number, equal for equal arguments, whatever their times and numbers of requests (without_moments) in the first 1,000 characters.",
    ),
    Macro(
        "numberless_key",
        ("arguments",),
        "CASE WHEN length(arguments) <= 1000 AND regexp_matches(arguments, '\":\\s*[0-9]+\\s*[,}]') "
        "AND regexp_matches(arguments, '\":.*\":') "
        "THEN text_key(regexp_replace(without_moments(arguments), '\":\\s*[0-9]+\\s*([,}])', '\":#\\1', 'g')) END",
        "A number, equal for arguments that differ in whole numbers only, and in what arguments_key leaves out. NULL for "
        "arguments without a whole number, of one member, or of more than 1,000 characters.",
    ),
    Macro(
        "without_durations",
        ("value",),
        replace_all("value", DURATIONS),
        "A result without durations: numbers before a unit of time, and the values of members such as elapsed_ms and took.",
    ),
    Macro(
        "error_key",
        ("code", "error_type", "error_message"),
        "concat(coalesce(code, ''), '|', coalesce(error_type, ''), '|', message_pattern(left(coalesce(error_message, ''), 500)))",
        "Equal for errors of one kind: equal code, type and message_pattern of the first 500 characters of the message.",
    ),
    Macro(
        "answer_key",
        ("status", "ending", "error", "text", "result", "error_message"),
        "CASE WHEN ending = 'returned' AND coalesce(text, result, error_message) IS NULL THEN NULL "
        "WHEN status = 'error' THEN error "
        "ELSE concat(coalesce(status, ending), '|', "
        "without_durations(without_times(left(coalesce(text, ''), 1000))), '|', "
        "without_durations(without_times(left(coalesce(result, ''), 1000))), '|', "
        "CASE WHEN length(text) > 1000 THEN md5(text) ELSE '' END, "
        "CASE WHEN length(result) > 1000 THEN md5(result) ELSE '' END) END",
        "Equal for equal answers of a call, whatever their times and durations; error: its error_key. NULL where no result is "
        "recorded.",
    ),
    Macro(
        "token_estimate",
        ("value",),
        "CAST(CASE WHEN regexp_matches(value, '^[\\[{]\\S') THEN 0.37 ELSE 0.26 END "
        "* (length(value) - (strlen(value) - length(value)) / 2.0) + (strlen(value) - length(value)) / 2.0 AS DOUBLE)",
        "Estimated tokens of a text: 1 for a character of three bytes in UTF-8, as most Chinese, Japanese and Korean ones "
        "have, 0.26 for one of ASCII, and 0.37 in JSON without spaces. docs/explanation/footprint.md has the errors.",
    ),
    Macro(
        "size_order",
        ("tokens", "started_us", "span_id"),
        "row(coalesce(tokens, -1.0), -started_us, span_id)",
        "Sort key of results: by tokens; of equal ones, the earlier is greater.",
    ),
    Macro(
        "answer_tokens",
        ("result_tokens", "seen_text", "seen_length", "text", "result", "error_message", "status", "full_sizes"),
        "coalesce(CAST(result_tokens AS DOUBLE), "
        "token_estimate(seen_text) * greatest(1.0, coalesce(1.0 * seen_length / nullif(length(seen_text), 0), 1.0)), "
        "0.26 * seen_length, "
        "coalesce(token_estimate(coalesce(nullif(text, ''), CAST(result AS VARCHAR))) "
        "* CASE WHEN full_sizes IS NULL THEN 1.0 ELSE greatest(1.0, coalesce(1.0 * TRY_CAST(coalesce("
        "CASE WHEN text <> '' THEN json_extract_string(full_sizes, '$.text') END, "
        "json_extract_string(full_sizes, '$.result')) AS BIGINT) "
        "/ nullif(strlen(coalesce(nullif(text, ''), CAST(result AS VARCHAR))), 0), 1.0)) END "
        "+ CASE WHEN status = 'error' THEN coalesce(token_estimate(error_message), 0.0) ELSE 0.0 END, "
        "CASE WHEN status = 'error' THEN token_estimate(error_message) END))",
        "Tokens of what the model received for an attempt: as counted by configure(tokens=…), else estimated from the message "
        "to the model, else from the result. Where a text was cut, in proportion to its full size. NULL where nothing is known.",
    ),
    Macro(
        "search_pattern",
        ("text", "start"),
        search_pattern(),
        "Regular expression of a searched text. start: '', or what must precede it if it has to be complete words: a word "
        "boundary, or the JSON escape of white space.",
    ),
    Macro(
        "has_text",
        ("body", "text", "words"),
        "CASE WHEN coalesce(regexp_matches(body, search_pattern(text, ''), 'i'), false) THEN words IS NULL "
        "OR regexp_matches(body, search_pattern(text, '\\b'), 'i') "
        "OR regexp_matches(body, search_pattern(text, '\\\\[nrt]'), 'i') ELSE false END",
        "Whether body has the searched text, in either case of letters; words NULL: anywhere, else as complete words.",
    ),
)

_CALLED: Final = {macro.name: re.compile(rf"\b{macro.name}\(", re.IGNORECASE) for macro in MACROS}


def create_macros(con: DuckDBPyConnection, scope: str = "") -> None:
    """Create the macros in the current schema, or in ``scope``: a catalog and schema, followed by a dot."""
    for macro in MACROS:
        con.execute(f"CREATE OR REPLACE MACRO {scope}{macro.signature}")


def with_definitions(sql: str) -> str:
    """Return ``sql`` after definitions of the macros that it uses, to run where the macros do not exist."""
    needed = _needed(sql)
    return "".join(macro.temporary for macro in MACROS if macro in needed) + sql


@lru_cache(maxsize=256)
def _needed(sql: str) -> frozenset[Macro]:
    """Return the macros that ``sql`` calls, and those that their bodies call."""
    called = frozenset(macro for macro in MACROS if _CALLED[macro.name].search(sql))
    return called.union(*(_needed(macro.body) for macro in called))


def without_definitions(sql: str) -> str:
    """Return ``sql`` without the leading definitions that ``with_definitions`` added."""
    rest = sql
    while (start := rest.lstrip()) and (found := _leading(start)):
        rest = start.removeprefix(found)
    return rest


def _leading(sql: str) -> str | None:
    return next((text for macro in MACROS if sql.startswith(text := macro.temporary)), None)
