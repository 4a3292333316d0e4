-- What would a circuit breaker have prevented, and which successful calls would it have blocked?
--
-- One row per group. A circuit breaker is replayed over the history of each group. It opens when `failure_threshold` finished
-- attempts in a row have failed (status 'error'), at the end of the last of them, and stays open for `recovery_timeout` seconds.
-- Attempts that start while it is open are blocked, and do not affect its state because they would not have run. The first
-- attempt after it closes starts a new count. Attempts are ordered by start time. An attempt that was already running when
-- the breaker opened is let through and does not affect its state. An attempt that did not finish is let through and
-- changes nothing. The replay does not know what the agent would have done after a refusal: it may have repeated a blocked
-- call later, or used another tool. Calls that a breaker at run time refused are left out. The parameters are those of
-- tt.CircuitBreaker, and so are their defaults.
--
-- The column recommended has values for these parameters. Thresholds of 3, 5 and 10 and timeouts of 60, 300 and 1800 seconds are
-- replayed too. Of those that would help, the query takes the one with the most prevented failures minus blocked good attempts.
-- A breaker would help if the lower limit of its precision, with trips as clusters, is above 50 % and above the upper
-- limit of the failure rate of the attempts that it lets through, or if every attempt failed. Failures that are independent of each
-- other are no reason for a breaker, however many they are.
--
-- At run time, an error that is not retryable is not counted as a failure, and after the timeout one call is a probe that opens
-- the breaker again if it fails; the replay counts from 0. A breaker counts attempts, not conversations; the intervals count
-- conversations, and their coverage was not measured.
-- Measured on simulated histories: of 1,080 tools whose failures are independent, at rates of 5 to 95 %, a breaker was recommended for 3.
--
-- Grouped by code, status, day or hour, the history is not split: one breaker is replayed over the whole history, and each
-- attempt, with the trip that it caused, is counted in its own group. The counts of the groups add up to those of the whole
-- history.
--
-- group: failures
-- by: tool (default), version, agent, model, release, environment, conversation, attributes; code, status, rule, rule_grade, day, hour
-- parameters:
--   since              timestamp = NULL  attempts that started at this time or later
--   until              timestamp = NULL  attempts that started before this time
--   tool               text = NULL       this tool only
--   failure_threshold  positive = 3      number of consecutive failures that opens the breaker
--   recovery_timeout   positive = 300    seconds that the breaker stays open
--   min_n              integer = 20      a group of fewer attempts is marked too_few
-- columns:
--   attempts         count           finished attempts
--   failures         count           finished attempts with status 'error'
--   trips            count           number of times that the breaker would have opened
--   would_block      count           finished attempts that the breaker would have blocked
--   prevented        count           failures among would_block
--   blocked_good     count           attempts among would_block that did not fail
--   precision        share           prevented / would_block
--   low              low(precision)   95 % interval of precision
--   high             high(precision)  95 % interval of precision
--   prevented_share  share           prevented / failures
--   prevented_low    low(prevented_share)   95 % interval of prevented_share
--   prevented_high   high(prevented_share)  95 % interval of prevented_share
--   time_open_ms     ms              time that the breaker would have been open, until the last attempt in the window
--   saved_ms         ms              time spent in the prevented failures
--   left_out         aside           attempts that did not finish
--   refused          aside           attempts left out: refused, the tool was not run
--   recommended      text             numbers for tt.CircuitBreaker; none: no breaker of those compared would help; NULL: fewer than min_n attempts
--   recommended_prevented     count   failures that the recommended breaker would have prevented
--   recommended_blocked_good  count   good attempts that it would have blocked
--   too_few          mark            attempts < min_n, or they are from fewer than 5 clusters
--   clusters         count           conversations among would_block, or traces without a conversation
--   design_effect    ratio           blocked attempts for each independent one that precision is as precise as
-- hidden: trips
-- verdict: max(prevented) {group}: a circuit breaker would open {trips:time}, prevent {prevented} of {failures:failure}
--   and block {blocked_good:attempt} that would work; recommended: {recommended}.
-- next: query burn_rate --tool {tool}
-- source: a breaker that counts consecutive failures and closes by itself after a time, as in HelloAgents; Wilson score
--   interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
-- reasoner: breaker
-- order: prevented desc, groups
SELECT
    {by},
    cluster,
    epoch_us(started_at) AS started_us,
    ms,
    finished,
    failed,
    coalesce(ending = 'refused', false) AS refused
FROM facts
WHERE {window}
ORDER BY started_at, attempt, span_id
