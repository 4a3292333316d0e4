"""First lines of reports that state a rule which the call broke: a demand, a refusal, a value that does not fit.

A tool that returns ``str(error)`` returns such a sentence without the word "error". Each pattern describes the whole line.
"""

from __future__ import annotations

from tooltrace.normalize.heuristics.failure_grammar import NO_SUBJECT

_NAME = r"(?:['\"`][^'\"`\n]{1,80}['\"`]|--?[a-z][\w-]*|\w+(?:[_.]\w+)+(?:\(\))?|\w+\(\))"
"""A name of a program: quoted, an option, or an identifier of several words."""
_VARIABLE = r"['\"`]?\$?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+['\"`]?(?: (?:environment variable|env var|variable|setting))?"
"""An environment variable."""
_LINK = r"(?:web)?socket|connection|stream|session|channel|transport|backend|server|daemon|client|adapter|worker|pipe|process|build|kernel|agent|debugger|browser|page|tab|shell"
"""Things that end when a tool's work breaks off."""
_BAD = r"(?:unknown|undefined|invalid|unsupported|duplicate|malformed|unexpected|empty|illegal|conflicting|wrong|incorrect|null|non-\w+|unparse?able|garbled)"
_ANY_SUBJECT = r"(?!\S+:\d+:)(?!(?:If|When|Whenever|While|This|These|It|They|You|We|I|He|She|Note|Example|Returns?|Raises?|Throws?|Wraps?)\b)"
_KIND = r"(?:an?|the|one|at least|at most|exactly|only|either|non-\w+|valid|str(?:ing)?|int(?:eger)?|float|number|bool(?:ean)?|object|array|list|dict|mapping|tuple|bytes|json|['\"`<{\[])"
_NOT_ITEMS = r"(?!(?:results?|match(?:es)?|hits|items to show)\b)"

_NOT_A_SUBJECT = r"(?!(?!Failed|Expected|Required|Interrupted|Requested|Specified|Provided|Unexpected|Selected|Referenced|Configured)[A-Z][a-z]+ed\b)(?!(?:The|A|An|So|Ticket|Issue|Alert|Commit|Successfully|Also|However|Meanwhile|Today|Yesterday|My|Our|His|Her|Their|Please|Let|Users|People|Customers|Employees?|Members|Students)\b|\d|[0-9a-f]{7,40} |[(*]|Normally|Empty|Pretend|Snapshot|Negative|Generate)"
_NEGATED = (
    r"(?:(?:was|were|is|are) (?:currently )?not (?:be )?(?:confirmed|created|sent|saved|completed|performed|executed|applied|deleted|processed|accepted|delivered|found|installed|configured|registered|recogni[sz]ed|authori[sz]ed|authenticated|initiali[sz]ed|connected|reachable|accessible|supported|permitted|valid)"
    r"|(?:does|do|did)(?: not|n't) (?!have to\b)(?:exist|support|contain|match|have|resolve|respond|accept|return|allow|provide|appear)|(?:could|can)(?: ?not|n't) (?:be )?(?:read|found|opened|loaded|reached|parsed|resolved|created|connect|find|open|read|load|reach|parse|resolve|access|locate|determined|verified|decoded|written|saved|executed|completed)"
    r"|(?:has |have )?timed out|(?:is|are) (?:missing|unknown|unreachable|misconfigured|undefined|no longer (?:valid|available|supported))|already exists?|returned (?:an? )?(?:HTTP )?(?:error )?(?:status(?: code)?|code)? ?[45]\d\d)"
)
"""Predicates that report a failure of whatever their subject is."""

