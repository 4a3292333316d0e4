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
WITH failed AS (
    SELECT *,
        seen_text IS NOT NULL OR seen_error IS NOT NULL AS is_recorded
    FROM tool_calls
    WHERE status = 'error'
      AND is_finished(status, ending)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
ranked AS (
    SELECT span_id AS attempt_span, row_number() OVER (
        PARTITION BY call_hash
        ORDER BY attempt_order(attempt, started_at, span_id) DESC
    ) AS from_last
    FROM attempts
    WHERE is_finished(status, ending) AND call_id IN (SELECT call_id FROM failed)
),
normalized AS (
    SELECT *,
        CASE
            WHEN is_recorded THEN 'seen'
            -- a missing text counts as empty only if the recorder stored contents
            WHEN ending = 'returned' AND (text IS NOT NULL OR arguments IS NOT NULL OR result IS NOT NULL)
                AND span_id IN (SELECT attempt_span FROM ranked WHERE from_last = 1) THEN 'text'
        END AS evidence,
        -- without negated words of failure, such as 'no errors'
        regexp_replace(
            lower(CASE WHEN is_recorded THEN seen_text ELSE text END),
            '\b(no|0|zero|without( any)?) (errors?|failures?|problems?|issues?|warnings?)\b|'
                || '(无|没有|未发生)(任何)?(错误|异常|失败)',
            ' ok ',
            'g'
        ) AS words
    FROM failed
),
classified AS (
    SELECT *,
        CASE
            WHEN is_recorded AND (seen_length = 0 OR NOT regexp_matches(seen_text, '\S')) THEN 'empty'
            WHEN NOT is_recorded AND NOT regexp_matches(coalesce(text, ''), '\S')
                AND coalesce(CAST(result AS VARCHAR), 'null') IN ('null', '""', '{}', '[]') THEN 'empty'
            WHEN regexp_matches(
                    words,
                    '\b(success(es|ful|fully)?|succeed(s|ed)?|done|ok|okay|completed?|finished|saved|sent|created|updated|'
                        || 'deleted|stored|written|all good|fine)\b|'
                        || '成功|完成|正常|已(保存|发送|创建|更新|删除|写入|处理|提交)'
                ) AND NOT regexp_matches(
                    words,
                    'error|fail|exception|traceback|timed?[ -]?out|denied|refused|reject|unable|cannot|n[''’]t\b|\bnot\b|'
                        || '\bno\b|\bnone\b|nothing|missing|invalid|illegal|unavailable|forbidden|unauthori|exceed|abort|'
                        || 'cancel|crash|wrong|problem|warning|unsuccess|incomplete|partial|retry|again|'
                        || '错误|失败|异常|超时|无法|不能|不可|不存在|不成功|未|没有|拒绝|无效|非法|缺少|超出|超过|中断|取消|'
                        || '重试|❌|✗|⚠'
                )
            THEN 'cheerful'
            WHEN is_recorded THEN 'other'
        END AS reads
    FROM normalized
),
decided AS (
    SELECT *,
        CASE
            WHEN evidence = 'seen' AND seen_error THEN false
            WHEN reads IN ('empty', 'cheerful') THEN evidence IS NOT NULL
            WHEN evidence = 'seen' AND NOT seen_error
            THEN coalesce(strpos(seen_text, nullif(error_message, '')), 0) = 0
            ELSE false
        END AS hidden
    FROM classified
),
grouped AS (
    SELECT
        /* by */ tool, /* end by */
        evidence,
        reads,
        hidden,
        call_id,
        span_id,
        started_at,
        /* unless by code */ code, /* end unless */
        error_message,
        seen_text,
        text,
        draw_key(conversation_id, trace_id) AS cluster,
        CASE WHEN hidden THEN 1.0 ELSE 0 END AS one_hidden
    FROM decided
),
-- cluster_errors: errors of the cluster that have evidence; cluster_hidden: those of them that were hidden
with_cluster AS (
    SELECT *,
        CAST(count(evidence) OVER of_cluster AS DOUBLE) AS cluster_errors,
        sum(one_hidden) OVER of_cluster AS cluster_hidden
    FROM grouped
    WINDOW of_cluster AS (PARTITION BY /* by names */ tool, /* end by */ cluster)
),
-- sums over errors of a figure of their cluster: ss, sn and nn are sums over clusters of squares and products
counted AS (
    SELECT *,
        sum(one_hidden) OVER of_group AS n,
        count(evidence) OVER of_group AS errors,
        count(*) OVER of_group AS failures,
        round(sum(CASE WHEN evidence IS NOT NULL THEN 1 / cluster_errors END) OVER of_group) AS clusters,
        sum(one_hidden * cluster_hidden) OVER of_group AS ss,
        sum(one_hidden * cluster_errors) OVER of_group AS sn,
        sum(CASE WHEN evidence IS NOT NULL THEN cluster_errors END) OVER of_group AS nn
    FROM with_cluster
    WINDOW of_group AS (PARTITION BY /* by names */ tool, /* end by */ 1)
),
with_effect AS (
    SELECT *, effective_n(clusters, errors, n, ss, sn, nn) AS effective
    FROM counted
    WHERE hidden
)
SELECT
    /* by names */ tool, /* end by */
    CAST(n AS BIGINT) AS n,
    errors,
    n / errors AS share,
    cluster_low(n, errors, effective) AS low,
    cluster_high(n, errors, effective) AS high,
    failures - errors AS unknown,
    evidence,
    reads,
    call_id,
    span_id,
    started_at,
    /* unless by code */ code, /* end unless */
    error_message,
    seen_text,
    text,
    too_few_draws(clusters, errors, $min_n) AS too_few,
    CAST(clusters AS BIGINT) AS clusters,
    errors / effective AS design_effect
FROM with_effect
ORDER BY started_at DESC, span_id
LIMIT $limit
