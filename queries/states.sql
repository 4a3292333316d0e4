-- Is each tool broken, worse than usual, bad all along, or fine, and since when?
--
-- One row per group for its state now, and one for each time of a higher rate that is over. A call counts if its last attempt
-- finished or was cut off; it is bad if that attempt failed (status 'error') or was cut off. A stream that its consumer left after
-- its first item is left out: to stop reading says nothing about the tool. The whole history is read, whatever
-- the range on a screen: the usual rate is that of the calls before the rate rose, wherever that was.
--
-- states: broken, the last calls were all bad and chance does not explain it; regressed, the rate rose and has not come back;
-- chronic, no rise, but the lower limit of the rate is above 5 %; recovered, the rate rose and came back; fine; new, fewer than
-- `min_n` calls, which nothing can be compared with.
--
-- The history is divided where its rate changes (binary segmentation, with a daily rhythm told apart). A change needs 20 times
-- as much evidence as one rate, times the number of groups. Calls of one conversation are alike and count as fewer.
--
-- group: failures
-- by: tool (default), agent, model, release, environment, attributes
-- parameters:
--   until  timestamp = NULL  the state at this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer calls is new, unless it is broken
-- columns:
--   state            text              broken, regressed, chronic, recovered, fine or new
--   since            time              start of the first bad call of the state; of its first call where none was bad
--   until            time              start of the first call after it; NULL if it lasts
--   calls            count             calls since then
--   bad              count             calls among them that failed or were cut off
--   rate             share             bad / calls
--   low              low(rate)         95 % interval of rate
--   high             high(rate)        95 % interval of rate
--   cut_off          count             bad calls that did not finish
--   lost             count             those of them whose process was gone: the tool may kill it
--   misused          count             bad calls with the code INVALID_PARAM or NOT_FOUND: of the caller
--   usual_rate       share             rate before it; NULL where nothing was before
--   usual_low        low(usual_rate)   95 % interval of usual_rate
--   usual_high       high(usual_rate)  95 % interval of usual_rate
--   usual_calls      count             calls that usual_rate is of
--   excess           number            bad calls beyond usual_rate
--   bad_in_a_row     count             bad calls in a row until now, if chance explains fewer; else 0
--   lost_ms          ms                time in the tool of the bad calls
--   code             text              code of most bad calls
--   message          text              error message of the last bad call with that code, at most 200 characters
--   version_since    text              version of most bad calls, if most calls before had another one
--   version_before   text              version of most calls before, if version_since is another one
--   last_bad_at      time              start of the last bad call
--   last_called_at   time              start of the last call
--   p95              ms                95th percentile of the duration of calls that did not time out
--   timeout_ms       ms                median duration of the calls that timed out or were cut off; NULL if none was
--   slower_since     time              start of the first finished call since which half of them take longer than before; NULL if none is
--   median_before    ms                median duration of finished calls before slower_since
--   median_after     ms                median duration of finished calls since then
--   calls_since      count             finished calls since then
--   unread           aside             calls that nothing states whether they worked: counted as not bad
--   clusters         count             conversations among calls, or traces without a conversation
--   design_effect    ratio             calls for each independent one that rate is as precise as
--   too_few          mark              calls < min_n, or they are from fewer than 5 clusters: read the interval, not the rate
-- content: message
-- important: state, since, bad, calls, rate, usual_rate, code
-- verdict: first {group} is {state} since {since}: {bad} of {calls:call} were bad ({rate}, {low} to {high}).
-- next: query errors --tool {tool}
-- source: two rates against one: Smith 1975, with the priors of Jeffreys 1946; division: Scott and Knott 1974, Olshen et al. 2004;
--   runs: Feller 1968; interval: Wilson 1927 of n / design effect (Kish 1965; Korn and Graubard 1998)
-- reasoner: states
SELECT
    {by},
    started_at,
    cluster,
    version AS used_version,
    ms,
    CASE WHEN failed OR cut_off THEN 1.0 ELSE 0.0 END AS is_bad,
    cut_off AS is_cut_off,
    ending = 'lost' AS is_lost,
    grade = 'unread' AND finished AS is_unread,
    CASE WHEN failed OR cut_off THEN coalesce(code, '') END AS bad_code,
    CASE WHEN failed OR cut_off THEN left(error_message, 200) END AS bad_message
FROM facts
WHERE {window} AND is_last AND (finished OR cut_off)
ORDER BY started_at, attempt, span_id
