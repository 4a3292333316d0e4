"""Grammar of the clauses, in English, with which a tool opens the report of its own failure.

A report is a head and its message ("Scan failed: …"), a subject and what happened to it ("The path /x does not exist"),
a verb of failure and its object ("Unable to type"), a demand ("limit must be at least 1"), or an apology. Each pattern
describes a whole first line, so a document that only mentions an error has another subject or more text.
"""

from __future__ import annotations

_NO_SUBJECT = (
    r"(?!<|(?:If|When|Whenever|While|Whether|That|This|These|Those|It|They|You|We|I|He|She|There|What|Why|How|Where|Who|Which|Note|Notes|Fix|Fixe[sd]|Fixing|Add|Adds|Added"
    r"|Improve\w*|Handle\w*|Handling|Check\w*|Test\w*|Raise\w*|Returns?|Example|Bug|Report\w*|Set|Use|Used|Using|Make|Allow\w*|Avoid\w*|Prevent\w*|Ensure\w*|Change\w*|Remove\w*|Some|Any|All|Every|Many|Most|Each|Other|Such"
    r"|Because|Since|As|For|In|On|At|To|With|Without|Before|After|Until|Unless|Otherwise|Also|And|But|Or|Then|So|Whatever|Zero|Last|Recent|Common|Possible|Called|Indicates|Represents|Default|Optional|By|From|Only|Except|Python|Thrown|Raised|Fixer|Under|Standard|Mean|Rounding|Margin|Relative|Absolute|Not|Do|Does|Don't)\b)"
)
"""Words with which a report does not begin, but an explanation, a condition, a changelog or an instruction does."""

_WORD = r"(?:[\w./'\"`@{}<>\[\]*+&#~=%-]+|\([^()\n]{1,60}\))"
_FAILURE = (
    r"(?:fail(?:ed|ure|s)?|errors?|exception|denied|refused|rejected|timed out|timeout|time-out|not found|not supported|not available|not allowed|not permitted|unavailable|unreachable|invalid|aborted|crashed|cancell?ed|exceeded|expired"
    r"|forbidden|unauthorized|does not exist|already exists|missing|disconnected|unsuccessful|violation|mismatch|conflict)"
)

_STATE = (
    r"(?:(?:was|were|is|are|has|have|could|can|does|do|did|will)(?: not|n't|not)? (?:been |be )?)?(?:currently |already |no longer |temporarily |still )?"
    r"(?:not (?:been )?(?:found|located|accessible|reachable|available|installed|supported|allowed|permitted|authori[sz]ed|recogni[sz]ed|registered|configured|defined|open|running|connected|valid|unique|readable|writable"
    r"|opened|read|parsed|loaded|resolved|executed|completed|initiali[sz]ed|implemented|enabled|logged in|ready|set|active|selected|specified|provided|an? valid \w+)"
    r"|unavailable|unreachable|unsupported|invalid|missing|blocked|disabled|locked|rejected|denied|refused|revoked|expired|exceeded|exhausted|suspended|forbidden)"
)

_GERUND = r"(?!handling|using|reporting|correcting|tracking|rating|estimating|propagating|budgeting|bounding)[a-z]+ing"
_ADVICE = r"(?:Please|Try|Use|Check|Make sure|Ensure|Run|Set|Install|Specify|Provide|Choose|Wait|See|Verify|Consider|Call|Start|Re-?authenticate|Log in|Retry|Upgrade|Valid|Available|Supported|Allowed|Expected|Did you mean|Must be|Only|Options)\b"

_ANY_END = r"(?=$|[.,;:!(—-]|\s+(?:in|at|on|for|from|with|to|by|of|within|after|because|due|and|or|as|under|when|while|during|the|until|unless|since|—|-)\b|\s+[(—-])"

