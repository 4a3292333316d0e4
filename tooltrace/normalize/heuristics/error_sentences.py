"""Table of the sentences, English and Chinese, with which a tool opens the report of its own failure.

Each pattern describes a whole opening: the thing that failed, and what happened to it. A text is an error only if it
is short and opens with such a sentence; a document that mentions an error has more text, or another subject.
"""

from __future__ import annotations

from tooltrace.normalize.heuristics import chinese_failures, failure_grammar, runtime_messages
from tooltrace.normalize.lazy_regex import lazy

_HELD = (
    r"(?:database |browser |api |user |active |open |current |valid |default |stored |saved )*(?:credentials?|connection|session|(?:api |access |ssh )?key|token|browser|page|tab|window|database|project|workspace|account"
    r"|profile|login|context|device|display|kernel|sandbox|instance|interpreter|debugger|repository|config(?:uration)?(?: file)?)"
)
"""Things that a tool must hold before it can work."""
_CLOSED = r"(?:session|connection|sandbox|browser|page|tab|context|database|stream|client|channel|pool|file|socket|terminal|shell|process|server|kernel|window|container|workbook|transaction|cursor)"
_SENT = r"(?:email|e-mail|mail|message|sms|notification|request|response|command|file|image|document|page|url|link|video|audio|record|task|event|comment|invitation|webhook|query|result|data|content|output|lock|session|connection|certificate|key)"
_PLURAL = r"(?:retries|attempts|requests|urls|URLs|sources|providers|servers|backends|endpoints|keys|models|downloads|uploads|fetches|searches|queries|calls|tasks|files|pages|engines|mirrors|proxies|replicas|nodes)"
_CHECKED = r"(?i:query|sql|command|code|expression|input|path|url|content|message|prompt|text|statement|script|filename|name|pattern|formula|request|payload|argument|value)"

