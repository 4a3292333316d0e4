"""The SQL that decides what a prune deletes, and that adds it to the rollups.

All statements run in the old database. A call is pruned as a whole: its attempts go together, once the last of them is
old enough. A call with attempts on several days cannot be counted by day, because its last attempt depends on the days
that a query reads: its attempts stay rows, without their content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tooltrace.core.fields import content_of
from tooltrace.core.records import ToolCall
from tooltrace.store.database.schema import quote_identifier

_CONTENT: Final = tuple(map(quote_identifier, content_of(ToolCall)))
_OF_CALL: Final = """c.call_id = a.call_id
    AND c.tool = a.tool
    AND c.conversation_or_host IS NOT DISTINCT FROM coalesce(a.conversation_id, a.host)
    AND c.process IS NOT DISTINCT FROM CASE WHEN a.conversation_id IS NULL THEN a.pid END"""

OLD_CALLS: Final = """
CREATE OR REPLACE TEMP TABLE old_calls AS
SELECT
    tool,
    call_id,
    coalesce(conversation_id, host) AS conversation_or_host,
    CASE WHEN conversation_id IS NULL THEN pid END AS process,
    CAST(min(started_at) AS DATE) = CAST(max(started_at) AS DATE) AS of_one_day,
    md5_number_lower(min(draw_key(conversation_id, trace_id))) AS "cluster",
    count(*) AS attempts,
    count(*) FILTER (WHERE is_finished(status, ending)) AS finished,
    arg_max(span_id, attempt_order(attempt, started_at, span_id)) FILTER (WHERE is_finished(status, ending)) AS last_span
FROM attempts
WHERE $tool IS NULL OR tool = $tool
GROUP BY ALL
HAVING max(started_at) < $before
   AND (NOT $keep_errors
        OR coalesce(max(started_at) < $errors_before, false)
        OR NOT bool_or(coalesce(status = 'error', false) OR span_id IN (SELECT span_id FROM judged)))
"""
"""The calls that are old enough, with their cluster and their last finished attempt."""

PRUNED_NOW: Final = f"""
CREATE OR REPLACE TEMP TABLE pruned_now AS
WITH single_traces AS (
    SELECT trace_id
    FROM attempts
    GROUP BY trace_id
    HAVING count(*) = 1 AND md5_number_lower(trace_id) NOT IN (SELECT "cluster" FROM rollups WHERE NOT singles)
)
SELECT
    a.span_id,
    a.call_id,
    c."cluster",
    a.conversation_id IS NULL AND c.attempts = 1 AND a.trace_id IN (SELECT trace_id FROM single_traces) AS singles,
    coalesce(a.span_id = c.last_span, false) AS ends_call,
    coalesce(a.span_id = c.last_span, false) AND c.finished > 1 AS ends_retried_call
FROM attempts AS a
JOIN old_calls AS c ON {_OF_CALL}
WHERE c.of_one_day
"""
"""The attempts that become rollups."""

EMPTIED_NOW: Final = f"""
CREATE OR REPLACE TEMP TABLE emptied_now AS
SELECT a.span_id
FROM attempts AS a
JOIN old_calls AS c ON {_OF_CALL}
WHERE NOT c.of_one_day
"""
"""The attempts that stay rows without their content."""

LIMITS: Final = "CREATE OR REPLACE TEMP TABLE prune_limits AS SELECT $before AS before, $tool IS NULL AS of_all_tools"


def _step(duration: str) -> str:
    """Return the step of a duration in milliseconds; the view ``pruned_attempts`` has the inverse."""
    known = f"known_ms({duration})"
    return f"CAST(floor(ln(CASE WHEN {known} < 1e-6 THEN 1e-6 ELSE {known} END) * 50) AS SMALLINT)"


_ORDERED: Final = "ORDER BY ends_call DESC, ends_retried_call DESC, duration_step, span_id"

ROLL_UP: Final = f"""
SELECT
    -- the first attempt, because intervals count clusters in the order of time
    min(started_at) AS started_at,
    tool, tool_version, agent, status, ending, code, "rule", rule_grade, "cached",
    coalesce(shared_cluster, min("cluster")) AS "cluster",
    shared_cluster IS NULL AS singles,
    count(*) AS attempts,
    count(*) FILTER (WHERE ends_call) AS calls,
    count(*) FILTER (WHERE ends_retried_call) AS retried_calls,
    CASE WHEN count(duration_step) > 0 THEN list(duration_step {_ORDERED}) END AS duration_steps,
    CASE WHEN count(first_item_step) > 0 THEN list(first_item_step {_ORDERED}) END AS first_item_steps,
    CASE WHEN count(confidence) > 0 THEN list(confidence {_ORDERED}) END AS confidences,
    CASE WHEN count(correct) > 0 THEN list(correct {_ORDERED}) END AS correct
