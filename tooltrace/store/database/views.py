"""The views that users query: plain SQL over the tables of any store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tooltrace.store.database.schema import ATTEMPTS, GATE_EVENTS, RECORDS, SAVED_QUERIES


@dataclass(frozen=True, slots=True)
class View:
    """One view: the meaning of a row, the columns with their meanings, and the SQL."""

    name: str
    comment: str
    columns: dict[str, str]
    sql: str


_MESSAGE_COLUMNS: Final = {
    "seen_hash": "SHA-256 of the complete text that the model received, after redaction; hex.",
    "seen_length": "Characters of the complete text that the model received, after redaction.",
    "seen_error": "Whether the text that the model received reported an error.",
    "result_tokens": "Tokens of the text that the model received, else of the result, as counted by configure(tokens=…).",
}

_ADVISED_COLUMN: Final = {
    "advised_action": "Next action after an error that the table of codes advises where the tool stated none in next_action; not stored.",
}

TOOL_CALLS: Final = View(
    "tool_calls",
    "One row per attempt: one execution of a call, with the text that the model received. NULL is unknown.",
    {column.name: column.comment for column in ATTEMPTS.columns} | _MESSAGE_COLUMNS | _ADVISED_COLUMN,
    """
SELECT
    a.* EXCLUDE (call_hash, cluster_hash) REPLACE (coalesce(a.seen_text, m.text) AS seen_text, coalesce(m.tokens, a.result_tokens) AS result_tokens),
    m.sha256 AS seen_hash,
    m.length AS seen_length,
    m.error AS seen_error,
    CASE WHEN a.status = 'error' THEN advised_next_step(a.code, a.retryable, a.suggestion) END AS advised_action
FROM attempts AS a
LEFT JOIN (
    SELECT
        span_id,
        arg_max_null("text", "at") AS "text",
        arg_max(sha256, "at") AS sha256,
        arg_max("length", "at") AS "length",
        arg_max("error", "at") AS "error",
        arg_max_null(tokens, "at") AS tokens
    FROM messages
    GROUP BY span_id
) AS m ON m.span_id = a.span_id
""",
)
"""The view of attempts with the message that the model got for each.

DuckDB omits the join below a GROUP BY or an aggregate that does not use the columns of messages, because the grouping here
guarantees one row per span id. It joins in any other query, so that queries which need no message read ``attempts``. A
condition inside the subquery would hide that guarantee; a message without a known attempt joins nothing anyway."""

FACTS: Final = View(
    "facts",
    "One row per attempt, with what the named queries ask of it: the columns of attempts, and these.",
    {column.name: column.comment for column in ATTEMPTS.columns}
    | {
        "version": "Version of the tool.",
        "conversation": "Id of the conversation.",
        "call": "Id of the call.",
        "day": "Day of the start; UTC.",
        "hour": "Hour of the start; UTC.",
        "call_key": "Number of the call: equal for its attempts, and for no other call's, whatever the ids that a model gives.",
        "trace_key": "Number of the trace.",
        "conversation_key": "Number of the conversation.",
        "cluster": "Number of the conversation; without one, of the trace of the call's first attempt. Attempts of one cluster are similar.",
        "finished": "Whether the attempt returned or raised, and reported a status: others say nothing about the tool.",
        "failed": "Whether it finished with status 'error'.",
        "failed_certain": "Whether it failed by more than a heuristic rule that found words or shapes.",
        "partly": "Whether it finished with status 'partial'.",
        "cut_off": "Whether it did not end by itself: cancelled by a deadline, a stream that was left before its first item, or lost.",
        "begins_call": "Whether it is the first finished attempt of its call.",
        "ends_call": "Whether it is the last finished attempt of its call.",
        "attempts_of_call": "Number of finished attempts of its call.",
        "ms_of_call": "Milliseconds in the tool over all finished attempts of its call; unknown ones are left out.",
        "is_last": "Whether it is the last attempt of its call, finished or not.",
        "call_started_at": "Start of the first attempt of its call; UTC.",
        "call_status": "Status of the last attempt of its call that reported one.",
        "grade": "How surely the result was read: certain, heuristic or unread.",
        "from_cache": "Whether the result came from a cache; unknown is false.",
        "ms": "Milliseconds in the tool, from 0 to 1e12; others are unknown.",
        "start_place": "Sort key of attempts by their start, then by their number.",
        "message_kind": "First 500 characters of the error message, with <text>, <url>, <path>, <id> and <n> for the parts that vary.",
        "ended_us": "End, in microseconds since 1970: the start, the time in the tool, and the time of a stream's consumer.",
        "is_repeated": "Whether its call may have several attempts: false only where it has one.",
        "call_order": "Sort key of the attempts of a call.",
    },
    """