OPENINGS = (
    # Nothing that the tool could work with: "No active connection to database. Use connect first."
    rf"No (?i:{_HELD})(?: (?:to|for|in|with|from|on) [^\n.]{{1,60}})?(?: (?:is |was )?(?:found|available|exists|open|active|established|set|configured|provided))?(?: (?:to|for|in|with|from|on) [^\n.]{{1,60}})?[.;:,!] ?\S.{{0,160}}",
    # Comparisons: "start (50) cannot be greater than end (10)", "Line number 900 exceeds file length"
    r"(?!The |This |It |An? )\S+(?: \S+){0,4}? (?:cannot|can't|must not|may not|should not) be (?:greater|less|larger|smaller|longer|shorter|higher|lower|before|after|earlier|later|more|fewer|the same|both|combined|in the (?:past|future)|negative|used (?:together|with)|blank|undefined)\b.{0,100}",
    r"(?:The |This |Your )?(?!The|This|It|He|She|We|Your)[\w`'\"-]+(?: (?!not\b)\S+){0,4}? (?:exceeds?|exceeded) (?:the )?(?:max\w*|limits?|allowed|available|permitted|file|time|size|rate|quota|context|token|budget|length|model|upload|memory)\b.{0,120}",
    r"(?!The |This )[\w`'\"]*[a-z][\w`'\"]*(?: \w+){0,2} must (?:be|come) (?:before|after|earlier|later|on or (?:before|after)) \S.{0,60}",
    r"(?:[A-Z]\w+ ){1,3}(?:lacks|does not have|is missing) (?:the |a )?(?:required |necessary )?['\"`]?[\w:.-]*['\"`]? ?(?:scope|permission|privilege|role|access)s?\b.{0,80}",
    r"(?:[A-Z]\w+ ){1,3}(?:returned|gave|produced|sent) (?:an? |no )?(?:empty|invalid|malformed|unexpected|null|blank)? ?(?:response|reply|answer|output|body)[.!]?",
    r"(?:[A-Z]\w+ ){1,3}(?:is |was )?too (?:large|long|big|deep|complex) to (?:process|read|display|send|load|handle|parse|upload|return)\b.{0,60}",
    r"(?:Cannot|Can't|Could not|Couldn't) [a-z]+: \S.{0,160}|(?:error: )?[Pp]atch (?:does not apply|failed).{0,80}|Hunk #\d+ FAILED.{0,80}|Error \d{3,5}(?: \(\w+\))?: \S.{0,200}",
    r"[A-Z]\w+(?: \S+){0,2} (?:raised|threw) (?:an? )?[A-Z]\w*(?:Error|Exception)\b.{0,200}",
    r"[A-Z]\w+(?: \w+){0,2} (?:died|crashed|hung|quit|exited|closed|stopped|disconnected) unexpectedly\b.{0,80}",
    r"(?:Navigation|Request|Download|Upload|GET|POST|PUT|DELETE|Fetch|Connection|Redirect|Call)(?: to| of| from)? \S{1,200} (?:failed|timed out|was refused|was rejected|aborted)\b.{0,160}",
    # Edits of a file: "No match found for old_str in main.py", "Found 3 matches of the string to replace, but …"
    r"(?:No (?:exact )?match(?:es)?|No occurrences?|Could not find|Did not find|Cannot find)(?: (?:was|were))?(?: found)? (?:of|for) (?:the )?(?:`?(?:old|search|target|anchor)[_ ]?\w*`?|string to replace|text to replace|replacement|context lines?|hunk)\b.*",
    r"(?:Found )?(?:\d+|Multiple|More than one|Several) (?:matches|occurrences|instances)\b.{0,80}(?:, but\b|; (?:please )?(?:provide|must|use|make)|must be unique|not unique|expected (?:1|one|exactly)).*",
    r"File (?:\S+ )?has (?:not (?:yet )?been (?:read|opened|loaded)|been (?:modified|changed|deleted|moved)(?: \w+)? since)\b.*",
    r"(?:String|Text|Pattern|Anchor|Block|Hunk|Snippet|Content)(?: \w+){0,3} (?:was )?not (?:found|unique|matched)\b.*",
    # Places: "Path '/etc' is not within …", "Access denied - path outside …"
    r"(?:[A-Z]\S* )?(?:[\w-]+ )?\S{1,120} (?:is|are|lies|falls|resolves|was) (?:not (?:within|inside|under|located|relative to|part of|a member|one of)|outside(?: of)?|out of) (?:the |an? |any |your |its )?(?:allow\w+|permitted|workspace|working|project|base|root|sandbox|configured|accessible|search|range|bounds|home|current|data|valid|supported)\b.{0,120}",
    r"(?:Access|Permission|Request|Connection|Authentication|Authori[sz]ation|Login) (?:denied|refused|rejected|failed|blocked|error) ?[-–—] ?\S.*",
    r"(?:Not|Is) an? (?:directory|file|regular file|folder|symlink|git repo\w*|valid \w+|number|table|project|image)\b(?: (?:\S+))?(?:[:,.] ?\S.*|)",
    r"Not (?:enough (?:arguments|parameters|data|values|tokens|information|input|images|rows|points)|logged ?in|signed in|connected|authenticated|authori[sz]ed|in an? (?:git |valid )?\w+|subscribed|permitted|initiali[sz]ed)\b(?: (?:to|for|in|with|as|on) [^\n.]{1,60})?(?:[.:,;(!] ?.{0,120}|)",
    # Checks of arguments, by JSON Schema and others
    r"['\"`][^'\"\n]{1,80}['\"`] (?:is not of type|is not one of|is not valid under|is a required property|does not match|is too (?:long|short)|is not an? '\w+'|is a dependency of|has non-unique elements|was unexpected)\b.*|Additional properties are not allowed .*",
    r"\S{1,100} must (?:NOT (?:have|be)|have required propert(?:y|ies)|match (?:pattern|format|exactly one)|be equal to (?:one of|constant))\b.*",
    rf"{_CHECKED} (?:\S+ )?(?:contains?|includes?|has|uses) (?:an? |some |potentially |disallowed )?(?:forbidden|disallowed|invalid|illegal|unsafe|dangerous|blocked|prohibited|unsupported|restricted|malicious|sensitive|harmful|banned)\b.{{0,120}}",
    r"(?:Dangerous|Unsafe|Malicious|Suspicious|Forbidden|Destructive|Disallowed|Prohibited|Restricted|Harmful|Unauthori[sz]ed) (?:\w+ )?(?:command|code|pattern|path|operation|query|input|content|keyword|import|statement|request|access|characters?|url|redirect)s?(?: \w+){0,2}? (?:detected|blocked|rejected|denied|found|attempted|not allowed)\b.{0,120}",
    r"(?:Only|Just) (?!one\b|the\b)[^\n.:;]{1,60}? (?:is|are|can be) (?:allowed|permitted|supported|accepted|executed|used|valid)(?: (?:for|in|on|by|here|at|with|when)\b[^\n.]{0,80})?[.!]?",
    r"(?:Content|Prompt|Message|Text|Image|Output|Response|Input|Command|Tool call|Execution)(?: \w+)? (?:was |has been |is )?(?:blocked|flagged|rejected|filtered|refused|moderated) (?:by|due to|because|for)\b.{0,120}",
    # Answers with a status: "HTTP error! status: 404", "Received status code 500"
    r"(?:HTTP|Http|API|Fetch|Request|Network|Server|Upstream|Response|Status)(?: \w+)? (?:[Ee]rror|failed|failure)[!:,]? ?(?:\(?(?:with )?(?:the )?(?:HTTP )?(?:status|code|status code)[:= ]+)?\(?\d{3,5}\)?\b.{0,160}",
    r"(?:Received|Got|Returned|Server sent|Bad|Unexpected)(?: an?)?(?: unexpected| bad| invalid| error)? ?(?:HTTP )?(?:response|status|status code|HTTP|response code|response status|code)[: ]+(?:code )?[345]\d\d\b.{0,120}",
    # Connections and messages: "Lost connection to MySQL server", "Email could not be sent: …"
    r"(?:Lost|Dropped|Broken|Refused|Closed) (?:the )?connection (?:to|with|from|by) \S.{0,120}|(?:Connection|Session|Link) (?:was )?(?:lost|dropped|reset|interrupted|terminated|severed)(?: (?:to|with|from|by|while|during|after|before) .{1,120}|[.:;,!].*|)",
    r"(?i:network|socket|read|connect|connection|response|gateway|request|operation|dns|lock|handshake|idle|query|tool|script|browser|page) timeout(?: (?:while|when|during|after|waiting|exceeded|reached|occurred|contacting|connecting|for|at|on|error)\b.{0,160}|[.:!,] ?\D.{0,160}|!)",
    rf"(?i:(?:the |your |this )?{_SENT}) (?:\S+ )?(?:could|can) ?not be (?:sent|delivered|posted|acquired|obtained|found|displayed|rendered|generated|published|completed|queued|executed|run|scheduled|converted|verified|validated|negotiated|established|transcribed|translated|resized)\b.{{0,120}}",
    rf"(?i:the |this |your |that )?(?i:{_CLOSED})(?: ['\"`]?[\w.:/-]{{1,60}}['\"`]?)? (?:is|has|was|has been|is already|has already been|was already|have been)(?: already)? (?:closed|terminated|shut down|stopped responding|lost|corrupted|disposed|destroyed|crashed|encrypted|password[- ]protected|gone|detached|evicted|killed|expired)\b.{{0,100}}",
    r"(?:The |This |Your )?(?:Workbook|PDF|Database|Document|Archive|File|Workspace|Table|Record|Repository|Row|Sheet|Zip|Terraform state|State|Index)(?: \S+)? (?:(?:is|are) )?(?:locked(?: by [^\n]{1,60})?[.!]?$|password[- ]protected|encrypted|corrupt(?:ed)?|damaged)(?:[.,;:(]| and\b|$).{0,100}",
    # The name of errno in parentheses, as Node states it: "Permission denied writing to file: /etc/hosts (EACCES)"
    r"[A-Z][^\n]{2,300} \(E(?:ACCES|ADDRINUSE|AGAIN|BADF|BUSY|CONNABORTED|CONNREFUSED|CONNRESET|EXIST|HOSTUNREACH|INVAL|IO|ISDIR|LOOP|MFILE|NAMETOOLONG|NETUNREACH|NOENT|NOEXEC|NOMEM|NOSPC|NOTDIR|NOTEMPTY|NOTFOUND|PERM|PIPE|ROFS|TIMEDOUT|XDEV)\)\.?",
    # Repetition, and nothing of many: "All 3 attempts failed. …", "None of the files could be read"
    r"(?i:max(?:imum|\.)?) (?:number of )?(?:\w+ ){1,2}?(?:\(\d+\) )?(?:(?:was |were |has been |have been )?(?:reached|exceeded|exhausted|hit)|depth exceeded)\b.{0,120}",
    rf"All (?:of the )?(?:\d+ )?(?:\w+ ){{0,2}}?{_PLURAL} (?:have |were |are )?(?:failed|timed out|unavailable|exhausted|rejected|unreachable|down|blocked|invalid)\b.{{0,160}}",
    r"[A-Z]\w+ing (?:by zero|\S+) is not (?:allowed|permitted|supported|possible)[.!]?|(?:Payment|Card|Transaction) (?:was )?(?:declined|rejected)[:.,] ?\S.{0,100}|Conflict: \S.{0,160}|No (?:documents|files|images|pages|URLs|sources|modules|models|tools|records) could be \w+ed\b.{0,100}",
    r"(?:None|Neither) of the [^\n.]{1,60}? (?:could be|was|were|can be) (?:successfully )?(?:\w+ed|read|found|sent|valid|reachable|available|accessible)\b.{0,100}",
    r"No (?:\w+ )?[\w-]+s (?:were successfully|were able to be|(?:could|can) be)(?: successfully)? (?!found|identified|detected)\w+\b.{0,100}",
    # Verbs: "Failed sending message: …", "Container exited with status 1", "Another operation is in progress"
    r"Failed (?!to\b)[a-z]+ing [^\n]{1,160}?(?:: \S.*|[.!]?)",
    r"(?:[A-Z]|npm|npx|git|docker|make|node|python|bash|ffmpeg|terraform|kubectl)\S*(?: \S+){0,2}? (?:exited|terminated|finished|failed|ended|stopped|died|killed|aborted) (?:unexpectedly )?(?:with|by|due to|on|after) (?:an? )?(?:non-?zero )?(?:error|signal|exit|status|code|exit code|exit status|return code|timeout|SIG[A-Z]+)\b[: ]*(?!0\b).{0,120}",
    r"(?:Another|A previous|A different|Some other) [\w -]{1,40} (?:is|was) (?:already |still |currently )?(?:in progress|running|active|pending|open|using|holding|locking)\b.{0,100}",
    r"(?:[A-Z]\w+|['\"`]\S{1,80}['\"`])(?: \w+){0,2} already (?:registered|exists|in use|taken|in progress|reserved|assigned|claimed)\b.{0,100}",
    r"(?i:(?:oops|oh no|uh oh|whoops|ops)[!,.]* )(?:something|an? (?:\w+ )?error|there was|we|it|an issue)\b.{0,160}",
    r"(?i:an? )?(?:\w+ )?(?i:error|exception) (?:was|has been) (?i:raised|thrown|encountered|caught|returned|reported) (?:during|while|in|when|by|from|at)\b[^\n]{0,120}?[:：] ?\S.*",
    r"(?:Exception|Error) (?:occurred|encountered|raised|thrown|caught)\b(?: (?:while|when|during|in|at)\b[^\n]{0,120}?)?(?:[:：] ?\S.*|[.!]?)",
    r"(?:Agent|Tool|Task|Run|Execution|Process|Script|Job|Query|Request)(?: \w+)? (?:was |has been |got )?(?:stopped|terminated|aborted|halted|killed|interrupted|crashed) (?:due to|because(?: of)?|after|by|unexpectedly|with)\b.{0,120}",
    r"(?i:time|execution|cpu|memory|resource|wall) (?:time )?limit (?:was |of \S+(?: \w+)? )?(?:exceeded|reached|hit)\b.{0,100}",
    r"(?:The |This )?(?:module|package|library|dependency|program|binary|tool|command|executable|extension) ['\"`]?[\w.-]{1,60}['\"`]? (?:is|was|must be) (?:required|needed|necessary|not installed|missing|installed)\b.{0,20}(?:but|to|for|and|first|[.!]|not)\b.{0,100}",
    r"This (?:endpoint|operation|action|tool|command|request|resource|page|model|account|feature|plan|repository|file|url|API|query) (?:requires (?:an? )?(?:\w+ )?(?:auth\w+|login|admin\w*|permissions?|privileges|subscription|access|token|key|upgrade|approval|paid|pro|premium)|is (?:not (?:available|allowed|supported|permitted|enabled|accessible)|only (?:available|allowed|supported)|disabled|restricted|blocked|forbidden|private|unavailable))\b.{0,100}",
    r"You(?:'re| are) not (?:an? |the |in |part of |able to |allowed |currently )?(?:member|owner|admin\w*|participant|collaborator|subscriber|signed|registered|permitted|authori[sz]ed|connected|logged|the|a)\b.{0,100}",
    r"(?i:credit |account |wallet |token )?(?:[Bb]alance|[Cc]redits?|[Ff]unds|[Qq]uota|[Aa]llowance) (?:is |are |was |has been )?(?:too low|insufficient|exhausted|used up|depleted|not enough|not sufficient|expired|exceeded|empty)\b.{0,100}",
    r"(?:[\w-]+ ){0,3}(?:limit|quota) (?:reached|exceeded|exhausted|hit)[.!,;:] ?\S.{0,120}",
    # Refusals by the user
    r"\w+ requested permissions? to .{1,160}, but you haven't granted (?:it|them) yet.*",
    # "Ran into UnicodeDecodeError … while trying to read a.bin", "The branch was not merged. The branch was not deleted."
    r"(?:[Rr]an into|[Hh]it|[Gg]ot|[Ee]ncountered) (?:an? )?[A-Z]\w*(?:Error|Exception)\b.*",
    r"(?!The (?:test|issue|bug)\b)[A-Z][^.\n]{1,100}\. (?:The|Your) [\w -]{1,40} (?:was|were) not (?:created|deleted|updated|saved|sent|modified|written|changed|executed|applied|run|merged|uploaded)[.!]?",
    r"(?:[Pp]lease )?(?:[Pp]rovide|[Ss]pecify|[Uu]se|[Pp]ass|[Ss]et) either .{1,60} or .{1,60}, (?:but )?not both[.!]?",
    r"(?:The )?(?i:argument|parameter|value|field|input|property) \S{1,80} has type \S{1,60}(?:,)? but (?:should be|expected|must be) \S.{0,60}",
    # Texts of the editors of Anthropic and Claude Code
    r"No changes to make: old_string and new_string are exactly the same\..{0,80}|No edit history found for \S{1,200}",
)
"""First lines that report the tool's own failure."""


