"""Patterns of texts that are an error message, and of texts that only mention an error."""

from __future__ import annotations

import re

from tooltrace.normalize.lazy_regex import lazy

_DOING = (
    "execut|call|runn|invok|process|fetch|read|writ|open|pars|load|connect|creat|updat|delet|search|send|retriev|gett"
    "|access|download|upload|sav|mak|perform|generat|decod|query|validat|initializ|evaluat|comput|import|list|mov|copy|crawl|scrap|convert|encod|calculat|analyz"
    "|extract|request|export|resolv|compil|render|delet|add|remov|apply|install|clon|scann|translat|summariz|transcrib"
    "|publish|insert|edit|clos|start|stopp|launch|trigger|authenticat|verify|sync|push|pull|merg|commit|receiv|post"
)
_TO_DO = (
    "execute|call|run|invoke|process|fetch|read|write|open|parse|load|connect|create|update|delete|send|retrieve|get"
    "|access|download|upload|save|perform|generate|decode|query|search|validate|initialize|evaluate|compute|import|list"
    "|move|copy|resolve|authenticate|complete|start|render|compile|install|acquire|bind|establish|crawl|scrape|convert"
    "|extract|export|clone|publish"
)
_CLASS = r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout))"

_FAILED = (
    r"(?i:the )?(?i:tool|function|action|command|script|query|request|operation|connection|execution|search|lookup|fetch|download"
    r"|upload|authentication|conversion|api call) "
    r"(?:\S+ )?(?i:execution |call |invocation )?(?i:failed|error|timed out)"
)

PREFIXES = tuple(
    lazy(pattern, re.DOTALL)
    for pattern in (
        # DuckDB
        (
            r"(?P<type>(?:Catalog|Binder|Parser|Conversion|Constraint|IO|Invalid Input|Out of Range|Permission|Transaction"
            r"|Dependency|Not implemented|Serialization|Out of Memory|Interrupt|Connection) Error): (?P<message>\S.*)"
        ),
        r"(?:(?i:(?:fatal |unexpected |tool |runtime |internal )?error)|Exception|EXCEPTION|fatal|FATAL)\s*[:：]\s*(?P<message>\S.*)",
        r"(?i:error)\s*(?:\[(?P<code>[\w. -]{1,40})\]|\((?P<code2>[\w. -]{1,40})\))\s*[:：-]?\s*(?P<message>\S.*)",
        r"\[(?i:error|timeout|timed out|exception)\]\s*[:：]?\s*(?P<message>\S.*)",
        r"(?P<message>(?i:error|exception|an error occurred) (?:while |when |in |during |from |occurred|trying to ).{0,160}?[:：].*)",
        rf"(?P<message>(?i:error) (?:{_DOING})ing\b.{{0,160}}?[:：].*)",
        rf"(?P<message>{_FAILED}\s*[:：]\s*(?P<tail>.*))",
        r"<(?P<tag>(?:tool_use_)?error)>\s*(?P<message>[^<]+?)\s*</(?P=tag)>",
        r"usage: .{1,1500}\n\S{1,80}: error: (?P<message>[^\n]+)",
        # Claude Code, with advice to the model
        r"(?P<message>The user doesn't want to (?:proceed|take this action)\b.*)",
        # CrewAI
        r"(?:I|It seems we) encountered an (?:unexpected )?error while trying to use the tool\b.{0,40}?: (?P<message>\S.*)",
        # MySQL and PDO
        r"ERROR (?P<type>\d{4} \([0-9A-Z]{5}\))(?: at line \d+)?: (?P<message>\S.*)",
        r"SQLSTATE\[(?P<type>[0-9A-Z]{5})\](?: \[\d+\])?:? (?P<message>\S.*)",
    )
)
"""Whole error messages by their beginning; they may have several lines and sentences."""