SELECT
    a.* EXCLUDE (call_hash, cluster_hash),
    a.tool_version AS version,
    a.conversation_id AS conversation,
    a.call_id AS call,
    CAST(a.started_at AS DATE) AS day,
    date_trunc('hour', a.started_at) AS hour,
    a.call_hash AS call_key,
    text_key(a.trace_id) AS trace_key,
    text_key(a.conversation_id) AS conversation_key,
    coalesce(r.cluster, a.cluster_hash) AS cluster,
    coalesce(is_finished(a.status, a.ending), false) AS finished,
    coalesce(is_finished(a.status, a.ending) AND a.status = 'error', false) AS failed,
    coalesce(is_finished(a.status, a.ending) AND a.status = 'error', false) AND coalesce(a.rule_grade, '') <> 'heuristic' AS failed_certain,
    coalesce(is_finished(a.status, a.ending) AND a.status = 'partial', false) AS partly,
    coalesce(a.ending = 'lost' OR (a.ending = 'abandoned' AND a.first_item_ms IS NULL) OR (a.ending = 'cancelled' AND a.code = 'TIMEOUT'), false) AS cut_off,
    coalesce(is_finished(a.status, a.ending), false) AND coalesce(a.span_id = r.first_span, true) AS begins_call,
    coalesce(is_finished(a.status, a.ending), false) AND coalesce(a.span_id = r.last_span, true) AS ends_call,
    coalesce(r.attempts, CASE WHEN is_finished(a.status, a.ending) THEN 1 ELSE 0 END) AS attempts_of_call,
    CASE WHEN r.call_hash IS NULL THEN known_ms(a.duration_ms) ELSE r.ms END AS ms_of_call,
    coalesce(a.span_id = r.last_of_all, true) AS is_last,
    coalesce(r.started_at, a.started_at) AS call_started_at,
    CASE WHEN r.call_hash IS NULL THEN a.status ELSE r.status END AS call_status,
    coalesce(a.rule_grade, 'certain') AS grade,
    coalesce(a.cached, false) AS from_cache,
    known_ms(a.duration_ms) AS ms,
    least(greatest(epoch_us(a.started_at), 0), 9007199254740991) * 1024 + least(greatest(coalesce(a.attempt, 0), 0), 1023) AS start_place,
    message_pattern(left(a.error_message, 500)) AS message_kind,
    epoch_us(a.started_at) + 1e3 * (known_ms(a.duration_ms) + coalesce(known_ms(a.consumer_ms), 0)) AS ended_us,
    r.call_hash IS NOT NULL AS is_repeated,
    attempt_order(a.attempt, a.started_at, a.span_id) AS call_order
FROM attempts AS a
LEFT JOIN (
    SELECT
        call_hash,
        text_key(min(draw_key(conversation_id, trace_id))) AS cluster,
        arg_min(span_id, attempt_order(attempt, started_at, span_id)) FILTER (WHERE is_finished(status, ending)) AS first_span,
        count(*) FILTER (WHERE is_finished(status, ending)) AS attempts,
        arg_max(span_id, attempt_order(attempt, started_at, span_id)) FILTER (WHERE is_finished(status, ending)) AS last_span,
        sum(known_ms(duration_ms)) FILTER (WHERE is_finished(status, ending)) AS ms,
        arg_max(span_id, attempt_order(attempt, started_at, span_id)) AS last_of_all,
        min(started_at) AS started_at,
        arg_max(status, attempt_order(attempt, started_at, span_id)) AS status
    FROM attempts
    WHERE call_hash IN (SELECT call_hash FROM repeated_calls)
    GROUP BY call_hash
) AS r ON r.call_hash = a.call_hash
""",
)
"""The view that the named queries read: every column that they share is defined here and nowhere else.