_FIELD = (
    "network|connection|database|db|api|https?|ssl|tls|pars(?:e|er|ing)|syntax|(?:input |schema |argument |request |data )?validation|auth(?:entication|orization)?"
    "|permission|timeout|runtime|i/?o|import|type|value|key|index|attribute|name|internal|server|client|system|unexpected"
    "|unknown|unhandled|unspecified|critical|fatal|serious|severe|tool(?: call)?|function(?: call)?|command|execution|request|response"
    "|query|sql|file(?: system)?|filesystem|disk|memory|config(?:uration)?|service|upstream|gateway|proxy|dns|socket|protocol"
    "|format|encoding|decoding|json|xml|yaml|csv|compil(?:e|er|ation)|build|link(?:er)?|assertion|access|quota|rate.?limit|payment"
    "|download|upload|browser|navigation|search|lookup|transaction|output|argument|parameter|llm|model|sandbox|kernel"
    "|subprocess|process|remote|local|git|docker|kubernetes|aws|s3|redis|graphql|rest|rpc|grpc|mcp|websocket|session|page|script|code"
    "|following|application|login|token|storage|cache|queue|plugin|agent|retriev\\w+|scrap\\w+|crawl\\w+|conversion|serialization"
)
"""Words before "error": the part that failed. Others measure something, as in "standard error: 0.3"."""

