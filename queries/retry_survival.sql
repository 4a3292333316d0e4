-- How many attempts does a call need to succeed?
--
-- One row per group and k, the number of the attempt in its call. km is the share of calls that succeed within k attempts
-- if no call is given up before (Kaplan-Meier: giving up is censoring). It assumes that the calls that were given up were
-- not worse off than those that continued. naive is the share that did succeed within k attempts.
--
-- Only finished attempts in the window count as attempts. Attempts that were cancelled, abandoned, paused, declined or
-- expired are counted in left_out, refused ones in refused. Success is any status except 'error'; attempts after the first
-- success are ignored. A call is counted in the group of its first finished attempt: grouped by code, that is the error that
-- came first.
--
-- The interval of km is Greenwood's on the log-log scale. It is undefined if nothing has succeeded yet (here: the Wilson
-- interval of none of at_risk), and if all remaining calls succeeded (here: the lower limit before, and the Wilson interval
-- of all of at_risk).
--
-- Calls of one conversation are similar, so the intervals count clusters: a conversation is a cluster. Without a
-- conversation id, the calls of a trace are a cluster, and a call that is alone in its trace is a cluster of its own. A
-- share is as certain as that of calls / design_effect independent calls, and the variance of km is multiplied by the
-- design_effect of naive.
--
-- group: costs
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a row with fewer calls at risk is marked too_few
-- columns:
--   k           count        number of the attempt in its call; 1 is the first
--   calls       count        calls of the group
--   at_risk     count        calls that made a k-th attempt and had not succeeded before
--   succeeded   count        calls among at_risk whose k-th attempt succeeded
--   gave_up     count        calls among at_risk whose k-th attempt failed and was the last
--   km          share        share of calls that succeed within k attempts if none is given up
--   km_low      low(km)      95 % interval of km
--   km_high     high(km)     95 % interval of km
--   naive       share        calls that did succeed within k attempts / calls
--   naive_low   low(naive)   95 % interval of naive
--   naive_high  high(naive)  95 % interval of naive
--   censored    share        calls given up before the k-th attempt / calls: km makes an assumption about them
--   censored_low   low(censored)   95 % interval of censored
--   censored_high  high(censored)  95 % interval of censored
--   left_out    aside        attempts that did not finish, in the calls that ended with the k-th attempt
--   refused     aside        refused attempts in these calls: the tool was not run
--   clusters    count        conversations (or traces, or calls) that calls belong to
--   design_effect  ratio     calls / independent calls that naive would be equally certain with; 1 if each cluster has one
--   too_few     mark         at_risk < min_n, or fewer than 5 clusters of several calls
-- important: k, at_risk, succeeded, km, gave_up
-- verdict: max(k) {group}: {km} of the calls succeed within {k:attempt} ({km_low} to {km_high}), if none is given up.
-- next: query retries --tool {tool}
-- source: Kaplan and Meier 1958; variance by Greenwood 1926, log-log interval by Kalbfleisch and Prentice 1980; Wilson
--   score 1927; z = 1.959963984540054; z^2 = 3.841458820694124
WITH scoped AS NOT MATERIALIZED (  -- read again where it is used: a copy of these columns would cost more
    SELECT *,
        call_hash AS call_number,
        is_finished(status, ending) AS finished,
        coalesce(ending = 'refused', false) AS was_refused
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
numbered AS (
    SELECT *, row_number() OVER (
        PARTITION BY call_number ORDER BY finished DESC, attempt_order(attempt, started_at, span_id)
    ) AS attempt_no
    FROM scoped
    WHERE call_number IN (SELECT call_hash FROM repeated_calls)
),
totals_of_calls AS (
    SELECT
        call_number,
        count(*) FILTER (WHERE finished) AS attempts_n,
        count(*) FILTER (WHERE NOT finished AND NOT was_refused) AS unfinished,
        count(*) FILTER (WHERE was_refused) AS refused,
        min(attempt_no) FILTER (WHERE finished AND status <> 'error') AS success_no,
        min(trace_id) AS first_trace
    FROM numbered
    GROUP BY call_number
),
-- one row per call, its first attempt
all_calls AS (
    SELECT
        /* by */ tool, /* end by */
        text_key(draw_key(conversation_id, first_trace)) AS draw,
        started_at,
        finished,
        attempts_n,
        unfinished,
        refused,
        success_no
    FROM (
        SELECT a.*, t.* EXCLUDE (call_number) FROM numbered AS a JOIN totals_of_calls AS t ON t.call_number = a.call_number
    ) AS with_totals
    WHERE attempt_no = 1
    UNION ALL
    SELECT
        /* by */ tool, /* end by */
        cluster_hash AS draw,
        started_at,
        finished,
        CASE WHEN finished THEN 1 ELSE 0 END AS attempts_n,
        CASE WHEN finished OR was_refused THEN 0 ELSE 1 END AS unfinished,
        CASE WHEN was_refused THEN 1 ELSE 0 END AS refused,
        CASE WHEN finished AND status <> 'error' THEN 1 END AS success_no
    FROM scoped
    WHERE call_number NOT IN (SELECT call_hash FROM repeated_calls)
),
-- by cluster, the number of calls that ended with the k-th attempt, and how
ended AS (
    SELECT
        /* by names */ tool, /* end by */
        draw,
        min(started_at) AS first,
        greatest(coalesce(success_no, attempts_n), 1) AS k,
        CAST(count(success_no) AS DOUBLE) AS succeeded,
        CAST(count(*) FILTER (WHERE finished AND success_no IS NULL) AS DOUBLE) AS gave_up,
        CAST(sum(unfinished) AS DOUBLE) AS left_out,
        CAST(sum(refused) AS DOUBLE) AS refused
    FROM all_calls
    GROUP BY ALL
),
-- grp: a number of the group, faster to join and to order by than its names
with_group AS NOT MATERIALIZED (
    SELECT *, text_key(row(/* by names */ tool, /* end by */ 1)) AS grp FROM ended
),
groups AS (
    SELECT /* by names */ tool, /* end by */ grp, max(k) AS last_k FROM with_group GROUP BY ALL
),
-- n: calls of the cluster; s: those that succeeded at once
clusters AS (
    SELECT grp, draw, min(first) AS first, max(k) AS last_k, sum(succeeded + gave_up) AS n,
        sum(CASE WHEN k = 1 THEN succeeded ELSE 0.0 END) AS s
    FROM with_group
    GROUP BY grp, draw
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM clusters WHERE n > 1 GROUP BY grp, first HAVING count(*) > 1
),
-- each cluster of several calls with the one before it: neighbours in time may be alike
neighboured AS (
    SELECT
        grp,
        sum(s * s_before) AS ss_next,
        sum(s * n_before + n * s_before) AS sn_next,
        sum(n * n_before) AS nn_next
    FROM (
        SELECT grp, n, s, lag(n) OVER in_time AS n_before, lag(s) OVER in_time AS s_before
        FROM clusters
        WHERE n > 1 AND first NOT IN (SELECT first FROM tied)
        WINDOW in_time AS (PARTITION BY grp ORDER BY first)
    ) AS with_neighbours
    GROUP BY grp
),
cluster_counts AS (
    SELECT grp, count(*) FILTER (WHERE n > 0) AS clusters FROM clusters GROUP BY grp
),
with_cluster AS (
    SELECT e.grp, e.draw, e.k, e.succeeded, e.gave_up, e.left_out, e.refused, c.n, c.last_k
    FROM with_group AS e
    JOIN clusters AS c ON c.grp = e.grp AND c.draw = e.draw
),
-- done and gone: calls of the cluster that succeeded or were given up with the k-th attempt or before. In most clusters, all
-- calls end with the first attempt
accumulated AS (
    SELECT *, succeeded AS done, gave_up AS gone FROM with_cluster WHERE last_k = 1
    UNION ALL
    SELECT *, sum(succeeded) OVER so_far AS done, sum(gave_up) OVER so_far AS gone
    FROM with_cluster
    WHERE last_k > 1
    WINDOW so_far AS (PARTITION BY grp, draw ORDER BY k)
),
-- sums over clusters, as each k adds to them
summed AS (
    SELECT
        grp,
        k,
        sum(succeeded) AS succeeded,
        sum(gave_up) AS gave_up,
        sum(left_out) AS left_out,
        sum(refused) AS refused,
        sum(n * (succeeded + gave_up)) AS nn,
        sum(done * done - (done - succeeded) * (done - succeeded)) AS done_2,
        sum(succeeded * n) AS done_n,
        sum(gone * gone - (gone - gave_up) * (gone - gave_up)) AS gone_2,
        sum(gave_up * n) AS gone_n
    FROM accumulated
    GROUP BY grp, k
),
-- every k up to the last has a row, even if no call ended with it
filled AS (
    SELECT grp, k, succeeded, gave_up, left_out, refused, nn, done_2, done_n, gone_2, gone_n FROM summed
    UNION ALL
    SELECT groups.grp, attempt_numbers.k, 0 AS succeeded, 0 AS gave_up, 0 AS left_out, 0 AS refused, 0 AS nn, 0 AS done_2, 0 AS done_n, 0 AS gone_2,
        0 AS gone_n
    FROM groups
    JOIN (SELECT attempt_no AS k FROM numbered UNION SELECT 1) AS attempt_numbers ON attempt_numbers.k <= groups.last_k
),
steps AS (
    SELECT
        grp,
        k,
        CAST(sum(succeeded) AS BIGINT) AS succeeded,
        CAST(sum(gave_up) AS BIGINT) AS gave_up,
        CAST(sum(left_out) AS BIGINT) AS left_out,
        CAST(sum(refused) AS BIGINT) AS refused,
        sum(nn) AS nn,
        sum(done_2) AS done_2,
        sum(done_n) AS done_n,
        sum(gone_2) AS gone_2,
        sum(gone_n) AS gone_n
    FROM filled
    GROUP BY grp, k
),
with_totals AS (
    SELECT *,
        CAST(sum(succeeded + gave_up) OVER (PARTITION BY grp) AS BIGINT) AS calls,
        CAST(sum(succeeded + gave_up) OVER (PARTITION BY grp ORDER BY k DESC) AS BIGINT)
            AS at_risk,
        CAST(sum(succeeded) OVER so_far AS BIGINT) AS done,
        sum(nn) OVER (PARTITION BY grp) AS calls_2,
        sum(done_2) OVER so_far AS all_done_2,
        sum(done_n) OVER so_far AS all_done_n,
        sum(gone_2) OVER so_far - gone_2 AS all_gone_2,
        sum(gone_n) OVER so_far - gone_n AS all_gone_n
    FROM steps
    WINDOW so_far AS (PARTITION BY grp ORDER BY k)
),
curve AS (
    SELECT *,
        CASE WHEN succeeded = at_risk THEN 0.0
             ELSE exp(sum(ln(nullif(at_risk - succeeded, 0) / at_risk)) OVER so_far) END AS pending,
        sqrt(sum(succeeded / (at_risk * nullif(at_risk - succeeded, 0))) OVER so_far) AS greenwood,
        calls - at_risk - (done - succeeded) AS censored_n
    FROM with_totals
    WHERE at_risk > 0
    WINDOW so_far AS (PARTITION BY grp ORDER BY k)
),
-- the calls that succeeded at once show how alike neighbours are
with_chain AS (
    SELECT c.*, u.clusters,
        max(CASE WHEN k = 1 THEN neighbour_effect(calls, done, all_done_2, all_done_n, calls_2, ss_next, sn_next, nn_next) END)
            OVER (PARTITION BY c.grp) AS chain
    FROM curve AS c
    JOIN cluster_counts AS u ON u.grp = c.grp
    LEFT JOIN neighboured AS b ON b.grp = c.grp
),
with_effective AS (
    SELECT *,
        effective_n(clusters, calls, done, all_done_2, all_done_n, calls_2) / chain AS effective,
        effective_n(clusters, calls, censored_n, all_gone_2, all_gone_n, calls_2) / chain AS effective_censored
    FROM with_chain
),
with_intervals AS (
    SELECT *,
        CASE WHEN pending = 1 THEN 0.0
             WHEN pending > 0 THEN 1 - power(pending, exp(-1.959963984540054 * greenwood * sqrt(calls / effective) / abs(ln(pending)))) END AS low,
        CASE WHEN pending = 1 THEN wilson_high(0, at_risk * effective / calls)
             WHEN pending > 0 THEN 1 - power(pending, exp(1.959963984540054 * greenwood * sqrt(calls / effective) / abs(ln(pending))))
             ELSE 1.0 END AS high
    FROM with_effective
)
SELECT
    /* by names */ tool, /* end by */
    k,
    calls,
    at_risk,
    succeeded,
    gave_up,
    1 - pending AS km,
    coalesce(low, 1 - (1 - coalesce(lag(low) OVER (PARTITION BY i.grp ORDER BY k), 0))
        * wilson_high(0, at_risk * effective / calls)) AS km_low,
    high AS km_high,
    done / calls AS naive,
    cluster_low(done, calls, effective) AS naive_low,
    cluster_high(done, calls, effective) AS naive_high,
    censored_n / calls AS censored,
    cluster_low(censored_n, calls, effective_censored) AS censored_low,
    cluster_high(censored_n, calls, effective_censored) AS censored_high,
    left_out,
    refused,
    clusters,
    calls / effective AS design_effect,
    at_risk < $min_n OR too_few_draws(clusters, calls, 0) AS too_few
FROM with_intervals AS i
JOIN groups AS g ON g.grp = i.grp
ORDER BY /* by names */ tool, /* end by */ k
