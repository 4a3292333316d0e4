-- Which tools should be looked at first?
--
-- One row per tool, the most urgent first: tools that are failing now, then by excess_low, the lower limit of the number
-- of failed calls beyond the baseline of the tool. Tools for which it is not above 0 follow in the order of hurt_ms, the
-- time in failed calls. A call failed if its last finished attempt failed. Attempts that did not finish are left out, with
-- the time in them. A tool whose calls were all refused has no row: see refusals.
--
-- A tool is failing now if its last calls all failed and chance does not explain that many, neither at the baseline nor at
-- the rate of its other calls: fewer than 0.05 such runs are expected. See incidents for those that ended.
--
-- changed_at is the time since which more calls fail than before, if one change at that time is more than 20 times as
-- likely as a constant rate. The window is divided into 4,000 parts; the change is between two of them. Calls of one
-- conversation are alike, which counts against a change. code and message are those of the calls that failed since then,
-- without a change those of all failed calls. See drift for changes to the better and for latency.
--
-- The baseline of a tool is the share of its calls that failed in the 7 days before `since`, if it had 20 calls or more. If
-- more than half of these failed, the baseline is 5 % instead. For a tool without such a history, the baseline is the share
-- of its calls that failed in the first half of the time between the first and the last attempt of all tools; if that is
-- above 5 %, the baseline is 5 %. Every baseline includes 20 additional calls that failed at a rate of 5 %, so that a short
-- history has little weight; for excess_low they do not lower the baseline. Grouped by version, agent or others, a group is
-- compared with the baselines of its tools, so that a version that is broken from its first call is visible.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 96 to 100 % of them; without any change excess_low is above 0 in at most 3 %
-- (docs/explanation/coverage.md).
--
-- group: failures (first)
-- by: tool (default), version, agent, model, release, environment, conversation, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer calls is marked too_few
--   rules  rules = 'all'     certain: failures that only a heuristic rule found count as attempts that did not fail
-- columns:
--   calls            count                  calls with at least one finished attempt
--   failed_calls     count                  calls whose last finished attempt failed
--   rate             share                  failed_calls / calls
--   low              low(rate)              95 % interval of rate
--   high             high(rate)             95 % interval of rate
--   attempts         count                  finished attempts of these calls
--   amplification    ratio                  attempts / calls: 1 means that nothing was retried
--   cost_ms          ms                     mean time of a failed call, over all its attempts
--   hurt_ms          ms                     failed_calls * cost_ms
--   hurt_share       share                  hurt_ms / hurt_ms of all groups
--   p95              ms                     95th percentile of the duration of an attempt, without results from a cache
--   last_failed_at   time                   start of the last failed attempt
--   too_few          mark                   calls < min_n, or they or those of the baseline are from fewer than 5 clusters: read the interval, not the rate
--   baseline_rate    share                  share of calls that the baseline expects to fail; excess_low includes its uncertainty
--   baseline_calls   count                  calls that the baseline is computed from; 0 if it is 5 %
--   excess_failures  number                 failed_calls - baseline_rate * calls; negative if fewer failed than expected
--   excess_low       low(excess_failures)   95 % interval of excess_failures; a change in conversations that began before since is not seen as one
--   excess_high      high(excess_failures)  95 % interval of excess_failures
--   clusters         count                  conversations among calls, or traces without a conversation
--   design_effect    ratio                  calls for each independent one that rate is as precise as
--   open_failures    count                  failed calls in a row until now, if chance explains fewer; else 0
--   changed_at       time                   start of the first failed call since which more calls fail; NULL if no change is likely enough
--   before_rate      share                  share of calls that failed before changed_at
--   after_rate       share                  share of calls that failed since changed_at
--   failed_since     count                  failed calls since changed_at
--   version_since    text                   version of most calls that failed since changed_at, if most calls before had another one
--   version_before   text                   version of most calls before changed_at, if version_since is another one
--   code             text                   error code of most failed calls since changed_at, without a change of all failed calls
--   message          text                   error message of the last failed call with that code, at most 500 characters
--   last_called_at   time                   start of the last finished attempt
--   refused          aside                  attempts left out: refused, the tool was not run
--   pattern          parts                  message with <text>, <url>, <path>, <id> and <n> for the parts that vary
-- content: message, pattern
-- important: failed_calls, rate, changed_at, code, message, excess_failures, calls, hurt_ms, cost_ms
-- hidden: failed_calls
-- verdict: first {group} is first: {failed_calls} of {calls:call} failed ({rate}, {low} to {high}),
--   last with {code} {message}.
-- next: query errors --tool {tool}
-- source: interval of the excess: Newcombe 1998, method 10, from the limits of both rates; interval of a rate: Wilson
--   score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
WITH scoped AS NOT MATERIALIZED (  -- read again where it is used: a copy of these columns would cost more
    -- reads attempts: tool_calls without the messages to the model
    SELECT
        /* by */ tool, /* end by */
        tool AS call_tool,
        call_hash AS call_number,
        cluster_hash AS own_cluster,
        conversation_id,
        trace_id,
        attempt,
        started_at,
        span_id,
        epoch_us(started_at) AS at_us,
        tool_version AS used_version,
        code,
        error_message,
        status = 'error' AND ($rules = 'all' OR coalesce(rule_grade, '') <> 'heuristic') AS failed,
        known_ms(duration_ms) AS ms,
        coalesce(cached, false) AS from_cache
    FROM attempts
    WHERE is_finished(status, ending)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- of all tools, so that a tool has the same baseline and the same change alone and beside others
bounds AS (
    SELECT first_us, last_us, (first_us + last_us) / 2 AS middle
    FROM (
        SELECT min(epoch_us(started_at)) AS first_us, max(epoch_us(started_at)) AS last_us
        FROM attempts
        WHERE is_finished(status, ending)
          AND ($since IS NULL OR started_at >= $since)
          AND ($until IS NULL OR started_at < $until)
    )
),
-- most calls have one attempt and need no grouping
multi_attempts AS NOT MATERIALIZED (
    SELECT * FROM scoped WHERE call_number IN (SELECT call_hash FROM repeated_calls)
),
multi_calls AS (
    SELECT
        /* by names */ tool, /* end by */
        call_tool,
        text_key(draw_key(min(conversation_id), min(trace_id))) AS cluster,
        count(*) AS attempts,
        sum(ms) AS ms,
        arg_max(failed, attempt_order(attempt, started_at, span_id)) AS failed,
        max(CASE WHEN failed THEN at_us END) AS last_failed_us,
        max(at_us) AS at_us,
        min(at_us) AS first_us,
        max(used_version) AS used_version,
        CASE WHEN arg_max(failed, attempt_order(attempt, started_at, span_id))
            THEN arg_max(coalesce(code, ''), attempt_order(attempt, started_at, span_id)) END AS code,
        CASE WHEN arg_max(failed, attempt_order(attempt, started_at, span_id))
            THEN left(arg_max(coalesce(error_message, ''), attempt_order(attempt, started_at, span_id)), 500) END AS message
    FROM multi_attempts
    GROUP BY /* by names */ tool, /* end by */ call_tool, call_number
),
call_totals AS NOT MATERIALIZED (
    SELECT
        /* by names */ tool, /* end by */
        call_tool,
        own_cluster AS cluster,
        1 AS attempts,
        ms,
        failed,
        CASE WHEN failed THEN at_us END AS last_failed_us,
        at_us,
        at_us AS first_us,
        used_version,
        CASE WHEN failed THEN coalesce(code, '') END AS code,
        CASE WHEN failed THEN left(error_message, 500) END AS message
    FROM scoped
    WHERE call_number NOT IN (SELECT call_hash FROM repeated_calls)
    UNION ALL
    SELECT * FROM multi_calls
),
timed AS (
    SELECT
        text_key(row(/* by names */ tool, /* end by */ 1)) AS grp,
        quantile_cont(ms, 0.95) FILTER (WHERE NOT from_cache) AS p95
    FROM scoped
    GROUP BY ALL
),
refusals AS (
    SELECT text_key(row(/* by names */ tool, /* end by */ 1)) AS grp, count(*) AS refused
    FROM (
        SELECT /* by */ tool, /* end by */ 1 AS one
        FROM attempts
        WHERE ending = 'refused'
          AND ($since IS NULL OR started_at >= $since)
          AND ($until IS NULL OR started_at < $until)
          AND ($tool IS NULL OR tool = $tool)
    ) AS refused_attempts
    GROUP BY ALL
),
-- grp: a number of the group, faster to group and to join by than its names
group_clusters AS (
    SELECT grp, cluster, count(*) AS calls, count(*) FILTER (WHERE failed) AS failed_calls, min(first_us) AS first_us
    FROM (SELECT text_key(row(/* by names */ tool, /* end by */ 1)) AS grp, cluster, failed, first_us FROM call_totals) AS numbered
    GROUP BY grp, cluster
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first_us FROM group_clusters WHERE calls > 1 GROUP BY grp, first_us HAVING count(*) > 1
),
-- each cluster of several calls with the one before it: neighbours in time may be alike
in_order AS (
    SELECT *, lag(calls) OVER in_time AS calls_before, lag(failed_calls) OVER in_time AS failed_before
    FROM group_clusters
    WHERE calls > 1 AND first_us NOT IN (SELECT first_us FROM tied)
    WINDOW in_time AS (PARTITION BY grp ORDER BY first_us)
    UNION ALL
    SELECT *, NULL AS calls_before, NULL AS failed_before
    FROM group_clusters
    WHERE calls <= 1 OR first_us IN (SELECT first_us FROM tied)
),
clustered AS (
    SELECT grp, count(*) AS clusters, chained_clusters(failed_calls, calls, failed_before, calls_before) AS effective
    FROM in_order
    GROUP BY grp
),
-- calls by part of the window, tool, version and error
parts AS (
    SELECT *, text_key(row(/* by names */ tool, /* end by */ 1)) AS grp
    FROM (
        SELECT
            /* by names */ tool, /* end by */
            call_tool,
            CAST(floor((at_us - w.first_us) * 4e3 / (1 + w.last_us - w.first_us)) AS BIGINT) AS part,
            used_version,
            code,
            count(*) AS calls,
            count(*) FILTER (WHERE failed) AS failed_calls,
            sum(attempts) AS attempts,
            sum(ms) FILTER (WHERE failed) AS failed_ms,
            count(ms) FILTER (WHERE failed) AS timed,
            min(CASE WHEN failed THEN at_us END) AS first_failed_us,
            max(last_failed_us) AS last_failed_attempt_us,
            max(CASE WHEN failed THEN at_us END) AS last_failed_us,
            max(CASE WHEN NOT failed THEN at_us END) AS last_worked_us,
            max(at_us) AS last_us,
            arg_max(message, at_us) AS message
        FROM call_totals
        CROSS JOIN bounds AS w
        GROUP BY ALL
    )
),
tool_totals AS (
    SELECT
        /* by names */ tool, /* end by */
        grp,
        call_tool,
        sum(calls) AS calls,
        sum(failed_calls) AS failed_calls,
        sum(attempts) AS attempts,
        sum(failed_ms) AS failed_ms,
        sum(timed) AS timed,
        max(last_failed_attempt_us) AS last_failed_us
    FROM parts
    GROUP BY ALL
),
-- the calls of each tool in the 7 days before, without the order of attempts because that is cheap: a call failed if all did
history_calls AS (
    SELECT tool AS base_tool, text_key(draw_key(min(conversation_id), min(trace_id))) AS cluster,
        min(epoch_us(started_at)) AS first_us,
        CASE WHEN bool_and(status = 'error' AND ($rules = 'all' OR coalesce(rule_grade, '') <> 'heuristic')) THEN 1 ELSE 0 END AS failed
    FROM attempts
    WHERE is_finished(status, ending)
      AND started_at < $since AND started_at >= CAST($since AS TIMESTAMP) - to_seconds(604800)
      AND ($tool IS NULL OR tool = $tool)
    GROUP BY tool, call_hash
),
with_history AS (
    SELECT base_tool FROM history_calls GROUP BY base_tool HAVING count(*) >= 20
),
-- usually empty, and then the calls are not read again
without_history AS (
    SELECT call_tool FROM tool_totals WHERE call_tool NOT IN (SELECT base_tool FROM with_history) GROUP BY call_tool
),
-- these tools have the calls of the first half of the window too
earlier AS (
    SELECT base_tool, cluster, first_us, failed
    FROM history_calls
    UNION ALL
    SELECT call_tool AS base_tool, own_cluster AS cluster,
        at_us AS first_us,
        CASE WHEN failed THEN 1 ELSE 0 END AS failed
    FROM scoped
    CROSS JOIN bounds
    WHERE at_us < middle
      AND call_tool IN (SELECT call_tool FROM without_history)
      AND call_number NOT IN (SELECT call_hash FROM repeated_calls)
    UNION ALL
    SELECT call_tool AS base_tool, text_key(draw_key(min(conversation_id), min(trace_id))) AS cluster,
        min(at_us) AS first_us,
        CASE WHEN bool_and(failed) THEN 1 ELSE 0 END AS failed
    FROM multi_attempts
    CROSS JOIN bounds
    WHERE at_us < middle
      AND call_tool IN (SELECT call_tool FROM without_history)
    GROUP BY call_tool, call_number
),
earlier_clusters AS (
    SELECT base_tool, cluster, min(first_us) AS first_us, count(*) AS calls, sum(failed) AS failed_calls
    FROM earlier
    GROUP BY base_tool, cluster
),
-- the starts that several clusters share: these clusters have no order
tied_earlier AS (
    SELECT first_us FROM earlier_clusters WHERE calls > 1 GROUP BY base_tool, first_us HAVING count(*) > 1
),
earlier_in_order AS (
    SELECT *, lag(calls) OVER in_time AS calls_before, lag(failed_calls) OVER in_time AS failed_before
    FROM earlier_clusters
    WHERE calls > 1 AND first_us NOT IN (SELECT first_us FROM tied_earlier)
    WINDOW in_time AS (PARTITION BY base_tool ORDER BY first_us)
    UNION ALL
    SELECT *, NULL AS calls_before, NULL AS failed_before
    FROM earlier_clusters
    WHERE calls <= 1 OR first_us IN (SELECT first_us FROM tied_earlier)
),
summed AS (
    SELECT base_tool,
        CASE WHEN base_tool IN (SELECT base_tool FROM with_history) THEN 1 ELSE 0 END AS is_history,
        sum(calls) AS calls,
        sum(failed_calls) AS failed_calls,
        chained_clusters(failed_calls, calls, failed_before, calls_before) AS effective,
        count(*) AS clusters
    FROM earlier_in_order
    GROUP BY base_tool
),
-- n calls and k failed calls, with the 20 additional calls that failed at 5 %; effect: their design effect
chosen AS (
    SELECT base_tool,
        calls + 20.0 AS n,
        failed_calls + 1.0 AS k,
        coalesce(calls / effective, 1) AS effect,
        CASE WHEN is_history = 1 AND too_few_draws(clusters, calls, 0) THEN 1 ELSE 0 END AS few_old_clusters,
        CASE WHEN is_history = 1 THEN 1.0 * failed_calls / calls END AS old_rate,
        CASE WHEN is_history = 1 THEN cluster_high(failed_calls, calls, effective) END AS old_high,
        CASE WHEN is_history = 1 THEN 0.5 ELSE 0.05 END AS max_rate
    FROM summed
),
-- a rate above max_rate is replaced by 5 %, which has no uncertainty
baselines AS (
    SELECT base_tool,
        few_old_clusters,
        CASE WHEN k > max_rate * n THEN 0 ELSE n - 20 END AS base_calls,
        CASE WHEN k > max_rate * n THEN 0.05 ELSE k / n END AS base_rate,
        CASE WHEN k > max_rate * n THEN 0.05 ELSE cluster_low(k, n, n / effect) END AS base_low,
        CASE WHEN k > max_rate * n THEN 0.05 ELSE cluster_high(k, n, n / effect) END AS base_high,
        -- for excess_low: a history that failed more often than 5 % counts without the additional calls
        CASE WHEN k > max_rate * n THEN 0.05 ELSE greatest(k / n, coalesce(old_rate, 0)) END AS top_rate,
        CASE WHEN k > max_rate * n THEN 0.05
             ELSE greatest(cluster_high(k, n, n / effect), coalesce(old_high, 0)) END AS top_high
    FROM chosen
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        grp,
        coalesce(sum(calls), 0) AS calls,
        coalesce(sum(failed_calls), 0) AS failed_calls,
        sum(attempts) AS attempts,
        sum(failed_ms) / nullif(sum(timed), 0) AS cost_ms,
        max(last_failed_us) AS last_failed_us,
        coalesce(sum(base_calls), 0) AS base_calls,
        sum(calls * coalesce(base_rate, 0.05)) / nullif(sum(calls), 0) AS base_rate,
        sum(calls * coalesce(base_low, 0.05)) / nullif(sum(calls), 0) AS base_low,
        sum(calls * coalesce(base_high, 0.05)) / nullif(sum(calls), 0) AS base_high,
        max(few_old_clusters) AS few_old_clusters,
        sum(calls * coalesce(top_rate, 0.05)) / nullif(sum(calls), 0) AS top_rate,
        sum(calls * coalesce(top_high, 0.05)) / nullif(sum(calls), 0) AS top_high
    FROM tool_totals
    LEFT JOIN baselines ON base_tool = call_tool
    GROUP BY ALL
),
with_intervals AS (
    SELECT c.*, t.p95, k.clusters, k.effective, CAST(coalesce(r.refused, 0) AS BIGINT) AS refused,
        CASE WHEN c.failed_calls = 0 THEN 0.0 ELSE c.failed_calls * c.cost_ms END AS hurt_ms
    FROM counted AS c
    JOIN timed AS t ON t.grp = c.grp
    JOIN clustered AS k ON k.grp = c.grp
    LEFT JOIN refusals AS r ON r.grp = c.grp
),
-- 95 % interval of the rate
bounded AS (
    SELECT *,
        failed_calls / nullif(calls, 0) AS rate,
        cluster_low(failed_calls, calls, effective) AS low,
        cluster_high(failed_calls, calls, effective) AS high
    FROM with_intervals
),
group_totals AS (
    SELECT
        p.grp,
        1.0 * sum(p.calls) AS calls,
        1.0 * sum(p.failed_calls) AS failed_calls,
        count(DISTINCT p.part) AS parts,
        max(p.last_worked_us) AS last_worked_us,
        max(p.last_us) AS last_us,
        greatest(1.0, least(max(b.calls / b.effective), max(1.0 * b.calls / b.clusters))) AS effect
    FROM parts AS p
    JOIN bounded AS b ON b.grp = p.grp
    GROUP BY p.grp
),
-- log_likelihood: of one rate up to a part and a higher rate after it, in independent calls
splits AS (
    SELECT grp, part,
        CASE WHEN n1 < n AND k1 * n < k * n1 THEN
            lgamma(k1 / effect + 0.5) + lgamma((n1 - k1) / effect + 0.5) - lgamma(n1 / effect + 1)
            + lgamma((k - k1) / effect + 0.5) + lgamma((n - n1 - k + k1) / effect + 0.5) - lgamma((n - n1) / effect + 1)
            - (lgamma(k / effect + 0.5) + lgamma((n - k) / effect + 0.5) - lgamma(n / effect + 1)) - 2 * 0.5723649429247001
        END AS log_evidence
    FROM (
        SELECT c.grp, c.part, t.calls AS n, t.failed_calls AS k, t.effect,
            sum(c.calls) OVER so_far AS n1,
            sum(c.failed_calls) OVER so_far AS k1
        FROM (SELECT grp, part, 1.0 * sum(calls) AS calls, 1.0 * sum(failed_calls) AS failed_calls FROM parts GROUP BY grp, part) AS c
        JOIN group_totals AS t ON t.grp = c.grp
        WINDOW so_far AS (PARTITION BY c.grp ORDER BY c.part ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
),
-- last_before: the last part before the change; NULL without a change
group_changes AS (
    SELECT t.grp, t.last_worked_us, t.last_us, CASE WHEN s.log_evidence >= ln(20.0 * t.parts) THEN s.part END AS last_before
    FROM group_totals AS t
    JOIN (SELECT grp, max(log_evidence) AS log_evidence, arg_max(part, log_evidence) AS part FROM splits GROUP BY grp) AS s
        ON s.grp = t.grp
),
-- calls by version and error, before the change and after it; without a change all are after it
sides AS (
    SELECT
        p.grp,
        p.used_version,
        p.code,
        sum(CASE WHEN p.part <= c.last_before THEN p.calls ELSE 0 END) AS before_calls,
        sum(CASE WHEN p.part <= c.last_before THEN p.failed_calls ELSE 0 END) AS before_failed,
        sum(CASE WHEN p.part <= c.last_before THEN 0 ELSE p.calls END) AS after_calls,
        sum(CASE WHEN p.part <= c.last_before THEN 0 ELSE p.failed_calls END) AS after_failed,
        min(CASE WHEN p.part > c.last_before THEN p.first_failed_us END) AS changed_us,
        max(CASE WHEN p.part <= c.last_before THEN NULL ELSE p.last_failed_us END) AS last_failed_us,
        arg_max(p.message, p.last_failed_us) AS message,
        max(c.last_us) AS last_us,
        sum(CASE WHEN c.last_worked_us IS NULL OR p.first_failed_us > c.last_worked_us THEN p.failed_calls ELSE 0 END) AS last_failures
    FROM parts AS p
    JOIN group_changes AS c ON c.grp = p.grp
    GROUP BY p.grp, p.used_version, p.code
),
causes AS (
    SELECT
        s.grp,
        sum(s.before_failed) / nullif(sum(s.before_calls), 0) AS before_rate,
        CASE WHEN sum(s.before_calls) > 0 THEN sum(s.after_failed) / nullif(sum(s.after_calls), 0) END AS after_rate,
        min(s.changed_us) AS changed_us,
        max(s.last_us) AS last_us,
        sum(s.after_failed) AS after_failed,
        sum(s.last_failures) AS last_failures,
        max(CASE WHEN s.place = 1 AND s.after_failed > 0 THEN s.code END) AS code,
        max(CASE WHEN s.place = 1 AND s.after_failed > 0 THEN s.message END) AS message
    FROM (
        SELECT *, row_number() OVER (PARTITION BY grp ORDER BY code_failed DESC, code DESC NULLS LAST,
            last_failed_us DESC NULLS LAST, used_version DESC NULLS LAST) AS place
        FROM (SELECT *, sum(after_failed) OVER (PARTITION BY grp, code) AS code_failed FROM sides) AS counted_codes
    ) AS s
    GROUP BY s.grp
),
-- the version of most calls before the change, and of most failed calls after it
releases AS (
    SELECT grp,
        max(CASE WHEN before_place = 1 AND before_calls > 0 THEN used_version END) AS version_before,
        max(CASE WHEN after_place = 1 AND after_failed > 0 THEN used_version END) AS version_since
    FROM (
        SELECT *,
            row_number() OVER (PARTITION BY grp ORDER BY before_calls DESC, used_version) AS before_place,
            row_number() OVER (PARTITION BY grp ORDER BY after_failed DESC, used_version) AS after_place
        FROM (
            SELECT grp, used_version, sum(before_calls) AS before_calls, sum(after_failed) AS after_failed
            FROM sides
            WHERE used_version IS NOT NULL
            GROUP BY grp, used_version
        ) AS released
    ) AS placed
    GROUP BY grp
),
with_causes AS (
    SELECT b.*, c.before_rate, c.after_rate, c.changed_us, c.last_us,
        CASE WHEN c.changed_us IS NOT NULL THEN c.after_failed END AS failed_since, c.last_failures, c.code, c.message,
        CASE WHEN c.changed_us IS NOT NULL AND r.version_since <> r.version_before THEN r.version_since END AS version_since,
        CASE WHEN c.changed_us IS NOT NULL AND r.version_since <> r.version_before THEN r.version_before END AS version_before
    FROM bounded AS b
    JOIN causes AS c ON c.grp = b.grp
    LEFT JOIN releases AS r ON r.grp = b.grp
),
-- usual_high: upper limit of the share of calls that usually fail, by the baseline and by the calls before the last ones
with_usual AS (
    SELECT *, greatest(top_high, coalesce(CASE WHEN changed_us IS NOT NULL THEN before_rate ELSE cluster_high(
        1.0 * failed_calls - last_failures, 1.0 * calls - last_failures, (calls - last_failures) / own_effect) END, 0.0)) AS usual_high
    FROM (SELECT *, greatest(1.0, least(calls / nullif(effective, 0), 1.0 * calls / nullif(clusters, 0))) AS own_effect FROM with_causes) AS c
),
with_excess AS (
    SELECT *,
        -- (1 + (n - r) (1 - p)) p^r runs of r failures are expected in n calls, r counted in independent ones
        CASE WHEN last_failures >= 3
                AND (1 + (calls - last_failures) * (1 - usual_high)) * power(usual_high, last_failures / own_effect) < 0.05
            THEN last_failures ELSE 0 END AS open_failures,
        calls * (rate - base_rate) AS excess_failures,
        calls * (rate - top_rate - sqrt(power(rate - low, 2) + power(top_high - top_rate, 2))) AS excess_low,
        calls * (rate - base_rate + sqrt(power(high - rate, 2) + power(base_rate - base_low, 2))) AS excess_high
    FROM with_usual
)
SELECT
    /* by names */ tool, /* end by */
    CAST(calls AS BIGINT) AS calls,
    CAST(failed_calls AS BIGINT) AS failed_calls,
    rate,
    low,
    high,
    CAST(attempts AS BIGINT) AS attempts,
    attempts / nullif(calls, 0) AS amplification,
    cost_ms,
    hurt_ms,
    hurt_ms / nullif(sum(hurt_ms) OVER (), 0) AS hurt_share,
    p95,
    make_timestamp(last_failed_us) AS last_failed_at,
    too_few_draws(clusters, calls, $min_n) OR coalesce(few_old_clusters = 1, false) AS too_few,
    base_rate AS baseline_rate,
    CAST(base_calls AS BIGINT) AS baseline_calls,
    excess_failures,
    excess_low,
    excess_high,
    clusters,
    calls / nullif(effective, 0) AS design_effect,
    CAST(open_failures AS BIGINT) AS open_failures,
    make_timestamp(changed_us) AS changed_at,
    before_rate,
    after_rate,
    CAST(failed_since AS BIGINT) AS failed_since,
    version_since,
    version_before,
    nullif(code, '') AS code,
    nullif(message, '') AS message,
    make_timestamp(last_us) AS last_called_at,
    refused,
    message_pattern(nullif(message, '')) AS pattern
FROM with_excess
ORDER BY CASE WHEN open_failures > 0 THEN 0 ELSE 1 END, greatest(coalesce(excess_low, 0), 0) DESC, coalesce(hurt_ms, 0) DESC, failed_calls DESC, calls DESC,
    /* by names */ tool, /* end by */ attempts