DuckDB omits the join where a query uses neither ``cluster``, ``begins_call``, ``ends_call``, ``attempts_of_call`` nor ``is_repeated``."""

GATES: Final = View(
    "gates",
    "One row per stop for a person. A stop whose answer another process got, and did not record as such, is answered by the attempt "
    "that went on: the next one of the same tool, call id and conversation.",
    {column.name: column.comment for column in GATE_EVENTS.columns},
    """
SELECT
    g.* EXCLUDE (row_no) REPLACE (
        CASE WHEN g.decision IS NULL THEN n.next_decision ELSE g.decision END AS decision,
        CASE WHEN g.decision IS NULL THEN n.next_start ELSE g.answered_at END AS answered_at,
        CASE WHEN g.decision IS NULL THEN n.next_span ELSE g.resumed_span_id END AS resumed_span_id
    )
FROM (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY span_id, kind ORDER BY CASE WHEN decision IS NULL THEN 1 ELSE 0 END, answered_at
        ) AS row_no
    FROM gate_events
) AS g
LEFT JOIN (
    SELECT
        stopped.span_id AS stopped_span,
        min(next_attempt.started_at) AS next_start,
        arg_min(next_attempt.span_id, next_attempt.started_at) AS next_span,
        arg_min(CASE WHEN next_attempt.ending IN ('declined', 'expired') THEN next_attempt.ending WHEN next_attempt.ending = 'refused' THEN 'declined' ELSE 'approved' END, next_attempt.started_at) AS next_decision
    FROM attempts AS stopped
    JOIN attempts AS next_attempt
        ON next_attempt.call_id = stopped.call_id AND next_attempt.tool = stopped.tool AND next_attempt.conversation_id = stopped.conversation_id
    WHERE stopped.ending = 'paused' AND stopped.span_id IN (SELECT span_id FROM gate_events)
      AND (coalesce(next_attempt.ending, '') NOT IN ('paused', 'refused') OR next_attempt.code = 'BLOCKED') AND next_attempt.call_id IN (SELECT call_id FROM gate_events)
      AND next_attempt.started_at >= stopped.started_at AND coalesce(next_attempt.first_span_id = stopped.first_span_id, next_attempt.first_span_id IS NULL)
    GROUP BY stopped.span_id
) AS n ON n.stopped_span = g.span_id
WHERE g.row_no = 1
""",
)

CALLS: Final = View(
    "calls",
    "One row per call, over its attempts. Attempts belong to one call if tool, call_id and conversation agree; without "
    "a conversation, host and process must agree too, because some models number their calls anew in each process. Where an id "
    "names a new call, first_span_id must agree too.",
    {
        "tool": "Name of the tool.",
        "call_id": "Id of the call.",
        "conversation_id": "The conversation or session that the call belongs to.",
        "agent": "Name of the agent that called.",
        "service": "Name of the service that recorded it.",
        "tool_version": "Version of the tool in the last attempt.",
        "attempts": "Number of executions of the call.",
        "refused": "Number of times that the system did not run the tool: a limit, a breaker, a hook, an unknown tool, invalid arguments.",
        "started_at": "Start of the first attempt; UTC.",
        "ended_at": "End of the last attempt; UTC.",
        "status": "Status of the last attempt that reported one.",
        "ending": "Ending of the last attempt.",
        "code": "Code of the last attempt that reported a status; if none did, of the last refusal.",
        "error_type": "Error type of the last attempt that reported a status.",
        "confidence": "Confidence of the last attempt that reported a status.",
        "recovered": "True if an attempt reported an error and the last one did not.",
        "failures": "Number of attempts that reported an error.",
        "duration_ms": "Milliseconds in the tool, over all attempts.",
        "wasted_ms": "Milliseconds in attempts that did not end the call: all but the last.",
        "last_span_id": "Span id of the last attempt.",
    },
    """