FROM (
    SELECT
        a.started_at,
        a.tool, a.tool_version, a.agent, a.status, a.ending, a.code, a."rule", a.rule_grade, a."cached",
        a.span_id,
        p."cluster",
        CASE WHEN NOT p.singles THEN p."cluster" END AS shared_cluster,
        p.ends_call,
        p.ends_retried_call,
        {_step("a.duration_ms")} AS duration_step,
        {_step("a.first_item_ms")} AS first_item_step,
        CASE WHEN a.confidence BETWEEN 0 AND 1 THEN CAST(a.confidence AS DOUBLE) END AS confidence,
        j.correct
    FROM pruned_now AS p
    JOIN attempts AS a ON a.span_id = p.span_id
    LEFT JOIN judged AS j ON j.span_id = p.span_id
)
GROUP BY date_trunc('day', started_at), tool, tool_version, agent, status, ending, code, "rule", rule_grade, "cached", shared_cluster
ORDER BY started_at, tool
"""
"""The rollups of the attempts in ``pruned_now``."""

_GONE: Final = "(SELECT span_id FROM pruned_now UNION ALL SELECT span_id FROM emptied_now)"
_REMAINING: Final = "attempts WHERE span_id NOT IN (SELECT span_id FROM pruned_now)"


def _unmatched(time: str) -> str:
    """Return the condition of an old record about an attempt, by span or call id, that is not among the rows."""
    return (
        f'("{time}" < (SELECT before FROM prune_limits WHERE of_all_tools) '
        "AND coalesce(span_id NOT IN (SELECT span_id FROM attempts), call_id NOT IN (SELECT call_id FROM attempts)))"
    )


def _about_pruned(time: str) -> str:
    """Return the condition of a record about an attempt that is pruned now or was pruned before."""
    return (
        "coalesce(span_id IN (SELECT span_id FROM pruned_now), "
        f"call_id IN (SELECT call_id FROM pruned_now) AND call_id NOT IN (SELECT call_id FROM {_REMAINING}), false) "
        f"OR coalesce({_unmatched(time)}, false)"
    )


_OF_PRUNED_CONVERSATION: Final = (
    "coalesce(target_kind = 'conversation' AND labeled_at < (SELECT before FROM prune_limits) AND conversation_id NOT IN "
    f"(SELECT conversation_id FROM {_REMAINING} AND conversation_id IS NOT NULL), false)"
)
"""The condition of an old label of a conversation that has no rows any more."""

KEEP: Final[Mapping[str, str]] = {
    "attempts": "span_id NOT IN (SELECT span_id FROM pruned_now)",
    "outcomes": f"NOT ({_about_pruned('labeled_at')} OR {_OF_PRUNED_CONVERSATION})",
    "corrections": f"NOT ({_about_pruned('corrected_at')})",
    # a message may name only the call, of which all attempts go together
    "messages": f"NOT coalesce(span_id IN {_GONE}, "
    'call_id IN (SELECT call_id FROM old_calls) AND "at" < (SELECT before FROM prune_limits))',
    "gate_events": f"span_id NOT IN {_GONE}",
    # a span stays with an attempt of its trace that stays, or while it is young; in a prune of one tool, also where no
    # attempt of its trace goes
    "spans": f"trace_id IN (SELECT trace_id FROM attempts WHERE span_id NOT IN {_GONE}) "
    "OR started_at >= (SELECT before FROM prune_limits) "
    "OR NOT (SELECT of_all_tools FROM prune_limits) "
    f"AND trace_id NOT IN (SELECT trace_id FROM attempts WHERE span_id IN {_GONE})",
}
"""The condition of the rows that stay, by table."""

LATE: Final = " + ".join(
    f"(SELECT count(*) FROM {table} WHERE {_unmatched(time)})"
    for table, time in (("outcomes", "labeled_at"), ("corrections", "corrected_at"))
)
"""The number of labels and corrections about attempts that were pruned before: they are too late to count."""

WITHOUT_CONTENT: Final = {
    name: f"CASE WHEN span_id IN (SELECT span_id FROM emptied_now) THEN NULL ELSE {quote_identifier(name)} END"
    for name in content_of(ToolCall)
}
"""The columns of ``attempts`` with the content of an emptied attempt left out."""

EMPTIED_COUNT: Final = (
    "SELECT count(*) FROM attempts WHERE span_id IN (SELECT span_id FROM emptied_now) AND ("
    + " OR ".join(f"{name} IS NOT NULL" for name in _CONTENT)
    + ")"
)

_BYTES: Final = " + ".join(["200", *(f"coalesce(strlen(CAST({name} AS VARCHAR)), 0)" for name in _CONTENT)])
"""The size of an attempt relative to others: its content, and 200 bytes for all else."""

SHARE_OF_BYTES: Final = (
    f"SELECT coalesce(sum({_BYTES}) FILTER (WHERE span_id IN (SELECT span_id FROM pruned_now)) / sum({_BYTES}), 0) "
    "FROM attempts"
)
"""The share of the database's bytes that the pruned attempts take, as an estimate."""

FIRST_DAY_OF_SIZE: Final = f"""
SELECT coalesce(min("day") FILTER (WHERE newer <= $share * every), max("day"))
FROM (
    SELECT "day", sum(size) OVER (ORDER BY "day" DESC) AS newer, sum(size) OVER () AS every
    FROM (SELECT CAST(started_at AS DATE) AS "day", sum({_BYTES}) AS size FROM attempts GROUP BY ALL)
)
"""
"""The first day such that it and the later ones have at most this share of the bytes; the last day where none has."""