OPENINGS = (
    # What the tool was doing, as in: Error rewriting file: …
    rf"(?i:errors?|exception|failure|problem|issue) (?:{_GERUND}|(?i:in|with|from|at|on|while|when|during|of|for|to)) [^\n]{{0,160}}?[:：]\s*(?!how|what|why|an? (?:guide|tutorial))\S.*",
    rf"Error {_GERUND} (?!is\b|are\b|was\b|and\b|or\b|can\b|may\b)(?:[^\n.:;,]|\.(?=\S)){{1,60}}[.!]?",
    # A head and its message, as in: Scan failed: …
    rf"{_NO_SUBJECT}(?:{_WORD} ){{1,7}}?(?i:{_FAILURE})(?:,? (?:to|for|at|with|in|on|of|after|because|while|during|from|due to|by|when|against) [^\n:]{{1,120}}?| \([^()\n]{{1,80}}\)| \[[^\]\n]{{1,80}}\])?\s*[:：—] ?(?!The [A-Z]\w+ of\b)\S.*",
    # "API quota exceeded. Check billing.", "Sampling not available - x is not installed"
    rf"{_NO_SUBJECT}(?:{_WORD} ){{1,6}}?{_STATE}{_ANY_END}[^\n]{{0,80}}?(?:[.!,;:—]| [—-]) ?(?i:{_ADVICE}).*",
    rf"{_NO_SUBJECT}(?:{_WORD} ){{1,4}}?(?:not (?:available|found|supported|installed|configured|initialized|running|allowed|permitted)|unavailable) [(—-]\S?.*",
    # "'planner' not found in any source. …", "Artist with ID '9' not found."
    r"(?:(?:[A-Z]\w+ ){0,3}(?:with (?:id|ID|name|key) )?)?['\"`][^'\"`\n]{1,120}['\"`] (?:is |was |were |does |could )?(?:not (?:be )?(?:found|valid|supported|available|installed|recognized|registered|exist)|already exists|is required|is invalid|is missing)\b.*",
    r"\S{1,80} is not an? (?:valid|known|supported|recogni[sz]ed|registered|existing|allowed|available) (?:\w+ ){0,2}?(?:tool|function|command|option|action|parameter|value|model|url|path|choice|key|id|name|type)\b.*",
    # "Access to secrets/.env is blocked by …"
    r"(?:Access|Permission|Writing|Reading|Requests?|Use)(?: (?:to|for|from|of) \S{1,120}){1,2} (?:is|are|was|were|has been) (?:blocked|denied|forbidden|not allowed|not permitted|restricted|disabled|rejected|refused)\b.*",
    # Demands and states in a short text: see CLAUSE
    r"(?:At least one|One|Either|Exactly one|Both|Neither|Only one)\b(?: of)? [^\n.]{1,100} (?:must be|is|are|should be) (?:provided|specified|set|required|given|supplied|present|allowed|non-empty)[.!]?.{0,80}",
    r"(?:You|I) (?:need to|have to) (?:include|provide|specify|set|pass|supply|log in|authenticate|call|open|select|be logged in)\b[^\n]*",
    r"Please (?:provide|specify|supply|enter|select|pass|include) (?:an?|the|your|at least|valid|either|some)\b[^\n.]{1,100}[.!]?",
    r"Please (?:check|verify|configure|set) your [^\n.]{1,60}(?:credentials?|keys?|tokens?|config(?:uration)?|connection|settings?|network|permissions?)[.!]?",
    # "No session found for PID 8812": a lookup of one thing by its id
    r"No (?!results?|match\w*|records?|entries|items)[\w-]+(?: [\w-]+)? (?:found|exists|available|registered|running) (?:for|with|named|called|under) (?i:(?:the )?(?:given |specified |provided )?(?:pid|id|uuid|key|handle|identifier|name))[:=]? ['\"`]?[\w.:-]{1,80}['\"`]?[.!]?",
    # "Kindly connect to Google Calendar", "Docs Authentication required. …"
    r"(?:Please|Kindly) (?:first )?(?:connect|log ?in|sign ?in|authenticate|authori[sz]e) (?:to|with|your|the|using|via)\b[^\n.]{1,100}[.!]?",
    r"(?:[A-Z]\w+ ){0,3}(?i:authentication|authori[sz]ation|log-?in|sign-?in) (?:is )?required[.:!,] ?\S.*",
    # A limit, and nothing that came back
    r"(?!The |This |When |If )(?:[A-Z][\w'-]*|[\w'-]+)(?: [\w'-]+){0,4} (?i:limit|quota|depth|length|size|tokens?|budget) (?:was |has been )?(?:reached|exceeded)[.!]?(?: [(.:—-].{0,120})?",
    r"(?!The |This )[A-Z][\w-]*(?: [\w-]+){0,3}(?: \([^()\n]{1,60}\))? (?:exceeds (?:the )?(?:maximum|limit|allowed|max)\b.*|(?:is )?too (?:large|long|big|many)(?:[.!]| \(.{1,60}\)[.!]?|: .{1,240})?)",
    r"No (?:response|reply|answer) (?:from|received from|within|after) [^\n]{1,80}",
    r"(?:Server|Client|Peer|Remote(?: end)?|Connection|Browser|Socket|Stream|Host)(?: \w+)? (?:disconnected|closed (?:the )?connection|hung up|went away)\b.{0,100}",
    r"(?:Agent|Task|Run|Execution|Process|Script|Job|Tool) (?:was )?(?:stopped|terminated|aborted|halted|killed) (?:due to|because of|after) .{1,120}",
    r"Merge conflict in \S+.*",
    # A response that was not expected, and an error under the name of a file
    r"(?i:non-(?:200|2xx|ok)|unexpected|bad|invalid) (?i:http )?(?i:status|response)(?: code)?(?: \(?[45]\d\d\)?)?\s*[:：] ?\S.*",
    r"\S{1,200}: (?:Error|ERROR) - \S.*",
    # Apologies, and reports in the first person
    r"(?i:(?:i'm |i am |we're |we are )?(?:sorry|apologi[sz]es?|unfortunately))[,!.:]? (?i:but |we |i |there |an? |the |something |it |your ){1,2}(?i:.{0,60}?(?:error|trouble|unexpected|went wrong|timed out|not available|don't have access)|(?:couldn't|could not|cannot|can't|was unable to|were unable to|am unable to) (?:find .{0,60}\b(?:for|named|with)|connect|access|process|retrieve|load|fetch|analy[sz]e|handle|open|read|reach|execute|get|(?:complete|perform|fulfil+) (?:the|your|this|that) (?:request|task|query|operation|action))\b).*",
    r"(?:I|We) (?:couldn't|could not|cannot|can't|was unable to|were unable to|am unable to|failed to) (?:reach|connect|access|find the|complete|process|retrieve|load|open|fetch|execute|perform|read|parse)\b.*",
    # A verb of failure, or an expectation that was not met
    r"(?:Failed|Failure|Rejected|Denied|Refused|Blocked|Timed? ?out|Aborted|Exception|Unauthori[sz]ed|Forbidden)\s*[:：,.] ?\S.*",
    r"Failed to [a-z-]+,.*",
    r"Expected [^\n]{1,100}?(?:,? but |, | and )(?:found|got|received|was|were|had)\b.*",
    r"(?:No such|Unknown|Invalid|Unsupported|Unrecogni[sz]ed|Missing|Undefined|Unexpected) (?:[\w-]+ ){0,2}?[\w-]*[a-z][\w-]*:? ['\"`][^'\"`\n]{1,120}['\"`].*",
    r"(?:Unknown|Invalid|Unsupported|Unrecogni[sz]ed|Missing|Unexpected) (?:[\w-]+ ){1,4}(?:in|for|from|of) (?:[\w-]+ ){0,3}?[\w-]+: \S.*",
    r"(?:[Qq]uery|[Rr]equest|[Tt]ask|[Jj]ob|[Oo]peration|[Dd]ownload|[Uu]pload|[Cc]ommand|[Ss]earch|[Ee]xecution)(?: \S{1,60})? (?:was |has been |got )(?:cancell?ed|aborted|interrupted|killed|terminated|rejected)[.!]?",
    r"(?:Page|Index|Offset|Line|Value|Number|Position|Date)(?: \w+)? (?:is )?out of (?:range|bounds)\b.{0,60}",
    rf"{_NO_SUBJECT}(?:Please )?[A-Z]\S*(?: \S+){{0,5}} (?:could not|couldn't|cannot|can't) be (?:found|read|opened|loaded|parsed|extracted|retrieved|fetched|resolved|determined|completed|established|reached|processed|accessed|located|created|updated|deleted|saved|decoded|verified|validated)\b[^\n.]{{0,80}}[.!]?",
    r"No [\w\s]{1,40} could be (?:extracted|retrieved|fetched|read|loaded|parsed|resolved|determined)\b[^\n]{0,80}",
    r"(?:HTTPS?ConnectionPool\(host=|<urlopen error |urlopen error |Max retries exceeded|\[?Errno -?\d+\]? |\[WinError \d+\] |net::ERR_|ERR_[A-Z_]{4,}|E(?:NOENT|ACCES|PERM|CONNREFUSED|CONNRESET|TIMEDOUT|NOTFOUND|EXIST|ISDIR|NOTDIR|PIPE|AI_AGAIN)[:,] ).*",
    r"When fetching .{1,120}, received status [45]\d\d\b.*",
    # "error" in other languages
    r"(?:Erreur|Fehler|Erro|Errore|Fout|Fel|Feil|Ошибка|ОШИБКА|Błąd|Hata|Lỗi|Kesalahan|Virhe|エラー|오류|에러|שגיאה|خطأ)\b[^:：\n]{0,60}[:：].*",
)
"""First lines that report the tool's own failure, in English and other European languages."""