SELECT
    tool,
    call_id,
    conversation_id,
    arg_max(agent, attempt_order(attempt, started_at, span_id)) AS agent,
    arg_max(service, attempt_order(attempt, started_at, span_id)) AS service,
    arg_max(tool_version, attempt_order(attempt, started_at, span_id)) AS tool_version,
    count(*) FILTER (WHERE ending NOT IN ('paused', 'declined', 'expired', 'refused')) AS attempts,
    count(*) FILTER (WHERE ending = 'refused') AS refused,
    min(started_at) AS started_at,
    max(attempt_end(started_at, duration_ms, consumer_ms)) AS ended_at,
    arg_max(status, attempt_order(attempt, started_at, span_id)) AS status,
    arg_max(ending, attempt_order(attempt, started_at, span_id)) AS ending,
    CASE WHEN count(status) > 0
        THEN arg_max_null(code, attempt_order(attempt, started_at, span_id)) FILTER (WHERE status IS NOT NULL)
        ELSE arg_max_null(code, attempt_order(attempt, started_at, span_id)) FILTER (WHERE ending = 'refused') END AS code,
    arg_max_null(error_type, attempt_order(attempt, started_at, span_id)) FILTER (WHERE status IS NOT NULL) AS error_type,
    arg_max_null(confidence, attempt_order(attempt, started_at, span_id)) FILTER (WHERE status IS NOT NULL) AS confidence,
    coalesce(bool_or(status = 'error') AND arg_max(status, attempt_order(attempt, started_at, span_id)) <> 'error', false) AS recovered,
    count(*) FILTER (WHERE status = 'error') AS failures,
    sum(duration_ms) AS duration_ms,
    sum(duration_ms) - coalesce(arg_max_null(duration_ms, attempt_order(attempt, started_at, span_id)) FILTER (WHERE coalesce(ending, '') <> 'refused'), 0) AS wasted_ms,
    arg_max(span_id, attempt_order(attempt, started_at, span_id)) AS last_span_id
FROM tool_calls
GROUP BY
    tool,
    call_id,
    first_span_id,
    conversation_id,
    CASE WHEN conversation_id IS NULL THEN host END,
    CASE WHEN conversation_id IS NULL THEN pid END
""",
)

SOURCES: Final = View(
    "sources",
    "One row per attempt and source that its result names.",
    {
        "tool": "Name of the tool.",
        "call_id": "Id of the call.",
        "span_id": "Span id of the attempt.",
        "started_at": "Start of the attempt; UTC.",
        "confidence": "Confidence of the tool, 0 to 1.",
        "type": "document, file, api, database or user_input.",
        "id": "Id of the source.",
        "label": "Name of the source for people.",
        "url": "Address of the source.",
        "section": "Part of the source.",
    },
    """
SELECT
    tool,
    call_id,
    span_id,
    started_at,
    confidence,
    source ->> '$.type' AS "type",
    source ->> '$.id' AS id,
    source ->> '$.label' AS label,
    source ->> '$.url' AS url,
    source ->> '$.section' AS section
FROM (
    SELECT tool, call_id, span_id, started_at, confidence, unnest(json_extract(sources, '$[*]')) AS source
    FROM attempts
    WHERE sources IS NOT NULL
)
""",
)

MODEL_SPANS: Final = View(
    "model_spans",
    "One row per span of a model call that reports the tokens that it read, by the names of the GenAI conventions, "
    "OpenInference, OpenLLMetry or the AI SDK. Spans around it, such as those of chains, may repeat the sum of its usage.",
    {
        "trace_id": "Id of the trace.",
        "span_id": "Id of the span.",
        "parent_span_id": "Id of the span around it.",
        "started_at": "Start; UTC.",
        "started_us": "Start, in microseconds since 1970.",
        "ended_us": "End, in microseconds since 1970.",
        "model": "Name of the model; empty where the span has none.",
        "input_tokens": "Tokens that the model read.",
        "output_tokens": "Tokens that it wrote.",
        "has_reasoning": "Whether it reports reasoning tokens, which the next call may not read.",
    },
    # regular expressions, because a span may hold the prompt: to parse it as JSON takes several times as long
    r"""
