-- Which tools fail, how often, and how certain is the rate?
--
-- One row per group. A failure is an attempt that reports status 'error', whether it returned or raised. An attempt that
-- was cancelled, abandoned, paused, declined, expired or refused, or that reported no status, is not evidence about the tool: it
-- is excluded from numerator and denominator, and counted in a column of its own. A call failed if its last finished
-- attempt failed; it is counted in the group of that attempt. Attempts outside the window are ignored.
--
-- Attempts of one conversation are similar, so the intervals count clusters: a conversation is a cluster. Without a
-- conversation id, the attempts of a trace are a cluster, and an attempt that is alone in its trace is a cluster of its
-- own. Grouped by conversation, a row describes one conversation, and each of its calls is a cluster: the interval shows what
-- further calls of this conversation would be like, not other conversations. The interval is that of attempts / design_effect independent attempts, which includes that few clusters do not
-- show how much clusters differ. With few failing clusters it also allows for clusters that fail as a whole: without any
-- failure, a cluster counts as one attempt. If each cluster has one attempt, design_effect is 1. In simulations with 5 to
-- 200 clusters, also of unequal sizes, and intraclass correlations from 0 to 0.5, the 95 % interval contained the true rate
-- in 95 to 100 % of the histories, and in 94 % where each call resembles the one before (correlation 0.8): a conversation that
-- resembles the one before it in time makes design_effect larger.
--
-- A result that no rule can read counts as an attempt that did not fail: see unread. Failures that a rule recognised by
-- words or shapes only are in heuristic.
--
-- Results from a cache count like any other result. They make a tool look better than it is when it runs: see cached.
-- Grouped by code or status, the rows are parts of a whole: read attempts there, not rate.
--
-- group: failures (first)
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer attempts is marked too_few
--   rules  rules = 'all'     certain: failures that only a heuristic rule found count as attempts that did not fail
-- columns:
--   attempts      count               finished attempts: they returned or raised, and reported a status
--   failures      count               finished attempts with status 'error'
--   rate          share               failures / attempts
--   low           low(rate)           95 % interval of rate
--   high          high(rate)          95 % interval of rate
--   calls         count               calls with at least one finished attempt
--   failed_calls  count               calls whose last finished attempt failed
--   call_rate     share               failed_calls / calls
--   call_low      low(call_rate)      95 % interval of call_rate
--   call_high     high(call_rate)     95 % interval of call_rate
--   partial_rate  share               attempts with status 'partial' / attempts
--   partial_low   low(partial_rate)   95 % interval of partial_rate
--   partial_high  high(partial_rate)  95 % interval of partial_rate
--   cached        aside               finished attempts whose result came from a cache
--   cancelled     aside               attempts left out: cancelled from outside
--   abandoned     aside               attempts left out: a stream that was not read to its end
--   paused        aside               attempts left out: paused for a person
--   declined      aside               attempts left out: declined by a person
--   expired       aside               attempts left out: no answer in time
--   refused       aside               attempts left out: refused, the tool was not run
--   unreported    aside               attempts left out: ended without a status
--   clusters      count               conversations (or traces, or attempts) that the finished attempts belong to
--   design_effect ratio               attempts / independent attempts that rate would be equally certain with; 1 if each cluster has one
--   too_few       mark                attempts < min_n, or fewer than 5 clusters of several attempts: read the interval, not the rate
--   unread        aside               attempts that returned, where nothing states whether they worked; counted as not failed
--   heuristic     aside               failures that a heuristic rule found, by words or shapes
-- verdict: max(call_low) {group} fails most: {call_rate} of {calls:call} ({call_low} to {call_high}), {rate} of
--   {attempts:attempt}.
-- next: query errors --tool {tool}
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124; effective number of
--   attempts by the variance between clusters (Kish 1965) and Student's t (Korn and Graubard 1998; Dean and Pagano 2015)
WITH scoped AS NOT MATERIALIZED (  -- read again where it is used: a copy of these columns would cost more
    -- reads attempts, not tool_calls: the join with messages is not needed, and a window function would keep DuckDB from removing it
    SELECT
        /* by */ tool, /* end by */
        -- the call, the attempt and the cluster as numbers: to carry texts for every attempt takes more time and memory
        call_hash AS call_number,
        coalesce(
            /* unless by conversation */ cluster_hash, /* end unless */ text_key(CASE WHEN conversation_id IS NULL THEN trace_id ELSE call_id END)
        ) AS own_draw,
        CASE WHEN conversation_id IS NULL THEN trace_id END AS lone_trace,
        started_at AS started,
        attempt AS attempt_no,
        span_id,
        text_key(span_id) AS span_number,
        is_finished(status, ending) AS finished,
        status = 'error' AND ($rules = 'all' OR coalesce(rule_grade, '') <> 'heuristic') AS failed,
        status = 'partial' AS partly,
        coalesce(cached, false) AS from_cache,
        coalesce(rule_grade, '') = 'unread' AS was_unread,
        coalesce(rule_grade, '') = 'heuristic' AS by_heuristic,
        ending
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- first_trace: one for all attempts of a call without a conversation, although each may have its own trace
retried_calls AS (
    SELECT
        call_number,
        arg_max(span_number, attempt_order(attempt_no, started, span_id)) FILTER (WHERE finished) AS last_span,
        min(lone_trace) AS first_trace
    FROM scoped
    WHERE call_number IN (SELECT call_hash FROM repeated_calls)
    GROUP BY call_number
),
-- from_last: 1 for the last finished attempt of a call
ranked AS (
    SELECT
        /* by names */ tool, /* end by */
        finished,
        failed,
        partly,
        started,
        CASE WHEN c.call_number IS NULL OR s.span_number = c.last_span THEN 1 ELSE 2 END AS from_last,
        CASE WHEN c.first_trace IS NULL THEN s.own_draw
             ELSE text_key(c.first_trace) END AS draw
    FROM scoped AS s
    LEFT JOIN retried_calls AS c ON c.call_number = s.call_number
),
-- one row per group and cluster
clustered AS (
    SELECT
        /* by names */ tool, /* end by */
        draw,
        min(started) FILTER (WHERE finished) AS first,
        CAST(count(*) FILTER (WHERE finished) AS DOUBLE) AS n,
        CAST(count(*) FILTER (WHERE finished AND failed) AS DOUBLE) AS f,
        CAST(count(*) FILTER (WHERE finished AND partly) AS DOUBLE) AS p,
        CAST(count(*) FILTER (WHERE finished AND from_last = 1) AS DOUBLE) AS c,
        CAST(count(*) FILTER (WHERE finished AND from_last = 1 AND failed) AS DOUBLE) AS fc
    FROM ranked
    GROUP BY ALL
),
-- products of each cluster of several calls and the one before it: neighbours in time may be alike
neighboured AS (
    SELECT
        /* by names */ tool, /* end by */
        sum(n * n_before) AS nn_next,
        sum(f * f_before) AS ff_next,
        sum(f * n_before + n * f_before) AS fn_next,
        sum(p * p_before) AS pp_next,
        sum(p * n_before + n * p_before) AS pn_next,
        sum(c * c_before) AS cc_next,
        sum(fc * fc_before) AS fcfc_next,
        sum(fc * c_before + c * fc_before) AS fcc_next
    FROM (
        SELECT *,
            lag(n) OVER in_time AS n_before,
            lag(f) OVER in_time AS f_before,
            lag(p) OVER in_time AS p_before,
            lag(c) OVER in_time AS c_before,
            lag(fc) OVER in_time AS fc_before
        FROM (
            -- clusters that start at the same time have no order
            SELECT /* by names */ tool, /* end by */ first, sum(n) AS n, sum(f) AS f, sum(p) AS p, sum(c) AS c, sum(fc) AS fc
            FROM clustered
            WHERE c > 1
            GROUP BY ALL
            HAVING count(*) = 1
        ) AS ordered_clusters
        WINDOW in_time AS (PARTITION BY /* by names */ tool, /* end by */ 1 ORDER BY first)
    ) AS with_neighbours
    GROUP BY ALL
),
-- what needs no clusters, so that each of a million clusters is a small row above
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        count(*) FILTER (WHERE finished AND from_cache) AS cached,
        count(*) FILTER (WHERE finished AND was_unread) AS unread,
        count(*) FILTER (WHERE finished AND failed AND by_heuristic) AS heuristic,
        count(*) FILTER (WHERE ending = 'cancelled') AS cancelled,
        count(*) FILTER (WHERE ending = 'abandoned') AS abandoned,
        count(*) FILTER (WHERE ending = 'paused') AS paused,
        count(*) FILTER (WHERE ending = 'declined') AS declined,
        count(*) FILTER (WHERE ending = 'expired') AS expired,
        count(*) FILTER (WHERE ending = 'refused') AS refused,
        count(*) AS total
    FROM scoped
    GROUP BY ALL
),
summed AS (
    SELECT
        /* by names */ tool, /* end by */
        CAST(coalesce(sum(n), 0) AS BIGINT) AS attempts,
        CAST(coalesce(sum(f), 0) AS BIGINT) AS failures,
        CAST(coalesce(sum(p), 0) AS BIGINT) AS partials,
        CAST(coalesce(sum(c), 0) AS BIGINT) AS calls,
        CAST(coalesce(sum(fc), 0) AS BIGINT) AS failed_calls,
        count(*) FILTER (WHERE n > 0) AS clusters,
        count(*) FILTER (WHERE c > 0) AS call_clusters,
        sum(n * n) AS nn,
        sum(f * f) AS ff,
        sum(f * n) AS fn,
        sum(p * p) AS pp,
        sum(p * n) AS pn,
        sum(c * c) AS cc,
        sum(fc * fc) AS fcfc,
        sum(fc * c) AS fcc,
        sum(nn_next) AS nn_next,
        sum(ff_next) AS ff_next,
        sum(fn_next) AS fn_next,
        sum(pp_next) AS pp_next,
        sum(pn_next) AS pn_next,
        sum(cc_next) AS cc_next,
        sum(fcfc_next) AS fcfc_next,
        sum(fcc_next) AS fcc_next,
        CAST(coalesce(sum(cached), 0) AS BIGINT) AS cached,
        CAST(coalesce(sum(unread), 0) AS BIGINT) AS unread,
        CAST(coalesce(sum(heuristic), 0) AS BIGINT) AS heuristic,
        CAST(coalesce(sum(cancelled), 0) AS BIGINT) AS cancelled,
        CAST(coalesce(sum(abandoned), 0) AS BIGINT) AS abandoned,
        CAST(coalesce(sum(paused), 0) AS BIGINT) AS paused,
        CAST(coalesce(sum(declined), 0) AS BIGINT) AS declined,
        CAST(coalesce(sum(expired), 0) AS BIGINT) AS expired,
        CAST(coalesce(sum(refused), 0) AS BIGINT) AS refused,
        CAST(coalesce(sum(total), 0) AS BIGINT) AS total
    FROM (
        SELECT /* by names */ tool, /* end by */ n, f, p, c, fc,
            0.0 AS nn_next, 0.0 AS ff_next, 0.0 AS fn_next, 0.0 AS pp_next, 0.0 AS pn_next, 0.0 AS cc_next, 0.0 AS fcfc_next, 0.0 AS fcc_next,
            0 AS cached, 0 AS unread, 0 AS heuristic, 0 AS cancelled, 0 AS abandoned, 0 AS paused, 0 AS declined, 0 AS expired, 0 AS refused, 0 AS total
        FROM clustered
        UNION ALL
        SELECT /* by names */ tool, /* end by */ 0.0 AS n, 0.0 AS f, 0.0 AS p, 0.0 AS c, 0.0 AS fc,
            nn_next, ff_next, fn_next, pp_next, pn_next, cc_next, fcfc_next, fcc_next,
            0 AS cached, 0 AS unread, 0 AS heuristic, 0 AS cancelled, 0 AS abandoned, 0 AS paused, 0 AS declined, 0 AS expired, 0 AS refused, 0 AS total
        FROM neighboured
        UNION ALL
        SELECT /* by names */ tool, /* end by */ 0.0 AS n, 0.0 AS f, 0.0 AS p, 0.0 AS c, 0.0 AS fc,
            0.0 AS nn_next, 0.0 AS ff_next, 0.0 AS fn_next, 0.0 AS pp_next, 0.0 AS pn_next, 0.0 AS cc_next, 0.0 AS fcfc_next, 0.0 AS fcc_next,
            cached, unread, heuristic, cancelled, abandoned, paused, declined, expired, refused, total
        FROM counted
    ) AS clusters_and_counts
    GROUP BY ALL
),
with_effective AS (
    SELECT *,
        chained_n(clusters, attempts, failures, ff, fn, nn, ff_next, fn_next, nn_next) AS effective,
        chained_n(call_clusters, calls, failed_calls, fcfc, fcc, cc, fcfc_next, fcc_next, cc_next) AS effective_calls,
        chained_n(clusters, attempts, partials, pp, pn, nn, pp_next, pn_next, nn_next) AS effective_partials
    FROM summed
)
SELECT
    /* by names */ tool, /* end by */
    attempts,
    failures,
    failures / nullif(attempts, 0) AS rate,
    cluster_low(failures, attempts, effective) AS low,
    cluster_high(failures, attempts, effective) AS high,
    calls,
    failed_calls,
    failed_calls / nullif(calls, 0) AS call_rate,
    cluster_low(failed_calls, calls, effective_calls) AS call_low,
    cluster_high(failed_calls, calls, effective_calls) AS call_high,
    partials / nullif(attempts, 0) AS partial_rate,
    cluster_low(partials, attempts, effective_partials) AS partial_low,
    cluster_high(partials, attempts, effective_partials) AS partial_high,
    cached,
    cancelled,
    abandoned,
    paused,
    declined,
    expired,
    refused,
    total - attempts - cancelled - abandoned - paused - declined - expired - refused AS unreported,
    clusters,
    attempts / nullif(effective, 0) AS design_effect,
    too_few_draws(clusters, attempts, $min_n) AS too_few,
    unread,
    heuristic
FROM with_effective
ORDER BY rate DESC NULLS LAST, attempts DESC, /* by names */ tool, /* end by */ calls