_INNER = r"(?!(?:when|which|that|whether|where|if|until|because|while|so|but|raised|thrown|by|who|as|than|the|an?|its|their|is|are|was|were|checks?|tests?|detect|for|only|would|should|may|might|will|can)\b)"
_NOT_STATE = (
    r"(?:properly |yet |currently |already |correctly |fully )?(?:configured|initiali[sz]ed|installed|enabled|approved|active|available|supported|allowed|permitted|in |an? |valid|found|registered|running|connected|set\b|authori[sz]ed|authenticated"
    r"|logged in|loaded|ready|reachable|recogni[sz]ed|defined|specified|provided|given|specified|html|json|text|editable|writable|readable|accessible|unique|known|open|started|finished|complete|implemented|cyclical|empty|part of|associated|compatible|granted)"
)
CLAUSE = (
    rf"(?!.*\b(?:successfully|commit \w+ (?:fix|add)))(?:Error: |Sorry, )?{_NO_SUBJECT}(?!(?:Sorry|The|An?|Both|Either|Requires|Identical|Custom|Pretend)\b|\d+ |[(*#>_-])(?:{_INNER}{_WORD},? ){{1,6}}?(?:"
    r"must (?:not )?(?:be (?:one of\b|at least|at most|between|in |an? |less|greater|larger|smaller|positive|negative|non-|numeric|integers?\b|numbers?\b|strings?\b|lists?\b|valid|unique|empty|null|provided|specified|set\b|given|[\'\"`\d<>=])|contain|exceed|start with|end with|have|exist|match|include|refer)\b(?! (?:aware|careful|able|done|taken)\b)"
    r"|(?:cannot|can not|can't|could not|couldn't) (?:be (?:empty|null|none|None|blank|negative|zero|found|opened|read|parsed|loaded|reached|resolved|fetched|executed|created|deleted|updated|determined)|find|connect|open|read|parse|load|access|fetch|reach|determine|complete)\b"
    r"|(?:does|do)(?: not|n't) (?:support|exist|match|have|contain|allow|belong)\b|did(?: not|n't) (?:complete|respond|return|produce|succeed|start|finish|contain|match)\b"
    rf"|(?:is|are|was|were)(?: not|n't) {_NOT_STATE}"
    rf"|not (?:yet )?(?:found|set|initiali[sz]ed|configured|connected|provided|available|supported|installed|allowed|specified|in|enabled|active|authori[sz]ed|authenticated|registered|loaded|running|recogni[sz]ed)\b"
    r"|(?:is|are) required\b|(?:has |have )?(?:failed|timed out|expired|crashed)\b(?=$|[.,;!(]| (?:to|for|with|because|due|after|at|in|on|while|and|unexpectedly|during)\b)|(?:was |were |is |are |has been |have been )?(?:rejected|denied|refused|revoked|aborted|cancell?ed|interrupted)\b(?=$|[.,;!(]| (?:by|for|to|because|due|in|at|on|with|after|while)\b)"
    r"|(?:is|are|was) (?:currently )?(?:invalid|missing|unavailable|expired|disabled|empty|undefined|null|blocked|locked|no longer \w+|already (?:a |an |in |running|open|taken|used|registered|exist)|out of (?:range|bounds|memory|stock)|too (?:long|large|short|small|many|big))\b"
    r")[^\n]*(?<![:：])"
)
"""A clause of failure that is nearly all of a short text: a subject, and what it must be, is not, or failed to do."""