SELECT
    trace_id,
    span_id,
    parent_span_id,
    started_at,
    epoch_us(started_at) AS started_us,
    epoch_us(started_at) + CAST(1000 * coalesce(known_ms(duration_ms), 0) AS BIGINT) AS ended_us,
    regexp_extract(described, '"(gen_ai\.request\.model|gen_ai\.response\.model|llm\.model_name|ai\.model\.id)":\s*"([^"]*)"', 2) AS model,
    TRY_CAST(regexp_extract(described, '"(gen_ai\.usage\.(input|prompt)_tokens|llm\.token_count\.prompt|ai\.usage\.(input|prompt)Tokens)":\s*"?([0-9]+)', 4) AS DOUBLE) AS input_tokens,
    TRY_CAST(regexp_extract(described, '"(gen_ai\.usage\.(output|completion)_tokens|llm\.token_count\.completion|ai\.usage\.(output|completion)Tokens)":\s*"?([0-9]+)', 4) AS DOUBLE) AS output_tokens,
    regexp_matches(described, '"(gen_ai|llm|ai)\.[A-Za-z_.]*reasoning[A-Za-z_.]*":\s*"?[1-9]') AS has_reasoning
FROM (SELECT *, CAST("attributes" AS VARCHAR) AS described FROM spans) AS texts
WHERE regexp_matches(described, '"(gen_ai\.usage\.(input|prompt)_tokens|llm\.token_count\.prompt|ai\.usage\.(input|prompt)Tokens)":\s*"?[0-9]')
  AND NOT regexp_matches(described, '"gen_ai\.operation\.name":\s*"(invoke_agent|create_agent|invoke_workflow|execute_tool|embeddings)"')
  AND NOT regexp_matches(described, '"openinference\.span\.kind":\s*"(AGENT|CHAIN|TOOL|EMBEDDING|RETRIEVER|RERANKER|GUARDRAIL|EVALUATOR)"')
""",
)

_VOTE: Final = """\
        coalesce(score, CASE WHEN correct THEN 1.0 WHEN NOT correct THEN 0.0 END) AS score,
        coalesce(correct, score >= 0.5) AS correct"""
"""Score and verdict of a label: each stands for the other where one is missing."""
_LATEST: Final = """\
        arg_max(correct, label_order(labeled_at, correct, score)) AS correct,
        arg_max(score, label_order(labeled_at, correct, score)) AS score,
        max(labeled_at) AS labeled_at"""
"""The latest label of a labeler."""
_STANDS: Final = """\
    HAVING count(correct) > 0
       AND coalesce(max(CASE WHEN correct IS NOT NULL THEN labeled_at END) > max(CASE WHEN correct IS NULL THEN labeled_at END), true)"""
"""Whether the labeler did not take that label back."""
_MAJORITY: Final = """\
    CASE
        WHEN avg(CASE WHEN correct THEN 1.0 ELSE 0.0 END) > 0.5 THEN true
        WHEN avg(CASE WHEN correct THEN 1.0 ELSE 0.0 END) < 0.5 THEN false
        ELSE arg_max(correct, label_order(labeled_at, correct, score))
    END AS correct,
    avg(score) AS score,"""
"""Verdict and score over labelers."""

JUDGED: Final = View(
    "judged",
    "One row per labelled attempt. Of several labels by one labeler the latest counts, and of those of one microsecond the "
    "worst; all labelers have equal weight, except that labels by 'agent:' and a name, of 'tooltrace mcp --allow-label', do not "
    "count. A label without correct and score takes the labeler's earlier ones back. "
    "A label of a call applies to its last attempt that reported a status; if several calls have that id, to the last "
    "one that started before the label, else to the first.",
    {
        "span_id": "Span id of the attempt.",
        "correct": "Whether the result was right, by the majority of labelers; if they balance, by the latest label.",
        "score": "Score of the result, 0 to 1: the mean over labelers; without a score, right is 1 and wrong is 0.",
        "labelers": "Number of labelers.",
        "labeled_at": "Time of the latest label; UTC.",
    },
    f"""