OPENINGS = (
    # Any subject, and a predicate of failure: "Directory '/srv' does not contain a build.", "Command timed out before completing."
    rf"{NO_SUBJECT}{_NOT_A_SUBJECT}(?:(?!\b(?:if|when|whenever|unless|which|that|who|says?|states?|reports?|because|whether|how|why|but|so|and|or)\b)[^\n.:;!?,=]|[.:=](?=\S)){{2,90}}? {_NEGATED}\b(?! (?:on|until|before|after|in) (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|\d|next|this|last)\w*)[^\n]{{0,200}}",
    r"This (?:model|tool|provider|backend|platform|device|browser|server|version|method|format|file type|environment) (?:(?:does not|doesn't|cannot|can't) (?:support|allow|accept|handle|provide|be)|(?:requires|needs) an? (?:active|valid|open|existing|authenticated))\b.{0,200}",
    r"The (?:\w+ ){1,3}(?:you (?:are trying to access|requested|specified|provided)|requested|specified) (?:does not exist|was not found|is not (?:available|valid|supported)|could not be found)\b.{0,200}",
    r"You (?:did not|didn't|have not|haven't) (?:provide|specify|pass|supply|set|include|select|configure)d? (?:an?|the|any|your)\b.{0,240}",
    r"(?:There is no|There isn't (?:a|any)|There's no) (?:[\w-]+ ){1,4}(?:configured|selected|installed|connected|available|registered|loaded|open|running)\b.{0,120}",
    r"[A-Z][\w-]*(?: [\w-]+){0,2} (?:was |has been )?interrupted(?: before | by | while | during |: ).{2,160}",
    r"Error, (?:cannot|can't|could not|unable|failed|invalid|missing|unknown|no) .{2,200}",
    # A head in brackets, a code before the report, or the bare word
    r"[;\s✘✗×-]{0,3}\[(?:[\w-]+ ){0,4}(?i:error|failed|failure|exception)\][:\s]*\S.*",
    r";; (?i:connection timed out|communications error|no servers could be reached).*",
    r"[A-Z]{1,6}\d{3,6}:? (?=.*\b(?:error|failed|duplicate|not|cannot|invalid|denied|unknown|missing)\b).*",
    r"(?i:error ?)?(?i:code)[:=] ?-?[1-9]\d*,? (?:msg|message|error|reason)[:=] ?\S.*",
    r"(?:ERROR|FAILED|FAILURE)[.!] [A-Z].*",
    r"(?:[A-Z][a-z0-9]+){1,5}(?:NotFound|Denied|Failed|Missing|Exists|Required|Expired|Unavailable|Exceeded|Refused|Unauthorized|Forbidden|Fault|Failure|Conflict|Unsupported|Mismatch): \S.*",
    # A rule, and the value that broke it: "Relative paths are not allowed. … Got: a/b", "limit should be 1-9, got 12"
    rf"{_ANY_SUBJECT}(?=[^\n]{{0,240}}\b(?:must|expected|expects?|should|requires?|required|needs?|only|invalid|unsupported|unknown|wrong|bad|not|cannot|can't|exactly|at (?:least|most)|absolute|type|format|between|maximum|limit)\b)[^\n]{{3,240}}?(?:[,;.:] ?| - ?|\(|, but )(?:but |instead )?(?:[Gg]ot|[Rr]eceived|was given|were given|[Gg]iven|was passed|[Ff]ound)(?: instead)?:? ?[^\n]{{1,100}}",
    # A refusal: "Refusing to fetch …", "Command matches deny list pattern …"
    r"(?:Refusing|Declining) to [a-z]+\b(?! (?:pay|work)\b).{1,300}",
    r"(?!The |A |An )(?:[\w'\"`./:*-]+ ){1,6}(?:match(?:es|ed)|hit|is (?:not )?(?:on|in)|not (?:on|in)|violates) (?:an? |the |your |its )?(?:[\w-]+ )?(?:(?:deny|block|allow|white|black)[- ]?list|security (?:policy|rule))\b.{0,200}",
    rf"{NO_SUBJECT}(?!The |A |An )[^\n.]{{3,160}}? (?:is|are|was|were) (?:blocked|refused|rejected|denied|forbidden|disallowed|prohibited) (?:to prevent|by (?:the )?(?:config\w*|policy|polic\w+|admin\w*|server|security|sandbox|permission\w*|settings?|rules?|host|guard\w*|organi[sz]ation)|for security|unless|in (?:read-only|safe|this) )\b.{{0,160}}",
    # Options that exclude each other
    r"(?!The )[^\n.]{2,120} (?:are|is) mutually exclusive\b.{0,120}",
    r"(?:[^\n.;]{2,80}[:;,] )?(?:[Pp]ass|[Pp]rovide|[Ss]pecify|[Ss]upply) (?:exactly|only|at (?:least|most)) one (?:of )?[^\n]{2,120}",
    rf"(?:Both |Either )?{_NAME} (?:and|or) {_NAME} (?:cannot|can't|must not|may not|should not|can not) (?:both )?be (?:set|used|given|provided|specified|combined|passed|present)\b.{{0,100}}",
    rf"{_NAME}(?: (?:was|is|were|are))? (?:given|specified|defined|provided|passed|declared|set) (?:twice|more than once|multiple times)\b.{{0,80}}",
    # A demand with the name that makes it: "`x setup` requires an interactive terminal"
    rf"(?:The )?{_NAME}(?: (?:[\w-]+ )?(?:mode|tool|command|backend|operation|action|option|flag|parameter|argument|type|method|format|engine|runtime|provider|transport|field))? (?:requires|needs|expects?|accepts only|only accepts|only supports) (?!Python\b|Node)(?:an?|the|at least|at most|either|both|exactly|one|a valid|valid|\d+|no|[\w-]+ to be|(?:str|int|list|dict|bool)\b|[\w.-]+, which is not)\b[^\n]{{1,140}}",
    rf"(?:The )?{_VARIABLE} (?:is|are|was|must|has|have|cannot|not|should only|does|needs)(?: not)? (?:set|be|been|found|defined|missing|required|empty|invalid|configured|provided|exceed|contain|specified|valid|exist|available)\b.{{0,160}}",
    rf"(?:Please |You (?:must|need to) )(?:set|export|define) (?:the |your )?(?:[a-z]+ ){{0,3}}?{_VARIABLE}.{{0,160}}",
    r"[^\n]{3,160}\b(?:not installed|is required|are required|is missing|are missing|not found|not available|could not be imported|needs? to be installed|must be installed)\b[^\n]{0,100}\b(?:pip3?|npm|pnpm|yarn|uv|conda|brew|apt|apt-get|cargo|gem|go) (?:install|add|get|sync)\b.*",
    rf"(?:[\w.$\[\]'\"/-]+: )expected (?:{_KIND})(?=\W|\b)[^\n]{{1,160}}",
    r"Expected (?:an? (?!\d)|exactly |at least |only |['\"`{\[<]|non-\w+ |valid )(?!increase|decrease|delivery|arrival|return)[^\n.]{2,140}\.?",
    r"Not an? (?:[\w-]+ ){1,4}?(?:[:(]|in ['\"`/]).*",
    # Counts
    rf"Too (?:many|few|much) {_NOT_ITEMS}[\w-]+(?: [\w-]+){{0,3}}(?: (?:for|in|provided|given|specified|passed|requested|selected|open|sent)\b|[:(,;.!])(?!.*\b(?:showing|displaying|returning|truncated)\b).*",
    # What a thing returned or refers to
    rf"(?!The |This |A |An )[^\n.:;]{{2,80}} (?:returned|produced|responded with|sent back|replied with|references|refers to|resolved to) (?:an? |the )?{_BAD}\b[^\n]{{0,200}}",
    r"(?!The |This )[^\n.:;]{2,60} (?:refused|rejected) (?:the |your |our |this )?(?:request|connection|query|call|order|command|login|upload|message|token|credentials|payment|job|update)\b[^\n]{0,200}",
    rf"(?:The |Your )?(?:[\w.-]+ ){{0,3}}(?i:{_LINK}) (?:(?:was |has been |got )?(?:closed|interrupted|disposed|detached|disconnected|terminated|torn down)(?: (?:by|before|without|while|during|because|due)\b[^\n]{{1,120}}| \([^()\n]{{1,100}}\)[.]?)|disposed|(?:ended|stopped|exited|closed|finished|returned) without [^\n]{{2,120}})",
    # Work that has already begun, with what to do instead
    r"(?!The |A |An |This |Throws |Raises |If )[^\n.;]{2,100}\balready \w+\b[^\n]{0,120}?[.;,] ?(?:Use|Stop|Close|You (?:need|must)|Please|Choose|Pass|Delete|First|Call|Wait for|Cancel|use|stop|close|call|choose|wait)\b.{0,160}",
    rf"{NO_SUBJECT}(?!The )[^\n.,:;]{{2,80}} (?:has|have|had) (?:not|n't) (?:yet )?been (?:initiali[sz]ed|started|loaded|configured|opened|connected|registered|enabled|authenticated|set up|set|granted|selected|authori[sz]ed)\b[^\n]{{0,120}}",
    # Nothing to work with
    r"No (?!error|change|issue|new |problem|further |[\w-]+ (?:found|match|were|was returned))(?:[\w.`'\"-]+ ){1,5}?(?:was |were |has been )?(?:provided|specified|supplied|given|passed)(?:$|[.,;:!(]| (?:for|to|in|by|with|and|or|when)\b)[^\n]{0,160}",
    r"No [\w.-]+(?: [\w-]+){0,2} file (?:was )?(?:found|exists|specified|provided|present|detected)\b[^\n]{0,160}",
    r"No (?:[\w-]+ ){0,3}(?:token|api key|API key|credentials?|client_id|secret|password|permission|access key|certificate)s? (?:was |were |is |are )?(?:found|available|configured|set|stored|provided|present)(?: (?:for|in|on|at|to)\b[^\n]{1,120}|[.!]?)",
    r"No (?:active|open|running|current|existing) (?:[\w-]+ )?(?:recording|session|connection|transaction|capture|stream|debugger|process|tab|window|browser|page|document|editor|terminal|sandbox|container|kernel)(?: (?:was )?(?:found|exists|available|to \w+))?(?: (?:for|with|on|in|named|to)\b[^\n]{1,120}|[.!]?)",
    r"No (?:path|route|connection|access) to [\w-]+(?:[: ] ?\S{1,120})?[.!]?",
    # Texts that do not parse
    r"(?:Unclosed|Unbalanced|Unterminated|Unparsed|Unparse?able|Unmatched|Unescaped|Mismatched|Inconsistent|Misplaced|Unreadable|Unresolved|Unsatisfiable|Unhandled|Uncaught) [\w'\"`(\[{-]+[^\n]{0,160}",
    # A problem, told in a sentence
    r"(?:It (?:looks|seems|appears)(?: like| as if| that)? |Looks like |Seems )?(?i:there (?:was|is|were|seems to be|appears to be|has been) an? (?:\w+ )?(?:problem|error|issue|failure) (?:with|while|when|processing|communicating|connecting|executing|[a-z]+ing)\b)[^\n]{0,240}",
    r"(?:[A-Z][\w-]*|[\w-]+)(?: [\w-]+){0,3} timeout (?:after|of|exceeded after) \d[^\n]{0,80}",
    # A program's own name before the report: "holmes_logs: invalid payload: …"
    r"[A-Za-z][\w-]*[_.-][\w.-]*: (?:invalid|missing|unknown|unsupported|failed to|cannot|could not|unable to|malformed|must|no such) [^\n]{3,240}",
)
"""First lines that state the rule which the call broke."""