_THING = (
    "files?|path|director(?:y|ies)|folder|tool|function|command|parameter|argument|option|flag|field|property|attribute|column|table|schema|database"
    "|user(?:name)?|account|session|tokens?|(?:api )?key|credentials?|url|uri|link|page|website|element|selector|module|package|class|method"
    "|variable|index|collection|channel|repo(?:sitory)?|branch|commit|ref|tag|issue|ticker|symbol|city|location|place|country|document|object|bucket"
    "|resources?|record|row|entity|entit(?:y|ies)|entry|key|id|name|value|input|model|server|service|connection|host(?:name)?|domain|operation|action|task"
    "|job|process|api|endpoint|date|format|type|query|sql|script|code|request|response|message|thread|channel|event|workspace"
    "|project|environment|container|image|pod|namespace|node|agent|plugin|device|port|address|email|version|template|item|step|range|string|pattern|regex|json|syntax"
)
"""Things that a tool works on; they may be named: "The file /x/y", "Column 'a'", "Company ticker XYZ"."""

_NAMED = r"(?:[ :]+(?:named |called |with (?:id|name|key) )?['\"`<(]?[^\s'\"`]{1,200}['\"`>)]?){0,2}"
_HAPPENED = (
    r"(?:(?:was|were|is|are|could) )?not (?:be )?(?:found|located|accessible|reachable|available|installed|supported|allowed|permitted|authori[sz]ed"
    r"|recogni[sz]ed|registered|configured|defined|open|running|connected|valid|unique|readable|writable|writeable|opened|read|parsed|loaded|resolved|executed|completed)"
    r"|(?:does|do|did) ?n[o']t (?:exist|match|have permission|have access|support)|(?:is|are) (?:invalid|missing|unavailable|unreachable|unsupported|undefined"
    r"|read-only|locked|disabled|ambiguous|out of range|too (?:large|long|big|short|small)|already (?:in use|open|running|taken|exists?)|empty or missing|outside (?:of )?(?:the )?(?:allowed|workspace|project|working)\b.{0,40})"
    r"|already exists?|(?:has|have) (?:expired|been (?:denied|rejected|revoked|disabled|blocked|deleted|suspended))|expired|failed|timed out|crashed|was (?:denied|rejected|refused|aborted|blocked|killed|cancell?ed|interrupted|terminated)"
    r"|cannot be (?:empty|null|blank|found|opened|read|written|parsed|loaded|negative|used|accessed|resolved|modified|deleted|zero|performed)|can(?:'t|not) be (?:found|opened|read)"
    r"|exceed(?:s|ed) .{1,80}|returned (?:an? )?(?:error|status [45]\d\d|[45]\d\d).{0,80}|(?:is|was) an? (?:directory|binary file)"
)
_DEMANDED = r"be (?:[A-Z0-9]|one of\b|between\b|positive|negative|greater|less|larger|smaller|at (?:least|most)\b|numeric|numbers?\b|an? (?:valid|positive|non-empty|number|integer|string|boolean|date|list|dict|json)\b|non-?empty|non-?negative|in (?:the )?(?:range|format|past|future|iso)\b|specified|provided|set\b|unique|[<>=])|(?:not be|contain|match|start with|end with|have at least)\b"
_CONNECTIVE = "when|if|that|whether|note|until|create|read|which|raised|raise|returns?|because|while|where|see|use|an?"
_ENDS = r"(?=$|[.,;:!(]|\s+(?:in|at|on|for|from|with|to|by|of|within|after|because|due|and|or|as|under|when|while|during|the)\b)"