ONE_LINERS = tuple(
    lazy(pattern)
    for pattern in (
        rf"{_CLASS}(?:\s*\[[^\]]{{0,60}}\]|\s*\([^)]{{0,60}}\))?: (?P<message>\S.*)",
        rf"{_CLASS}(?:\(\)|:)",
        # an exception's repr()
        rf"{_CLASS}\((?=['\"\d]).*?(?P<quote>['\"])(?P<message>(?:(?!(?P=quote)).)+)(?P=quote)(?:, (?:None|\d+))*\)",
        rf"\[{_CLASS}\]:? (?P<message>\S.*)",
        # a framework that does not have the called tool
        r"(?P<message>(?:(?:Unknown|Unrecognized|Invalid) tool(?: name| call)?|Unknown (?:function|action))(?:: | ?['\"`]).+)",
        r"(?P<message>(?:The )?(?i:tool|function) (?P<named>['\"`])[^'\"`\n]+(?P=named) (?:not found|(?:is|was) not (?:found|registered|available)|does not exist|is unknown)\b.*)",
        r"(?P<message>No (?:tool|function) (?:named|called) \S.*)",
        (
            r"(?P<message>(?:Permission denied|Access denied|Authentication failed|Connection refused|Connection reset"
            r"|Rate limit exceeded|Quota exceeded|Request timed out|Connection timed out|Service unavailable"
            r"|Internal server error|Operation not permitted|Invalid (?:argument|parameter|input)s?): (?=[^\d\s]\S* \S).*)"
        ),
        (
            r"(?P<message>(?:I'm |I am )?(?i:sorry), (?:but )?(?:I|we) (?:could not|couldn't|was unable to|were unable to|am unable to) "
            r"(?:complete|process|perform|execute|fulfil+|carry out|handle) (?:the|your|this|that) (?:request|task|query|operation|action)\b.*)"
        ),
        (
            r"(?:HTTP(?:/[\d.]+)?|HTTP ?Error|HTTP status|HTTPError|Error(?: code)?)[ :]+(?P<status>[45]\d\d)\b"
            r"(?:[ :,-]+(?!is\b|are\b|was\b|means?\b|indicates?\b|errors?\b|status|responses?\b|pages?\b|and\b|or\b|vs\b).*)?"
        ),
        r"(?P<status>[45]\d\d) (?:Client|Server) Error: .*",
        # PyGithub
        r"(?:[^\n{}]{1,120}: )?(?P<status>[45]\d\d) \{\s*[\"']message[\"']: .*\}",
        (
            r"(?P<status>[45]\d\d)[ :-]+(?:[A-Z][a-z]+ ){0,3}?(?:page not found|Bad Request|Unauthorized|Forbidden|Not Found|Method Not Allowed|Request Timeout"
            r"|Conflict|Gone|Unprocessable Entity|Too Many Requests|Internal Server Error|Bad Gateway|Service Unavailable"
            r"|Gateway Timeout)(?:\.?|[:,] \S.*)"
        ),
        (
            r"(?i:request|server|call|fetch) (?:failed|returned|responded)(?: with)?(?: an?)?(?: error)?(?: HTTP)?(?: status)?"
            r"(?: code)? ?(?P<status>[45]\d\d)\b.*"
        ),
        (
            r"(?i:command|process|script|program)(?: .{1,160}?)? (?:failed|exited|returned|terminated|died)"
            r" (?:with|due to)?\s?(?:a )?(?:non-zero )?(?:exit )?(?:code|status|exit status|exit code)[ :]+(?P<exit>[1-9]\d{0,2})\b.*"
        ),
        r"(?i:exit(?:ed)?(?: with)? (?:code|status)):? (?P<exit>[1-9]\d{0,2})\b.{0,200}",
        rf"(?P<message>{_FAILED}(?: (?:with|after|because|due)\b.*|[.!]?))",
        r"(?:\S*/|-)?(?:bash|sh|zsh|dash|ksh|fish): (?:line )?\d+: (?P<message>.+)",
        (
            r"(?:\S*/|-)?(?:bash|sh|zsh|dash|ksh|fish): (?P<message>(?:.*: )?(?:command not found|not found|No such file"
            r"|Permission denied|syntax error|cannot |Is a directory|unbound variable|ambiguous redirect|no matches found).*)"
        ),
        (
            r"(?:cat|ls|cp|mv|rm|cd|grep|find|mkdir|rmdir|touch|head|tail|chmod|chown|ln|tar|python3?|node|sed|awk|stat|open|ssh|scp"
            r"|wget|ping|git|wc|sort|cut|diff|unzip|gzip|du|df|kill|sudo|tee|file|env|rsync)"
            r": (?P<message>.*(?:No such file or directory|Permission denied|Is a directory|Not a directory|File exists"
            r"|Operation not permitted|Read-only file system|can't open file|Connection refused|Connection timed out|Name or service not known"
            r"|No route to host|Network is unreachable|[Uu]nable to resolve|invalid option|unrecognized option|missing operand|cannot (?:access|open|stat|remove|create)).*)"
        ),
        r"curl: \(\d+\) (?P<message>.+)",
        r"MCP error (?P<rpc>-32\d{3}): (?P<message>.+)",
        r"(?:docker: )?Error response from daemon: (?P<message>.+)",
        r"Error from server(?: \((?P<type>\w+)\))?: (?P<message>.+)",
        r"[\w/-]{1,60}: (?:fatal )?error: (?P<message>\S.*)",
        r"(?P<message>(?:\S+ : The term )?'[^'\n]{1,80}' is not recognized as (?:the name of a cmdlet|an internal or external command).*)",
        rf"(?P<message>(?:Failed|Unable) to (?:{_TO_DO})\b.*)",
        r"(?P<message>(?:Could not|Couldn't|Cannot|Can't) (?:connect|resolve|parse|open|read|write|load|execute|import)\b.*)",
        (
            r"(?P<message>(?:执行|调用|操作|请求|获取|读取|写入|连接|解析|加载|查询|搜索|保存|创建|删除|更新|上传|下载|工具|函数|计算|转换|发送|分析|翻译|生成|导入|导出|安装|提交|初始化|验证|处理)"
            r"[^\n:：，。？]{0,16}(?:失败|出错|异常|超时)\s*[:：].+)"
        ),
        r"(?P<message>[A-Z\u4e00-\u9fff][^\n:：，。？]{0,16}(?:操作|执行|调用|请求)失败\s*[:：].+)",
        r"(?:错误|异常|失败|出错)\s*[:：]\s*(?P<message>.+)",
    )
)
"""First lines that are an error message; a second sentence may follow, but no longer text."""