WITH ends AS (
    SELECT call_id, arg_max(span_id, attempt_order(attempt, started_at, span_id)) AS span_id, min(started_at) AS started
    FROM attempts
    WHERE status IS NOT NULL AND call_id IN (SELECT call_id FROM outcomes WHERE span_id IS NULL)
    GROUP BY call_hash, call_id
),
named AS (
    SELECT
        e.span_id,
        l.labeler,
        l.correct,
        l.score,
        l.labeled_at,
        row_number() OVER (
            PARTITION BY l.call_id, l.labeler, l.labeled_at
            ORDER BY
                CASE WHEN e.started <= l.labeled_at THEN 0 ELSE 1 END,
                CASE WHEN e.started <= l.labeled_at THEN e.started END DESC,
                e.started,
                e.span_id
        ) AS row_no
    FROM outcomes AS l
    JOIN ends AS e ON e.call_id = l.call_id
    WHERE l.span_id IS NULL AND NOT starts_with(l.labeler, 'agent:')
),
votes AS (
    SELECT
        span_id,
        labeler,
        labeled_at,
{_VOTE}
    FROM (
        SELECT span_id, labeler, correct, score, labeled_at FROM named WHERE row_no = 1
        UNION ALL
        SELECT span_id, labeler, correct, score, labeled_at FROM outcomes
        WHERE span_id IS NOT NULL AND NOT starts_with(labeler, 'agent:')
    )
),
-- most attempts have one vote, which needs no order
tally AS (
    SELECT span_id, count(*) AS n, bool_or(correct) AS correct, max(score) AS score, max(labeled_at) AS labeled_at
    FROM votes
    GROUP BY span_id
),
ballot AS (
    SELECT
        span_id,
        labeler,
{_LATEST}
    FROM votes
    WHERE span_id IN (SELECT span_id FROM tally WHERE n > 1)
    GROUP BY span_id, labeler
{_STANDS}
)
SELECT
    span_id,
{_MAJORITY}
    count(*) AS labelers,
    max(labeled_at) AS labeled_at
FROM ballot
GROUP BY span_id
UNION ALL
SELECT span_id, correct, score, n AS labelers, labeled_at
FROM tally
WHERE n = 1 AND correct IS NOT NULL
""",
)

CONVERSATION_LABELS: Final = View(
    "conversation_labels",
    "One row per labelled conversation: its outcome. Of several labels by one labeler the latest counts, and of those of one "
    "microsecond the worst; all labelers have equal weight, except that labels by 'agent:' and a name do not count, as in "
    "judged. A label without correct and score takes the labeler's earlier ones back. Labels of calls and attempts do not "
    "count here.",
    {
        "conversation_id": "Id of the conversation.",
        "correct": "Whether the conversation reached its goal, by the majority of labelers; if they balance, by the latest label.",
        "score": "Score of the conversation, 0 to 1: the mean over labelers; without a score, right is 1 and wrong is 0.",
        "labeler": "Labeler of the latest label.",
        "labeler_kind": "Kind of that labeler: person, rule or agent.",
        "labelers": "Number of labelers.",
        "labeled_at": "Time of the latest label; UTC.",
    },
    f"""
WITH votes AS (
    SELECT
        conversation_id,
        labeler,
        labeler_kind,
        labeled_at,
{_VOTE}
    FROM outcomes
    WHERE target_kind = 'conversation' AND conversation_id IS NOT NULL AND NOT starts_with(labeler, 'agent:')
),
ballot AS (
    SELECT
        conversation_id,
        labeler,
        arg_max_null(labeler_kind, label_order(labeled_at, correct, score)) AS labeler_kind,
{_LATEST}
    FROM votes
    GROUP BY conversation_id, labeler
{_STANDS}
)
SELECT
    conversation_id,
{_MAJORITY}
    arg_max(labeler, label_order(labeled_at, correct, score)) AS labeler,
    arg_max_null(labeler_kind, label_order(labeled_at, correct, score)) AS labeler_kind,
    count(*) AS labelers,
    max(labeled_at) AS labeled_at
FROM ballot
GROUP BY conversation_id
""",
)
"""The outcomes of conversations, by the rules of ``judged``."""

BY_LABELER: Final = f"""
outcomes AS (SELECT * FROM outcomes WHERE labeler = $labeler),
mine AS (SELECT span_id FROM ({JUDGED.sql}) AS judged_by_labeler)
"""
"""CTEs: ``outcomes`` has the labels by $labeler, and ``mine`` the attempts that these labels judge.

The SQL of the view ``judged`` finds the attempts, so that a call label judges the same attempt here as in the view.
"""

VIEWS: Final = (TOOL_CALLS, FACTS, GATES, CALLS, SOURCES, MODEL_SPANS, JUDGED, CONVERSATION_LABELS)
"""The views of every store, each after the views that it uses."""

NAMES: Final = frozenset(table.name for table in RECORDS.values() if table is not SAVED_QUERIES) | {
    view.name for view in VIEWS
}
"""The names of all tables and views that every store has."""
