-- Is a tool better or worse than before, and is the difference more than noise?
--
-- One row per tool and measure, for two sides: two values of a dimension, such as version:1.2 and version:2.0, or two windows
-- of time, such as 14d..7d and 7d. Without before, the window after is compared with the equally long one before it. Where
-- the values are of tools, the rows are not grouped by tool. An attempt is finished if it ended with a
-- status. A call failed if its last finished attempt failed. difference is after - before, with its 95 % interval. An
-- attempt that belongs to both sides counts as before.
--
-- A difference of 0 lies outside the 95 % interval in about one of twenty comparisons without any change: the verdicts are
-- then `maybe_worse` and `maybe_better`. The verdicts `worse` and `better` require more: the interval that holds for all
-- comparisons of the answer together (Bonferroni) does not contain 0. A confidence gap is worse if it is further from zero.
--
-- Calls of one conversation are similar, so the intervals count clusters: a conversation is a cluster. Without a
-- conversation id, the calls of a trace are a cluster, and a call that is alone in its trace is a cluster of its own; if such
-- calls are similar to each other, the intervals are too narrow. A difference that rests on one outage describes that time only.
--
-- The verdict is `too_few` if a side has fewer than min_n items, or fewer than five clusters, or fewer than five
-- conversations while at least half of its items belong to conversations. The interval is then NULL, because
-- few clusters do not show how much clusters differ. A percentile is also `too_few` if no change is visible and a side is too small to bound it:
-- fewer than 72 independent calls for p95, fewer than six for p50.
--
-- Measured on simulated histories without any change, with independent calls, or with 5 or more clusters a side: the 95 %
-- interval of a difference contains 0 in 94 to 100 % of them. At most 4 % had any verdict `worse` or `better` (docs/explanation/coverage.md).
--
-- group: changes (first)
-- by: tool (default), agent, model, release, environment, attributes
-- parameters:
--   before  side = NULL       the side before: DIMENSION:VALUE or a window of time
--   after   side              the side after, in the same form
--   since   timestamp = NULL  of two values: attempts that started at this time or later
--   until   timestamp = NULL  of two values: attempts that started before this time; else the end of an open window
--   tool    text = NULL       this tool only
--   min_n   integer = 20      a side with fewer items is marked too_few
--   rules   rules = 'all'     certain: failures that only a heuristic rule found count as attempts that did not fail
-- columns:
--   measure     text             failure_rate (of attempts), call_failure_rate, cut_off_share (attempts that did not end by themselves, of these and the finished ones; only where there are any), p50 and p95 (latency without results from a cache), attempts_per_call, accuracy (right / labelled) or confidence_gap (mean confidence - accuracy)
--   unit        text             unit of before, after and difference: share, ms, ratio or points
--   before      number           the measure before
--   after       number           the measure after
--   difference  number           after - before
--   low         low(difference)   95 % interval of difference; NULL if unbounded or unknown
--   high        high(difference)  95 % interval of difference; NULL if unbounded or unknown
--   verdict     text             worse, better, maybe_worse, maybe_better, unclear, too_few, new (nothing before) or gone (nothing after)
--   n_before    count            attempts, calls or labelled attempts that before is computed from
--   n_after     count            the same for after
--   counted     text             what counts as one draw: conversation (or trace, or a call that has neither), or call if all calls are independent
--   refused_before  aside        attempts left out of before: refused, the tool was not run
--   refused_after   aside        attempts left out of after: refused
--   compared    count            comparisons in this answer that have enough data
--   clusters    count            conversations (or traces, or calls) of the side that has fewer
--   design_effect  ratio         items / independent items that the side would be equally certain with, of the side where it is larger; NULL for attempts_per_call
-- important: measure, verdict, before, after, difference, n_before, n_after
-- hidden: difference
-- verdict: first {group}: {measure} was {before} and is {after} ({verdict}).
-- next: query errors --tool {tool}
-- source: difference of proportions: Newcombe 1998, method 10 (Wilson limits, squared and added), with the effective
--   number of items (Kish 1965, Korn and Graubard 1998); difference of other measures: the same from the limits of each
--   side (Zou and Donner 2008, MOVER); attempts_per_call: mean by clusters, Student's t; confidence_gap: as in calibration;
--   percentile: order statistics with the design effect (Woodruff 1952), ranks by the binomial
--   distribution; Student's t at Bonferroni's level: Wallace 1959; percentile by linear interpolation (Hyndman and Fan 1996, type 7); z = 1.959963984540054
-- reasoner: compare
WITH sided AS (
    SELECT
        facts.*,
        judged.correct,
        CASE WHEN ($before_since IS NULL OR started_at >= $before_since)
              AND ($before_until IS NULL OR started_at < $before_until)
              AND ($before_value IS NULL OR {side} = $before_value) THEN 0 ELSE 1 END AS side,
        CASE WHEN finished AND NOT from_cache THEN ms END AS timed_ms,
        CASE WHEN finished AND correct IS NOT NULL AND confidence BETWEEN 0 AND 1 THEN CAST(confidence AS DOUBLE) END AS stated
    FROM facts
    LEFT JOIN judged ON judged.span_id = facts.span_id
    WHERE (finished OR cut_off OR ending = 'refused')
      AND ($tool IS NULL OR tool = $tool)
      AND (($before_since IS NULL OR started_at >= $before_since)
              AND ($before_until IS NULL OR started_at < $before_until)
              AND ($before_value IS NULL OR {side} = $before_value)
          OR ($after_since IS NULL OR started_at >= $after_since)
              AND ($after_until IS NULL OR started_at < $after_until)
              AND ($after_value IS NULL OR {side} = $after_value))
),
counted AS (
    SELECT
        {by},
        side,
        hash({by}, side) AS grp,
        count(*) FILTER (WHERE ending = 'refused') AS refused,
        percentiles(timed_ms) AS ms,
        quantile_cont(timed_ms, 0.5) AS p50,
        quantile_cont(timed_ms, 0.95) AS p95
    FROM sided
    GROUP BY ALL
),
-- one row for each group, side and cluster: the items of each measure, and those of them that count
clusters AS (
    SELECT
        counted.grp,
        cluster,
        max(CASE WHEN conversation IS NULL OR coalesce(ending, '') = 'refused' THEN 0 ELSE 1 END) AS in_conversation,
        count(*) FILTER (WHERE finished) AS attempts,
        count(*) FILTER (WHERE failed AND ($rules = 'all' OR failed_certain)) AS failures,
        count(*) FILTER (WHERE finished OR cut_off) AS seen,
        count(*) FILTER (WHERE cut_off) AS cut,
        count(*) FILTER (WHERE ends_call) AS calls,
        count(*) FILTER (WHERE ends_call AND failed AND ($rules = 'all' OR failed_certain)) AS failed_calls,
        count(timed_ms) AS timed,
        count(*) FILTER (WHERE timed_ms > p50) AS slower,
        count(*) FILTER (WHERE timed_ms > p95) AS slowest,
        count(*) FILTER (WHERE finished AND correct IS NOT NULL) AS labelled,
        count(*) FILTER (WHERE finished AND correct) AS rights,
        count(stated) AS sure,
        count(stated) FILTER (WHERE correct) AS sure_rights,
        coalesce(sum(stated), 0) AS confidence
    FROM (SELECT *, hash({by}, side) AS grp FROM sided) AS numbered
    JOIN (SELECT grp, p50, p95 FROM counted) AS counted ON counted.grp = numbered.grp
    GROUP BY counted.grp, cluster
),
summed AS (
    SELECT
        grp,
        sums(failures, attempts) AS failure_rate,
        sums(failed_calls, calls) AS call_failure_rate,
        sums(cut, seen) AS cut_off_share,
        sums(slower, timed) AS p50,
        sums(slowest, timed) AS p95,
        sums(attempts, calls) AS attempts_per_call,
        sums(rights, labelled) AS accuracy,
        sums(sure_rights, sure) AS confidence_gap,
        sum(confidence) AS m,
        sum(confidence * confidence) AS mm,
        sum(confidence * sure) AS mn,
        sum(confidence * sure_rights) AS ms,
        sum(in_conversation) AS conversations,
        sum(in_conversation * seen) AS in_conversations
    FROM clusters
    GROUP BY grp
)
SELECT * FROM counted LEFT JOIN summed USING (grp)