_OPENINGS = (
    # A field and its error: "Network error while scraping …: …", "An unexpected error occurred during compression: …"
    (
        rf"(?i:(?:oops[,!]? |sorry[,!]? )?(?:an? |the )?(?:(?:{_FIELD})[ -]){{1,3}}(?:errors?|exception|failure))(?i: (?:has |have )?occurr?ed)?"
        r"(?: \((?:\w{1,40}|[45]\d\d)\))?(?i: (?:while|when|during|in|at|on|for|with|from|after|trying|calling|connecting|executing)\b[^\n]{0,200}?)?\s*[:：(].*"
    ),
    r"(?i:(?:an? |some )(?:\w+ )?(?:error|exception|failure) (?:has )?(?:occurr?ed|happened)\b).*",
    r"(?i:(?:i |we |tool |agent )?encountered (?:an? )?(?:\w+ )?(?:error|exception|problem)s?)\b.*[:：(].*",
    r"An error occurred \(\w+\) when calling .*",
    # A named thing: "The path /x/y does not exist.", "Company ticker XYZ not found."
    rf"(?:The |Your |This |That |A |An |Requested |Specified |Provided |Given )?(?i:(?:(?!{_CONNECTIVE}\b)[a-z_-]+ ){{0,3}}?(?:{_THING})){_NAMED} (?:{_HAPPENED}){_ENDS}.*",
    # A demand: "limit must be between 1 and 100", "Parameter 'city' is required"
    rf"(?i:(?:(?:input|argument|parameter|field|option|property|column|header|value of) )?['\"`]?(?!this|it|that|you|they|these)[a-z]\w*['\"`]?) (?:(?:is|are) required\b|must (?:{_DEMANDED}))[^.\n]{{0,60}}\.?",
    # A thing and what happened: "File not found: /w/x. …", "API request failed: …", "apply_patch verification failed: …"
    r"(?!No )(?:[\w./'\"`-]+ ){1,4}(?:failed|not found|timed out|denied|rejected|refused|unavailable|already exists(?: at)?|does not exist|exceeded|expired)(?: (?:to|for|at|with|in|on|after|because|while|due to|by) [^\n]{1,120}?)?\s*[:：(].*",
    # A bad argument: "Invalid branch type: locl", "Unsupported file type"
    (
        r"(?:Invalid|Illegal|Malformed|Unsupported|Unrecogni[sz]ed|Incorrect|Insufficient|Expired|Unauthori[sz]ed|Disallowed) (?:[\w`'\"./-]+ ){0,4}?"
        r"(?:[\w./-]*[^\Ws]|[\w./-]*(?:ss|us)|credentials|arguments|parameters|permissions|inputs|options|headers|privileges|scopes|funds|['\"`][^'\"`]{1,80}['\"`])"
        r"(?:[.,:;!(]| (?:for|in|at|to|of|with|provided|given|passed|specified|value|supplied)\b|$).*"
    ),
    (
        rf"(?![A-Z]\w+ [A-Z]\w+$)(?:Missing|Unknown|Unexpected|Undefined|No such|Duplicate|Ambiguous|Required|Empty|Wrong|Bad|Conflicting) (?:[\w-]+ ){{0,3}}?(?i:{_THING}|keyword|token|end of|header|permission|scope|environment variable|import|import path|dependency)s?"
        r"(?:\(s\))?(?:[.,:;!(]| ['\"`<\w/]| (?:for|in|at|to|of|with|provided|given)\b|$).*"
    ),
    # A missing state: "No file open. Use the open command first."
    r"No (?!error|result|match|problem|issue|warning|change|update|fail)(?:[\w-]+ ){1,3}(?:open|opened|selected|active|configured|provided|specified|supplied|given|connected|loaded|passed|set|defined|logged in|established|running)\b.*",
    r"No (?:replacement|action|edit|file|operation|command|query|request|function|tool)s? (?:was|were) (?:performed|made|applied|executed|written|done|run|called)\b.*",
    r"(?:(?:The |Tool )?(?i:user|operator|human|administrator|admin|reviewer)) (?:has )?(?:denied|rejected|declined|refused|cancell?ed|aborted|interrupted|disallowed|does(?:n't| not) want|did(?:n't| not) (?:approve|allow|want|confirm))\b.*",
    r"(?:The |This |Your )?(?i:operation|request|action|command|call|tool(?: call| use)?|execution|permission\b.{0,60}?) (?:was |has been |is )?(?:denied|rejected|declined|cancell?ed|aborted|interrupted|blocked|refused|not (?:allowed|permitted|approved))(?: (?:by|for|because|due|in)\b.*|[.!:].*|$)",
    r"You (?:are not|aren't) (?:authori[sz]ed|allowed|permitted|logged in|authenticated|connected|subscribed|entitled)\b.*",
    r"You (?:do not|don't) have (?:the )?(?:permission|access|authori|the necessary|sufficient|enough|required)\b.*",
    r"You (?:have |'ve )?(?:exceeded|reached|run out of|hit) (?:your|the)\b.*",
    r"You must (?:be (?:logged in|authenticated)|provide|specify|pass|set|supply|first|log in|call)\b.*",
    r"Your? (?:session|token|account|credit|subscription|quota|API key|access|license|trial|credentials?|request|plan|balance)\b.{0,60}?(?:expired|exceeded|suspended|invalid|insufficient|too low|blocked|revoked|denied|rejected|not (?:valid|allowed|authori[sz]ed|support)).*",
    r"(?:Rate limit(?:ed| exceeded| reached| hit)?|Too many requests|Quota exceeded|Usage limit)\b(?: for\b.{0,60}?| on\b.{0,60}?)?(?:$|[.,:;!(]| (?:please|try|retry|wait|exceeded|reached)\b).*",
    r"(?:The |Your )?(?i:connection|request|read|operation|execution|query|command|tool(?: call)?|process|script|task|navigation|page load|search|api call)\b.{0,60}? (?:was |were |has |is )?(?:timed out|timeout|refused|reset(?: by peer)?|aborted|closed unexpectedly|lost|was closed|dropped)\b(?: (?:after|by|while|at|in|for|because|-)(?= ).*|[.,:;!(].*|$)",
    r"(?:Timeout|Timed out|Deadline exceeded)(?: after \d.*| while \w.*| waiting .*| exceeded.*|[:：,.] .*|$)",
    r"(?:Access|Permission|Authorization|Authentication|Login)(?: to .{1,80}?)? (?:denied|failed|required|refused|forbidden)\b(?: (?:to|for|by|because|while|when|with)\b.*|[.,:;!(].*|$)",
    r"(?:Failed|Unable|Not able) to (?!find any|find \w+ matching|identify any|detect)[a-z-]+\b(?: [^\n]*|[:.].*|$)",
    r"(?:Could not|Couldn't|Cannot|Can't|Can not) (?!be\b|find any|wait|say|tell)[a-z-]+ [^\n]*",
    r"(?:Not enough|Out of|Ran out of) (?:memory|disk space|space|quota|credits?|balance|funds|tokens|permissions?|privileges)\b.*",
    r"\d+ validation errors?(?: for \S+|:).*",
    r"(?:Command|Tool|Function|Action|Step) ['\"`]?[\w.:-]{1,80}['\"`]? (?:returned|raised|threw|failed with)(?: an?)?[: ]+(?i:error|exception)\b.*",
    r"(?:Something|Things) went wrong\b.*",
    r"(?:Aborted|Interrupted|Killed|Cancell?ed)(?: by \w.*|[:.].*|$)",
    r"(?:Response|Server|API|Service|Website|Endpoint|Webhook|Upstream|Request|It|URL|Page|Host)\b.{0,80}? (?:returned|responded with|replied with|gave|failed with)(?: an?| the)? (?:HTTP )?(?:error|status(?: code)?|code)?:? ?[45]\d\d\b.*",
    # programs
    r"CONFLICT \([\w/ -]+\): .*",
    r"(?:Gyp ERR!|gyp ERR!|[Yy]arn error|[Pp]npm ERR|ERR_PNPM\w*|E:|╷|[Rr]sync error:|ORA-\d{5}:|SQL Error|\(error\) \w+|Msg \d+, Level|FATAL:|!! ) ?.*",
    *failure_grammar.OPENINGS,
    *OPENINGS,
)
OPENING = lazy("|".join(f"(?:{pattern})" for pattern in _OPENINGS))
"""A first line that reports the tool's own failure, in English."""