PROGRAMS = (
    # A program, and the text of its error
    (
        r"[\w.@/+-]{1,60}: (?:[^\n:]{1,160}: )?(?i:permission denied|no such file or directory|command not found|not found|connection (?:refused|timed out|reset by peer|closed)|operation (?:not permitted|timed out)|is a directory|not a directory|could not resolve host(?:name)?"
        r"|name or service not known|network is unreachable|no route to host|unauthorized|forbidden|bad request|access denied|no space left on device|read-only file system|file exists|host key verification failed|authentication failed|invalid (?:option|argument)"
        r"|directory not empty|no such (?:process|device)(?: or address)?|broken pipe|text file busy|file name too long|too many open files|too many levels of symbolic links|invalid cross-device link|device or resource busy|argument list too long|exec format error|bad file descriptor|cannot allocate memory|host is down|input/output error|resource temporarily unavailable|address already in use|disk quota exceeded|out of memory|unrecognized (?:option|arguments?)|unknown (?:option|command|revision)|missing operand|illegal option|cannot \w+)\b.*"
    ),
    r"(?i:sudo|ssh|scp|su|doas): [a-z].*",
    r"(?:/\S+/)?python\d?(?:\.\d+)?: (?:No module named|can't open file) .*",
    r"(?:Access is denied|The system cannot find the (?:file|path) specified|The process tried to write to a nonexistent pipe|The filename, directory name, or volume label syntax is incorrect)\.?",
    r"\S+ : (?:The term '[^'\n]+' is not recognized|Cannot find path|Access to the path) .*",
    (
        r"(?:sed|awk|grep|jq|gpg|rmdir|dpkg|patch|xz|gzip|iconv|make|pytest|ruff|mypy|ssh|scp|unzip|zip|tar|curl|wget|ffmpeg|convert|psql|mysql|git|docker|helm|kubectl|terraform|rsync|openssl|cp|mv|rm|ls|cat|mkdir|chmod|chown|ln|find|sort|head|tail|touch|du|df|kill|systemctl|apt|apt-get|dpkg|pip3?|npm"
        r"|node|python3?|perl|ruby|php|java|javac|gcc|g\+\+|ld|cargo|rustc|go|cmake|yarn|pnpm|uv|conda|gh|aws|gcloud|az):\s+(?:[^\n]{0,200}\b)?(?i:errors?|fail\w*|cannot|can't|could not|unable|not|no such|no|invalid|unknown|unmatched|unterminated|missing|denied|refused|illegal|unrecogni[sz]ed|must|bad|too (?:many|few))\b.*"
    ),
    r"FAILED \((?:exit status|exit code|errors?|failures?)[ =:]?\d+\)",
    r"(?:PHP )?(?:Parse|Fatal) error: .*",
    r"(?i:g?make)(?:\[\d+\])?: \*\*\* .*",
    r"(?i:error code|errcode|error|status code|http status)[:：]? [1-9]\d{2,4}",
)
"""First lines of programs that failed."""
