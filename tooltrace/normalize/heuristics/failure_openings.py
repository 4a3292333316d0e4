"""First lines of reports by the parts of a tool that fail: its limits, its sessions, its checks of arguments, its edits.

The patterns of :mod:`failure_grammar` describe clauses; these name the things and the verbs of one kind of tool each.
"""

from __future__ import annotations

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