PROGRAM = lazy("|".join(f"(?:{pattern})" for pattern in failure_grammar.PROGRAMS))
RUNTIME = lazy("|".join(f"(?:{pattern})" for pattern in runtime_messages.RUNTIMES))

CLAUSE = lazy(failure_grammar.CLAUSE)
"""A first line that is nearly all of a short text."""

CHINESE = lazy("[\u3400-\u9fff]")
CHINESE_OPENING = lazy("|".join(f"(?:{pattern})" for pattern in chinese_failures.OPENINGS))

CLOSINGS = lazy(
    r"(?is).{1,300}(?:(?:(?:please )?(?<!let's )(?<!let\u2019s )try again|(?:please |and |then |or |to |[,.;:!-] ?)retry(?: the \w+)?)(?: later| in .{1,30}| after .{1,30}| with .{1,60}| using .{1,60})?"
    r"|fix the errors? and try again|(?:请|稍后|稍候).{0,6}(?:再试|重试|再次尝试|再次请求)|请(?:联系管理员|检查.{1,20}|重新登录|重新输入|先登录))[.!。！]?"
)
"""Texts that end with the advice to try again; only a failure ends so, unless the opening is about no results."""

ADVISED = ("again", "retry", "试", "请")
"""Words of which every text that ends with an advice has one at its end."""

