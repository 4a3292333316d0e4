-- When was a tool down, and how long did it take to recover?
--
-- One row per incident, open ones first, then those with the most failures. An incident starts with `failing` or more
-- consecutive attempts that failed (status 'error') or were cut off (by a deadline, lost, or a stream left before its first item), at the
-- start of the first one. It ends with `recovering` or more consecutive attempts that did not fail, at the start of the first one: runs of
-- failures that a single success separates are one incident. Attempts are ordered by start time. Other attempts that did not finish are
-- skipped. An incident that has not ended is open: ended and time_to_recovery_ms are NULL, not 0, so a mean over the other incidents
-- alone is too short.
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
--   min_n       integer = 5       an incident of fewer attempts is marked too_few
--   failing     positive = 3      number of consecutive failures that starts an incident
--   recovering  positive = 2      number of consecutive attempts without failure that ends it
--   chance      number = 0.05     incidents are listed whose by_chance is smaller; 1e9 lists all
-- columns:
--   started              time   start of the first failure
--   ended                time   start of the first successful attempt after it; NULL if open
--   failures             count  attempts in the incident that failed or were cut off
--   attempts             count  attempts in the incident that finished or were cut off
--   time_to_recovery_ms  ms     from started to ended; NULL if open
--   lasted_ms            ms     the same; for an open incident the time until its last attempt, as a minimum
--   code                 text   error code of the first failure that has one
--   cut_off              aside  failures that were cut off
--   unfinished           aside  other attempts in the incident that did not finish
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
-- reasoner: incidents
SELECT
    {by},
    started_at,
    cluster,
    ending = 'refused' AS refused,
    CASE WHEN finished OR cut_off THEN CASE WHEN failed OR cut_off THEN 1.0 ELSE 0.0 END END AS failed,
    cut_off AS is_cut_off,
    CASE WHEN failed OR cut_off THEN code END AS failed_code,
    CASE WHEN failed THEN rule END AS failed_rule,
    CASE WHEN failed THEN rule_grade END AS failed_rule_grade
FROM facts
WHERE {window}
ORDER BY started_at, attempt, span_id
