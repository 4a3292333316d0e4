-- How many calls of each tool succeed, infrastructure apart?
--
-- One row per group. A call counts if its last attempt finished; it succeeded if that attempt did not fail. Calls that failed
-- because of the infrastructure (TIMEOUT, RATE_LIMIT, NETWORK_ERROR, SERVICE_UNAVAILABLE), and attempts that were cut off, say nothing
-- about what an agent or a tool does with its input: they are apart, in `infrastructure`. `tooltrace check` judges by these rows.
--
-- group: failures
-- by: tool (default), version, agent, model, release, environment, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer calls is marked too_few
-- columns:
--   calls           count       calls whose last attempt finished, without those that the infrastructure failed
--   succeeded       count       calls among them that did not fail
--   rate            share       succeeded / calls
--   low             low(rate)   95 % interval of rate
--   high            high(rate)  95 % interval of rate
--   infrastructure  aside       calls left out: the infrastructure failed them, or they were cut off
--   clusters        count       conversations (or traces, or attempts) that the calls belong to
--   design_effect   ratio       calls / independent calls that rate would be equally certain with; 1 if each cluster has one
--   too_few         mark        calls < min_n, or fewer than 5 clusters of several calls: read the interval, not the rate
-- verdict: first {group} succeeds least: in {rate} of {calls:call} ({low} to {high}).
-- next: query errors --tool {tool}
-- order: rate, calls desc, groups
SELECT
    {by},
    sum(c) AS calls,
    sum(ok) AS succeeded,
    sums(ok, c) AS rate,
    sum(outside) AS infrastructure
FROM (
    -- one row for each group and cluster
    SELECT
        {by},
        cluster,
        count(*) FILTER (WHERE ends_call AND NOT (failed AND is_outside)) AS c,
        count(*) FILTER (WHERE ends_call AND NOT failed) AS ok,
        count(*) FILTER (WHERE cut_off OR (ends_call AND failed AND is_outside)) AS outside
    FROM (
        SELECT *, coalesce(code, '') IN ('TIMEOUT', 'RATE_LIMIT', 'NETWORK_ERROR', 'SERVICE_UNAVAILABLE') AS is_outside
        FROM facts WHERE {window}
    ) AS ran
    GROUP BY ALL
) AS clusters
GROUP BY ALL
