-- How many attempts does a call need to succeed?
--
-- One row per group and k, the number of the attempt in its call. km is the share of calls that succeed within k attempts
-- if no call is given up before (Kaplan-Meier: giving up is censoring). It assumes that the calls that were given up were
-- not worse off than those that continued. naive is the share that did succeed within k attempts.
--
-- Only finished attempts count as attempts. Those that were cancelled, abandoned, paused, declined or expired are counted
-- in left_out, refused ones in refused. Success is any status except 'error'; attempts after the first success are ignored.
-- A call is counted in the group and the window of its first finished attempt: grouped by code, that is the error that came
-- first.
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
-- reasoner: retry_survival
-- order: groups, k
SELECT
    {by},
    k,
    sum(succeeded) AS succeeded,
    sum(gave_up) AS gave_up,
    sum(left_out) AS left_out,
    sum(refused) AS refused,
    -- sums over clusters, as each k adds to them
    sum((succeeded + gave_up) / nullif(CAST(n AS DOUBLE), 0)) AS clusters,
    sum(n * (succeeded + gave_up)) AS nn,
    sum(done * done - (done - succeeded) * (done - succeeded)) AS done_2,
    sum(succeeded * n) AS done_n,
    sum(gone * gone - (gone - gave_up) * (gone - gave_up)) AS gone_2,
    sum(gave_up * n) AS gone_n
FROM (
    -- n: calls of the cluster; done and gone: those that succeeded or were given up with the k-th attempt or before
    SELECT *,
        sum(succeeded + gave_up) OVER (PARTITION BY {by}, cluster) AS n,
        sum(succeeded) OVER so_far AS done,
        sum(gave_up) OVER so_far AS gone
    FROM (
        -- by cluster, the number of calls that ended with the k-th attempt, and how
        SELECT
            {by},
            cluster,
            CASE WHEN finished THEN coalesce(success_no, attempts_of_call) ELSE 1 END AS k,
            count(*) FILTER (WHERE finished AND (success_no > 0 OR NOT failed)) AS succeeded,
            count(*) FILTER (WHERE failed AND success_no IS NULL) AS gave_up,
            sum(coalesce(unfinished_of_call, CASE WHEN finished OR ending = 'refused' THEN 0 ELSE 1 END)) AS left_out,
            sum(coalesce(refused_of_call, CASE WHEN ending = 'refused' THEN 1 ELSE 0 END)) AS refused
        FROM facts
        LEFT JOIN (
            -- one row for each call of several attempts
            SELECT
                call_key AS call_number,
                min(CASE WHEN attempt_no = 1 THEN span_id END) AS first_span,
                min(CASE WHEN finished AND NOT failed THEN attempt_no END) AS success_no,
                count(*) FILTER (WHERE NOT finished AND coalesce(ending, '') <> 'refused') AS unfinished_of_call,
                count(*) FILTER (WHERE ending = 'refused') AS refused_of_call
            FROM (
                SELECT call_key, span_id, finished, failed, ending,
                    row_number() OVER (PARTITION BY call_key ORDER BY finished DESC, call_order) AS attempt_no
                FROM facts
                WHERE is_repeated
            ) AS numbered
            GROUP BY call_key
        ) AS several ON call_number = call_key
        WHERE {window} AND coalesce(span_id = first_span, true)
        GROUP BY ALL
    ) AS ended
    WINDOW so_far AS (PARTITION BY {by}, cluster ORDER BY k)
) AS accumulated
GROUP BY ALL
