-- Does a tool pass the ten-point checklist for results that can be trusted?
--
-- Ten rows per group, one per point, judged on the finished attempts of the group. A result is a finished attempt without
-- an error. A point about a practice is passed if at least good_share of what it applies to follow the practice:
--    1  one envelope: what the tool returned was read with certainty, because it is a response or a known protocol
--    2  success means execution only: no result that says success describes a failure in its data
--    3  results have a confidence: the status success alone does not mean that the answer is right
--    4  results can be traced: they name a source with an id or a url
--    5  errors are structured: read with certainty, with a specific code (not EXECUTION_ERROR, not UNKNOWN)
--    6  attempts recommend a next action
--    7  results are evaluated: at least min_n of them are labelled
--    8  earlier tools are adapted: no failure had to be found by a heuristic rule in a text or in data
--    9  a low confidence (below 0.5) is not taken as strong evidence: such a result does not advise to continue
--   10  sources suffice for review and citation: results name sources, and each has a type (other does not count) and an id
-- With points = 15, five points of our own follow, which the protocol does not have:
--   11  at least min_n results with a confidence are labelled, and the gap between mean confidence and accuracy is at
--       most max_gap, or its 95 % interval includes such a gap
--   12  a confidence comes with the named signals that it was computed from
--   13  errors report whether they are retryable, and of at least min_n retryable errors that were retried, at least
--       retry_share succeeded in a later attempt of the call, or the 95 % interval includes retry_share (flag_precision
--       of retries)
--   14  errors have a suggestion or a message for the user
--   15  attempts have a tool version, a call id from the model and a duration
-- The interval of point 11 is that of calibration, and the one of point 13 is that of a share: both count clusters, because
-- attempts of one conversation are similar. A conversation is a cluster. Without a conversation id, the attempts of a trace
-- are a cluster, and an attempt that is alone in its trace is a cluster of its own. With labels or retries from fewer than
-- five clusters of several attempts, point 11 is not passed, and point 13 cannot be judged.
--
-- Measured on simulated histories of a calibrated tool with independent calls, or with 5 or more clusters that differ: with
-- max_gap 0 and 20 labels or more, point 11 was not passed in at most 5 % of them (docs/explanation/coverage.md). The other
-- points compare shares with a limit and are not tests; point 13 was not measured.
--
-- passed is NULL if there was nothing to judge. Grouped by code, each code is judged on its own attempts only: a group of
-- errors has no results, and a group of results has no errors. A group of few attempts proves little: see too_few.
--
-- group: trust
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since        timestamp = NULL  attempts that started at this time or later
--   until        timestamp = NULL  attempts that started before this time
--   tool         text = NULL       this tool only
--   min_n        integer = 20      labels and retries that points 7, 11 and 13 need; a group of fewer attempts is marked too_few
--   good_share   share = 0.9       minimum share of attempts that follow a practice
--   max_gap      share = 0.1       largest gap that passes point 11
--   retry_share  share = 0.5       minimum share of retries that succeed for point 13
--   points       integer = 10      15: with the five points of our own
-- columns:
--   point     count  1 to 10, or to 15
--   name      text   name of the point
--   passed    flag   whether the history passes the point; NULL if it cannot be judged
--   n         count  results, errors or attempts that the point was judged on
--   evidence  text   the numbers behind the judgement, as a sentence
--   fix       text   what to change if the point is not passed
--   attempts  count  finished attempts of the group
--   clusters       count  conversations (or traces, or attempts) of the labels (point 11), the retries (point 13) or the attempts
--   design_effect  ratio  for points 11 and 13: labels or retries / independent ones that accuracy or the share of retries would be equally certain with; NULL for other points
--   too_few   mark   attempts < min_n, or fewer than 5 clusters of several attempts
--   example_call_id  text  a call that did not follow the practice (points 2, 8 and 9)
--   unread_share  share  share of attempts that returned, where nothing states whether they worked; without interval
--   figures   parts  the evidence as JSON: the kind of sentence and its numbers
-- content: all
-- important: point, name, passed, n, evidence, fix
-- verdict: false(passed) {group} fails point {point} of the checklist, {name}: {evidence}.
-- next: show {example_call_id}
-- source: the checklist of the ToolResult-with-confidence protocol; Wilson score interval (Wilson 1927), 95 %,
--   z = 1.959963984540054; z^2 = 3.841458820694124; effective numbers: Kish 1965, Korn and Graubard 1998; interval of the
--   gap: Zou 2007 (MOVER)
WITH retried_attempts AS (
    SELECT span_id AS attempt_span, max(CASE WHEN status <> 'error' THEN 1 ELSE 0 END) OVER (
        PARTITION BY call_hash
        ORDER BY attempt_order(attempt, started_at, span_id)
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    ) AS succeeded_later
    FROM attempts
    WHERE is_finished(status, ending)
      AND ($since IS NULL OR started_at >= $since)
      AND ($tool IS NULL OR tool = $tool)
      AND call_hash IN (SELECT call_hash FROM repeated_calls)
      AND call_hash IN (
          SELECT call_hash
          FROM attempts
          WHERE retryable AND status = 'error'
            AND ($since IS NULL OR started_at >= $since)
            AND ($until IS NULL OR started_at < $until)
            AND ($tool IS NULL OR tool = $tool)
      )
),
cited AS (
    SELECT
        span_id AS attempt_span,
        count(*) AS cited_n,
        sum(CASE WHEN nullif(id, '') IS NOT NULL OR nullif(url, '') IS NOT NULL THEN 1 ELSE 0 END) AS traceable_n,
        sum(CASE WHEN nullif(id, '') IS NOT NULL AND coalesce(type, 'other') <> 'other' THEN 1 ELSE 0 END) AS complete_n
    FROM sources
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
    GROUP BY span_id
),
scoped AS NOT MATERIALIZED (  -- read again where it is used: a copy of these columns would cost more
    SELECT
        /* by */ tool, /* end by */
        span_id AS attempt_span,
        cluster_hash AS draw,
        started_at,
        status = 'error' AS failed,
        status <> 'error' AS answered,
        CASE WHEN status <> 'error' AND confidence BETWEEN 0 AND 1 THEN confidence END AS valid_confidence,
        coalesce(CAST(signals AS VARCHAR), '{}') NOT IN ('{}', 'null') AS has_signals,
        sources IS NOT NULL AS has_sources,
        next_action IS NOT NULL AS has_advice,
        coalesce(code, 'UNKNOWN') NOT IN ('EXECUTION_ERROR', 'UNKNOWN') AS has_code,
        retryable,
        user_message IS NOT NULL AS has_user_message,
        suggestion IS NOT NULL AS has_suggestion,
        tool_version IS NOT NULL AS has_version,
        call_id <> span_id AS has_call_id,
        duration_ms IS NOT NULL AS has_duration,
        rule IS NOT NULL AS has_rule,
        coalesce(rule_grade, '') = 'unread' AS was_unread,
        ending IS NULL OR ending = 'returned' AS was_returned,
        coalesce(rule_grade, '') = 'certain' AS was_certain,
        coalesce(rule_grade, '') = 'heuristic' AND status <> 'success' AND rule LIKE '%/hidden' AS was_contradicted,
        coalesce(rule_grade, '') = 'heuristic' AND status <> 'success' AND rule NOT LIKE '%/hidden' AS was_guessed,
        result IS NOT NULL AS has_data,
        status <> 'error' AND confidence BETWEEN 0 AND 1 AND confidence < 0.5 AS was_unsure,
        coalesce(next_action, '') = 'continue' AS advises_continue,
        call_id AS attempt_call
    FROM attempts
    WHERE is_finished(status, ending)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- grp: a number of the group, faster to group and to join by than its names
with_group AS NOT MATERIALIZED (
    SELECT *, text_key(row(/* by names */ tool, /* end by */ 1)) AS grp FROM scoped
),
-- figures that need no clusters
totals AS (
    SELECT
        /* by names */ tool, /* end by */
        text_key(row(/* by names */ tool, /* end by */ 1)) AS grp,
        count(*) AS attempts,
        count(*) FILTER (WHERE answered) AS results,
        count(*) FILTER (WHERE failed) AS errors,
        count(valid_confidence) AS confident,
        count(*) FILTER (WHERE valid_confidence IS NOT NULL AND has_signals) AS signalled,
        count(*) FILTER (WHERE has_advice) AS advised,
        count(*) FILTER (WHERE failed AND has_code AND was_certain) AS structured,
        count(retryable) FILTER (WHERE failed) AS reported,
        count(*) FILTER (WHERE failed AND (has_user_message OR has_suggestion)) AS helped,
        count(*) FILTER (WHERE failed AND has_user_message) AS with_user_message,
        count(*) FILTER (WHERE failed AND has_suggestion) AS suggested,
        count(*) FILTER (WHERE has_version AND has_call_id AND has_duration) AS traceable,
        count(*) FILTER (WHERE has_version) AS versioned,
        count(*) FILTER (WHERE has_call_id) AS identified,
        count(*) FILTER (WHERE has_duration) AS timed,
        count(*) FILTER (WHERE has_rule) AS ruled,
        count(*) FILTER (WHERE was_unread) AS unread,
        count(*) FILTER (WHERE was_returned) AS returned,
        count(*) FILTER (WHERE was_returned AND was_certain) AS enveloped,
        count(*) FILTER (WHERE was_returned AND was_certain AND has_data) AS with_data,
        count(*) FILTER (WHERE was_contradicted OR (was_returned AND was_certain)) AS stated,
        count(*) FILTER (WHERE was_contradicted) AS contradicted,
        count(*) FILTER (WHERE was_guessed) AS guessed,
        count(*) FILTER (WHERE was_unsure) AS unsure,
        count(*) FILTER (WHERE was_unsure AND advises_continue) AS unsure_continue,
        min(CASE WHEN was_contradicted THEN attempt_call END) AS contradicted_call,
        min(CASE WHEN was_guessed THEN attempt_call END) AS guessed_call,
        min(CASE WHEN was_unsure AND advises_continue THEN attempt_call END) AS unsure_call
    FROM scoped
    GROUP BY ALL
),
citation_sums AS (
    SELECT
        s.grp,
        sum(CASE WHEN c.traceable_n > 0 THEN 1 ELSE 0 END) AS sourced,
        sum(CASE WHEN c.complete_n = c.cited_n THEN 1 ELSE 0 END) AS citable
    FROM (SELECT grp, attempt_span FROM with_group WHERE has_sources AND answered) AS s
    JOIN cited AS c ON c.attempt_span = s.attempt_span
    GROUP BY s.grp
),
evaluated_results AS (
    SELECT s.grp, count(*) AS evaluated
    FROM (SELECT grp, attempt_span FROM with_group WHERE answered) AS s
    JOIN judged AS j ON j.span_id = s.attempt_span
    WHERE j.correct IS NOT NULL
    GROUP BY s.grp
),
clusters AS (
    SELECT grp, draw, min(started_at) AS first FROM with_group GROUP BY grp, draw
),
cluster_counts AS (
    SELECT grp, count(*) AS clusters FROM clusters GROUP BY grp
),
labelled_clusters AS (
    SELECT l.*, c.first
    FROM (
        SELECT
            s.grp,
            s.draw,
            count(*) AS labelled,
            count(*) FILTER (WHERE j.correct) AS correct_n,
            sum(CAST(s.valid_confidence AS DOUBLE)) AS sum_confidence
        FROM with_group AS s
        JOIN judged AS j ON j.span_id = s.attempt_span
        WHERE s.valid_confidence IS NOT NULL AND j.correct IS NOT NULL
        GROUP BY s.grp, s.draw
    ) AS l
    JOIN clusters AS c ON c.grp = l.grp AND c.draw = l.draw
),
-- the starts that several clusters share: these clusters have no order
tied_labelled AS (
    SELECT first FROM labelled_clusters WHERE labelled > 1 GROUP BY grp, first HAVING count(*) > 1
),
-- each cluster of several attempts with the one before it: neighbours in time may be alike
labelled_in_order AS (
    SELECT *,
        lag(labelled) OVER in_time AS labelled_before,
        lag(correct_n) OVER in_time AS correct_before,
        lag(sum_confidence) OVER in_time AS confidence_before
    FROM labelled_clusters
    WHERE labelled > 1 AND first NOT IN (SELECT first FROM tied_labelled)
    WINDOW in_time AS (PARTITION BY grp ORDER BY first)
    UNION ALL
    SELECT *, NULL AS labelled_before, NULL AS correct_before, NULL AS confidence_before
    FROM labelled_clusters
    WHERE labelled <= 1 OR first IN (SELECT first FROM tied_labelled)
),
label_sums AS (
    SELECT
        grp,
        CAST(sum(labelled) AS BIGINT) AS labelled,
        CAST(sum(correct_n) AS BIGINT) AS correct_n,
        sum(sum_confidence) AS sum_confidence,
        count(*) AS label_clusters,
        CAST(sum(labelled * labelled) AS DOUBLE) AS nn,
        CAST(sum(correct_n * labelled) AS DOUBLE) AS sn,
        CAST(sum(correct_n * correct_n) AS DOUBLE) AS ss,
        sum(sum_confidence * sum_confidence) AS mm,
        sum(sum_confidence * labelled) AS mn,
        sum(sum_confidence * correct_n) AS ms,
        CAST(sum(labelled * labelled_before) AS DOUBLE) AS nn_next,
        CAST(sum(correct_n * labelled_before + labelled * correct_before) AS DOUBLE) AS sn_next,
        CAST(sum(correct_n * correct_before) AS DOUBLE) AS ss_next,
        sum(sum_confidence * confidence_before) AS mm_next,
        sum(sum_confidence * labelled_before + labelled * confidence_before) AS mn_next
    FROM labelled_in_order
    GROUP BY grp
),
retried_clusters AS (
    SELECT r.*, c.first
    FROM (
        SELECT s.grp, s.draw, count(*) AS retried, count(*) FILTER (WHERE l.succeeded_later = 1) AS recovered
        FROM with_group AS s
        JOIN retried_attempts AS l ON l.attempt_span = s.attempt_span
        WHERE s.failed AND s.retryable AND l.succeeded_later IS NOT NULL
        GROUP BY s.grp, s.draw
    ) AS r
    JOIN clusters AS c ON c.grp = r.grp AND c.draw = r.draw
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM retried_clusters WHERE retried > 1 GROUP BY grp, first HAVING count(*) > 1
),
retried_in_order AS (
    SELECT *, lag(retried) OVER in_time AS retried_before, lag(recovered) OVER in_time AS recovered_before
    FROM retried_clusters
    WHERE retried > 1 AND first NOT IN (SELECT first FROM tied)
    WINDOW in_time AS (PARTITION BY grp ORDER BY first)
    UNION ALL
    SELECT *, NULL AS retried_before, NULL AS recovered_before
    FROM retried_clusters
    WHERE retried <= 1 OR first IN (SELECT first FROM tied)
),
retry_sums AS (
    SELECT
        grp,
        CAST(sum(retried) AS BIGINT) AS retried,
        CAST(sum(recovered) AS BIGINT) AS recovered,
        count(*) AS retry_clusters,
        CAST(sum(retried * retried) AS DOUBLE) AS retried_2,
        CAST(sum(recovered * retried) AS DOUBLE) AS recovered_retried,
        CAST(sum(recovered * recovered) AS DOUBLE) AS recovered_2,
        CAST(sum(retried * retried_before) AS DOUBLE) AS retried_next,
        CAST(sum(recovered * retried_before + retried * recovered_before) AS DOUBLE) AS recovered_retried_next,
        CAST(sum(recovered * recovered_before) AS DOUBLE) AS recovered_next
    FROM retried_in_order
    GROUP BY grp
),
counted AS (
    SELECT
        t.*,
        k.clusters,
        coalesce(c.sourced, 0) AS sourced,
        coalesce(c.citable, 0) AS citable,
        coalesce(e.evaluated, 0) AS evaluated,
        coalesce(l.labelled, 0) AS labelled,
        coalesce(l.correct_n, 0) AS correct_n,
        coalesce(l.sum_confidence, 0.0) AS sum_confidence,
        coalesce(l.label_clusters, 0) AS label_clusters,
        l.nn, l.sn, l.ss, l.mm, l.mn, l.ms, l.nn_next, l.sn_next, l.ss_next, l.mm_next, l.mn_next,
        coalesce(r.retried, 0) AS retried,
        coalesce(r.recovered, 0) AS recovered,
        coalesce(r.retry_clusters, 0) AS retry_clusters,
        r.retried_2, r.recovered_retried, r.recovered_2, r.retried_next, r.recovered_retried_next, r.recovered_next
    FROM totals AS t
    JOIN cluster_counts AS k ON k.grp = t.grp
    LEFT JOIN citation_sums AS c ON c.grp = t.grp
    LEFT JOIN evaluated_results AS e ON e.grp = t.grp
    LEFT JOIN label_sums AS l ON l.grp = t.grp
    LEFT JOIN retry_sums AS r ON r.grp = t.grp
),
with_effective AS (
    SELECT *,
        chained_n(label_clusters, labelled, correct_n, ss, sn, nn, ss_next, sn_next, nn_next) AS effective,
        chained_n(
            retry_clusters, retried, recovered, recovered_2, recovered_retried, retried_2,
            recovered_next, recovered_retried_next, retried_next
        ) AS effective_retries,
        chained_half(labelled, sum_confidence, mm, mn, nn, mm_next, mn_next, nn_next) AS half,
        cluster_correlation(labelled, sum_confidence, mm, mn, correct_n, ss, sn, ms, nn) AS correlation
    FROM counted
    WHERE attempts > 0
),
with_intervals AS (
    SELECT *,
        sum_confidence / nullif(labelled, 0) AS mean_confidence,
        (sum_confidence - correct_n) / nullif(labelled, 0) AS gap,
        (sum_confidence - correct_n) / nullif(labelled, 0) - gap_half(
            half, cluster_high(correct_n, labelled, effective) - correct_n / labelled, correlation, labelled, nn
        ) AS gap_low,
        (sum_confidence - correct_n) / nullif(labelled, 0) + gap_half(
            half, correct_n / labelled - cluster_low(correct_n, labelled, effective), correlation, labelled, nn
        ) AS gap_high,
        cluster_low(recovered, retried, effective_retries) AS retry_low,
        cluster_high(recovered, retried, effective_retries) AS retry_high
    FROM with_effective
),
points AS (
    SELECT 1 AS point, 'one envelope for all results' AS name,
        'return a ToolResponse with text and data, or the members of a known protocol: a text that came back does not mean that the tool worked' AS fix
    UNION ALL SELECT 2, 'success means execution only',
        'report a failure as an error, instead of a success whose data describe it'
    UNION ALL SELECT 3, 'confidence on results',
        'return ToolResponse.success(…, confidence=…): success alone does not mean that the answer is right'
    UNION ALL SELECT 4, 'results can be traced',
        'name the sources of each result: ToolResponse.success(…, sources=[Source(id=…)])'
    UNION ALL SELECT 5, 'errors structured',
        'give each kind of error a code: ToolResponse.error("RATE_LIMIT", …)'
    UNION ALL SELECT 6, 'next action given',
        'report the next action: ToolResponse.success(…, next_action="continue"); return errors instead of raising them'
    UNION ALL SELECT 7, 'results evaluated',
        'label results: tooltrace label, tt.label'
    UNION ALL SELECT 8, 'earlier tools adapted',
        'return ToolResponse.error(…) or raise, instead of describing a failure in the data or the text; or read it with tt.rule'
    UNION ALL SELECT 9, 'low confidence is not strong evidence',
        'advise ask_user or human_review where the confidence is below 0.5, or leave the next action to resolve_next_step'
    UNION ALL SELECT 10, 'sources suffice to cite',
        'give each source its type and a stable id: Source(type="database", id=…)'
    UNION ALL SELECT 11, 'confidence calibrated',
        'label results (tooltrace label, tt.label), and adjust the confidence to match the labels'
    UNION ALL SELECT 12, 'confidence has signals',
        'compute the confidence from named signals: tt.ConfidenceRules, or ToolResponse(…, signals={…})'
    UNION ALL SELECT 13, 'retryable reported correctly',
        'set retryable=True if a later attempt can succeed, and retryable=False if the same call would fail again'
    UNION ALL SELECT 14, 'errors state what to do',
        'give errors a suggestion= for the model or a user_message= for the person'
    UNION ALL SELECT 15, 'version, call id, duration',
        'set the version in trace_tool(version=…), and pass the model''s call id with tt.context(call_id=…)'
),
-- sentence: the kind of sentence that states the evidence
worded AS (
    SELECT *,
        CASE point
            WHEN 1 THEN CASE WHEN returned = 0 THEN 'no_results' ELSE 'enveloped' END
            WHEN 2 THEN CASE WHEN stated = 0 THEN 'nothing_stated' WHEN contradicted > 0 THEN 'contradicted' ELSE 'stated' END
            WHEN 3 THEN CASE WHEN results = 0 THEN 'no_results' ELSE 'confident' END
            WHEN 4 THEN CASE WHEN results = 0 THEN 'no_results' ELSE 'sourced' END
            WHEN 5 THEN CASE WHEN errors = 0 THEN 'no_errors' ELSE 'structured' END
            WHEN 6 THEN 'advised'
            WHEN 7 THEN CASE WHEN results = 0 THEN 'no_results' ELSE 'evaluated' END
            WHEN 8 THEN CASE WHEN guessed > 0 THEN 'guessed' WHEN ruled = 0 THEN 'unread' ELSE 'adapted' END
            WHEN 9 THEN CASE WHEN unsure = 0 THEN 'none_low' WHEN unsure_continue > 0 THEN 'low_continue' ELSE 'low' END
            WHEN 10 THEN CASE WHEN results = 0 THEN 'no_results' ELSE 'citable' END
            WHEN 11 THEN CASE WHEN confident = 0 THEN 'unsure' WHEN labelled = 0 THEN 'unlabelled'
                WHEN gap_low IS NULL THEN 'one_cluster'
                WHEN gap_low <= 0 AND gap_high >= 0 THEN 'level' WHEN gap >= 0 THEN 'over' ELSE 'under' END
            WHEN 12 THEN CASE WHEN confident = 0 THEN 'unsure' ELSE 'signalled' END
            WHEN 13 THEN CASE WHEN errors = 0 THEN 'no_errors' WHEN retried = 0 THEN 'untried' ELSE 'retried' END
            WHEN 14 THEN CASE WHEN errors = 0 THEN 'no_errors' ELSE 'helped' END
            ELSE 'traceable'
        END AS sentence
    FROM with_intervals
    CROSS JOIN points
    WHERE point <= $points
)
SELECT
    /* by names */ tool, /* end by */
    point,
    name,
    CASE point
        WHEN 1 THEN CASE WHEN returned > 0 THEN enveloped / returned >= $good_share END
        WHEN 2 THEN CASE WHEN stated > 0 THEN contradicted = 0 END
        WHEN 3 THEN CASE WHEN results > 0 THEN confident / results >= $good_share END
        WHEN 4 THEN CASE WHEN results > 0 THEN sourced / results >= $good_share END
        WHEN 5 THEN CASE WHEN errors > 0 THEN structured / errors >= $good_share END
        WHEN 6 THEN advised / attempts >= $good_share
        WHEN 7 THEN CASE WHEN results > 0 THEN evaluated >= greatest($min_n, 1) END
        WHEN 8 THEN CASE WHEN guessed > 0 THEN false WHEN ruled > 0 THEN true END
        WHEN 9 THEN CASE WHEN unsure > 0 THEN (unsure - unsure_continue) / unsure >= $good_share END
        WHEN 10 THEN CASE WHEN results > 0 THEN citable / results >= $good_share END
        WHEN 11 THEN CASE WHEN confident = 0 THEN NULL
            WHEN too_few_draws(label_clusters, labelled, greatest($min_n, 1)) THEN false
            ELSE gap_low <= $max_gap AND gap_high >= -1 * $max_gap END
        WHEN 12 THEN CASE WHEN confident > 0 THEN signalled / confident >= $good_share END
        WHEN 13 THEN CASE WHEN errors = 0 THEN NULL
            WHEN reported / errors < $good_share THEN false
            WHEN too_few_draws(retry_clusters, retried, greatest($min_n, 1)) THEN NULL
            ELSE retry_high >= $retry_share END
        WHEN 14 THEN CASE WHEN errors > 0 THEN helped / errors >= $good_share END
        WHEN 15 THEN traceable / attempts >= $good_share
    END AS passed,
    CAST(CASE
        WHEN point = 1 THEN returned
        WHEN point = 2 THEN stated
        WHEN point IN (3, 4, 7, 10) THEN results
        WHEN point IN (5, 13, 14) THEN errors
        WHEN point = 8 THEN ruled
        WHEN point = 9 THEN unsure
        WHEN point = 11 THEN labelled
        WHEN point = 12 THEN confident
        ELSE attempts
    END AS BIGINT) AS n,
    CASE sentence
        WHEN 'no_results' THEN 'no results'
        WHEN 'enveloped' THEN concat(
            enveloped, ' of ', returned, ' returned results came in an envelope, ', with_data, ' of them with data; ', unread,
            ' attempts are unread'
        )
        WHEN 'nothing_stated' THEN 'no result states whether the tool worked'
        WHEN 'stated' THEN concat('none of ', stated, ' stated results describes a failure as a success')
        WHEN 'contradicted' THEN concat(
            contradicted, ' of ', stated, ' stated results describe a failure as a success, such as call ', contradicted_call
        )
        WHEN 'sourced' THEN concat(sourced, ' of ', results, ' results name a source with an id or a url')
        WHEN 'evaluated' THEN concat(evaluated, ' of ', results, ' results are labelled')
        WHEN 'none_low' THEN 'no result has a confidence below 0.5'
        WHEN 'low' THEN concat('none of ', unsure, ' results with a low confidence advises to continue')
        WHEN 'low_continue' THEN concat(
            unsure_continue, ' of ', unsure, ' results with a low confidence advise to continue, such as call ', unsure_call
        )
        WHEN 'citable' THEN concat(citable, ' of ', results, ' results have sources that all have a type and an id')
        WHEN 'confident' THEN concat(confident, ' of ', results, ' results have a confidence')
        WHEN 'unsure' THEN 'no result has a confidence'
        WHEN 'unlabelled' THEN concat('none of ', confident, ' results with a confidence is labelled')
        WHEN 'one_cluster' THEN concat(
            labelled, ' of ', confident, ' results with a confidence are labelled, all of one conversation'
        )
        WHEN 'signalled' THEN concat(signalled, ' of ', confident, ' results with a confidence have signals')
        WHEN 'advised' THEN concat(advised, ' of ', attempts, ' attempts recommend a next action')
        WHEN 'no_errors' THEN 'no errors'
        WHEN 'structured' THEN concat(structured, ' of ', errors, ' errors are structured and have a specific code')
        WHEN 'untried' THEN concat(
            reported, ' of ', errors, ' errors report whether they are retryable; no retryable error was retried'
        )
        WHEN 'retried' THEN concat(
            reported, ' of ', errors, ' errors report whether they are retryable; ', recovered, ' of ', retried,
            ' retryable errors that were retried succeeded, ', round(recovered / retried, 2), ' [',
            round(retry_low, 2), ', ', round(retry_high, 2), ']'
        )
        WHEN 'helped' THEN concat(
            helped, ' of ', errors, ' errors state what to do: ', suggested, ' with a suggestion, ', with_user_message,
            ' with a message for the user'
        )
        WHEN 'traceable' THEN concat(
            'of ', attempts, ' attempts ', versioned, ' have a tool version, ', identified,
            ' a call id from the model, ', timed, ' a duration'
        )
        WHEN 'guessed' THEN concat(
            guessed, ' of ', ruled, ' attempts described a failure that only a heuristic rule found, such as call ', guessed_call
        )
        WHEN 'unread' THEN 'the rules that read the results are not recorded'
        WHEN 'adapted' THEN concat('none of ', ruled, ' attempts needed a heuristic rule to find a failure')
        ELSE concat(
            labelled, ' of ', confident, ' results with a confidence are labelled: mean confidence ',
            round(mean_confidence, 2), ', accuracy ', round(correct_n / labelled, 2), ', ',
            CASE sentence WHEN 'level' THEN 'not clearly over- or underconfident, gap '
                ELSE concat(sentence, 'confident by ') END,
            round(CASE WHEN sentence = 'under' THEN -gap ELSE gap END, 2) + 0, ' [',
            round(CASE WHEN sentence = 'under' THEN -gap_high ELSE gap_low END, 2) + 0, ', ',
            round(CASE WHEN sentence = 'under' THEN -gap_low ELSE gap_high END, 2) + 0, ']'
        )
    END AS evidence,
    fix,
    attempts,
    CASE point WHEN 11 THEN label_clusters WHEN 13 THEN retry_clusters ELSE clusters END AS clusters,
    CASE point WHEN 11 THEN labelled / nullif(effective, 0) WHEN 13 THEN retried / nullif(effective_retries, 0) END AS design_effect,
    too_few_draws(clusters, attempts, $min_n) AS too_few,
    CASE sentence WHEN 'contradicted' THEN contradicted_call WHEN 'guessed' THEN guessed_call WHEN 'low_continue' THEN unsure_call END AS example_call_id,
    unread / attempts AS unread_share,
    concat('{"sentence":"', sentence, '"', CASE sentence
        WHEN 'confident' THEN concat(',"confident":', confident, ',"results":', results)
        WHEN 'unlabelled' THEN concat(',"confident":', confident)
        WHEN 'one_cluster' THEN concat(',"labelled":', labelled, ',"confident":', confident)
        WHEN 'signalled' THEN concat(',"signalled":', signalled, ',"confident":', confident)
        WHEN 'advised' THEN concat(',"advised":', advised, ',"attempts":', attempts)
        WHEN 'structured' THEN concat(',"structured":', structured, ',"errors":', errors)
        WHEN 'untried' THEN concat(',"reported":', reported, ',"errors":', errors)
        WHEN 'retried' THEN concat(
            ',"reported":', reported, ',"errors":', errors, ',"recovered":', recovered, ',"retried":', retried,
            ',"share":', round(recovered / retried, 6), ',"low":', round(retry_low, 6), ',"high":', round(retry_high, 6)
        )
        WHEN 'helped' THEN concat(
            ',"helped":', helped, ',"errors":', errors, ',"suggested":', suggested, ',"with_user_message":', with_user_message
        )
        WHEN 'traceable' THEN concat(
            ',"attempts":', attempts, ',"versioned":', versioned, ',"identified":', identified, ',"timed":', timed
        )
        WHEN 'enveloped' THEN concat(
            ',"enveloped":', enveloped, ',"returned":', returned, ',"with_data":', with_data, ',"unread":', unread
        )
        WHEN 'stated' THEN concat(',"stated":', stated)
        WHEN 'contradicted' THEN concat(',"contradicted":', contradicted, ',"stated":', stated)
        WHEN 'sourced' THEN concat(',"sourced":', sourced, ',"results":', results)
        WHEN 'evaluated' THEN concat(',"evaluated":', evaluated, ',"results":', results)
        WHEN 'guessed' THEN concat(',"guessed":', guessed, ',"ruled":', ruled)
        WHEN 'adapted' THEN concat(',"ruled":', ruled)
        WHEN 'low' THEN concat(',"low":', unsure)
        WHEN 'low_continue' THEN concat(',"continued":', unsure_continue, ',"low":', unsure)
        WHEN 'citable' THEN concat(',"citable":', citable, ',"results":', results)
        WHEN 'over' THEN concat(
            ',"labelled":', labelled, ',"confident":', confident, ',"confidence":', round(mean_confidence, 6),
            ',"right":', round(correct_n / labelled, 6), ',"gap":', round(gap, 6) + 0,
            ',"low":', round(gap_low, 6) + 0, ',"high":', round(gap_high, 6) + 0
        )
        WHEN 'level' THEN concat(
            ',"labelled":', labelled, ',"confident":', confident, ',"confidence":', round(mean_confidence, 6),
            ',"right":', round(correct_n / labelled, 6), ',"gap":', round(gap, 6) + 0,
            ',"low":', round(gap_low, 6) + 0, ',"high":', round(gap_high, 6) + 0
        )
        WHEN 'under' THEN concat(
            ',"labelled":', labelled, ',"confident":', confident, ',"confidence":', round(mean_confidence, 6),
            ',"right":', round(correct_n / labelled, 6), ',"gap":', round(-gap, 6) + 0,
            ',"low":', round(-gap_high, 6) + 0, ',"high":', round(-gap_low, 6) + 0
        )
        ELSE '' END, '}') AS figures
FROM worded
ORDER BY /* by names */ tool, /* end by */ point