SENTENCES = lazy(r"[.!?] +(?=[A-Z])")
OF_A_MANUAL = lazy(
    r"(?i)(?:is |are )?(?:raised|thrown|occurs?|happens|returned|used)\b|(?:this|an?|the) (?:error|exception)\b.*\b(?:when|if)\b"
    r"|base class|the base class|.{0,40}\bis raised\b"
)
"""Words with which a manual explains an error."""

DEFINITION = lazy(r"(?i)(?:an?|the|any) [\w -]{1,40} (?:which|that|who|in which)\b")
"""Beginning of the definition of a term, as in "Exception: An event which …"."""

OF_A_LIST = lazy(
    r"\s*(?:-(?!-{7,}\s*$)|[*•#|>]|\d{1,3}[.)\]]\s|https?://\S+\s*$|\d{4}-\d\d-\d\d|\[?(?:INFO|DEBUG|WARN|ERROR)\b)"
)
"""Beginning of a line in a list or in a log."""

OF_A_LOG = lazy(
    r"^\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d|\[\w{1,10}\] \d+#\d+: |\[?\d\d:\d\d:\d\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d|\S+ +\| "
    r"|\[?(?:INFO|DEBUG|WARN|WARNING|ERROR|CRITICAL|FATAL|NOTICE|TRACE)(?:\] |\]?:[\w.]+:|\s+[\w.]+: |\s+\[|\s+\d))",
    re.MULTILINE,
)
"""Beginning of a log entry: a time, a level and its logger, or a container's name."""

BEFORE_A_TRACE = lazy(
    r"(?i)(?:❌\s*|\[)?(?:(?:an? |the )?(?:[a-z]+ ){0,2}(?:error|exception|failure|stderr)(?: (?:output|occurred|raised|while|when|in|during|executing|running|from)\b[^\n]{0,120})?"
    r"|(?:the )?(?:tool|code|script|command|python|function|execution|program|query|cell|process|evaluation)\b[^\n]{0,120}\b(?:failed|error|raised|crashed|exception|stderr)[^\n]{0,60}"
    r"|(?:错误|异常|执行失败|运行失败|执行出错|运行出错)[^\n]{0,60})\s*\]?[:：]?"
)
"""Announcement that a tool prints before the traceback of its failure."""

OF_AN_INTRODUCTION = lazy(
    r"(?i)\b(?:traceback|following|below|this|these|i|we|you|my|your|our|logs?|example|when|why|question|issue|bug|reported"
    r"|ticket|user|customer)\b|^[A-Z][\w -]{0,30}: \S|[:：]\s*$|^\s*[#>$%]"
)
"""Words with which a person introduces a traceback, or a colon at the end of the introduction."""

OF_A_PAGE = lazy(
    r"(?i)\bhow (?:to|do i|can i)\b|stack ?overflow|\btutorial\b|[-–|] wikipedia\b|^wikipedia\b|为什么|如何|怎么"
)
"""Words in the title of a page about an error."""
