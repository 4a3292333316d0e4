-- Which conversations show what changed between two versions?
--
-- One row per pair of conversations, one with each version, that begin with the same call: one tool with equal arguments (but for
-- times and numbers of requests, as in the query loops). Such conversations are likely the same task. Of several that begin
-- alike, the newest of each version is in the pair; pairs with the newest conversations come first. The last row
-- is the pair of the newest conversation of each version, if these begin with different calls. A conversation that uses both versions
-- is in no pair. `tooltrace diff version:A version:B` compares the first pair call by call. For figures of all
-- conversations, see the query compare.
--
-- group: changes
-- parameters:
--   before_version  text             version of a tool in the first conversation
--   version         text             version of a tool in the second conversation
--   tool            text = NULL      versions of this tool only
--   since           timestamp = NULL  attempts that started at this time or later
--   until           timestamp = NULL  attempts that started before this time
--   limit           integer = 20     maximum number of rows
-- columns:
--   before                text   id of the conversation with before_version
--   after                 text   id of the conversation with version
--   same_start            flag   whether both begin with the same call
--   first_tool            text   tool of the first call of before
--   before_started        time   start of before
--   after_started         time   start of after
--   before_conversations  count  conversations with before_version, alone of the two
--   after_conversations   count  conversations with version, alone of the two
-- content: all
-- important: before, after, same_start, first_tool, before_started, after_started
-- next: show {after}
WITH sides AS (
    SELECT conversation_id, max(tool_version) AS side
    FROM attempts
    WHERE conversation_id IS NOT NULL
      AND tool_version IN ($before_version, $version)
      AND ($tool IS NULL OR tool = $tool)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
    GROUP BY conversation_id
    HAVING count(DISTINCT tool_version) = 1
),
with_place AS (
    SELECT
        conversation_id,
        tool,
        CAST(arguments AS VARCHAR) AS arguments,
        started_at,
        row_number() OVER (PARTITION BY conversation_id ORDER BY started_at, span_id) AS place
    FROM attempts
    WHERE conversation_id IN (SELECT conversation_id FROM sides)
),
-- request: the first call; is_known: whether its arguments are recorded
starts AS (
    SELECT
        s.side AS side,
        p.conversation_id AS conversation,
        p.tool AS tool,
        p.started_at AS started_at,
        concat(p.tool, '|', arguments_key(p.arguments)) AS request,
        p.arguments IS NOT NULL AS is_known
    FROM with_place AS p
    JOIN sides AS s ON s.conversation_id = p.conversation_id
    WHERE p.place = 1
),
newest AS (
    SELECT *,
        row_number() OVER (PARTITION BY side, request ORDER BY started_at DESC, conversation) AS of_request,
        row_number() OVER (PARTITION BY side ORDER BY started_at DESC, conversation) AS of_side,
        count(*) OVER (PARTITION BY side) AS conversations
    FROM starts
),
pairs AS (
    SELECT b.conversation AS before, a.conversation AS after, true AS same_start, b.tool AS first_tool,
        b.started_at AS before_started, a.started_at AS after_started,
        b.conversations AS before_conversations, a.conversations AS after_conversations, b.of_side + a.of_side AS newness
    FROM newest AS b
    JOIN newest AS a ON a.request = b.request
    WHERE b.side = $before_version AND a.side = $version AND a.side <> b.side
      AND b.of_request = 1 AND a.of_request = 1 AND b.is_known
    UNION ALL
    SELECT b.conversation AS before, a.conversation AS after, false AS same_start, b.tool AS first_tool,
        b.started_at AS before_started, a.started_at AS after_started,
        b.conversations AS before_conversations, a.conversations AS after_conversations, 2 AS newness
    FROM newest AS b
    JOIN newest AS a ON a.of_side = b.of_side
    WHERE b.side = $before_version AND a.side = $version AND a.side <> b.side
      AND b.of_side = 1 AND NOT (a.request = b.request AND b.is_known)
)
SELECT before, after, same_start, first_tool, before_started, after_started, before_conversations, after_conversations
FROM pairs
ORDER BY same_start DESC, newness, before, after
LIMIT $limit