HEADED = lazy(
    r"(?:#{1,4} Result\s*\n(?=Error: )|(?:#{1,4} Error|\*\*(?:[A-Z]\w+ ){0,3}Error\*\*|\*\*(?:Not Found|Access Denied|Permission Denied|Unauthorized|Forbidden|Rate Limited)\*\*)\s*\n\s*(?=\S))"
)
"""A heading in Markdown above the report of an error."""

OFFERS = lazy(
    r"(?i)(?:available|options?|valid|choose|following|supported|allowed|members|did you mean|one of)\b[^\n:：]{0,40}[:：]$|(?:可用|可选|支持)[^\n]{0,20}[:：]$"
)
"""End of a line above the list of what the caller can choose instead."""

LISTED = lazy(r"(?m)^\s*(?:❌|✅|✔|✓|☑|🚫|⚠️?|✗|✖)")
"""Lines with a sign; several of them are a list."""

MARKED = lazy(r"(?:❌|🚫|⛔|✗|✖|✘|🛑|\U0001f6a8|x️)\s*(?:\*\*)?(?P<message>\S.*)", 16)
"""Texts that open with a sign for failure (16: DOTALL)."""
WARNED = lazy(r"(?:⚠️?|❗|‼️)\s*")
"""A warning sign, which alone does not say that the call failed."""

