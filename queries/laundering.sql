-- Which errors were hidden from the model?
--
-- One row per attempt that reported an error while the model received nothing, or a text that reads like a success, so that
-- the agent continues as if nothing had failed. If it is recorded what the model received, that is the evidence ('seen'):
-- it was recorded as not an error and does not contain the error message, or it is empty, or it reads like a success.
-- Otherwise the text of the response is the evidence ('text', weaker): it is empty and there is no data, or it reads like a
-- success. For 'text', only the last finished attempt of a call counts, because a retry inside a framework hides the
-- attempts before it; and only responses that were returned count, because frameworks report exceptions to the model. A
-- text reads like a success ('cheerful') if it has a word of success and no word of failure, in English or Chinese.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 96 to 99 % of them (docs/explanation/coverage.md).
--
-- group: trust
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer errors with evidence is marked too_few
--   limit  integer = 100     maximum number of rows, the newest first
-- columns:
--   n              count  errors of the group that were hidden from the model, listed or not
--   errors         count  errors of the group that have evidence
--   share          share  n / errors
--   low            low(share)   95 % interval of share
--   high           high(share)  95 % interval of share
--   unknown        aside  errors of the group without evidence
--   evidence       text   seen: the text that the model received; text: the text of the response
--   reads          text   how the evidence reads: empty, cheerful or other
--   call_id        text   id of the call
--   span_id        text   id of the attempt
--   started_at     time   start time
--   code           text   error code
--   error_message  text   error message
--   seen_text      text   text that the model received; NULL if not recorded
--   text           text   text of the response
--   too_few        mark   errors < min_n, or they are from fewer than 5 clusters: read the interval, not the share
--   clusters       count  conversations among errors, or traces without a conversation
--   design_effect  ratio  errors for each independent one that share is as precise as
-- content: all
-- important: n, errors, share, evidence, call_id
-- verdict: max(n) {group} hides most errors from the model: {n} of {errors} ({share}, {low} to {high}).
-- next: show {call_id}
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
-- reasoner: laundering
-- order: started_at desc, span_id
WITH errors AS (
    SELECT
        {by},
        cluster,
        call_id,
        span_id,
        started_at,
        code AS error_code,
        error_message,
        message AS seen_text,
        text,
        says_error,
        CASE
            WHEN is_recorded THEN 'seen'
            -- a missing text counts as empty only if the recorder stored contents
            WHEN ending = 'returned' AND ends_call AND (text IS NOT NULL OR arguments IS NOT NULL OR result IS NOT NULL) THEN 'text'
        END AS evidence,
        CASE
            WHEN is_recorded THEN characters = 0 OR NOT regexp_matches(message, '\S')
            ELSE NOT regexp_matches(coalesce(text, ''), '\S') AND coalesce(CAST(result AS VARCHAR), 'null') IN ('null', '""', '{}', '[]')
        END AS is_empty,
        -- without negated words of failure, such as 'no errors'
        regexp_replace(
            lower(CASE WHEN is_recorded THEN message ELSE text END),
            '\b(no|0|zero|without( any)?) (errors?|failures?|problems?|issues?|warnings?)\b|(无|没有|未发生)(任何)?(错误|异常|失败)',
            ' ok ',
            'g'
        ) AS words
    FROM facts
    LEFT JOIN (
        SELECT span_id AS of_span, true AS is_recorded, seen_text AS message, seen_error AS says_error, seen_length AS characters
        FROM tool_calls
        WHERE status = 'error' AND (seen_text IS NOT NULL OR seen_error IS NOT NULL)
    ) AS seen ON of_span = span_id
    WHERE {window} AND failed
),
read AS (
    SELECT
        *,
        CASE
            WHEN is_empty THEN 'empty'
            WHEN regexp_matches(
                    words,
                    '\b(success(es|ful|fully)?|succeed(s|ed)?|done|ok|okay|completed?|finished|saved|sent|created|updated|deleted|stored|written|'
                        || 'all good|fine)\b|成功|完成|正常|已(保存|发送|创建|更新|删除|写入|处理|提交)'
                ) AND NOT regexp_matches(
                    words,
                    'error|fail|exception|traceback|timed?[ -]?out|denied|refused|reject|unable|cannot|n[''’]t\b|\b(not|no|none)\b|nothing|'
                        || 'missing|invalid|illegal|unavailable|forbidden|unauthori|exceed|abort|cancel|crash|wrong|problem|warning|unsuccess|'
                        || 'incomplete|partial|retry|again|错误|失败|异常|超时|无法|不能|不可|不存在|不成功|未|没有|拒绝|无效|非法|缺少|超出|超过|'
                        || '中断|取消|重试|❌|✗|⚠'
                )
            THEN 'cheerful'
            WHEN evidence = 'seen' THEN 'other'
        END AS reads
    FROM errors
),
decided AS (
    SELECT
        *,
        CASE
            WHEN evidence = 'seen' AND says_error THEN false
            WHEN reads IN ('empty', 'cheerful') THEN evidence IS NOT NULL
            WHEN evidence = 'seen' AND NOT says_error THEN coalesce(strpos(seen_text, nullif(error_message, '')), 0) = 0
            ELSE false
        END AS hidden
    FROM read
)
-- the sums of each group, then the newest hidden errors
SELECT
    {by}, sums(n, errors) AS share, sum(failures) - sum(errors) AS unknown,
    NULL AS evidence, NULL AS reads, NULL AS call_id, NULL AS span_id, NULL AS started_at, NULL AS error_code, NULL AS error_message,
    NULL AS seen_text, NULL AS text
FROM (
    SELECT {by}, cluster, count(*) AS failures, count(evidence) AS errors, count(*) FILTER (WHERE hidden) AS n
    FROM decided
    GROUP BY ALL
) AS clusters
GROUP BY ALL
UNION ALL
(
    SELECT {by}, NULL, NULL, NULL, NULL, NULL, NULL, NULL, evidence, reads, call_id, span_id, started_at, error_code, error_message, seen_text, text
    FROM decided
    WHERE hidden
    ORDER BY started_at DESC, span_id
    LIMIT $limit
)