_COMMANDS = (
    r"useradd|usermod|userdel|groupadd|groupdel|passwd|chage|mount|umount|losetup|mkfs(?:\.\w+)?|fsck|fdisk|parted|swapon|dd|df|lsblk|blkid|ip|ifconfig|ping6?|dig|nslookup|host|nc|ncat|telnet|ftp|sftp|traceroute|tcpdump|iptables|nft"
    r"|nginx|httpd|apachectl|apache2|haproxy|caddy|svn|hg|bzr|cvs|git-\w+|make|ninja|cmake|meson|bazel|ld|as|ar|nm|objdump|strip|clang|cc|c\+\+|rustup|swift|swiftc|kotlinc|scala|ghc|stack|cabal|ocaml|opam|erl|mix|elixir|lua|luajit|R|Rscript|julia|octave"
    r"|gem|bundle|bundler|composer|nuget|dotnet|msbuild|mvn|gradle|ant|sbt|lein|pod|brew|port|dnf|yum|zypper|pacman|apk|snap|flatpak|rpm|dpkg-\w+|crontab|at|systemd-\w+|journalctl|service|su|sudo|chroot|chsh|nice|renice|pgrep|pidof|fuser|lsof|strace|gdb|lldb|valgrind|perf"
    r"|less|more|cut|paste|join|comm|diff|cmp|split|csplit|xargs|tee|tr|od|xxd|hexdump|base64|md5sum|sha\d*sum|cksum|gunzip|bunzip2|unxz|7z|rar|unrar|cpio|sqlite3|mysqldump|pg_dump|pg_restore|redis-cli|mongosh?|mongodump|influx|etcdctl|consul|vault|nomad|packer|vagrant|ansible(?:-\w+)?|salt|puppet|chef"
    r"|podman|buildah|skopeo|crictl|ctr|minikube|kind|k3s|istioctl|argocd|flux|eksctl|heroku|vercel|netlify|wrangler|flyctl|fly|doctl|linode-cli|s3cmd|rclone|restic|borg|ffprobe|sox|magick|identify|mogrify|pdftotext|pdftk|qpdf|gs|pandoc|xelatex|pdflatex|wkhtmltopdf|tesseract|inkscape|dot|gnuplot|bc|expr|date|env|printenv|which|whereis|locate|man|tmux|screen|expect|jupyter|poetry|pipx|pipenv|tox|nox|pre-commit|black|flake8|protoc|buf|sops|age|openssl|keytool|ssh-\w+|ssh-keygen|gpg2?"
)
"""Programs that begin the line of an error with their name."""
PROGRAMS = (
    rf"(?:{_COMMANDS}): (?:\[\w+\] |[A-Z]\d{{3,6}}: )?[^\n]{{0,200}}\b(?i:errors?|fail\w*|cannot|can't|could not|unable|not|no such|no|invalid|unknown|unmatched|missing|denied|refused|illegal|unrecogni[sz]ed|must|bad|too (?:many|few)|already)\b.*",
    r"[^\s:()]{1,120}\(\d+,\d+\): (?:fatal )?error CS\d+: .*",
    r"[^\s:]+\.go:\d+:\d+: no required module provides package .*",
    r"Code: \d{1,4}\. DB::\w*Exception: .*",
    r"Because [^\n]{3,300}version solving failed\.?",
    r"(?:\[\w+#?\d* @ 0x[0-9a-f]+\] )?Error (?:opening|reading|writing|initializing|while) [^\n]{2,200}: .*",
    r"[^\s:]+\.(?:c|cc|cpp|cxx|h|hpp|m|mm|cu|java|kt|swift|scala|cs|rs|zig):\d+(?::\d+)?: (?:fatal )?error: .*",
)
"""First lines of programs that failed."""