NOT_A_REPORT = lazy(
    r"(?i)(?:missing|empty|unknown|invalid|duplicate|unsupported|unrecogni[sz]ed|malformed|extra|bad) (?:[^\s.:;,]+ ){0,6}?[^\s.:;,]+ (?:are|will|must|is|can|may|fall|get|return|default|cause|mean|become|remain|stay|pass|map|lead|result|spanning) (?!(?:required|not|missing|invalid|expired|disabled|unsupported|too|already|no)\b)"
    r"|.{0,60}\b(?:errors?|exceptions?) (?:raised|thrown) (?:when|if|by|while|during|from)\b|.{0,60}\b(?:errors|exceptions) when\b"
    r"|(?:sets?|gets?|finds?|checks?|validates?|converts?|computes?|creates?|parses?|handles?|wraps?|removes?|adds?|builds?|skips?|ignores?|ensures?|determines?|tries|attempts?|provides?|allows?|defines?|represents?) (?:the|an?|all|any|each|every|whether|if|type|only) "
    r"|[`\w]+ (?:that|which) (?:can(?:not|'t)|could not|are not|is not|do not|does not|were not)\b"
    r"|(?:(?:exactly|at least|only|either|neither|one) )?(?:one )?of `|(?:##?#?#?#? )|[a-z_]\w*(?:\.[a-z_]\w*)+\(|(?:note|only(?! (?!one\b)[^\n.]{1,60} (?:is|are) (?:allowed|permitted|supported|accepted)\b)|tip|important|attention|hint)\b(?! ['\"“])|注意"
    r"|[^:\n]{1,60}[:：] ?(?![45]\d\d (?:bad|unauth|payment|forbid|not|method|conflict|gone|unproc|too|internal|service|gateway|client|server))\d+ [a-z]+(?: in \S+)?$|(?!.{0,60}(?:not found|not exist|invalid|unknown|denied|failed|error code|errcode|失败|错误|异常|返回码))[^:\n]{1,60}[:：] ?(?![45]\d\d\b)\d[\d.,%]*(?: ?%| \(.*|;.*| ?[a-z]{1,2}| [a-z]+ per [a-z]+)?$|.{1,80} explained$"
    r"|(?:if|when(?! fetching)|whenever|unless|thrown|raises?|returns?|returned|fix(?:e[sdr])?|added?|example)\b(?! of )|(?:\*|//|-|>|<h\d>|\d+\.) |✅|✔|.{0,160}\b(?:means|bedeutet|signifie|significa|explained|translat\w+)\b|[\"'`].{1,120}[\"'`] ?(?:→|->|=>|means)"
    r"|(?!.{0,200}\b(?:fail|attempt|retr|after|could not|unable|exhaust)).{0,80}\b(?:previous|last|latest|earlier|original|most recent|known) (?:error|failure|exception)s?(?: message)?:|raised\b|cannot suppress\b|(?:no|0|zero|without|没有|未发现|无|暂无) ?(?:good |relevant |matching |any |more )?(?:\S+ ){0,3}?(?:results?|match(?:es)?|records?|entries|items|files? (?:found|match)|books?|hits|documents|data|结果|记录|数据)\b(?! (?:ids? )?(?:(?:was |were )?(?:provided|specified|supplied|given|passed)|to (?:update|insert|write|save|send|upload)\b))"
    r"|sorry no\b|.{0,80}(?<!\bthere) (?:is|are|was|were) an? (?:error|exception|film|term|status|condition|situation|message|type|kind|thriller|song|book|novel|concept|phrase|class|function|method)\b"
    r"|.{0,120}\b(?:occurs?|happens?|arises?|means|refers to|is (?:raised|thrown|returned|caused|used|displayed|shown|emitted|triggered|fired))\b"
    r"|.{0,160}\b(?:was|were) (?:fixed|resolved|restarted|later)\b|.{0,160}\b(?:last|this) (?:week|month|year|night|quarter)\b|.{0,160}\b(?:yesterday|in (?:january|february|march|april|may|june|july|august|september|october|november|december|(?:19|20)\d\d))\b"
    r"|No (?!credentials|permissions?|settings|arguments|inputs|options|parameters)(?:[\w-]+ ){0,3}?[\w-]+s (?:are |were )?(?:configured|registered|running|active|open|connected|defined|loaded|scheduled|installed|assigned|enabled|set up|set|selected)(?: (?:yet|for|in|on|at)\b[^.\n]{0,60})?[.!]?$"
    r"|(?:The |Your |This |Current )?(?:directory|folder|list|cart|basket|inbox|queue|playlist|calendar|workspace|database|table|collection|index|stack|history|trash|clipboard|repository|library|bucket|notebook|board|schedule|cache|log|result set|channel)\b(?: \S{1,120}){0,2}? is (?:currently )?empty\b"
    r"|(?:issue|ticket|bug|pr|pull request|title|subject|story|incident|alert|task)(?: #?\d+)? ?[:：] ?\D|(?:constraint|certificate|domain|service|feature flag|notifications?|flight|order|train|reminder|subscription|invitation|appointment|meeting|pull request|user (?!cancel|reject|declin)\S+|smoking|dogs?|pets?|swimming|entry|visa|registration|parking|room|seat|slot|hotel|item|product|model \w+|username \S+|task \d+|email)\b(?: \S{1,60}){0,5}? (?:(?:is|are|was|were|has been|have been) )?(?:not running|not active|(?:currently )?invalid|disabled|cancell?ed|declined|blocked|suspended|rejected|out of stock|unavailable in|unavailable until|not available[.]?$|not available (?:on|until|from|before|between) |already taken|not allowed[.]?$|not allowed (?:on|in) the|not permitted|refused by|required(?: for| to enter|[.]?$))(?!.{0,60}(?:api|request|token))"
    r"|(?:i|we) .{0,80}\bbut the\b|.{0,160}(?<!not )(?<!n't )\b[a-z]+ed successfully\b|.{0,80}; (?:an admin|see the)\b|[a-z ]{1,30}(?:required|enabled|allowed|supported): (?:no|yes|none|false|true|not\b|optional)|authentication required for: |required fields?: |missing values\b|(?:unable|failed) to attend: |cannot stand\b|talks (?:failed|collapsed)|password is required at|names must be unique"
    r"|.{0,200}\b(?:the (?:user|customer|report|author|team|patient|company|study|paper|article|bug|ticket)s? (?:said|says|reported|could|describes|wrote|thinks)|best practices?|guide|handling)\b"
)
"""Texts that explain an error, tell of one, or report that nothing was found."""
