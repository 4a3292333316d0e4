-- Which sources can be trusted?
--
-- One row per source and type in a group, over the finished attempts whose result names the source. An attempt counts once
-- per source, even if it names several places in it. A source is identified by its id, else by its url, else by its label.
-- An attempt is right if its labels say so (judged.correct). Confidence is compared with accuracy over the attempts that
-- have both: overconfident_by is their mean_confidence minus the share of them that was right.
--
-- group: trust
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a source of fewer labelled attempts is marked too_few
-- columns:
--   source                    text   id of the source, else its url, else its label; NULL where it has none
--   type                      text   document, file, api, database, user_input or other
--   n                         count  attempts that name the source
--   missing_id_share          share  share of n that name it without an id
--   missing_id_low            low(missing_id_share)   95 % interval of missing_id_share
--   missing_id_high           high(missing_id_share)  95 % interval of missing_id_share
--   labelled                  count  labelled attempts among n
--   labelled_share            share  labelled / n
--   labelled_low              low(labelled_share)   95 % interval of labelled_share
--   labelled_high             high(labelled_share)  95 % interval of labelled_share
--   accuracy                  share  share of labelled that was right
--   low                       low(accuracy)             95 % interval of accuracy
--   high                      high(accuracy)            95 % interval of accuracy
--   missing_confidence_share  share  share of n without a confidence
--   missing_low               low(missing_confidence_share)   95 % interval of missing_confidence_share
--   missing_high              high(missing_confidence_share)  95 % interval of missing_confidence_share
--   compared                  count  labelled attempts with a confidence
--   mean_confidence           share  mean confidence of compared
--   overconfident_by          number  mean_confidence - share of compared that was right; negative if underconfident
--   overconfident_low         low(overconfident_by)     95 % interval; it covers the share right, with the confidences fixed
--   overconfident_high        high(overconfident_by)    95 % interval; it covers the share right, with the confidences fixed
--   group_missing_id_share    share  share of all pairs of attempt and source in the group without an id
--   group_missing_low         low(group_missing_id_share)   95 % interval of group_missing_id_share
--   group_missing_high        high(group_missing_id_share)  95 % interval of group_missing_id_share
--   unsourced_share           share  share of the finished attempts of the group without an error that name no source
--   unsourced_low             low(unsourced_share)   95 % interval of unsourced_share
--   unsourced_high            high(unsourced_share)  95 % interval of unsourced_share
--   too_few                   mark   labelled < min_n, or they are from fewer than 5 clusters: read the interval, not the rate
--   clusters                  count  conversations among labelled, or traces without a conversation
--   design_effect             ratio  labelled attempts for each independent one that accuracy is as precise as
-- content: all
-- important: source, type, n, accuracy, overconfident_by
-- verdict: max(n) {group} cites {source} most: {n} attempts, of which {missing_id_share} name no id.
-- next: query calibration --tool {tool}
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
-- reasoner: sources
-- order: n desc, groups, source, type
SELECT
    {by},
    source,
    type,
    sourced,
    sum(n) AS n,
    sums(missing, n) AS missing_id_share,
    sums(labelled, n) AS labelled_share,
    sums(correct_n, labelled) AS accuracy,
    sums(unconfident, n) AS missing_confidence_share,
    sums(compared_correct, compared) AS compared_share,
    sum(confidence_sum) AS confidence_sum,
    sums(unsourced, answers) AS unsourced_share,
    -- the products with all pairs of attempt and source of the cluster: added up over the sources, they are the sums over clusters
    sum(CAST(missing AS DOUBLE) * cluster_missing) AS group_missing_id_share_ss,
    sum(CAST(missing AS DOUBLE) * cluster_n) AS group_missing_id_share_sn,
    sum(CAST(n AS DOUBLE) * cluster_n) AS group_missing_id_share_nn,
    sum(CAST(n AS DOUBLE) / nullif(cluster_n, 0)) AS group_missing_id_share_clusters
FROM (
    SELECT *,
        sum(n) OVER (PARTITION BY {by}, cluster) AS cluster_n,
        sum(missing) OVER (PARTITION BY {by}, cluster) AS cluster_missing
    FROM (
        -- one row for each group, cluster and source, and one for all finished attempts of the cluster
        SELECT
            {by},
            cluster,
            source,
            type,
            true AS sourced,
            count(*) AS n,
            count(*) FILTER (WHERE without_id = 1) AS missing,
            count(correct) AS labelled,
            count(*) FILTER (WHERE correct) AS correct_n,
            count(*) FILTER (WHERE known_confidence IS NULL) AS unconfident,
            count(known_confidence) FILTER (WHERE correct IS NOT NULL) AS compared,
            count(known_confidence) FILTER (WHERE correct) AS compared_correct,
            sum(known_confidence) FILTER (WHERE correct IS NOT NULL) AS confidence_sum,
            0 AS answers,
            0 AS unsourced
        FROM facts
        JOIN (
            -- each attempt once for each source
            SELECT
                span_id AS cited_span,
                coalesce(nullif(id, ''), nullif(url, ''), nullif(label, '')) AS source,
                type,
                max(CASE WHEN nullif(id, '') IS NULL THEN 1 ELSE 0 END) AS without_id,
                max(CASE WHEN confidence BETWEEN 0 AND 1 THEN confidence END) AS known_confidence
            FROM sources
            WHERE {window}
            GROUP BY ALL
        ) AS cited ON cited_span = span_id
        LEFT JOIN (SELECT span_id AS judged_span, correct FROM judged) AS labels ON judged_span = span_id
        WHERE {window} AND finished
        GROUP BY ALL
        UNION ALL
        SELECT
            {by}, cluster, NULL, NULL, false, 0, 0, 0, 0, 0, 0, 0, NULL,
            count(*) FILTER (WHERE NOT failed),
            count(*) FILTER (WHERE NOT failed AND coalesce(CAST(sources AS VARCHAR), '[]') = '[]')
        FROM facts
        WHERE {window} AND finished
        GROUP BY {by}, cluster
    ) AS clusters
) AS with_cluster
GROUP BY ALL
