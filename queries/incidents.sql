-- When was a tool down, and how long did it take to recover?
--
-- One row per incident, open ones first, then those with the most failures. An incident starts with `failing` or more
-- consecutive finished attempts that failed (status 'error'), at the start of the first one. It ends with `recovering` or
-- more consecutive attempts that did not fail, at the start of the first one: runs of failures that a single success
-- separates are one incident. Attempts are ordered by start time. An attempt that did not
-- finish is skipped. An incident that has not ended is open: ended and time_to_recovery_ms are NULL, not 0, so a mean over
-- the other incidents alone is too short.
--
-- A tool that often fails also has consecutive failures by chance: 1,400 attempts of which 30 % fail contain about 26 runs
-- of three or more. by_chance is the expected number of incidents that are as improbable as this one, or as its longest run
-- of failures alone, if the tool only fails at its own rate. The rate is that of all other attempts, with its uncertainty: an outage does not
-- raise the rate that it is compared with. Attempts of one conversation (without one, of one trace) are alike: if
-- conversations differ elsewhere in the history, a run in one conversation counts as little evidence. Incidents are listed
-- if by_chance is below `chance`. The history of a tool that has only failed is one incident
-- with by_chance NULL, because it has no rate of its own.
--
-- Some tools fail in bursts: an attempt after a failure fails more often than other attempts. Each burst is an incident,
-- because the rate does not explain it. by_bursts compares it with the other runs of failures of the history instead.
-- An incident is marked bursty if they explain it: ten outages of equal length are ten bursty incidents.
--
-- Measured on simulated histories with a constant rate of 0 to 0.9: at most 6 of 100 histories had an incident that is
-- neither marked too_few nor bursty, if attempts were independent or belonged to five or more conversations with an
-- intraclass correlation of up to 0.5. If each attempt resembled the one before (correlation 0.5 or 0.8), at most 8 of 100
-- had one; 26 to 100 of 100 had an incident marked bursty (docs/explanation/coverage.md).
--
-- Grouped by code, status, day or hour, the history is not split: an incident of the whole history belongs to the group of
-- its first failure, so a night of failures is one incident of the day on which it started.
--
-- group: failures (first)
-- by: tool (default), version, agent, model, release, environment, conversation, attributes; code, status, rule, rule_grade, day, hour
-- parameters:
--   since       timestamp = NULL  attempts that started at this time or later
--   until       timestamp = NULL  attempts that started before this time
--   tool        text = NULL       this tool only
--   min_n       integer = 5       an incident of fewer finished attempts is marked too_few
--   failing     positive = 3      number of consecutive failures that starts an incident
--   recovering  positive = 2      number of consecutive attempts without failure that ends it
--   chance      number = 0.05     incidents are listed whose by_chance is smaller; 1e9 lists all
-- columns:
--   started              time   start of the first failure
--   ended                time   start of the first successful attempt after it; NULL if open
--   failures             count  failed attempts in the incident
--   attempts             count  finished attempts in the incident
--   time_to_recovery_ms  ms     from started to ended; NULL if open
--   lasted_ms            ms     the same; for an open incident the time until its last attempt, as a minimum
--   code                 text   error code of the first failure that has one
--   unfinished           aside  attempts in the incident that did not finish
--   refused              aside  attempts left out: refused, the tool was not run
--   may_be_older         mark   the incident contains the first attempt of the window, and may have started earlier
--   too_few              mark   attempts < min_n, or the failures are of one conversation of several, or the other attempts of fewer than 5 clusters
--   by_chance            number  expected number of incidents as improbable as this one, at the tool's own rate; NULL if it never succeeded
--   clusters             count  conversations (without one, traces) with failures in the incident
--   by_bursts            number  expected number of incidents with as many failures, if a failure is followed by another one as often as in the rest of the history
--   bursty               mark   by_bursts >= chance: the tool often fails several times in a row
-- important: started, ended, failures, attempts, by_chance, lasted_ms, code, time_to_recovery_ms
-- verdict: max(failures) The longest incident is that of {group}: {failures:failure} in {attempts:attempt} since
--   {started}, {lasted_ms} long.
-- next: query errors --tool {tool}
-- source: an open incident is a censored time to recovery (Kaplan and Meier 1958); expected number of runs of r successes
--   in n trials, p^r (1 + (n - r) (1 - p)): Feller 1968, volume 1, XIII.7, times the number of places that s successes can
--   have between them, and (s + 1) (s + 2) for the choice of s (Bonferroni); rate with the prior Beta(1/2, 1/2) of Jeffreys
--   1946; conversations: beta-binomial (Skellam 1948), correlation by moments (Kleinman 1973)
WITH scoped AS NOT MATERIALIZED (
    -- reads attempts: tool_calls without the messages to the model
    SELECT
        /* by history */ tool, /* end by */
        started_at,
        attempt,
        span_id,
        cluster_hash AS cluster,
        coalesce(ending = 'refused', false) AS refused,
        CASE WHEN is_finished(status, ending)
             THEN CASE WHEN status = 'error' THEN 1 ELSE 0 END END AS failed,
        CASE WHEN status = 'error' THEN code END AS code,
        CASE WHEN status = 'error' THEN rule END AS rule,
        CASE WHEN status = 'error' THEN rule_grade END AS rule_grade
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- history: a number of the history, faster to order by and to join by than its names
with_history AS NOT MATERIALIZED (
    SELECT *, text_key(row(/* by history names */ tool, /* end by */ 1)) AS history FROM scoped
),
-- ordinal: the number of an attempt in its history. Other columns are left out, because sorting copies them
ordered AS (
    SELECT
        history,
        started_at,
        span_id,
        failed,
        row_number() OVER in_order AS ordinal,
        last_value(failed IGNORE NULLS) OVER (
            PARTITION BY history ORDER BY started_at, attempt, span_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS previous_failed
    FROM with_history
    WHERE NOT refused
    WINDOW in_order AS (PARTITION BY history ORDER BY started_at, attempt, span_id)
),
names AS (
    SELECT /* by history names */ tool, /* end by */ history
    FROM with_history
    GROUP BY ALL
),
histories AS (
    SELECT
        history,
        count(*) AS attempts,
        count(*) FILTER (WHERE failed IS NULL OR previous_failed IS NULL OR failed <> previous_failed) AS starts_and_unfinished,
        max(started_at) AS last_seen
    FROM ordered
    GROUP BY ALL
),
-- a run: consecutive attempts that all failed, or all did not fail. The rows are the first attempt of each run, with their
-- place among these and the attempts that did not finish: such attempts alone lie between two starts
run_starts AS (
    SELECT *
    FROM (
        SELECT history, ordinal, failed, started_at AS started, row_number() OVER (PARTITION BY history ORDER BY ordinal) AS place
        FROM ordered
        WHERE failed IS NULL OR previous_failed IS NULL OR failed <> previous_failed
    ) AS starts_and_unfinished
    WHERE failed IS NOT NULL
),
-- run: its number in its history; previous_attempts: the finished attempts of the run before it
runs AS (
    SELECT *, attempts_with_unfinished - unfinished AS attempts
    FROM (
        SELECT r.history, r.failed, r.started, r.ordinal,
            row_number() OVER in_order AS run,
            coalesce(lead(r.ordinal) OVER in_order, h.attempts + 1) - r.ordinal AS attempts_with_unfinished,
            coalesce(lead(r.place) OVER in_order, h.starts_and_unfinished + 1) - r.place - 1 AS unfinished,
            r.ordinal - lag(r.ordinal) OVER in_order - (r.place - lag(r.place) OVER in_order - 1) AS previous_attempts
        FROM run_starts AS r
        JOIN histories AS h ON h.history = r.history
        WINDOW in_order AS (PARTITION BY r.history ORDER BY r.ordinal)
    ) AS bounded_runs
),
classified_runs AS (
    SELECT *,
        CASE WHEN failed = 1 AND attempts >= $failing THEN 'down'
             WHEN failed = 0 AND attempts >= $recovering THEN 'up' END AS change
    FROM runs
),
-- the first run that is long enough to be down, and after it the first that is long enough to be up, in turns
turns AS (
    SELECT history, run, started, change
    FROM (
        SELECT history, run, started, change, lag(change) OVER (PARTITION BY history ORDER BY run) AS previous_change
        FROM classified_runs
        WHERE change IS NOT NULL
    ) AS changes
    WHERE change <> coalesce(previous_change, 'up')
),
-- incident: the number of its first run; up_run, up_at: of the run that ended it, NULL if it is open
bounds AS (
    SELECT history, run AS incident, up_run, up_at
    FROM (
        SELECT *, lead(run) OVER in_order AS up_run, lead(started) OVER in_order AS up_at
        FROM turns
        WINDOW in_order AS (PARTITION BY history ORDER BY run)
    ) AS followed
    WHERE change = 'down'
),
incident_runs AS (
    SELECT r.*, b.incident
    FROM runs AS r
    JOIN (
        SELECT b.history, b.incident, b.incident + unnest(range(coalesce(b.up_run, l.last_run + 1) - b.incident)) AS run
        FROM bounds AS b
        JOIN (SELECT history, max(run) AS last_run FROM runs GROUP BY history) AS l ON l.history = b.history
    ) AS b ON b.history = r.history AND b.run = r.run
),
-- the finished attempts of incidents
incident_attempts AS (
    SELECT a.history, a.incident, a.run, a.ordinal, s.cluster, a.failed, s.code, s.rule, s.rule_grade
    FROM (
        SELECT o.history, r.incident, r.run, o.ordinal, o.span_id, o.failed
        FROM ordered AS o
        JOIN (
            SELECT history, incident, run, ordinal + unnest(range(attempts_with_unfinished)) AS ordinal
            FROM incident_runs
        ) AS r ON r.history = o.history AND r.ordinal = o.ordinal
        WHERE o.failed IS NOT NULL
    ) AS a
    JOIN scoped AS s ON s.span_id = a.span_id
),
-- of_cluster, failures: attempts and failures of each conversation of a history, in the whole history
cluster_totals AS (
    SELECT history, cluster, 1e0 * count(failed) AS of_cluster, 1e0 * sum(failed) AS failures
    FROM with_history
    WHERE failed IS NOT NULL
    GROUP BY history, cluster
),
history_totals AS (
    SELECT history, count(*) AS clusters, sum(of_cluster) AS n, sum(failures) AS k, sum(failures * failures) AS kk,
        sum(failures * of_cluster) AS kn, sum(of_cluster * of_cluster) AS nn
    FROM cluster_totals
    GROUP BY history
),
-- the attempts of each incident in each conversation
incident_clusters AS (
    SELECT history, incident, cluster, 1e0 * count(*) AS in_all, 1e0 * sum(failed) AS in_failed
    FROM incident_attempts
    GROUP BY history, incident, cluster
),
-- what could be chance: the complete incident, and its longest run of failures alone
candidates AS (
    SELECT history, incident, 0 AS run, cluster, in_all, in_failed FROM incident_clusters
    UNION ALL
    SELECT a.history, a.incident, a.run, a.cluster, 1e0 * count(*) AS in_all, 1e0 * count(*) AS in_failed
    FROM incident_attempts AS a
    JOIN (
        SELECT history, run, row_number() OVER (PARTITION BY history, incident ORDER BY attempts DESC, run) AS place
        FROM incident_runs
        WHERE failed = 1
    ) AS l ON l.history = a.history AND l.run = a.run
    WHERE l.place = 1
    GROUP BY a.history, a.incident, a.run, a.cluster
),
-- runs of failures, where those that fewer than `recovering` successes separate are one
failed_groups AS (
    SELECT history, 1e0 * sum(CASE WHEN failed = 1 AND coalesce(previous_attempts, $recovering) >= $recovering THEN 1 ELSE 0 END) AS failed_groups
    FROM runs
    GROUP BY history
),
-- the other attempts of the history: n of them, k failed, in this number of runs, and the number of their clusters; and
-- their sums of squares
others AS (
    SELECT
        h.history,
        c.incident,
        h.n AS all_n,
        h.clusters AS all_clusters,
        c.failed_clusters,
        c.failures,
        c.successes,
        h.clusters - c.whole_clusters AS clusters,
        h.n - c.failures - c.successes AS n,
        g.failed_groups - 1 AS runs,
        h.k - c.failures AS k,
        h.kk - c.kk AS kk,
        h.kn - c.kn AS kn,
        h.nn - c.nn AS nn
    FROM history_totals AS h
    JOIN failed_groups AS g ON g.history = h.history
    JOIN (
        SELECT r.history, r.incident, count(CASE WHEN r.in_failed > 0 THEN 1 END) AS failed_clusters,
            sum(r.in_failed) AS failures,
            sum(r.in_all - r.in_failed) AS successes,
            count(CASE WHEN t.of_cluster = r.in_all THEN 1 END) AS whole_clusters,
            sum(t.failures * t.failures - (t.failures - r.in_failed) * (t.failures - r.in_failed)) AS kk,
            sum(t.failures * t.of_cluster - (t.failures - r.in_failed) * (t.of_cluster - r.in_all)) AS kn,
            sum(t.of_cluster * t.of_cluster - (t.of_cluster - r.in_all) * (t.of_cluster - r.in_all)) AS nn
        FROM incident_clusters AS r
        JOIN cluster_totals AS t ON t.history = r.history AND t.cluster = r.cluster
        GROUP BY r.history, r.incident
    ) AS c ON c.history = h.history
),
-- ended: the successes that ended the incident; they are left out because the incident chose them
with_end AS (
    SELECT o.*, CASE WHEN e.up_at IS NULL THEN 0 ELSE $recovering END AS ended
    FROM others AS o
    JOIN bounds AS e ON e.history = o.history AND e.incident = o.incident
),
-- correlation of the attempts of a conversation; 0 if it cannot be estimated
correlated AS (
    SELECT *,
        CASE WHEN clusters > 1 AND nn > n AND k > 0 AND k < n THEN least(0.99, greatest(0.0,
            ((kk - 2 * kn * k / n + nn * k / n * k / n) * clusters / (clusters - 1) / (k / n * (1 - k / n)) - n) / (nn - n)
        )) ELSE 0.0 END AS correlation
    FROM with_end
),
-- the rate of the others, computed from as many independent attempts as they are worth
rates AS (
    SELECT *,
        effective_k + 0.5 AS prior_k,
        effective_n + 1 AS prior_n,
        (effective_k + 0.5) / (effective_n + 1) AS rate,
        (1 - correlation) / greatest(correlation, 0.001) AS strength
    FROM (
        SELECT *,
            k / (1 + (nn / nullif(n, 0) - 1) * correlation) AS effective_k,
            greatest(k, n - ended) / (1 + (nn / nullif(n, 0) - 1) * correlation) AS effective_n
        FROM correlated
    ) AS effective
),
-- draws: independent attempts that the failures are worth; log_chance: logarithm of the probability that they all fail at
-- the rate
chances AS (
    SELECT
        r.history,
        r.incident,
        c.run,
        sum(c.in_failed) AS failures,
        sum(c.in_all - c.in_failed) AS successes,
        sum(c.in_failed / (1 + (greatest(c.in_failed, 1) - 1) * r.correlation)) AS draws,
        sum(CASE WHEN c.in_failed = 0 THEN 0.0 WHEN r.correlation < 0.001 OR c.in_failed = 1 THEN c.in_failed * ln(r.rate)
            ELSE lgamma(r.rate * r.strength + c.in_failed) - lgamma(r.rate * r.strength)
                - lgamma(r.strength + c.in_failed) + lgamma(r.strength) END) AS log_chance
    FROM rates AS r
    JOIN candidates AS c ON c.history = r.history AND c.incident = r.incident
    GROUP BY r.history, r.incident, c.run
),
-- the same with the uncertainty of the rate, times the number of positions where it can start, and the number of places of
-- the successes in it
least_chances AS (
    SELECT r.history, r.incident,
        min((1 + (r.all_n - c.failures) * (1 - r.rate))
            * CASE WHEN $recovering > 1 THEN (c.successes + 1) * (c.successes + 2) ELSE 1 END
            * exp(c.log_chance - c.draws * ln(r.rate)
            + lgamma(r.prior_k + c.draws) - lgamma(r.prior_k) - lgamma(r.prior_n + c.draws) + lgamma(r.prior_n)
            + lgamma(c.failures + c.successes) - lgamma(c.successes + 1) - lgamma(c.failures))) AS by_chance
    FROM rates AS r
    JOIN chances AS c ON c.history = r.history AND c.incident = r.incident
    GROUP BY r.history, r.incident
),
expected AS (
    SELECT
        r.history,
        r.incident,
        r.failed_clusters,
        CASE WHEN r.all_clusters > 1 AND (r.failed_clusters = 1 OR too_few_draws(r.clusters, r.n, 0)) THEN 1 ELSE 0 END AS few_clusters,
        c.by_chance,
        -- k - runs of the k other failures followed another failure; the rate counts as half a failure more
        (1 + r.runs) * exp(lgamma(0.5 * r.rate + greatest(r.k - r.runs, 0) + r.failures - 1) - lgamma(0.5 * r.rate + greatest(r.k - r.runs, 0))
            - lgamma(0.5 + r.k + r.failures - 1) + lgamma(0.5 + r.k)) AS by_bursts
    FROM rates AS r
    JOIN least_chances AS c ON c.history = r.history AND c.incident = r.incident
),
causes AS (
    SELECT history, incident,
        arg_min(code, ordinal) AS code,
        arg_min(rule, ordinal) AS rule,
        arg_min(rule_grade, ordinal) AS rule_grade
    FROM incident_attempts
    WHERE failed = 1
    GROUP BY history, incident
),
counted AS (
    SELECT
        history,
        incident,
        min(started) AS started_at,
        CAST(sum(CASE WHEN failed = 1 THEN attempts ELSE 0 END) AS BIGINT) AS failures,
        CAST(sum(attempts) AS BIGINT) AS attempts,
        CAST(sum(unfinished) AS BIGINT) AS unfinished,
        min(run) = 1 AS may_be_older
    FROM incident_runs
    GROUP BY history, incident
),
-- calls that the system refused from the start of an incident to its end
refusals AS (
    SELECT i.history, i.incident, count(*) AS refused
    FROM counted AS i
    JOIN bounds AS u ON u.history = i.history AND u.incident = i.incident
    JOIN with_history AS a ON a.history = i.history
    WHERE a.refused AND a.started_at >= i.started_at AND (u.up_at IS NULL OR a.started_at < u.up_at)
    GROUP BY i.history, i.incident
),
incidents AS (
    SELECT
        /* by history names */ tool, /* end by */
        i.started_at,
        u.up_at AS ended,
        i.failures,
        i.attempts,
        h.last_seen,
        c.code,
        c.rule,
        c.rule_grade,
        i.unfinished,
        coalesce(r.refused, 0) AS refused,
        i.may_be_older,
        e.by_chance,
        e.by_bursts,
        e.failed_clusters AS clusters,
        e.few_clusters
    FROM counted AS i
    JOIN names AS n ON n.history = i.history
    JOIN histories AS h ON h.history = i.history
    JOIN causes AS c ON c.history = i.history AND c.incident = i.incident
    JOIN bounds AS u ON u.history = i.history AND u.incident = i.incident
    LEFT JOIN refusals AS r ON r.history = i.history AND r.incident = i.incident
    LEFT JOIN expected AS e ON e.history = i.history AND e.incident = i.incident
),
grouped AS (
    SELECT
        /* by history names */ tool, /* end by */
        /* by within */ /* end by */
        started_at AS started,
        ended,
        failures,
        attempts,
        last_seen,
        /* unless by code */ code, /* end unless */
        unfinished,
        refused,
        may_be_older,
        by_chance,
        by_bursts,
        clusters,
        few_clusters
    FROM (SELECT *, 'error' AS status FROM incidents) AS all_incidents
)
SELECT
    /* by names */ tool, /* end by */
    started,
    ended,
    failures,
    attempts,
    (epoch_us(ended) - epoch_us(started)) / 1000.0 AS time_to_recovery_ms,
    (epoch_us(coalesce(ended, last_seen)) - epoch_us(started)) / 1000.0 AS lasted_ms,
    /* unless by code */ code, /* end unless */
    unfinished,
    refused,
    may_be_older,
    attempts < $min_n OR coalesce(few_clusters = 1, false) AS too_few,
    by_chance,
    clusters,
    by_bursts,
    coalesce(by_bursts >= $chance, false) AS bursty
FROM grouped
WHERE by_chance IS NULL OR by_chance < $chance
ORDER BY CASE WHEN ended IS NULL THEN 0 ELSE 1 END, failures DESC, started DESC, /* by names */ tool, /* end by */ attempts
